/**
 * Sends replays (docs/platform.md, 6.7). A supervised fiber turns the events of each replay into deliveries, batch by
 * batch. A batch and the replay's progress are one transaction, so that after a crash the replay continues at its
 * place. Several nodes may run this: a node locks the row of the replay that it works on. Needs `SqlClient`,
 * `DayPartitions`, `ReplaySignal` and the table of jobs; waiting deliveries are in PostgreSQL.
 */

import { Clock, Duration, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { superviseLoop } from "../../common/superviseLoop.ts"
import { eventRetentionMillis, eventsTable } from "../../events/index.ts"
import { DayPartitions } from "../../postgres/dayPartitions.ts"
import { unnest } from "../../postgres/unnest.ts"
import * as WorkQueue from "../../postgres/WorkQueue.ts"
import { DispatcherWakeup } from "../delivery/DispatchFeed.ts"
import { deliveriesTable, deliveryIdOf, encodePayload, jobLanes, jobsTable, replaysTable } from "../delivery/model.ts"
import { lineOf } from "../endpoint/deliveryOrder.ts"
import { changedEndpoints } from "../endpoint/rows.ts"
import { ReplaySignal } from "./ReplaySignal.ts"
import { eventsOf } from "./range.ts"

/** Most deliveries that one transaction makes. */
export const replayBatch = 2_000

/**
 * How many of an endpoint's newest other replays are searched for pending deliveries. An event that only an older
 * replay has pending is sent twice.
 */
const regardedReplays = 20

/** How often it looks for replays without a notification, such as those that a killed node has left. */
const lookIntervalMillis = 30_000

/** After a failure it looks sooner. */
const retryMillis = 1_000

/** Finished replays are kept as long as events are, and removed in an hourly round. */
const sweepIntervalMillis = 60 * 60 * 1000

interface Row {
  readonly id: string
  readonly organization_id: string
  readonly endpoint_id: string
  readonly partition: number
  readonly since_at: number
  readonly until_at: number
  readonly patterns: string
  readonly types: string | null
  readonly livemode: boolean
  readonly after_created_at: number
  readonly after_sequence: number
  readonly after_idx: number
  /** Its place in the log; null of one that is older than lines. */
  readonly sequence: number | null
  /** Deliveries that it has made so far. */
  readonly sent: number
}

interface Found {
  readonly event_id: string
  readonly type: string
  readonly created_at: number
  readonly sequence: number
  readonly idx: number
}

/** An event with the line of its delivery; null outside of lines. */
interface LinedEvent extends Found {
  readonly line: string | null
}

interface Stores {
  readonly sql: SqlClient.SqlClient
  readonly days: DayPartitions["Service"]
  readonly jobs: WorkQueue.WorkQueue
}

/** The next events of a replay, in order. */
const eventsAfter = (sql: SqlClient.SqlClient, row: Row, limit: number) => {
  const range = {
    organizationId: row.organization_id,
    endpointId: row.endpoint_id,
    // Days before the place are not read.
    since: row.after_created_at,
    until: row.until_at,
    patterns: JSON.parse(row.patterns) as ReadonlyArray<string>,
    types: row.types === null ? null : (JSON.parse(row.types) as ReadonlyArray<string>),
    livemode: row.livemode
  }
  return sql<Found>`
    select e.event_id, e.type, e.created_at, e.sequence, e.idx ${eventsOf(sql, range)}
      and (e.created_at, e.sequence, e.idx) > (${row.after_created_at}, ${row.after_sequence}, ${row.after_idx}::int4)
    order by e.created_at, e.sequence, e.idx limit ${limit}`
}

/**
 * Keeps the events without a pending delivery to the endpoint. It looks up the ids that such a delivery can have,
 * because an endpoint may have as many pending deliveries as events.
 */
const withoutPending = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, row: Row, events: ReadonlyArray<Found>) {
  const others = yield* sql<{ readonly id: string }>`
    select id from ${sql(replaysTable)}
    where endpoint_id = ${row.endpoint_id} and id <> ${row.id}
      and since_at < ${row.until_at} and until_at > ${row.since_at}
    order by created_at desc limit ${regardedReplays}`
  const origins = ["", ...others.map(({ id }) => id)]
  const candidates = events.flatMap((event) =>
    origins.map((origin) => ({
      id: deliveryIdOf(event.event_id, row.endpoint_id, origin),
      event_created_at: event.created_at
    }))
  )
  const pending = yield* sql<{ readonly event_id: string }>`
    select d.event_id from ${unnest(candidates, { id: "text", event_created_at: "int8" })}
    join ${sql(deliveriesTable)} d on d.id = batch.id and d.event_created_at = batch.event_created_at
    where d.status = 'pending'`
  const ids = new Set(pending.map(({ event_id }) => event_id))
  return events.filter(({ event_id }) => !ids.has(event_id))
})

/**
 * The lines of events at the endpoint, by its order as it is now. The events of a replay have the place of its request:
 * behind everything from before, ahead of everything from after.
 */
