/** Headers and rate of endpoints over HTTP (docs/platform.md, 6.10): names are shown, values never again, anywhere. */
import { describe, expect, it } from "vitest"
import { query } from "../../cli/support.ts"
import { patienceMillis } from "../../support/patience.ts"
import { hookUrl, useWebhookPlatform } from "../platform.ts"

const platform = useWebhookPlatform()

const value = "a-value-that-is-hidden"
const newEndpoint = { url: hookUrl, enabled_events: ["telco.*"], headers: { Authorization: `Bearer ${value}` } }

/** Everything that the database holds, as text. */
const wholeDatabase = async (): Promise<string> => {
  const { databaseUrl } = platform()
  const tables = await query<{ readonly name: string }>(
    databaseUrl,
    "select tablename as name from pg_tables where schemaname = 'public'"
  )
  const texts = await Promise.all(
    tables.map(({ name }) => query<{ readonly text: string }>(databaseUrl, `select t::text as text from "${name}" t`))
  )
  return texts
    .flat()
    .map(({ text }) => text)
    .join("\n")
}

const secretsOf = async (endpointId: string) =>
  (
    await query<{ readonly id: string }>(
      platform().databaseUrl,
      "select id from webhook_secrets where endpoint_id = $1",
      [endpointId]
    )
  ).length

describe("headers of an endpoint", () => {
  it("[platform 6.10] are shown by name: in the answer that makes it, alone, in the list, and after a change", async () => {
    const { ask } = await platform().tenant()
    const made = await ask("POST", "/v1/webhooks", { ...newEndpoint, rate_limit: 20 })
    expect({ status: made.status, body: made.body }).toMatchObject({
      status: 201,
      body: { header_names: ["Authorization"], rate_limit: 20 }
    })
    const path = `/v1/webhooks/${(made.body as { readonly id: string }).id}`
    const changed = await ask("PATCH", path, { headers: { authorization: `Basic ${value}`, "X-Key": value } })
    expect(changed.body).toMatchObject({ header_names: ["authorization", "X-Key"], rate_limit: 20 })
    const shown = [made, changed, await ask("GET", path), await ask("GET", "/v1/webhooks")]
    expect(JSON.stringify(shown.map(({ body }) => body))).not.toContain(value)
    expect(await wholeDatabase()).not.toContain(value)
  })

  it("[platform 6.10] are merged: what is not named stays, null removes one, null for all removes all", async () => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint({ headers: { "X-A": "1", "X-B": "2", "X-C": "3" } })
    const path = `/v1/webhooks/${id}`
    const namesAfter = async (headers: unknown) =>
      ((await ask("PATCH", path, { headers })).body as { readonly header_names: ReadonlyArray<string> }).header_names
    expect(await namesAfter({ "x-b": null, "X-D": "4", "X-Unknown": null })).toEqual(["X-A", "X-C", "X-D"])
    expect(await namesAfter({})).toEqual(["X-A", "X-C", "X-D"])
    expect(await namesAfter({ "X-A": null, "X-C": null, "X-D": null })).toEqual([])
    expect(await namesAfter({ "X-E": "5" })).toEqual(["X-E"])
    expect(await namesAfter(null)).toEqual([])
    await expect.poll(() => secretsOf(id), { timeout: patienceMillis }).toBe(1)
  })

  it("[platform 6.10] are all there after changes that come at once", async () => {
    const { ask, endpoint } = await platform().tenant()
    const path = `/v1/webhooks/${await endpoint()}`
    const names = ["X-1", "X-2", "X-3", "X-4"]
    const replies = await Promise.all(names.map((name) => ask("PATCH", path, { headers: { [name]: value } })))
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const { header_names } = (await ask("GET", path)).body as { readonly header_names: ReadonlyArray<string> }
    expect(header_names.toSorted()).toEqual(names)
  })

  it("go with their endpoint", async () => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint({ headers: { "X-A": value } })
    expect(await secretsOf(id)).toBe(2)
    await ask("DELETE", `/v1/webhooks/${id}`)
    await expect.poll(() => secretsOf(id), { timeout: patienceMillis }).toBe(0)
  })

  it.each([
    [{ headers: { Host: value } }, "Host"],
    [{ headers: { "content-type": value } }, "content-type"],
    [{ headers: { "Webhook-Id": value } }, "Webhook-Id"],
    [{ headers: { "X-PlatformWebhook-Signature": value } }, "X-PlatformWebhook-Signature"],
    [{ headers: { "x y": value } }, "x y"],
    [{ headers: { "x-a": value, "X-A": value } }, "X-A"],
    [{ headers: { "x-a": `${value}\r\nx-b: 1` } }, "x-a"],
    [{ headers: { "x-a": `${value}${"a".repeat(1_000)}` } }, "1000"],
    [{ headers: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`x-${at}`, value])) }, "at most 20"],
    [{ headers: [value] }, "headers"],
    [{ headers: value }, "headers"],
    [{ rate_limit: 0 }, "10000"],
    [{ rate_limit: 10_001 }, "10000"],
    [{ rate_limit: 1.5 }, "rate_limit"],
    [{ rate_limit: "5" }, "rate_limit"],
    [{ ordering: { key: "" } }, "ordering.key"],
    [{ ordering: { key: "a..b" } }, "ordering.key"],
    [{ ordering: { key: "a.b.c.d.e.f.g.h.i" } }, "ordering.key"],
    [{ ordering: { key: "x".repeat(129) } }, "ordering.key"]
  ])("or a rate that cannot be: %j is 400, in new endpoints and in changes, and tells no value", async (fields, part) => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint()
    const before = await secretsOf(id)
    for (const reply of [
      await ask("POST", "/v1/webhooks", { url: hookUrl, enabled_events: ["*"], ...fields }),
      await ask("PATCH", `/v1/webhooks/${id}`, fields)
    ]) {
      expect({ status: reply.status, body: reply.body }).toStrictEqual({
        status: 400,
        body: { error: "invalid_request", message: expect.stringContaining(part) }
      })
      expect(JSON.stringify(reply.body)).not.toContain(value)
    }
    expect(await secretsOf(id)).toBe(before)
  })

  it("[platform 6.10] make another request under an Idempotency-Key, and its repeat shows no value", async () => {
    const { ask } = await platform().tenant()
    const once = { "idempotency-key": "once" }
    const first = await ask("POST", "/v1/webhooks", newEndpoint, once)
    const second = await ask("POST", "/v1/webhooks", newEndpoint, once)
    expect(second.body).toStrictEqual(first.body)
    expect(second.headers.get("idempotency-replayed")).toBe("true")
    const other = { ...newEndpoint, headers: { Authorization: "Bearer another" } }
    expect((await ask("POST", "/v1/webhooks", other, once)).status).toBe(409)
    expect((await ask("POST", "/v1/webhooks", { ...newEndpoint, rate_limit: 1 }, once)).status).toBe(409)
    expect(await wholeDatabase()).not.toContain(value)
  })
})
