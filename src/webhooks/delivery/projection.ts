/**
 * Matches events with endpoints in their state at that place in the log, as part of the SQL reactor's batch
 * (docs/platform.md, 6.4): it folds the facts of endpoints into their rows, writes deliveries, skipped events and jobs,
 * and hands the dispatcher the deliveries that it can begin immediately. The same records give the same rows, so that a
 * second run changes nothing. Needs `SqlClient`, `DayPartitions`, `DispatchFeed`, `SigningSecrets` and `EventAppend`.
 */
import { Clock, Context, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { ReactorTransaction } from "../../engine/ports/Cursors.ts"
import type { EventRecord, FactRecord, LogRecord } from "../../engine/records.ts"
import { DayPartitions } from "../../postgres/dayPartitions.ts"
import { deferred } from "../../postgres/deferredStatements.ts"
import { unnest } from "../../postgres/unnest.ts"
import { make as makeWorkQueue, maximumBatch } from "../../postgres/WorkQueue.ts"
import { endpointsTable } from "../endpoint/model.ts"
import { endpointsOf, saveEndpoints } from "../endpoint/rows.ts"
import { WebhookEndpoint } from "../endpoint/rules.ts"
import { addAttemptHours } from "../metrics/attemptHours.ts"
import { countAttempts } from "../metrics/countAttempts.ts"
import { type CommittedDeliveries, DispatchFeed } from "./DispatchFeed.ts"
import { type FindWritten, MatchedBatch, type PlacedEvent } from "./matchEvents.ts"
import { deliveriesTable, jobsTable, skippedTable } from "./model.ts"
import { SigningSecrets } from "./ports.ts"

/** Rows in one statement at most. */
const maximumRows = Math.min(4_000, maximumBatch)

export type { PlacedEvent }

/**
 * Writes the events of test requests, which are facts of endpoints, into the event log, in the caller's transaction.
 */
export class EventAppend extends Context.Service<
  EventAppend,
  { readonly append: (events: ReadonlyArray<PlacedEvent>) => Effect.Effect<void, unknown> }
>()("sluice/webhooks/EventAppend") {}

const isEndpointFact = (record: LogRecord): record is FactRecord =>
  record._tag === "Fact" && record.kind === WebhookEndpoint.kind

const isOurs = (record: LogRecord): record is FactRecord | EventRecord =>
  record._tag === "Event" || isEndpointFact(record)

const chunksOf = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  items.length <= maximumRows
    ? [items]
    : Array.from({ length: Math.ceil(items.length / maximumRows) }, (_, at) =>
        items.slice(at * maximumRows, (at + 1) * maximumRows)
      )

/** Writes the rows that were collected so far. */
const write = Effect.fnUntraced(function* (batch: MatchedBatch) {
  const sql = yield* SqlClient.SqlClient
  const days = yield* DayPartitions
  const queue = yield* makeWorkQueue(jobsTable)
  const { deliveries, jobs, skipped } = batch
  batch.deliveries = []
  batch.jobs = []
  batch.skipped = []
  if (deliveries.length > 0) {
    yield* days.ensureDays(
      deliveriesTable,
      deliveries.map((row) => row.event_created_at)
    )
    for (const rows of chunksOf(deliveries)) {
      const insert = sql`
        insert into ${sql(deliveriesTable)} (id, organization_id, endpoint_id, event_id, event_type, event_created_at,
          origin, created_at, status, attempts, attempt_log, next_attempt_at, settled_at)
        select id, organization_id, endpoint_id, event_id, event_type, event_created_at,
          origin, event_created_at, status, attempts, attempt_log, next_attempt_at, settled_at
        from ${unnest(rows, {
          id: "text",
          organization_id: "text",
          endpoint_id: "text",
          event_id: "text",
          event_type: "text",
          event_created_at: "int8",
          origin: "text",
          status: "text",
          attempts: "int4",
          attempt_log: "text",
          next_attempt_at: "int8",
          settled_at: "int8"
        })}
        on conflict do nothing`
      yield* deferred(sql, insert)
    }
    for (const some of chunksOf(jobs)) yield* queue.put(some)
  }
  if (skipped.length > 0) {
    yield* days.ensureDays(
      skippedTable,
      skipped.map((row) => row.event_created_at)
    )
    for (const rows of chunksOf(skipped)) {
      const insert = sql`
        insert into ${sql(skippedTable)} (organization_id, endpoint_id, event_id, event_type, event_created_at, sequence, idx,
          reason)
        select * from ${unnest(rows, {
          organization_id: "text",
          endpoint_id: "text",
          event_id: "text",
          event_type: "text",
          event_created_at: "int8",
          sequence: "int8",
          idx: "int4",
          reason: "text"
        })}
        on conflict do nothing`
      yield* deferred(sql, insert)
    }
  }
})

/** Shows the last attempt of each endpoint, of those that were made before their rows, and counts all of them. */
const writeAnswers = Effect.fnUntraced(function* ({ answers, attempts }: MatchedBatch) {
  if (answers.length === 0) return
  const sql = yield* SqlClient.SqlClient
  yield* deferred(
    sql,
    sql`
      update ${sql(endpointsTable)} e set last_delivery_at = batch.ended_at, last_delivery_status = batch.answered
      from ${unnest(answers, { endpoint_id: "text", ended_at: "int8", answered: "int8" })}
      where e.id = batch.endpoint_id and (e.last_delivery_at is null or e.last_delivery_at <= batch.ended_at)`
  )
  yield* addAttemptHours(sql, countAttempts(attempts))
})

const project = Effect.fnUntraced(function* (records: ReadonlyArray<FactRecord | EventRecord>) {
  const feed = yield* DispatchFeed
  const transaction = yield* ReactorTransaction
  const { move } = transaction
  const organizations = new Set(records.map((record) => record.organization))
  if (move === undefined) for (const { partition } of records) feed.organizations.forget(partition)
  const known = feed.organizations.of(move)
  const unknown = [...organizations].filter((organization) => known(organization) === undefined)
  const endpoints = [...organizations].flatMap((organization) => known(organization) ?? [])
  if (unknown.length > 0) endpoints.push(...(yield* endpointsOf(unknown, feed.remembered)))
  const { tasks } = feed
  const findWritten: FindWritten = (place, endpointId) => tasks.written(place, endpointId)
  const batch = new MatchedBatch(endpoints, feed.listener(), yield* Clock.currentTimeMillis, findWritten)
  for (const record of records) {
    if (record._tag === "Fact") batch.fold(record)
    else batch.event(record)
    if (batch.rows >= maximumRows) yield* write(batch)
  }
  if (batch.tests.length > 0) yield* (yield* EventAppend).append(batch.tests)
  yield* write(batch)
  const changed = [...batch.changed.values()]
  if (changed.length > 0) yield* saveEndpoints(changed)
  yield* writeAnswers(batch)
  if (batch.forgotten.length > 0) yield* (yield* SigningSecrets).forget(batch.forgotten)
  const span = yield* Effect.option(Effect.currentSpan)
  if (Option.isSome(span)) for (const delivery of batch.taken) delivery.cause = span.value
  const { endpoints: current, queued, retries, taken } = batch
  const committed: CommittedDeliveries = { taken, queued, retries, endpoints: current }
  transaction.onCommit(() => {
    for (const folded of changed) feed.remembered.set(folded)
    if (move !== undefined)
      feed.organizations.committed(
        move,
        [...organizations].map((organization) => [organization, batch.endpointsOf(organization)] as const)
      )
    feed.listener()?.committed(committed)
    if (move === undefined) return
    for (const organization of organizations)
      tasks.seed(move.partition, organization, batch.endpointsOf(organization), move.to.sequence)
  })
})

/** The part of the SQL reactor that matches events with endpoints. Runs behind the one that writes the event log. */
export const dispatchProjection = {
  wants: isOurs,
  handle: (records: ReadonlyArray<LogRecord>) => project(records.filter(isOurs)),
  tasks: Effect.map(DispatchFeed, ({ tasks }) => [tasks])
}
