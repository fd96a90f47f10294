/**
 * Writes the outcomes of deliveries to PostgreSQL: those of attempts with their jobs and figures, and those of
 * deliveries that end without one. Statements only; `DeliveryStorePostgres.ts` runs them. Needs `SqlClient`.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { unnest } from "../../postgres/unnest.ts"
import type { JobOutcome, WorkQueue } from "../../postgres/WorkQueue.ts"
import { endpointsTable } from "../endpoint/model.ts"
import { addingAttempts } from "../metrics/attemptHours.ts"
import { countedAttempt } from "../metrics/countAttempts.ts"
import { type DeliveryStatus, deliveriesTable, maximumShownAttempts, retryLaneOf } from "./model.ts"
import type { DeliveryOutcome } from "./ports.ts"

/** The services for writing an outcome. */
interface Recording {
  readonly sql: SqlClient.SqlClient
  readonly queue: WorkQueue
}

/** The key of a delivery's row. */
export interface DeliveryKey {
  readonly id: string
  readonly eventCreatedAt: number
}

/** The effect of an outcome on the delivery's job. */
export const jobOutcome = ({ delivery: { attempt, id, line }, result }: DeliveryOutcome): JobOutcome => {
  switch (result._tag) {
    case "Settled":
      return { _tag: "Done", id, attempt }
    case "Again":
      return { _tag: "Again", id, attempt, dueAt: result.dueAt, lane: retryLaneOf(line) }
    case "Returned":
      return { _tag: "Returned", id, attempt, dueAt: result.dueAt }
  }
}

/** The new values of a delivery's row; without a status when the status stays. */
const writtenRow = (outcome: DeliveryOutcome, place: number, now: number) => {
  const { delivery, made, result } = outcome
  const counted = countedAttempt(outcome)
  return {
    id: delivery.id,
    endpoint_id: delivery.endpointId,
    event_created_at: delivery.eventCreatedAt,
    status: result._tag === "Settled" ? result.status : result._tag === "Again" ? "pending" : null,
    next_attempt_at: result._tag === "Settled" ? null : result.dueAt,
    settled_at: result._tag === "Settled" ? now : null,
    made: made === null ? 0 : 1,
    entry: made === null ? "" : JSON.stringify([made]),
    place,
    ended_at: made === null ? null : made.at + made.duration,
    answered: made === null ? null : made.status,
    hour: counted?.hour,
    has_succeeded: counted?.hasSucceeded === true,
    is_retried: counted?.isRetried === true,
    bucket: counted?.bucket
  }
}

/** Restricts a column to the days from the first to the last time, so that only their tables are read. */
export const between = (sql: SqlClient.SqlClient, column: string, times: ReadonlyArray<number>) => {
  let first = Number.MAX_SAFE_INTEGER
  let last = 0
  for (const time of times) {
    if (time < first) first = time
    if (time > last) last = time
  }
  return sql`${sql(column)} between ${first} and ${last}`
}

/** Ends deliveries without an attempt. */
export const endAll = (
  sql: SqlClient.SqlClient,
  keys: ReadonlyArray<DeliveryKey>,
  status: DeliveryStatus,
  now: number
) =>
  keys.length === 0
    ? Effect.void
    : Effect.asVoid(sql`
        update ${sql(deliveriesTable)} d set status = ${status}, next_attempt_at = null, settled_at = ${now}
        from ${unnest(
          keys.map(({ eventCreatedAt, id }) => ({ id, event_created_at: eventCreatedAt })),
          { id: "text", event_created_at: "int8" }
        )}
        where d.id = batch.id and d.event_created_at = batch.event_created_at
          and ${between(
            sql,
            "d.event_created_at",
            keys.map((key) => key.eventCreatedAt)
          )} and d.status = 'pending'`)

/**
 * Records the jobs, the rows of the outcomes that count, the last attempt of each endpoint and the figures of its
 * attempts in one statement, where a transaction would take six round trips per batch. Returns the ids of the outcomes that counted.
 */
export const recordAll = ({ queue, sql }: Recording, outcomes: ReadonlyArray<DeliveryOutcome>, now: number) => {
  const deliveries = sql(deliveriesTable)
  const endpoints = sql(endpointsTable)
  // When the answer to a commit was lost, the outcome comes again, and the same attempt must neither show nor count
  // twice. All of it was recorded before.
  const isNew = sql`(w.made = 0 or right(d.attempt_log, length(w.entry) - 1) <> substr(w.entry, 2))`

  return sql<{ readonly id: string }>`
    with ${queue.settling(outcomes.map(jobOutcome))}, written as materialized (
      select batch.* from ${unnest(
        outcomes.map((outcome, place) => writtenRow(outcome, place, now)),
        {
          id: "text",
          endpoint_id: "text",
          event_created_at: "int8",
          status: "text",
          next_attempt_at: "int8",
          settled_at: "int8",
          made: "int4",
          entry: "text",
          place: "int4",
          ended_at: "int8",
          answered: "int4",
          hour: "int8",
          has_succeeded: "bool",
          is_retried: "bool",
          bucket: "int4"
        }
      )}
      join counted on counted.id = batch.id
      where batch.status is not null
    ), recorded as (
      update ${deliveries} d
      set status = w.status, next_attempt_at = w.next_attempt_at, settled_at = w.settled_at,
        attempts = d.attempts + w.made,
        attempt_log = case
          when w.made = 0 then d.attempt_log
          when d.attempt_log = '[]' then w.entry
          when d.attempts < ${maximumShownAttempts} then left(d.attempt_log, -1) || ',' || substr(w.entry, 2)
          else (
            select '[' || string_agg(value::text, ',' order by place) || ']'
            from json_array_elements((left(d.attempt_log, -1) || ',' || substr(w.entry, 2))::json)
              with ordinality as entries (value, place)
            where place > 1
          )
        end
      from written w
      where d.id = w.id and d.event_created_at = w.event_created_at
        and ${between(
          sql,
          "d.event_created_at",
          outcomes.map(({ delivery }) => delivery.eventCreatedAt)
        )} and ${isNew}
      returning w.endpoint_id, w.hour, w.has_succeeded, w.is_retried, w.bucket
    ), answered as (
      update ${endpoints} e set last_delivery_at = last.ended_at, last_delivery_status = last.answered
      from (
        -- in one order everywhere, so that two who write do not wait for each other
        select distinct on (endpoint_id collate "C") endpoint_id, ended_at, answered from written where made = 1
        order by endpoint_id collate "C", ended_at desc, place desc
      ) last
      where e.id = last.endpoint_id and (e.last_delivery_at is null or e.last_delivery_at <= last.ended_at)
      returning 1
    ), figures as (
      ${addingAttempts(
        sql,
        sql`select * from recorded where hour is not null`,
        // The endpoints' rows come first, here and in the reactor's transactions.
        sql`(select count(*) from answered) >= 0`
      )}
    )
    select id from counted`
}
