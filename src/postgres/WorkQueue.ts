/**
 * Keeps work that cannot be part of a transaction (a POST, a mail) in PostgreSQL, from the reactor's transaction until
 * its outcome is recorded: at least once (docs/architecture.md, rule 11). A job waits in a lane of a group. Groups (an
 * endpoint, a sender) are served fairly, and one may stop; lanes (first attempts beside retries) have capacities of
 * their own. Every operation is one statement for many jobs. A job is taken for a time, and its `due_at` is the end of
 * that time, so a dead taker needs no detection. An outcome counts only for its own attempt (`where attempts = n`), so
 * a late one changes nothing. Needs `SqlClient` and a table made by `createWorkQueue` (`workQueueTable.ts`).
 */
import { Effect } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { deferred } from "./deferredStatements.ts"
import { mapSqlError } from "./transactions.ts"
import { unnest } from "./unnest.ts"
import {
  type Backlog,
  type DueLane,
  type ExpiredJob,
  type NewJob,
  type ParkedJob,
  type PartitionClaim,
  type TakenJob,
  type WorkQueue,
  WorkQueueUnavailable
} from "./workQueueModel.ts"
import { type JobOutcome, settlingIn } from "./workQueueOutcomes.ts"
import { tableOf } from "./workQueueTable.ts"

export {
  type Backlog,
  type Claim,
  type DueLane,
  type ExpiredJob,
  type NewJob,
  type ParkedJob,
  type PartitionClaim,
  type TakenJob,
  type WorkQueue,
  WorkQueueUnavailable
} from "./workQueueModel.ts"
export type { JobOutcome }

/** Most jobs, claims or outcomes in one statement; more is a defect of the caller. */
export const maximumBatch = 5_000

/** Groups in one page of `due`. */
export const maximumDuePage = 1_000

/** Jobs removed in one statement when a whole group goes. */
const removalBatch = 10_000

const tooMany = (items: ReadonlyArray<unknown>): RangeError =>
  new RangeError(`${items.length} are more than one statement takes (${maximumBatch})`)

/** A statement over a list, which does nothing for an empty one. */
const forAll = <Item, A, E>(
  items: ReadonlyArray<Item>,
  nothing: A,
  statement: () => Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  if (items.length === 0) return Effect.succeed(nothing)
  return items.length > maximumBatch ? Effect.die(tooMany(items)) : Effect.suspend(statement)
}

const unavailable = (cause: SqlError.SqlError): WorkQueueUnavailable =>
  new WorkQueueUnavailable({ message: `the work queue in PostgreSQL is not available: ${cause.message}`, cause })

const run = <A, E>(effect: Effect.Effect<A, E | SqlError.SqlError>) => mapSqlError(effect, unavailable)

const idsOf = (rows: ReadonlyArray<{ readonly id: string }>): ReadonlySet<string> => new Set(rows.map((row) => row.id))

const none: ReadonlySet<string> = new Set()

const jobColumns = {
  id: "text",
  partition: "int4",
  group_key: "text",
  lane: "int2",
  due_at: "int8",
  attempts: "int4",
  expires_at: "int8",
  payload: "text",
  error: "text"
} as const

const lineColumns = { line: "text", place: "int8", place_index: "int4" } as const

const jobRow = ({ dueAt, error, expiresAt, group, leasedUntil, line, ...job }: NewJob) => ({
  ...job,
  group_key: group,
  due_at: leasedUntil ?? dueAt,
  attempts: leasedUntil === undefined ? 0 : 1,
  expires_at: expiresAt,
  error: error ?? null,
  line: line?.name ?? null,
  place: line?.place ?? null,
  place_index: line?.index ?? null
})

/** Jobs in, and what tells when they are due. */
const filling = (sql: SqlClient.SqlClient, name: string): Pick<WorkQueue, "put" | "due"> => {
  const table = tableOf(sql, name)
  return {
    put: (jobs) =>
      forAll(jobs, undefined, () => {
        const hasLines = jobs.some(({ line }) => line !== undefined)
        return run(
          deferred(
            sql,
            sql`
              insert into ${table} (id, partition, group_key, lane, due_at, attempts, expires_at, payload, error${sql.literal(hasLines ? ", line, place, place_index" : "")})
              select * from ${unnest(jobs.map(jobRow), hasLines ? { ...jobColumns, ...lineColumns } : jobColumns)}
              on conflict (id) do nothing`
          )
        )
      }),

    due: (partition, { after, limit }) => {
      const [group, lane] = after === undefined ? ["", -1] : [after.group, after.lane]
      // This walks from lane to lane through the index and does not read the jobs between.
      return run(sql<DueLane>`
        with recursive found as (
          (select group_key, lane, due_at from ${table}
           where partition = ${partition} and due_at is not null and (group_key, lane) > (${group}, ${lane}::int2)
           order by group_key, lane, due_at limit 1)
          union all
          (select next.group_key, next.lane, next.due_at
           from found cross join lateral (
             select group_key, lane, due_at from ${table} t
             where t.partition = ${partition} and t.due_at is not null
               and (t.group_key, t.lane) > (found.group_key, found.lane)
             order by t.group_key, t.lane, t.due_at limit 1
           ) next)
        )
        select group_key as "group", lane, due_at as "dueAt" from found limit ${limit}`)
    }
  }
}

