/** `Idempotency-Key` on every POST of webhooks (docs/platform.md, 3.2) beyond what holds for every endpoint: repeats at once, crashes, secrets and time. */
import { describe, expect, it } from "vitest"
import { query, until } from "../../cli/support.ts"
import { putDelivery, putEvents } from "../delivery/rows.ts"
import { hookUrl, type Tenant, useWebhookPlatform } from "../platform.ts"

const platform = useWebhookPlatform()
const db = () => platform().databaseUrl

const keyed = (key: string) => ({ "idempotency-key": key })

const newEndpoint = { url: hookUrl, enabled_events: ["telco.*"] }

/** A body without what is pending, which changes by itself. */
const withoutPending = (body: unknown): unknown => {
  const { oldest_pending_at: _at, pending: _pending, ...rest } = body as Readonly<Record<string, unknown>>
  return rest
}

const endpointsOf = async ({ ask }: Tenant) =>
  ((await ask("GET", "/v1/webhooks")).body as { readonly endpoints: ReadonlyArray<{ readonly id: string }> }).endpoints

/** An endpoint that can be asked for all of it, and each POST on it. */
const withEndpoint = async () => {
  const tenant = await platform().tenant()
  const endpointId = await tenant.endpoint()
  const place = { endpointId, organization: tenant.organization }
  const createdAt = Date.now() - 1_000
  await putEvents(db(), tenant.organization, [{ createdAt }])
  const deliveryId = await putDelivery(db(), place)
  const path = `/v1/webhooks/${endpointId}`
  return { tenant, endpointId, path, deliveryId, since: createdAt }
}

type Given = Awaited<ReturnType<typeof withEndpoint>>

const posts: ReadonlyArray<readonly [name: string, path: (given: Given) => string, body: (given: Given) => unknown]> = [
  ["create", () => "/v1/webhooks", () => newEndpoint],
  ["test", ({ path }) => `${path}/test`, () => undefined],
  ["unpause", ({ path }) => `${path}/unpause`, () => ({ replay: true })],
  ["rotate-secret", ({ path }) => `${path}/rotate-secret`, () => ({ overlapSeconds: 60 })],
  ["retry", ({ deliveryId, path }) => `${path}/deliveries/${deliveryId}/retry`, () => undefined],
  ["replay", ({ path }) => `${path}/replay`, ({ since }) => ({ since })]
]

