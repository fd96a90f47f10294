/** Replays over HTTP (docs/platform.md, 6.7): which events of the past are sent again. */
import pg from "pg"
import { describe, expect, it } from "vitest"
import { query, until } from "../../cli/support.ts"
import { putDelivery, putEvents } from "../delivery/rows.ts"
import { type Tenant, useWebhookPlatform } from "../platform.ts"
import { dayMillis, deliveriesOf, jobsOf, type Page, refused, withEndpointOf } from "./deliveriesSupport.ts"

const platform = useWebhookPlatform()
const db = () => platform().databaseUrl
const withEndpoint = (more: object = {}) => withEndpointOf(platform(), more)

describe("POST …/replay", () => {
  const replay = async (ask: Tenant["ask"], path: string, body: object) => {
    const reply = await ask("POST", `${path}/replay`, body)
    expect(reply.status, JSON.stringify(reply.body)).toBe(202)
    expect(reply.body).toStrictEqual({
      replayId: expect.stringMatching(/^rpl_[0-9A-Za-z]{22}$/),
      count: expect.any(Number)
    })
    return reply.body as { readonly replayId: string; readonly count: number }
  }

  const finished = (replayId: string) =>
    until(async () => {
      const [row] = await query<{ status: string }>(db(), "select status from webhook_replays where id = $1", [
        replayId
      ])
      return row?.status === "done"
    })

  it("[platform 6.7] sends every event of the interval that matches the patterns: since inclusive, until exclusive", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint({ enabled_events: ["telco.lookup.*", "send.*"] })
    const now = Date.now()
    const [since, until] = [now - 2 * dayMillis, now - 1_000]
    const [, first, second, bounced] = await putEvents(db(), organization, [
      { createdAt: since - 1 },
      { createdAt: since },
      { createdAt: until - 1 },
      { createdAt: since + 5, type: "send.email.bounced", service: "send" },
      { createdAt: until },
      { createdAt: since + 1, type: "telco.search.completed" },
      { createdAt: since + 1, type: "subscription.created", service: "platform" },
      { createdAt: since + 1, type: "platform.test", service: "platform" }
    ])
    // Another organization's.
    await putEvents(db(), (await platform().tenant()).organization, [{ createdAt: since + 1 }])
    const { count, replayId } = await replay(ask, path, { since, until })
    expect(count).toBe(3)
    await finished(replayId)
    const deliveries = await deliveriesOf(db(), endpointId)
    expect(deliveries.map(({ event_id }) => event_id)).toEqual([first, bounced, second])
    expect(new Set(deliveries.map(({ origin, status }) => `${origin} ${status}`))).toEqual(new Set(["event pending"]))
    const jobs = await jobsOf(db(), endpointId)
    expect(jobs.map(({ id }) => id)).toEqual(deliveries.map(({ id }) => id).toSorted())
    expect(jobs.every(({ lane, payload }) => lane === 1 && payload.startsWith("event "))).toBe(true)
    // All of it can be looked at.
    expect(((await ask("GET", `${path}/deliveries`)).body as Page).data).toHaveLength(3)
  })

  it("types are patterns that must match too; a test event of anybody is never replayed", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint({ enabled_events: ["*"] })
    const createdAt = Date.now() - 1_000
    const [lookup, search] = await putEvents(db(), organization, [
      { createdAt },
      { createdAt, type: "telco.search.completed" },
      { createdAt, type: "invoice.paid", service: "platform" },
      { createdAt, type: "platform.test", service: "platform" }
    ])
    const { count, replayId } = await replay(ask, path, { since: createdAt, types: ["telco.*"] })
    expect(count).toBe(2)
    await finished(replayId)
    expect((await deliveriesOf(db(), endpointId)).map(({ event_id }) => event_id).toSorted()).toEqual(
      [lookup!, search!].toSorted()
    )
    const rest = await replay(ask, path, { since: createdAt })
    expect(rest.count).toBe(1)
    await finished(rest.replayId)
    // What is pending by now is not sent again.
    expect(await replay(ask, path, { since: createdAt, types: ["platform.*"] })).toMatchObject({ count: 0 })
  })

  it("sends again what was delivered, and not what has a pending delivery", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const createdAt = Date.now() - 1_000
    const events = await putEvents(db(), organization, [{ createdAt }, { createdAt }, { createdAt }])
    const place = { endpointId, organization }
    await putDelivery(db(), place, { eventId: events[0]!, eventCreatedAt: createdAt, status: "succeeded" })
    await putDelivery(db(), place, { eventId: events[1]!, eventCreatedAt: createdAt, status: "pending" })
    const { count, replayId } = await replay(ask, path, { since: createdAt })
    expect(count).toBe(2)
    await finished(replayId)
    const pending = (await deliveriesOf(db(), endpointId)).filter(({ status }) => status === "pending")
    expect(pending.map(({ event_id }) => event_id).toSorted()).toEqual(events.toSorted())
    // And now all of them are.
    expect(await replay(ask, path, { since: createdAt })).toMatchObject({ count: 0 })
  })

  it("more events than one batch takes arrive once each, in order, over several days", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const since = Date.now() - 5 * dayMillis
    await putEvents(
      db(),
      organization,
      [0, 1, 2, 3, 4].map((day) => ({ createdAt: since + day * dayMillis }))
    )
    await query(
      db(),
      `insert into events (organization_id, event_id, type, service, livemode, created_at, sequence, idx, body)
       select $1::text, 'evt_' || gen_random_uuid(), 'telco.lookup.completed', 'telco', true, $2::int8 + (n % 5) * 86400000 + n % 7, 2, n, '{}'
       from generate_series(1, 4500) n`,
      [organization, since]
    )
    const { count, replayId } = await replay(ask, path, { since })
    expect(count).toBe(4_505)
    await finished(replayId)
    const deliveries = await deliveriesOf(db(), endpointId)
    expect(deliveries).toHaveLength(4_505)
    expect(new Set(deliveries.map(({ event_id }) => event_id)).size).toBe(4_505)
    expect(await jobsOf(db(), endpointId)).toHaveLength(4_505)
  })

  it("[platform 6.7] is 409 unless the endpoint is Active", async () => {
    const { ask, endpointId, failures, path } = await withEndpoint()
    const body = { since: Date.now() - 1_000 }
    await failures(endpointId, 10)
    const paused = await ask("POST", `${path}/replay`, body)
    expect({ status: paused.status, body: paused.body }).toStrictEqual(
      refused(409, "conflict", `The webhook endpoint ${endpointId} is paused`)
    )
    await ask("PATCH", path, { is_active: false })
    const disabled = await ask("POST", `${path}/replay`, body)
    expect({ status: disabled.status, body: disabled.body }).toStrictEqual(
      refused(409, "conflict", `The webhook endpoint ${endpointId} is disabled`)
    )
  })

  it("[platform 6.7] is 400 for more than 30 days, an interval that ends before it begins, and types that are no patterns", async () => {
    const { ask, path } = await withEndpoint()
    const now = Date.now()
    for (const [body, part] of [
      [{}, "since"],
      [{ since: now - 30 * dayMillis - 1_000 }, "30 days"],
      [{ since: 0 }, "30 days"],
      [{ since: now + 60_000 }, "since"],
      [{ since: now - 1_000, until: now - 1_000 }, "since"],
      [{ since: now - 1_000, until: now - 2_000 }, "since"],
      [{ since: "yesterday" }, "since"],
      [{ since: 1.5 }, "since"],
      [{ since: now - 1_000, until: null }, "until"],
      [{ since: now - 1_000, types: [] }, "types must be"],
      [{ since: now - 1_000, types: ["nobody.*"] }, "nobody.*"],
      [{ since: now - 1_000, types: "telco.*" }, "types"]
    ] as const) {
      const reply = await ask("POST", `${path}/replay`, body)
      expect({ status: reply.status, body: reply.body }, JSON.stringify(body)).toStrictEqual(
        refused(400, "invalid_request", expect.stringContaining(part))
      )
    }
    expect(await replay(ask, path, { since: now - 30 * dayMillis + 60_000, until: now + dayMillis })).toMatchObject({
      count: 0
    })
  })

  it("unpause {replay: true} sends what was missed since the pause, and 409 when Disabled", async () => {
    const { ask, endpointId, failures, organization, path } = await withEndpoint()
    await putEvents(db(), organization, [{ createdAt: Date.now() - 60_000 }])
    await failures(endpointId, 10)
    const [missed] = await putEvents(db(), organization, [{ createdAt: Date.now() }])
    await ask("PATCH", path, { is_active: false })
    const disabled = await ask("POST", `${path}/unpause`, { replay: true })
    expect(disabled.status).toBe(409)
    expect((await ask("GET", path)).body).toMatchObject({ is_paused: true })
    await ask("PATCH", path, { is_active: true })
    const reply = await ask("POST", `${path}/unpause`, { replay: true })
    expect(reply.status).toBe(200)
    expect(reply.body).toMatchObject({
      is_paused: false,
      consecutive_failures: 0,
      replay: { replayId: expect.stringMatching(/^rpl_/), count: 1 }
    })
    await finished((reply.body as { replay: { replayId: string } }).replay.replayId)
    expect((await deliveriesOf(db(), endpointId)).map(({ event_id }) => event_id)).toEqual([missed])
  })

  it("ends with its endpoint: what is deleted is replayed no further", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const since = Date.now() - dayMillis
    await putEvents(db(), organization, [{ createdAt: since }])
    const insert = `
      insert into webhook_replays (id, organization_id, endpoint_id, partition, since_at, until_at, patterns, sent,
        after_created_at, after_sequence, after_idx, status, created_at)
      values ($1, $2, $3, 0, $4, $4::int8 + 1000, '["*"]', 0, $4, -1, -1, 'running', $4)`
    const replayId = `rpl_of_${endpointId}`
    const client = new pg.Client({ connectionString: db() })
    await client.connect()
    try {
      // A batch of it is under way.
      await query(db(), insert, [replayId, organization, endpointId, since])
      await client.query("begin")
      await client.query("select 1 from webhook_replays where id = $1 for update", [replayId])
      expect((await ask("DELETE", path)).status).toBe(200)
      await until(async () => (await query(db(), "select 1 from pg_locks where not granted")).length > 0)
      await client.query("commit")
    } finally {
      await client.end()
    }
    const status = async () =>
      (await query<{ status: string }>(db(), "select status from webhook_replays where id = $1", [replayId]))[0]?.status
    await until(async () => (await status()) !== "running")
    expect(await status()).toBe("cancelled")
    expect(await deliveriesOf(db(), endpointId)).toEqual([])
  })
})