/** Jobs out: what a taker does with them. */
const taking = (
  sql: SqlClient.SqlClient,
  name: string
): Pick<WorkQueue, "take" | "takeFrom" | "keep" | "settle" | "settling"> => {
  const table = tableOf(sql, name)

  const settling = (outcomes: ReadonlyArray<JobOutcome>): Statement.Fragment => {
    if (outcomes.length > maximumBatch) throw tooMany(outcomes)
    return settlingIn(sql, name, outcomes)
  }

  // Claims come as an array: a planner that knew their number would expect a tenth of the table and read all of it.
  const takeFrom: WorkQueue["takeFrom"] = (claims, { leasedUntil, now }) =>
    forAll<PartitionClaim, ReadonlyArray<TakenJob>, WorkQueueUnavailable>(claims, [], () =>
      run(sql<TakenJob>`
          update ${table} t set attempts = t.attempts + 1, due_at = ${leasedUntil}
          where t.id = any(array(
            select job.id
            from ${unnest(
              claims.map(({ group, lane, limit, partition }) => ({ partition, group_key: group, lane, wanted: limit })),
              { partition: "int4", group_key: "text", lane: "int2", wanted: "int4" }
            )}
            cross join lateral (
              select t.id from ${table} t
              where t.partition = batch.partition and t.group_key = batch.group_key and t.lane = batch.lane
                and t.due_at <= ${now}
              order by t.due_at limit batch.wanted
              for update skip locked
            ) job
          ))
          returning t.id, t.group_key as "group", t.lane, t.attempts as attempt, t.due_at as "leasedUntil",
            t.expires_at as "expiresAt", t.payload`)
    )

  return {
    take: (partition, claims, options) =>
      takeFrom(
        claims.map((claim) => ({ ...claim, partition })),
        options
      ),

    takeFrom,

    keep: (jobs, leasedUntil) =>
      forAll(jobs, none, () =>
        Effect.map(
          run(sql<{ readonly id: string }>`
              update ${table} t set due_at = ${leasedUntil}
              from ${unnest(jobs, { id: "text", attempt: "int4" })}
              where t.id = batch.id and t.attempts = batch.attempt and t.due_at is not null
              returning t.id`),
          idsOf
        )
      ),

    settle: (outcomes) =>
      forAll(outcomes, none, () =>
        Effect.map(run(sql<{ readonly id: string }>`with ${settling(outcomes)} select id from counted`), idsOf)
      ),

    settling
  }
}

/** Jobs that go without having been done. */
const removing = (sql: SqlClient.SqlClient, name: string): Pick<WorkQueue, "expire" | "removeGroup"> => {
  const table = tableOf(sql, name)
  return {
    expire: (partition, { limit, now }) =>
      run(sql<ExpiredJob>`
        with gone as (
          select id from ${table}
          where expires_at <= ${now} and partition = ${partition} and (due_at is null or due_at <= ${now})
          limit ${limit} for update skip locked
        )
        delete from ${table} t using gone where t.id = gone.id
        returning t.id, t.group_key as "group", t.lane, t.attempts, t.payload`),

    removeGroup: Effect.fn("WorkQueue.removeGroup")(function* (partition, group) {
      let removed = 0
      while (true) {
        const [row] = yield* run(sql<{ readonly count: number }>`
            with picked as (
              select id from ${table} where partition = ${partition} and group_key = ${group} limit ${removalBatch}
            ), gone as (delete from ${table} t using picked where t.id = picked.id returning 1)
            select count(*) as count from gone`)
        removed += row!.count
        if (row!.count < removalBatch) return removed
      }
    })
  }
}

/** The views and acts of an operator. */
const operating = (
  sql: SqlClient.SqlClient,
  name: string
): Pick<WorkQueue, "parked" | "unpark" | "holding" | "backlog"> => {
  const table = tableOf(sql, name)
  return {
    parked: (partition, { after, group, limit }) =>
      run(sql<ParkedJob>`
        select id, group_key as "group", lane, attempts, expires_at as "expiresAt", payload, error from ${table}
        where partition = ${partition} and due_at is null
          ${group === undefined ? sql.literal("") : sql`and group_key = ${group}`}
          ${after === undefined ? sql.literal("") : sql`and id > ${after}`}
        order by id limit ${limit}`),

    unpark: (ids, dueAt) =>
      forAll(ids, 0, () =>
        Effect.map(
          run(sql`
              update ${table} t set due_at = ${dueAt}, attempts = 0, error = null
              from ${unnest(
                ids.map((id) => ({ id })),
                { id: "text" }
              )}
              where t.id = batch.id and t.due_at is null returning 1`),
          (rows) => rows.length
        )
      ),

    // Each question is one step into an index of its own.
    holding: (partitions) =>
      Effect.map(
        run(sql<{ readonly partition: number }>`
          select batch.partition from ${unnest(
            partitions.map((partition) => ({ partition })),
            { partition: "int4" }
          )}
          where exists (select from ${table} t where t.partition = batch.partition and t.due_at is not null)
            or exists (select from ${table} t where t.partition = batch.partition and t.due_at is null)`),
        (rows) => new Set(rows.map(({ partition }) => partition))
      ),

    // Each part is read from its index alone: the rows themselves, with what they say, are many times as large.
    backlog: (partition) =>
      Effect.map(
        run(sql<Backlog>`
          select waiting.pending, waiting.oldest as "oldestDueAt", parked.parked
          from (
            select count(*) as pending, min(due_at) as oldest from ${table} where partition = ${partition} and due_at is not null
          ) waiting, (
            select count(*) as parked from ${table} where partition = ${partition} and due_at is null
          ) parked`),
        ([row]) => row!
      )
  }
}

/** The queue in the table of that name. */
export const make = (name: string): Effect.Effect<WorkQueue, never, SqlClient.SqlClient> =>
  Effect.map(SqlClient.SqlClient, (sql) => ({
    ...filling(sql, name),
    ...taking(sql, name),
    ...removing(sql, name),
    ...operating(sql, name)
  }))