describe("a repeat with the same key and body", () => {
  it("creates one endpoint, however many come at once, and after it is gone none", async () => {
    const tenant = await platform().tenant()
    const replies = await Promise.all(
      Array.from({ length: 12 }, () => tenant.ask("POST", "/v1/webhooks", newEndpoint, keyed("same")))
    )
    const made = replies.filter(({ status }) => status === 201)
    for (const { status } of replies) expect([201, 409]).toContain(status)
    expect(new Set(made.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    for (const { body, headers } of replies.filter(({ status }) => status === 409)) {
      expect(body).toStrictEqual({ error: "conflict", message: expect.stringContaining("under way") })
      expect(headers.get("retry-after")).toBe("1")
    }
    const [endpoint, ...others] = await endpointsOf(tenant)
    expect(others).toEqual([])
    await tenant.ask("DELETE", `/v1/webhooks/${endpoint!.id}`)
    const later = await tenant.ask("POST", "/v1/webhooks", newEndpoint, keyed("same"))
    expect(later.body).toStrictEqual(made[0]!.body)
    expect(await endpointsOf(tenant)).toEqual([])
  })

  it("shows the signing secret of the first one, which no row holds in the clear", async () => {
    const { ask } = await platform().tenant()
    const first = await ask("POST", "/v1/webhooks", newEndpoint, keyed("secret"))
    const { signing_secret } = first.body as { readonly signing_secret: string }
    expect((await ask("POST", "/v1/webhooks", newEndpoint, keyed("secret"))).body).toMatchObject({ signing_secret })
    for (const table of ["webhook_secrets", "webhook_idempotency", "webhook_endpoints"]) {
      const rows = await query<{ text: string }>(db(), `select t::text as text from ${table} t`)
      expect(rows.map(({ text }) => text).join("\n")).not.toContain(signing_secret.slice(6))
    }
  })
})

describe("a process that dies before it has kept the answer", () => {
  /** As it leaves the request. */
  const losesAnswer = ({ organization }: Tenant) =>
    query(
      db(),
      "update webhook_idempotency set answer = null, key_id = null, busy_until = 0 where organization_id = $1",
      [organization]
    )

  it.each(
    posts.filter(([name]) => name !== "retry")
  )("leaves %s to be asked again: the same answer", async (_, path, body) => {
    const given = await withEndpoint()
    const { tenant } = given
    await tenant.failures(given.endpointId, path(given).endsWith("unpause") ? 10 : 0)
    const first = await tenant.ask("POST", path(given), body(given), keyed("crash"))
    expect(first.status, JSON.stringify(first.body)).toBeLessThan(300)
    const before = await endpointsOf(tenant)
    await losesAnswer(tenant)
    const second = await tenant.ask("POST", path(given), body(given), keyed("crash"))
    expect([second.status, withoutPending(second.body)]).toStrictEqual([first.status, withoutPending(first.body)])
    expect(second.headers.get("idempotency-replayed")).toBeNull()
    expect((await endpointsOf(tenant)).map(withoutPending)).toEqual(before.map(withoutPending))
    const replays = "select id from webhook_replays where endpoint_id = $1"
    expect((await query(db(), replays, [given.endpointId])).length).toBeLessThanOrEqual(1)
  })

  it("sends one test event, also when the endpoint was disabled meanwhile", async () => {
    const { path, tenant } = await withEndpoint()
    const first = await tenant.ask("POST", `${path}/test`, undefined, keyed("crash"))
    await losesAnswer(tenant)
    await tenant.ask("PATCH", path, { is_active: false })
    const second = await tenant.ask("POST", `${path}/test`, undefined, keyed("crash"))
    expect({ status: second.status, body: second.body }).toStrictEqual({ status: 200, body: first.body })
    const { eventId } = first.body as { readonly eventId: string }
    const tests = () =>
      query<{ event_id: string }>(
        db(),
        "select event_id from events where organization_id = $1 and type = 'platform.test' order by event_id",
        [tenant.organization]
      )
    // Once a later one is there, so are those before it.
    await tenant.ask("PATCH", path, { is_active: true })
    const later = await tenant.ask("POST", `${path}/test`)
    const expected = [eventId, (later.body as { readonly eventId: string }).eventId].toSorted()
    await until(async () => (await tests()).some((row) => row.event_id !== eventId))
    expect((await tests()).map((row) => row.event_id)).toEqual(expected)
  })

  it("has not retried a delivery either: it is done with its answer or not at all", async () => {
    const { deliveryId, endpointId, path, tenant } = await withEndpoint()
    const target = `${path}/deliveries/${deliveryId}/retry`
    await query(
      db(),
      `create function die_before_the_answer() returns trigger language plpgsql as
       $$ begin raise exception 'gone' using errcode = '57P01'; end $$`
    )
    const deaths = `die_of_${endpointId}`
    await query(
      db(),
      `create trigger ${deaths} before update of answer on webhook_idempotency for each row
       when (new.organization_id = '${tenant.organization}' and new.answer is not null)
       execute function die_before_the_answer()`
    )
    const died = await tenant.ask("POST", target, undefined, keyed("crash"))
    expect(died.status).toBe(503)
    const state = async () => {
      const { body } = await tenant.ask("GET", `${path}/deliveries/${deliveryId}`)
      const jobs = await query(db(), "select id from webhook_jobs where group_key = $1", [endpointId])
      return { status: (body as { readonly status: string }).status, jobs: jobs.length }
    }
    expect(await state()).toEqual({ status: "failed", jobs: 0 })
    await query(db(), `drop trigger ${deaths} on webhook_idempotency`)
    const second = await tenant.ask("POST", target, undefined, keyed("crash"))
    expect(second.status).toBe(202)
    expect(await state()).toEqual({ status: "pending", jobs: 1 })
    // The delivery is made and over before the next repeat, which must not make another attempt.
    await query(db(), "update webhook_deliveries set status = 'succeeded' where id = $1", [deliveryId])
    await query(db(), "delete from webhook_jobs where id = $1", [deliveryId])
    const third = await tenant.ask("POST", target, undefined, keyed("crash"))
    expect({ status: third.status, body: third.body }).toStrictEqual({ status: 202, body: second.body })
    expect(third.headers.get("idempotency-replayed")).toBe("true")
    expect(await state()).toEqual({ status: "succeeded", jobs: 0 })
  })
})

describe("the same key", () => {
  it("with a request to another endpoint is 409 idempotency_conflict", async () => {
    const given = await withEndpoint()
    const { ask } = given.tenant
    expect((await ask("POST", "/v1/webhooks", newEndpoint, keyed("one"))).status).toBe(201)
    for (const [name, path, body] of posts.slice(1)) {
      const { body: error, status } = await ask("POST", path(given), body(given), keyed("one"))
      expect({ status, error }, name).toStrictEqual({
        status: 409,
        error: { error: "idempotency_conflict", message: expect.stringContaining('"one"') }
      })
    }
  })

  it("is free again after a refusal: only what was done is kept", async () => {
    const { ask, endpoint, tell } = await platform().tenant()
    expect((await ask("POST", "/v1/webhooks", { ...newEndpoint, url: "x" }, keyed("k"))).status).toBe(400)
    const id = await endpoint()
    await tell(id, { _tag: "RecordGone", origin: "event" })
    expect((await ask("POST", `/v1/webhooks/${id}/replay`, { since: Date.now() - 10 }, keyed("k"))).status).toBe(409)
    expect((await ask("POST", "/v1/webhooks/we_none/test", undefined, keyed("k"))).status).toBe(404)
    expect((await ask("POST", "/v1/webhooks", newEndpoint, keyed("k"))).status).toBe(201)
  })

  it("stands for its request for 24 hours", async () => {
    const tenant = await platform().tenant()
    await tenant.ask("POST", "/v1/webhooks", newEndpoint, keyed("day"))
    const age = (millis: number) =>
      query(db(), "update webhook_idempotency set created_at = created_at - $2 where organization_id = $1", [
        tenant.organization,
        millis
      ])
    await age(24 * 60 * 60 * 1000 - 60_000)
    expect(
      (await tenant.ask("POST", "/v1/webhooks", { ...newEndpoint, url: `${hookUrl}/2` }, keyed("day"))).status
    ).toBe(409)
    await age(120_000)
    expect(
      (await tenant.ask("POST", "/v1/webhooks", { ...newEndpoint, url: `${hookUrl}/2` }, keyed("day"))).status
    ).toBe(201)
    expect(await endpointsOf(tenant)).toHaveLength(2)
  })
})