const withLines = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, row: Row, events: ReadonlyArray<Found>) {
  const withoutLines = events.map((event): LinedEvent => ({ ...event, line: null }))
  const [folded] = yield* changedEndpoints([{ endpointId: row.endpoint_id, sequence: 0 }], "left out")
  const ordering = folded?.endpoint?.ordering
  if (ordering === undefined || ordering === null || row.sequence === null || events.length === 0) return withoutLines
  const bodies = yield* sql<{ readonly event_id: string; readonly body: string }>`
    select e.event_id, e.body from ${unnest(
      events.map(({ created_at, event_id }) => ({ event_id, created_at })),
      { event_id: "text", created_at: "int8" }
    )}
    join ${sql(eventsTable)} e on e.organization_id = ${row.organization_id} and e.created_at = batch.created_at
      and e.event_id = batch.event_id
    where e.created_at between ${events[0]!.created_at} and ${events.at(-1)!.created_at}`
  const byId = new Map(bodies.map(({ body, event_id }) => [event_id, body]))
  return withoutLines.map((event): LinedEvent => {
    const body = byId.get(event.event_id)
    return body === undefined ? event : { ...event, line: lineOf(ordering, JSON.parse(body).data) ?? null }
  })
})

/** The lane of a delivery, and its place in its line. */
const laneOf = ({ sent, sequence }: Row, { line }: LinedEvent, index: number) =>
  line === null || sequence === null
    ? // In another lane than first attempts of new events, so that a replay does not delay those.
      { lane: jobLanes.retry }
    : { lane: jobLanes.line, line: { name: line, place: sequence, index: sent + index } }

/** Makes deliveries of events, and the jobs that send them. */
const deliver = Effect.fnUntraced(function* (
  { days, jobs, sql }: Stores,
  row: Row,
  events: ReadonlyArray<LinedEvent>,
  now: number
) {
  if (events.length === 0) return
  const made = events.map((event) => ({
    id: deliveryIdOf(event.event_id, row.endpoint_id, row.id),
    event_id: event.event_id,
    event_type: event.type,
    event_created_at: event.created_at
  }))
  yield* days.ensureDays(
    deliveriesTable,
    made.map((one) => one.event_created_at)
  )
  yield* sql`
    insert into ${sql(deliveriesTable)} (id, event_id, event_type, event_created_at, organization_id, endpoint_id, origin,
      created_at, status, attempts, attempt_log, next_attempt_at, replay_id)
    select batch.*, ${row.organization_id}, ${row.endpoint_id}, 'event', ${now}::int8, 'pending', 0, '[]', ${now}::int8,
      ${row.id}
    from ${unnest(made, { id: "text", event_id: "text", event_type: "text", event_created_at: "int8" })}
    on conflict do nothing`
  yield* jobs.put(
    made.map((one, index) => ({
      id: one.id,
      partition: row.partition,
      group: row.endpoint_id,
      ...laneOf(row, events[index]!, index),
      dueAt: now,
      expiresAt: one.event_created_at + eventRetentionMillis,
      payload: encodePayload({
        organizationId: row.organization_id,
        eventId: one.event_id,
        eventCreatedAt: one.event_created_at,
        origin: "event"
      })
    }))
  )
})

/** Makes the sender of replays. `batch` is how many deliveries one transaction makes. */
export const make = (batch: number = replayBatch) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const stores: Stores = { sql, days: yield* DayPartitions, jobs: yield* WorkQueue.make(jobsTable) }
    const { wake } = yield* DispatcherWakeup

    /** Sends one batch of a replay, or nothing when another node works on it or it is over. */
    const step = Effect.fnUntraced(function* (id: string) {
      const now = yield* Clock.currentTimeMillis
      const [row] = yield* sql<Row>`
        select * from ${sql(replaysTable)} where id = ${id} and finished_at is null for update skip locked`
      if (row === undefined) return Option.none<Row>()
      const events = yield* eventsAfter(sql, row, batch)
      const sent = events.length === 0 ? events : yield* withoutPending(sql, row, events)
      yield* deliver(stores, row, yield* withLines(sql, row, sent), now)
      const last = events.at(-1)
      const over = events.length < batch
      yield* sql`
        update ${sql(replaysTable)} set sent = sent + ${sent.length},
          after_created_at = ${last?.created_at ?? row.after_created_at},
          after_sequence = ${last?.sequence ?? row.after_sequence}, after_idx = ${last?.idx ?? row.after_idx},
          status = ${over ? "done" : "running"}, finished_at = ${over ? now : null}
        where id = ${id}`
      return Option.some(row)
    }, sql.withTransaction)

    /** Sends all replays in turn, so that a long one does not delay the others. */
    const sendAll = Effect.gen(function* () {
      for (;;) {
        const open = yield* sql<{ readonly id: string }>`
          select id from ${sql(replaysTable)} where finished_at is null order by sent, created_at, id limit 100`
        let isIdle = true
        for (const { id } of open) {
          const sent = yield* step(id)
          if (Option.isNone(sent)) continue
          isIdle = false
          yield* wake(sent.value.partition, sent.value.endpoint_id)
        }
        if (isIdle) return
      }
    })

    const sweep = Effect.gen(function* () {
      const before = (yield* Clock.currentTimeMillis) - eventRetentionMillis
      yield* sql`delete from ${sql(replaysTable)} where finished_at < ${before}`
    })

    return { sendAll, sweep }
  })

/** The fibers that send replays and remove old ones. A failure is logged and tried again. */
export const layer: Layer.Layer<never, never, SqlClient.SqlClient | DayPartitions | ReplaySignal> = Layer.effectDiscard(
  Effect.gen(function* () {
    const signal = yield* ReplaySignal
    const { sendAll, sweep } = yield* make()
    const options = { failed: "Replays of webhooks could not be sent", retryMillis }
    const look = Effect.timeoutOption(signal.wait, Duration.millis(lookIntervalMillis))
    yield* Effect.forkScoped(superviseLoop(Effect.andThen(sendAll, look), options))
    yield* Effect.forkScoped(
      superviseLoop(Effect.andThen(sweep, Effect.sleep(Duration.millis(sweepIntervalMillis))), options)
    )
  })
)
