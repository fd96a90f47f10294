/**
 * Deliveries, skipped events, retries and replays over HTTP, by the lines of the decisions ("Events and webhooks"). Rows are put there as the
 * reactor and the dispatcher leave them.
 */
import pg from "pg"
import { describe, expect, it } from "vitest"
import { query, until } from "../cli/support.ts"
import { type Tenant, useWebhookPlatform } from "./platform.ts"
import { newEventId, putDelivery, putEvents, putSkipped } from "./rows.ts"

const platform = useWebhookPlatform()
const db = () => platform().databaseUrl
const dayMillis = 24 * 60 * 60 * 1000

const attempt = (more: object = {}) => ({
  at: 1_700_000_000_000,
  status: 500,
  duration: 12,
  response: "sorry",
  error: null,
  ...more
})

const withEndpoint = async (more: object = {}) => {
  const tenant = await platform().tenant()
  const endpointId = await tenant.endpoint(more)
  return { ...tenant, tenant, endpointId, path: `/v1/webhooks/${endpointId}` }
}

type Page = {
  readonly data: ReadonlyArray<{ readonly id: string; readonly eventId: string }>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string }
}

/** All pages of a list. */
const pagesOf = async (ask: Tenant["ask"], path: string, limit: number): Promise<ReadonlyArray<Page>> => {
  const pages: Array<Page> = []
  let cursor: string | undefined
  do {
    const reply = await ask("GET", `${path}?limit=${limit}${cursor === undefined ? "" : `&cursor=${cursor}`}`)
    expect(reply.status).toBe(200)
    const page = reply.body as Page
    pages.push(page)
    cursor = page.pagination.nextCursor
    expect(page.pagination.hasMore).toBe(cursor !== undefined)
  } while (cursor !== undefined)
  return pages
}

const jobsOf = (endpointId: string) =>
  query<{ id: string; lane: number; payload: string; attempts: number }>(
    db(),
    "select id, lane, payload, attempts from webhook_jobs where group_key = $1 order by id",
    [endpointId]
  )

const deliveriesOf = (endpointId: string) =>
  query<{ id: string; event_id: string; status: string; origin: string }>(
    db(),
    "select id, event_id, status, origin from webhook_deliveries where endpoint_id = $1 order by event_created_at, event_id",
    [endpointId]
  )

const refused = (status: number, error: string, message: unknown = expect.any(String)) => ({
  status,
  body: { error, message }
})

