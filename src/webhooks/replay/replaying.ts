/**
 * Replays in PostgreSQL (docs/platform.md, 6.7): which events a replay covers, and the part of the SQL reactor that
 * records requested ones. A replay's events are fixed by its place in the log, behind all events of its interval. Needs
 * `SqlClient`.
 */
import { Context, Effect, Layer, Queue, Result } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { ReactorTransaction } from "../../engine/Cursors.ts"
import type { FactRecord, LogRecord } from "../../engine/records.ts"
import { eventsTable } from "../../events/migrations.ts"
import { type EventPattern, parsePatterns } from "../../events/patterns.ts"
import { unnest } from "../../postgres/unnest.ts"
import { deliveriesTable } from "../delivery/model.ts"
import type { EndpointFact } from "../endpoint/model.ts"
import { WebhookEndpoint } from "../endpoint/rules.ts"

export const replaysTable = "webhook_replays"

/** Tells the sender of replays that there is one. */
export class ReplaySignal extends Context.Service<
  ReplaySignal,
  {
    readonly notify: () => void
    /** Waits until there was a `notify` since the last wait. */
    readonly wait: Effect.Effect<void>
  }
>()("sluice/webhooks/ReplaySignal") {
  static readonly layer: Layer.Layer<ReplaySignal> = Layer.effect(
    ReplaySignal,
    Effect.map(Queue.sliding<void>(1), (queue) =>
      ReplaySignal.of({ notify: () => void Queue.offerUnsafe(queue, undefined), wait: Queue.take(queue) })
    )
  )
}

/** What a replay covers. */
export interface ReplayRange {
  readonly organizationId: string
  readonly endpointId: string
  /** Milliseconds since the Unix epoch; `until` is exclusive. */
  readonly since: number
  readonly until: number
  readonly patterns: ReadonlyArray<string>
  /** Further patterns, of which one must match too; null for none. */
  readonly types: ReadonlyArray<string> | null
}

/** Whether an event of the row `e` matches one of the patterns. A stored pattern that this version would refuse matches nothing. */
const matching = (sql: SqlClient.SqlClient, texts: ReadonlyArray<string>): Statement.Fragment => {
  const patterns = Result.getOrElse(parsePatterns(texts), (): ReadonlyArray<EventPattern> => [])
  if (patterns.some(({ _tag }) => _tag === "All")) return sql`true`
  const exact = patterns.flatMap((pattern) => (pattern._tag === "Exact" ? [pattern.type] : []))
  const prefixes = patterns.flatMap((pattern) => (pattern._tag === "Prefix" ? [pattern.prefix] : []))
  const services = patterns.flatMap((pattern) => (pattern._tag === "Prefix" ? (pattern.service ?? []) : []))
  return sql`(e.type = any(${exact}::text[]) or e.service = any(${services}::text[])
    or exists (select 1 from unnest(${prefixes}::text[]) as prefix where starts_with(e.type, prefix)))`
}

/** The matching events `e` of a replay, without test events, which are only for the tested endpoint. */
export const eventsOf = (sql: SqlClient.SqlClient, range: ReplayRange): Statement.Fragment => sql`
  from ${sql(eventsTable)} e
  where e.organization_id = ${range.organizationId} and e.created_at >= ${range.since} and e.created_at < ${range.until}
    and e.type <> 'platform.test'
    and ${matching(sql, range.patterns)} and ${range.types === null ? sql`true` : matching(sql, range.types)}`

/**
 * The events that a replay sends: those without a pending delivery to this endpoint. Reads all of the endpoint's
 * pending deliveries.
 */
export const sentEventsOf = (sql: SqlClient.SqlClient, range: ReplayRange): Statement.Fragment => sql`
  ${eventsOf(sql, range)}
    and not exists (
      select 1 from ${sql(deliveriesTable)} d
      where d.endpoint_id = ${range.endpointId} and d.event_created_at = e.created_at and d.event_id = e.event_id
        and d.status = 'pending'
    )`

const isOurs = (record: LogRecord): record is FactRecord => {
  if (record._tag !== "Fact" || record.kind !== WebhookEndpoint.kind) return false
  const { _tag } = record.fact as EndpointFact
  return _tag === "ReplayRequested" || _tag === "Deleted"
}

const begin = (record: FactRecord, fact: Extract<EndpointFact, { readonly _tag: "ReplayRequested" }>) => ({
  id: fact.replayId,
  organization_id: record.organization,
  endpoint_id: record.key,
  partition: record.partition,
  since_at: fact.since,
  until_at: fact.until,
  patterns: JSON.stringify(fact.patterns),
  types: fact.types === null ? null : JSON.stringify(fact.types),
  created_at: record.now
})

const project = Effect.fnUntraced(function* (records: ReadonlyArray<FactRecord>) {
  const sql = yield* SqlClient.SqlClient
  const signal = yield* ReplaySignal
  const { onCommit } = yield* ReactorTransaction
  const requested = records.flatMap((record) => {
    const fact = record.fact as EndpointFact
    return fact._tag === "ReplayRequested" ? [begin(record, fact)] : []
  })
  if (requested.length > 0) {
    yield* sql`
      insert into ${sql(replaysTable)} (id, organization_id, endpoint_id, partition, since_at, until_at, patterns, types,
        created_at, sent, after_created_at, after_sequence, after_idx, status)
      select batch.*, 0, batch.since_at, -1, -1, 'running' from ${unnest(requested, {
        id: "text",
        organization_id: "text",
        endpoint_id: "text",
        partition: "int4",
        since_at: "int8",
        until_at: "int8",
        patterns: "text",
        types: "text",
        created_at: "int8"
      })}
      on conflict (id) do nothing`
    onCommit(signal.notify)
  }
  const deleted = records.flatMap((record) =>
    (record.fact as EndpointFact)._tag === "Deleted" ? [{ id: record.key, now: record.now }] : []
  )
  if (deleted.length > 0)
    yield* sql`
      update ${sql(replaysTable)} r set status = 'cancelled', finished_at = batch.now
      from ${unnest(deleted, { id: "text", now: "int8" })}
      where r.endpoint_id = batch.id and r.finished_at is null`
})

/**
 * The part of the SQL reactor that records replays. It stands before the part that cancels the deliveries of a deleted
 * endpoint: it waits for a running batch of a replay, so that the batch's deliveries are cancelled with the others.
 */
export const replayProjection = {
  wants: isOurs,
  handle: (records: ReadonlyArray<LogRecord>) => project(records.filter(isOurs))
}
