/**
 * Finds and takes the first deliveries of lines in PostgreSQL (docs/platform.md, 7.10). A line is a part of the work
 * queue whose jobs have an order: their place is that of their event in the log, those of a replay have the place of its
 * request. Statements only; `DeliveryStorePostgres.ts` runs them. Needs `SqlClient`.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { unnest } from "../../postgres/unnest.ts"
import type { TakenJob } from "../../postgres/WorkQueue.ts"
import { jobLanes, jobsTable, replaysTable } from "./model.ts"
import type { DeliveryLine, LineClaim } from "./ports.ts"

/** A taken job of a line. */
export interface TakenLineJob extends TakenJob {
  readonly line: string
  /** Its number among those of its line that could be taken, from 1. */
  readonly nth: number
}

/**
 * Takes the first jobs of lines, as far as they are due. The jobs come in order. Those of a line may lack the first ones
 * where another process takes the same ones at this moment.
 */
export const takeLines = (
  sql: SqlClient.SqlClient,
  partition: number,
  claims: ReadonlyArray<LineClaim>,
  { leasedUntil, now }: { readonly now: number; readonly leasedUntil: number }
) =>
  Effect.map(
    sql<TakenLineJob>`
      with chosen as materialized (
        select job.id, job.nth
        from ${unnest(
          claims.map(({ endpointId, limit, line }) => ({ group_key: endpointId, line, wanted: limit })),
          { group_key: "text", line: "text", wanted: "int4" }
        )}
        cross join lateral (
          select first.id, first.nth from (
            select t.id, row_number() over (order by t.place, t.place_index) as nth,
              bool_and(t.due_at <= ${now} and not exists (
                select 1 from ${sql(replaysTable)} r
                where r.endpoint_id = t.group_key and r.finished_at is null and r.sequence < t.place
              )) over (order by t.place, t.place_index rows unbounded preceding) as is_free
            from (
              select * from ${sql(jobsTable)} j
              where j.partition = ${partition} and j.group_key = batch.group_key and j.line = batch.line
                and j.lane = ${jobLanes.line}::int2 and j.due_at is not null
              order by j.place, j.place_index limit batch.wanted
            ) t
          ) first where first.is_free
        ) job
      )
      update ${sql(jobsTable)} t set attempts = t.attempts + 1, due_at = ${leasedUntil}
      where t.id = any(array(select id from chosen)) and t.due_at <= ${now}
      returning t.id, t.group_key as "group", t.lane, t.attempts as attempt, t.due_at as "leasedUntil",
        t.expires_at as "expiresAt", t.payload, t.line, (select nth from chosen c where c.id = t.id) as nth`,
    (jobs) =>
      [...jobs].sort((one, other) => (one.line < other.line ? -1 : one.line > other.line ? 1 : one.nth - other.nth))
  )

/** The lines of an endpoint in order, with the first job of each, behind one. */
export const findLines = (
  sql: SqlClient.SqlClient,
  partition: number,
  endpointId: string,
  { after, limit }: { readonly after: string; readonly limit: number }
) =>
  // From line to line through the index, without the jobs between.
  sql<DeliveryLine>`
    with recursive found as (
      (select line, id, due_at, place, place_index from ${sql(jobsTable)}
       where partition = ${partition} and group_key = ${endpointId} and line > ${after}
         and lane = ${jobLanes.line}::int2 and due_at is not null
       order by line, place, place_index limit 1)
      union all
      (select next.line, next.id, next.due_at, next.place, next.place_index
       from found cross join lateral (
         select line, id, due_at, place, place_index from ${sql(jobsTable)} t
         where t.partition = ${partition} and t.group_key = ${endpointId} and t.line > found.line
           and t.lane = ${jobLanes.line}::int2 and t.due_at is not null
         order by t.line, t.place, t.place_index limit 1
       ) next)
    )
    select found.line, found.id as "headId", found.due_at as "dueAt", not exists (
        select 1 from ${sql(jobsTable)} o
        where o.partition = ${partition} and o.group_key = ${endpointId} and o.line = found.line
          and (o.place, o.place_index) > (found.place, found.place_index) and o.lane = ${jobLanes.line}::int2
      ) as "isAlone"
    from found limit ${limit}`

/** Whether deliveries of a replay of the endpoint are still to be put into the queue. */
export const isReplaying = (sql: SqlClient.SqlClient, endpointId: string) =>
  Effect.map(
    sql`select 1 from ${sql(replaysTable)} where endpoint_id = ${endpointId} and finished_at is null limit 1`,
    (rows) => rows.length > 0
  )