describe("GET …/deliveries", () => {
  it("lists an endpoint's deliveries, newest first, page by page, whatever day they are of", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const now = Date.now()
    const ids: Array<string> = []
    for (const age of [0, 0, 1, 2, 3, 4, 5]) {
      const createdAt = now - age * dayMillis
      ids.push(await putDelivery(db(), { endpointId, organization }, { eventCreatedAt: createdAt, createdAt }))
    }
    const pages = await pagesOf(ask, `${path}/deliveries`, 3)
    expect(pages.map(({ data }) => data.length)).toEqual([3, 3, 1])
    const listed = pages.flatMap(({ data }) => data.map(({ id }) => id))
    expect(listed.slice(2)).toEqual(ids.slice(2))
    expect(new Set(listed)).toEqual(new Set(ids))
    expect((await ask("GET", `${path}/deliveries?limit=7`)).body).toMatchObject({ pagination: { hasMore: false } })
  })

  it("has 25 on a page by default and at most 100; another limit is 400 quoting it", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    for (let at = 0; at < 26; at++) await putDelivery(db(), { endpointId, organization })
    expect(((await ask("GET", `${path}/deliveries`)).body as Page).data).toHaveLength(25)
    expect(((await ask("GET", `${path}/deliveries?limit=100`)).body as Page).data).toHaveLength(26)
    for (const list of ["deliveries", "skipped"]) {
      for (const limit of ["0", "101", "-1", "1.5", "x"]) {
        const reply = await ask("GET", `${path}/${list}?limit=${limit}`)
        expect({ status: reply.status, body: reply.body }).toStrictEqual(
          refused(400, "invalid_request", expect.stringContaining(`"${limit}"`))
        )
      }
      expect((await ask("GET", `${path}/${list}?limit=1&limit=2`)).status).toBe(400)
    }
  })

  it("a forged cursor, or one of another list, is 400", async () => {
    const { ask, endpointId, organization, path, tenant } = await withEndpoint()
    for (let at = 0; at < 2; at++) await putDelivery(db(), { endpointId, organization })
    const { pagination } = (await ask("GET", `${path}/deliveries?limit=1`)).body as Page
    const cursor = pagination.nextCursor!
    const other = await tenant.endpoint()
    for (const target of [
      `${path}/deliveries?cursor=${cursor}x`,
      `${path}/deliveries?cursor=`,
      `${path}/skipped?cursor=${cursor}`,
      `/v1/webhooks/${other}/deliveries?cursor=${cursor}`
    ]) {
      const reply = await ask("GET", target)
      expect({ status: reply.status, body: reply.body }).toStrictEqual(
        refused(400, "invalid_request", expect.stringContaining("cursor"))
      )
    }
  })

  it("shows each with its state; one of them with its attempts: time, status, duration, first 1 KB of the answer", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const attempts = [attempt(), attempt({ status: 0, response: null, error: "no answer within 15 s" })]
    const eventCreatedAt = Date.now() - 1_000
    const eventId = newEventId()
    const id = await putDelivery(db(), { endpointId, organization }, { eventId, eventCreatedAt, attempts })
    const listed = {
      id,
      eventId,
      eventType: "telco.lookup.completed",
      eventCreatedAt,
      origin: "event",
      status: "failed",
      attemptCount: 2,
      createdAt: eventCreatedAt,
      nextAttemptAt: null,
      settledAt: eventCreatedAt
    }
    expect((await ask("GET", `${path}/deliveries`)).body).toStrictEqual({
      data: [listed],
      pagination: { hasMore: false }
    })
    const one = await ask("GET", `${path}/deliveries/${id}`)
    expect({ status: one.status, body: one.body }).toStrictEqual({ status: 200, body: { ...listed, attempts } })
  })

  it("a delivery of another endpoint is 404, as is one that is not there", async () => {
    const { ask, organization, path, tenant } = await withEndpoint()
    const id = await putDelivery(db(), { endpointId: await tenant.endpoint(), organization })
    for (const [method, target] of [
      ["GET", `${path}/deliveries/${id}`],
      ["POST", `${path}/deliveries/${id}/retry`],
      ["GET", `${path}/deliveries/dlv_none`]
    ] as const) {
      const reply = await ask(method, target)
      expect({ status: reply.status, body: reply.body }).toStrictEqual(
        refused(404, "not_found", expect.stringMatching(/^There is no delivery dlv_/))
      )
    }
  })
})

describe("GET …/skipped", () => {
  it("lists the events that happened while it was Paused or Disabled, newest first", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const now = Date.now()
    const rows = [
      { createdAt: now, sequence: 12, reason: "disabled" },
      { createdAt: now, sequence: 9, reason: "paused" },
      { createdAt: now - 3 * dayMillis, sequence: 2, reason: "paused" }
    ] as const
    const ids: Array<string> = []
    for (const row of rows) ids.push(await putSkipped(db(), { endpointId, organization }, row))
    expect((await ask("GET", `${path}/skipped`)).body).toStrictEqual({
      data: rows.map(({ createdAt, reason }, at) => ({
        eventId: ids[at],
        eventType: "telco.lookup.completed",
        eventCreatedAt: createdAt,
        reason
      })),
      pagination: { hasMore: false }
    })
    const pages = await pagesOf(ask, `${path}/skipped`, 1)
    expect(pages.flatMap(({ data }) => data.map(({ eventId }) => eventId))).toEqual(ids)
  })
})

