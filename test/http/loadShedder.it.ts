/** A request that has waited too long, at the API: refused in its product's shape, and safe to repeat. */
import { Context } from "effect"
import { afterEach, expect, it } from "vitest"
import { CurrentLoadShedder } from "../../src/http/LoadShedder.ts"
import { useWebhookPlatform } from "../webhooks/platform.ts"

const platform = useWebhookPlatform()
const shedder = Context.get(Context.empty(), CurrentLoadShedder)
const { admits, isPressed, refuses } = shedder

afterEach(() => {
  Object.assign(shedder, { admits, isPressed, refuses })
})

/** An answer without what differs from one to the next. */
const shown = async (answer: Response) => {
  const fields = [...answer.headers].filter(([name]) => !["date", "x-request-id", "retry-after"].includes(name))
  return {
    status: answer.status,
    fields,
    text: await answer.text(),
    waits: Number(answer.headers.get("retry-after")) >= 1
  }
}

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

it("[platform 8.5] is the same 503 where it is refused before anything else is looked at", async () => {
  const { key } = await platform().tenant()
  const { url } = platform()
  const requests: ReadonlyArray<readonly [method: string, path: string, headers?: Record<string, string>]> = [
    ["GET", "/v1/webhooks"],
    ["POST", "/v1/webhooks"],
    ["DELETE", "/v1/webhooks/wh_none"],
    ["GET", "/v1/send/emails"],
    ["GET", "/v1/send/emails", { "user-agent": "resend-node:6.0.0" }],
    ["POST", "/v1/send/emails"],
    ["GET", "/v1/telco/lookup/2125550123"],
    ["GET", "/v1/talk/voices"],
    ["GET", "/v1/events?limit=1"]
  ]
  const ask = (bearer: string) =>
    Promise.all(
      requests.map(async ([method, path, headers]) =>
        shown(
          await fetch(`${url}${path}`, {
            method,
            headers: { authorization: `Bearer ${bearer}`, ...headers, "content-type": "application/json" },
            ...(method === "POST" ? { body: "{}" } : {})
          })
        )
      )
    )
  shedder.admits = () => false
  const general = await ask(key)
  expect(general.map(({ status, waits }) => [status, waits])).toEqual(requests.map(() => [503, true]))
  let asked = 0
  Object.assign(shedder, {
    isPressed: () => true,
    refuses: () => {
      asked++
      return true
    }
  })
  // A key that was made or looked up a moment ago is looked up once more.
  await expect
    .poll(async () => {
      asked = 0
      expect(await ask(key)).toEqual(general)
      return asked
    })
    .toBe(requests.length)
  // A key that nobody has is looked up, and nothing is refused for it.
  expect((await ask("sk_live_nobody")).map(({ status }) => status)).toEqual(requests.map(() => 401))
})

it("[platform 8.5] is no answer to probes, pages and unknown paths, whoever asks", async () => {
  const { ask, key } = await platform().tenant()
  const paths = [
    "/livez",
    "/readyz",
    "/health",
    "/openapi.json",
    "/console",
    "/v1/nothing",
    "/v1/webhooks/wh_1/nothing"
  ]
  const statuses = () =>
    Promise.all(
      paths.map(async (path) => {
        const headers = { authorization: `Bearer ${key}` }
        return [path, (await fetch(`${platform().url}${path}`, { headers })).status]
      })
    )
  await ask("GET", "/v1/webhooks")
  const expected = await statuses()
  Object.assign(shedder, { isPressed: () => true, refuses: () => true })
  await expect.poll(async () => (await ask("GET", "/v1/webhooks")).status).toBe(503)
  expect(await statuses()).toEqual(expected)
})

it("[platform 8.5] leaves no request in work, however it ends", async () => {
  const { ask, key } = await platform().tenant()
  const { url } = platform()
  await ask("GET", "/v1/webhooks")
  await ask("GET", "/v1/webhooks/wh_none")
  await ask("POST", "/v1/webhooks", { odd: true })
  const headers = { authorization: `Bearer ${key}` }
  await Promise.allSettled(
    Array.from({ length: 20 }, () => {
      const end = new AbortController()
      const asked = fetch(`${url}/v1/events?limit=1`, { headers, signal: end.signal })
      setImmediate(() => end.abort())
      return asked
    })
  )
  await expect.poll(() => shedder.requests).toBe(0)
})
