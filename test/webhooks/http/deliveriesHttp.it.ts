/**
 * Deliveries, skipped events and retries over HTTP (docs/platform.md, 7.7 and 7.8). The rows are written as the reactor
 * and the dispatcher leave them.
 */
import { describe, expect, it } from "vitest"
import { maximumScannedDeliveries } from "../../../src/webhooks/delivery/Deliveries.ts"
import { query } from "../../cli/support.ts"
import { newEventId, putDelivery, putSkipped } from "../delivery/rows.ts"
import { useWebhookPlatform } from "../platform.ts"
import { dayMillis, jobsOf, type Page, pagesOf, refused, withEndpointOf } from "./deliveriesSupport.ts"

const platform = useWebhookPlatform()
const db = () => platform().databaseUrl
const withEndpoint = () => withEndpointOf(platform())

const attempt = (more: object = {}) => ({
  at: 1_700_000_000_000,
  status: 500,
  duration: 12,
  response: "sorry",
  error: null,
  ...more
})

describe("GET …/deliveries", () => {
  it("[platform 7.7] lists an endpoint's deliveries, newest first, page by page, whatever day they are of", async () => {
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

  it("has 25 on a page by default, and at most 100", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    for (let at = 0; at < 26; at++) await putDelivery(db(), { endpointId, organization })
    expect(((await ask("GET", `${path}/deliveries`)).body as Page).data).toHaveLength(25)
    expect(((await ask("GET", `${path}/deliveries?limit=100`)).body as Page).data).toHaveLength(26)
  })

  it("a cursor of another endpoint is 400", async () => {
    const { ask, endpointId, organization, path, tenant } = await withEndpoint()
    for (let at = 0; at < 2; at++) await putDelivery(db(), { endpointId, organization })
    const { pagination } = (await ask("GET", `${path}/deliveries?limit=1`)).body as Page
    const cursor = pagination.nextCursor!
    const other = await tenant.endpoint()
    const reply = await ask("GET", `/v1/webhooks/${other}/deliveries?cursor=${cursor}`)
    expect({ status: reply.status, body: reply.body }).toStrictEqual(
      refused(400, "invalid_request", expect.stringContaining("cursor"))
    )
  })

  it("a stale cursor, whose place is no longer kept, is 400", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const createdAt = Date.now() - 30 * dayMillis - 60_000
    for (let at = 0; at < 2; at++) {
      await putDelivery(db(), { endpointId, organization }, { eventCreatedAt: createdAt, createdAt })
      await putSkipped(db(), { endpointId, organization }, { createdAt, sequence: at, reason: "paused" })
    }
    for (const list of ["deliveries", "skipped"]) {
      const { pagination } = (await ask("GET", `${path}/${list}?limit=1`)).body as Page
      const reply = await ask("GET", `${path}/${list}?limit=1&cursor=${pagination.nextCursor}`)
      expect({ status: reply.status, body: reply.body }).toStrictEqual(
        refused(400, "invalid_request", expect.stringContaining("cursor"))
      )
    }
  })

  it("shows each with its state, and a single one with what came of every attempt", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const attempts = [attempt(), attempt({ status: 0, response: null, error: "no answer within 15 s" })]
    const eventCreatedAt = Date.now() - 1_000
    const eventId = newEventId()
    const id = await putDelivery(db(), { endpointId, organization }, { eventId, eventCreatedAt, attempts })
    const listed = {
      id,
      endpointId,
      eventId,
      eventType: "telco.lookup.completed",
      eventCreatedAt,
      origin: "event",
      replayId: null,
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

describe("GET …/deliveries?status=…", () => {
  const statuses = ["pending", "succeeded", "failed", "expired", "cancelled"] as const

  it("[platform 7.1] lists those of one status, newest first, page by page", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const now = Date.now()
    const ids = new Map<string, Array<string>>(statuses.map((status) => [status, []]))
    for (let at = 0; at < 25; at++) {
      const status = statuses[(at * 3 + (at >> 2)) % 5]!
      const createdAt = now - at * 6 * 60 * 60 * 1000
      const delivery = { eventCreatedAt: createdAt, createdAt, status }
      ids.get(status)!.push(await putDelivery(db(), { endpointId, organization }, delivery))
    }
    for (const status of statuses) {
      const pages = await pagesOf(ask, `${path}/deliveries`, 2, `&status=${status}`)
      expect(pages.flatMap(({ data }) => data.map(({ id }) => id))).toEqual(ids.get(status))
      for (const { data } of pages) for (const delivery of data) expect(delivery).toMatchObject({ status })
      // No page but the last is short while nothing has to be looked through for long.
      expect(pages.slice(0, -1).every(({ data }) => data.length === 2)).toBe(true)
    }
  })

  it("another status is 400 quoting it and naming them all, as is one given twice", async () => {
    const { ask, path } = await withEndpoint()
    for (const status of ["delivered", "Failed", "failed,pending", ""]) {
      const reply = await ask("GET", `${path}/deliveries?status=${status}`)
      expect({ status: reply.status, body: reply.body }).toStrictEqual(
        refused(
          400,
          "invalid_request",
          `Invalid parameter 'status': "${status}". Expected one of pending, succeeded, failed, expired, cancelled.`
        )
      )
    }
    const twice = await ask("GET", `${path}/deliveries?status=failed&status=pending`)
    expect({ status: twice.status, body: twice.body }).toStrictEqual(
      refused(400, "invalid_request", "The parameter 'status' was given more than once.")
    )
  })

  it("goes through a bounded number of deliveries a page, and finds the rare one behind all others", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const now = Date.now()
    const failed = await putDelivery(
      db(),
      { endpointId, organization },
      { eventCreatedAt: now - 1, createdAt: now - 1 }
    )
    await putDelivery(db(), { endpointId, organization }, { eventCreatedAt: now, status: "succeeded" })
    await query(
      db(),
      `insert into webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type, event_created_at, origin,
         created_at, status, attempts, attempt_log, settled_at)
       select 'dlv_' || n || $2::text, $1, $2, 'evt_' || gen_random_uuid(), 'telco.lookup.completed', $3::int8, 'event',
         $3::int8 + n / 7, 'succeeded', 0, '[]', $3::int8
       from generate_series(1, $4::int4) n`,
      [organization, endpointId, now, 2 * maximumScannedDeliveries]
    )
    const first = (await ask("GET", `${path}/deliveries?status=failed`)).body as Page
    expect(first).toMatchObject({ data: [], pagination: { hasMore: true } })
    const pages = await pagesOf(ask, `${path}/deliveries`, 25, "&status=failed")
    expect(pages.flatMap(({ data }) => data.map(({ id }) => id))).toEqual([failed])
    expect(pages).toHaveLength(3)
    const full = await pagesOf(ask, `${path}/deliveries`, 100, "&status=succeeded")
    const listed = full.flatMap(({ data }) => data.map(({ id }) => id))
    expect(listed).toHaveLength(2 * maximumScannedDeliveries + 1)
    expect(new Set(listed).size).toBe(listed.length)
  })
})

describe("GET …/skipped", () => {
  it("[platform 6.4] lists the events that happened while it was Paused or Disabled, newest first", async () => {
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
  ])("[platform 7.8] sends a delivery that is %s once more: 202, pending, one job beside first attempts", async (status) => {
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
    expect(await jobsOf(db(), endpointId)).toEqual([
      { id, lane: 2, attempts: 0, payload: `retry ${eventCreatedAt} ${eventId} ${organization}` }
    ])
  })

  it("[platform 7.8] 409 while it is pending; of several at once one is done", async () => {
    const { ask, endpointId, organization, path } = await withEndpoint()
    const id = await putDelivery(db(), { endpointId, organization })
    const replies = await Promise.all(Array.from({ length: 8 }, () => ask("POST", `${path}/deliveries/${id}/retry`)))
    expect(replies.map(({ status }) => status).toSorted()).toEqual([202, ...Array.from({ length: 7 }, () => 409)])
    const again = await ask("POST", `${path}/deliveries/${id}/retry`)
    expect(again.body).toStrictEqual({ error: "conflict", message: `The delivery ${id} is still pending` })
    expect(await jobsOf(db(), endpointId)).toHaveLength(1)
  })

  it("[platform 7.8] 409 when Disabled; while Paused it is done", async () => {
    const { ask, endpointId, failures, organization, path } = await withEndpoint()
    const id = await putDelivery(db(), { endpointId, organization })
    await ask("PATCH", path, { is_active: false })
    const reply = await ask("POST", `${path}/deliveries/${id}/retry`)
    expect({ status: reply.status, body: reply.body }).toStrictEqual(
      refused(409, "conflict", expect.stringContaining("disabled"))
    )
    expect(await jobsOf(db(), endpointId)).toEqual([])
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