describe("POST …/deliveries/{id}/retry", () => {
  it.each([
    "failed",
    "succeeded",
    "expired",
    "cancelled"
  ])("sends a delivery that is %s once more: 202, pending, one job beside first attempts", async (status) => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const eventId = newEventId()
    const eventCreatedAt = Date.now() - dayMillis
    const delivery = { eventId, eventCreatedAt, status, attempts: [attempt()] }
    const id = await putDelivery(db(), { endpointId, organization }, delivery)
    const before = Date.now()
    const reply = await ask("POST", `${path}/deliveries/${id}/retry`)
    expect(reply.status).toBe(202)
    expect(reply.body).toMatchObject({ id, eventId, status: "pending", attemptCount: 1, settledAt: null })
    expect((reply.body as { nextAttemptAt: number }).nextAttemptAt).toBeGreaterThanOrEqual(before)
    expect((await ask("GET", `${path}/deliveries/${id}`)).body).toStrictEqual(reply.body)
    expect(await jobsOf(endpointId)).toEqual([
      { id, lane: 2, attempts: 0, payload: `retry ${eventCreatedAt} ${eventId} ${organization}` }
    ])
  })

  it("409 while it is pending; of several at once one is done", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const id = await putDelivery(db(), { endpointId, organization })
    const replies = await Promise.all(Array.from({ length: 8 }, () => ask("POST", `${path}/deliveries/${id}/retry`)))
    expect(replies.map(({ status }) => status).toSorted()).toEqual([202, ...Array.from({ length: 7 }, () => 409)])
    const again = await ask("POST", `${path}/deliveries/${id}/retry`)
    expect(again.body).toStrictEqual({ error: "conflict", message: `The delivery ${id} is still pending` })
    expect(await jobsOf(endpointId)).toHaveLength(1)
  })

  it("409 when Disabled; while Paused it is done", async () => {
    const { ask, endpointId, failures, organization, path } = await withEndpoint()
    const id = await putDelivery(db(), { endpointId, organization })
    await ask("PATCH", path, { is_active: false })
    const reply = await ask("POST", `${path}/deliveries/${id}/retry`)
    expect({ status: reply.status, body: reply.body }).toStrictEqual(
      refused(409, "conflict", expect.stringContaining("disabled"))
    )
    expect(await jobsOf(endpointId)).toEqual([])
    await ask("PATCH", path, { is_active: true })
    await failures(endpointId, 10)
    expect((await ask("POST", `${path}/deliveries/${id}/retry`)).status).toBe(202)
  })

  it("409 once its event is older than 30 days", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const id = await putDelivery(
      db(),
      { endpointId, organization },
      { eventCreatedAt: Date.now() - 30 * dayMillis - 1 }
    )
    const reply = await ask("POST", `${path}/deliveries/${id}/retry`)
    expect({ status: reply.status, body: reply.body }).toStrictEqual(
      refused(409, "conflict", expect.stringContaining("30 days"))
    )
  })
})

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

  it("sends every event of the interval that matches the patterns: since inclusive, until exclusive", async () => {
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
    // another organization's
    await putEvents(db(), (await platform().tenant()).organization, [{ createdAt: since + 1 }])
    const { count, replayId } = await replay(ask, path, { since, until })
    expect(count).toBe(3)
    await finished(replayId)
    const deliveries = await deliveriesOf(endpointId)
    expect(deliveries.map(({ event_id }) => event_id)).toEqual([first, bounced, second])
    expect(new Set(deliveries.map(({ origin, status }) => `${origin} ${status}`))).toEqual(new Set(["event pending"]))
    const jobs = await jobsOf(endpointId)
    expect(jobs.map(({ id }) => id)).toEqual(deliveries.map(({ id }) => id).toSorted())
    expect(jobs.every(({ lane, payload }) => lane === 1 && payload.startsWith("event "))).toBe(true)
    // all of it can be looked at
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
    expect((await deliveriesOf(endpointId)).map(({ event_id }) => event_id).toSorted()).toEqual(
      [lookup!, search!].toSorted()
    )
    expect(await replay(ask, path, { since: createdAt })).toMatchObject({ count: 1 })
    const [service] = ["platform.*"]
    expect(await replay(ask, path, { since: createdAt, types: [service] })).toMatchObject({ count: 0 })
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
    const pending = (await deliveriesOf(endpointId)).filter(({ status }) => status === "pending")
    expect(pending.map(({ event_id }) => event_id).toSorted()).toEqual(events.toSorted())
    // and now all of them are
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
    const deliveries = await deliveriesOf(endpointId)
    expect(deliveries).toHaveLength(4_505)
    expect(new Set(deliveries.map(({ event_id }) => event_id)).size).toBe(4_505)
    expect(await jobsOf(endpointId)).toHaveLength(4_505)
  })

  it("409 while Paused or Disabled", async () => {
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

  it("at most 30 days back; since before until; types are patterns: else 400", async () => {
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
    expect((await deliveriesOf(endpointId)).map(({ event_id }) => event_id)).toEqual([missed])
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
      // a batch of it is under way
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
    expect(await deliveriesOf(endpointId)).toEqual([])
  })
})
