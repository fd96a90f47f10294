/** A request that has waited too long, at the API: refused in its product's shape, and safe to repeat. */
import { Context } from "effect"
import { afterEach, expect, it } from "vitest"
import { CurrentLoadShedder } from "../../src/http/LoadShedder.ts"
import { useWebhookPlatform } from "../webhooks/platform.ts"

const platform = useWebhookPlatform()
const shedder = Context.get(Context.empty(), CurrentLoadShedder)
const { admits } = shedder

afterEach(() => {
  shedder.admits = admits
})

it("[platform 8.5] is 503 with Retry-After, and answered when it is repeated", async () => {
  const { ask } = await platform().tenant()
  // The length of a turn of the event loop is up to the clock, which a test cannot slow down.
  shedder.admits = () => false
  const refused = await ask("GET", "/v1/webhooks")
  expect(refused.status).toBe(503)
  expect(refused.body).toMatchObject({ error: "unavailable" })
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1)
  shedder.admits = admits
  expect((await ask("GET", "/v1/webhooks")).status).toBe(200)
})
