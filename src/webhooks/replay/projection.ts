/**
 * Records requested replays, as part of the SQL reactor (docs/platform.md, 6.7). A replay's place in the log is behind
 * all events of its interval, and decides which it sends. Needs `SqlClient` and `ReplaySignal`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ReactorTransaction } from "../../engine/ports/Cursors.ts"
import type { FactRecord, LogRecord } from "../../engine/records.ts"
import { unnest } from "../../postgres/unnest.ts"
import { replaysTable } from "../delivery/model.ts"
import type { EndpointFact } from "../endpoint/model.ts"
import { WebhookEndpoint } from "../endpoint/rules.ts"
import { ReplaySignal } from "./ReplaySignal.ts"

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
  livemode: fact.livemode,
  sequence: record.sequence,
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
        livemode, sequence, created_at, sent, after_created_at, after_sequence, after_idx, status)
      select batch.*, 0, batch.since_at, -1, -1, 'running' from ${unnest(requested, {
        id: "text",
        organization_id: "text",
        endpoint_id: "text",
        partition: "int4",
        since_at: "int8",
        until_at: "int8",
        patterns: "text",
        types: "text",
        livemode: "bool",
        sequence: "int8",
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
 * The part of the SQL reactor that records replays. It comes before the part that cancels the deliveries of a deleted
 * endpoint: it waits for a running batch of a replay, so that the batch's deliveries are cancelled with the others.
 */
export const replayProjection = {
  wants: isOurs,
  handle: (records: ReadonlyArray<LogRecord>) => project(records.filter(isOurs))
}
