/**
 * Keeps the figures of attempts by endpoint and hour in PostgreSQL (docs/platform.md, 7.11). They are added with the
 * rows of the deliveries, by the same transaction or statement, so nothing is counted twice. Every
 * writer has written the endpoint's row before, so that no two wait for each other. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { bucketsOf } from "../../common/DurationHistogram.ts"
import { deferred } from "../../postgres/deferredStatements.ts"
import { type UnnestType, unnest } from "../../postgres/unnest.ts"
import { type AttemptHour, attemptMeasures, latencyBounds } from "./countAttempts.ts"

export const attemptHoursTable = "webhook_hours"

const buckets = bucketsOf(latencyBounds)

/** The columns of the buckets of latencies: t0 for the shortest. */
export const latencyColumns: ReadonlyArray<string> = Array.from({ length: buckets }, (_, bucket) => `t${bucket}`)

const countColumns: ReadonlyArray<string> = [...attemptMeasures, ...latencyColumns]

/** Each page has room: the rows of the present hour are written again and again, and no index changes with it. */
export const createAttemptHours = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table ${sql(attemptHoursTable)} (
      endpoint_id text collate "C" not null,
      hour int8 not null,
      ${sql.literal(countColumns.map((column) => `${column} int4 not null`).join(", "))},
      primary key (endpoint_id, hour)
    ) with (fillfactor = 50)`
  yield* sql`create index webhook_hours_old on ${sql(attemptHoursTable)} (hour)`
})

const listed = ["endpoint_id", "hour", ...countColumns].join(", ")
const sums = countColumns.map((column) => `${column} = h.${column} + excluded.${column}`).join(", ")

/** The statement that adds the rows of a query, whose columns are those of the table. */
const adding = (sql: SqlClient.SqlClient, rows: Statement.Fragment) => sql`
  insert into ${sql(attemptHoursTable)} as h (${sql.literal(listed)}) ${rows}
  on conflict (endpoint_id, hour) do update set ${sql.literal(sums)}`

// The names of the columns are the keys of what is given, so all of them have their type.
const types = {
  endpoint_id: "text",
  hour: "int8",
  ...Object.fromEntries(countColumns.map((column) => [column, "int4"]))
} as Readonly<Record<string, UnnestType>>

/** Adds figures, as part of the caller's transaction. */
export const addAttemptHours = (sql: SqlClient.SqlClient, hours: ReadonlyArray<AttemptHour>) => {
  if (hours.length === 0) return Effect.void
  const rows = hours.map(({ counts, endpointId, hour, times }) => ({
    endpoint_id: endpointId,
    hour,
    ...counts,
    ...Object.fromEntries(latencyColumns.map((column, bucket) => [column, times[bucket]]))
  }))
  return deferred(sql, adding(sql, sql`select * from ${unnest(rows, types)}`))
}

const countsOfBuckets = latencyColumns.map((_, bucket) => `count(*) filter (where bucket = ${bucket})`).join(", ")

/**
 * The part of a caller's statement that adds the attempts of a query, one row each: `endpoint_id`, `hour`,
 * `has_succeeded`, `is_retried` and `bucket`. `behind` must hold when it is evaluated, before anything is added.
 */
export const addingAttempts = (
  sql: SqlClient.SqlClient,
  attempts: Statement.Fragment,
  behind: Statement.Fragment
): Statement.Fragment =>
  adding(
    sql,
    sql`
      select endpoint_id, hour, count(*), count(*) filter (where has_succeeded), count(*) filter (where not has_succeeded),
        count(*) filter (where is_retried), ${sql.literal(countsOfBuckets)}
      from (${attempts}) attempt where ${behind}
      group by endpoint_id, hour order by endpoint_id collate "C", hour`
  )
