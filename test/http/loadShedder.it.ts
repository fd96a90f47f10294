/** A request that has waited too long, at the API: refused in its product's shape, and safe to repeat. */
import { Context } from "effect"
import { afterEach, expect, it } from "vitest"
import { CurrentShedding } from "../../src/http/Shedding.ts"
import { useWebhookPlatform } from "../webhooks/platform.ts"

const platform = useWebhookPlatform()
const shedding = Context.get(Context.empty(), CurrentShedding)
const { admits } = shedding

afterEach(() => {
  shedding.admits = admits
})

it("[platform 8.5] is 503 with Retry-After, and answered when it is repeated", async () => {
  const { ask } = await platform().tenant()
  // The length of a turn of the event loop is up to the clock, which a test cannot slow down.
  shedding.admits = () => false
  const refused = await ask("GET", "/v1/webhooks")
  expect(refused.status).toBe(503)
  expect(refused.body).toMatchObject({ error: "unavailable" })
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1)
  shedding.admits = admits
  expect((await ask("GET", "/v1/webhooks")).status).toBe(200)
})
