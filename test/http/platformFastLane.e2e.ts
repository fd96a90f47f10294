/**
 * That the whole platform uses the fast lane where nobody logs or traces requests. `fastLane.it.ts` proves that the lane answers with the bytes of the general path;
 * here is only what an assembled platform may get wrong: whether the lane is there, and what it leaves to the general path.
 */
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { askAdmin, makeOrganization, makeTenant, until, useDatabases, useFolders } from "../cli/support.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { request } from "./harness.ts"

const database = useDatabases()
const newFolder = useFolders()
let platform: Platform

beforeAll(async () => {
  platform = await startPlatform(
    {
      DATABASE_URL: await database("seeded"),
      NATS_URL: inject("natsUrl"),
      SLUICE_ADMIN_KEY: `adm_${"fa".repeat(20)}`
    },
    await newFolder(),
    fileURLToPath(new URL("tellingLane.ts", import.meta.url))
  )
})

afterAll(() => platform?.stop())

let asked = 0

/** Asks, and says whether the fast lane answered. */
const ask = async (key: string, path: string, init: { readonly method?: string; readonly body?: string } = {}) => {
  const id = `asked-${++asked}`
  const headers = { authorization: `Bearer ${key}`, "x-request-id": id, "content-type": "application/json" }
  const { body, headers: answered, status } = await request(`${platform.url}${path}`, { ...init, headers })
  expect(answered.get("x-request-id")).toBe(id)
  const remaining = answered.get("x-ratelimit-remaining")
  return { status, body, remaining: Number(remaining), isFast: answered.has("x-fast-lane") }
}

/** A key takes the general path while it is looked up, and once more when the announcement of its making comes late. */
const untilFast = (key: string, path: string) => until(async () => (await ask(key, path)).isFast)

it("answers a hot read, and counts each once at the limit", async () => {
  const { key } = await makeTenant(platform, { name: "reads", plan: "team" }, "directory")
  await untilFast(key, "/v1/npa/212")
  let replies: ReadonlyArray<Awaited<ReturnType<typeof ask>>> = []
  // Again where a minute ended meanwhile.
  await until(async () => {
    replies = [await ask(key, "/v1/npa/212"), await ask(key, "/v1/npa/212"), await ask(key, "/v1/carrier/9104")]
    return replies[2]!.remaining < replies[0]!.remaining
  })
  expect(replies.map(({ isFast, status }) => [status, isFast])).toEqual(replies.map(() => [200, true]))
  expect(replies[2]!.body).toMatchObject({ ocn: "9104", company_name: "VERIZON NEW YORK, INC." })
  expect(replies.map(({ remaining }) => replies[0]!.remaining - remaining)).toEqual([0, 1, 2])
  // Nobody asked for a line a request.
  expect(platform.stderr()).not.toContain("asked-")
})

it("refuses what is over its limit, counted once", async () => {
  const id = await makeOrganization(platform, { name: "limit", plan: "team" })
  await askAdmin(platform, "PUT", `/organizations/${id}/limits`, { requestsPerMinute: 20 })
  const key = await askAdmin(platform, "POST", `/organizations/${id}/keys`, { services: ["directory"], scopes: [] })
  await untilFast(String(key.key), "/v1/npa/212")
  const counted: Array<Awaited<ReturnType<typeof ask>>> = []
  await until(async () => {
    counted.push(await ask(String(key.key), "/v1/npa/212"))
    return counted.at(-1)!.status === 429
  })
  expect(counted.at(-1)).toMatchObject({ isFast: true, remaining: 0, body: { error: "rate_limited" } })
  expect(counted.at(-2)).toMatchObject({ isFast: true, remaining: 0, status: 200 })
})

it("answers an error that a handler finds, and leaves a refused parameter to the general path", async () => {
  const { key } = await makeTenant(platform, { name: "errors", plan: "team" }, "directory")
  await untilFast(key, "/v1/npa/212")
  expect(await ask(key, "/v1/npa/999")).toMatchObject({ status: 404, isFast: true, body: { error: "not_found" } })
  expect(await ask(key, "/v1/npa/212?limit=0")).toMatchObject({
    status: 400,
    isFast: false,
    body: { error: "invalid_request", message: `Invalid parameter 'limit': "0". Expected an integer from 1 to 100.` }
  })
})

it("answers a POST, whose event is in the log once", async () => {
  const { key } = await makeTenant(
    platform,
    { name: "events", plan: "team" },
    { services: ["directory"], scopes: ["platform:webhooks:manage", "platform:webhooks:read", "platform:events:read"] }
  )
  await untilFast(key, "/v1/npa/212")
  const hook = { url: "https://hooks.example.com/in", enabled_events: ["platform.*"] }
  const made = await ask(key, "/v1/webhooks", { method: "POST", body: JSON.stringify(hook) })
  // The audit log keeps it, which the general path does.
  expect(made).toMatchObject({ status: 201, isFast: false })
  const { id } = made.body as { readonly id: string }
  const tested = await ask(key, `/v1/webhooks/${id}/test`, { method: "POST" })
  expect(tested).toMatchObject({ status: 200, isFast: true })
  const { eventId } = tested.body as { readonly eventId: string }
  const events = async () =>
    ((await ask(key, "/v1/events?type=platform.test")).body as { readonly data: ReadonlyArray<object> }).data
  await until(async () => (await events()).length > 0)
  expect(await events()).toEqual([expect.objectContaining({ eventId, type: "platform.test" })])
})
