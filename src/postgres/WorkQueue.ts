/**
 * Work that cannot be part of a transaction (a POST, a mail), kept in PostgreSQL from the reactor's transaction until
 * its outcome is recorded: at least once (docs/architecture.md, rule 11). A job waits in a group and in a lane of it.
 * Groups (an endpoint, a sender) are served fairly, and one may stand still; lanes (first attempts beside retries) have
 * capacities of their own. Every operation is one statement for many jobs. Needs `SqlClient` and a table made by
 * `createWorkQueue` (`workQueueTable.ts`).
 *
 * A job is taken for a time, and its `due_at` is simply the end of that time, so nobody has to notice when its taker
 * dies. An outcome counts only for its own attempt (`where attempts = n`), so a late one changes nothing.
 */
import { Data, Effect } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { deferred } from "./deferred.ts"
import { mapSqlError } from "./transactions.ts"
import { unnest } from "./unnest.ts"
import { type Outcome, settlingIn } from "./workQueueOutcomes.ts"
import { tableOf } from "./workQueueTable.ts"

export type { Outcome }

/** Most jobs, claims or outcomes in one statement; more is a defect of the caller. */
export const maximumBatch = 5_000

/** Groups in one page of `due`. */
export const maximumDuePage = 1_000

/** Jobs removed in one statement when a whole group goes. */
const removalBatch = 10_000

/** A job as it is put in. Times in milliseconds since the Unix epoch. */
export interface NewJob {
  /** Chosen by the caller; the same id a second time is the same job and changes nothing. */
  readonly id: string
  readonly partition: number
  readonly group: string
  /** 0 to 32,767. */
  readonly lane: number
  readonly dueAt: number
  /** When it is not worth doing any more; null for never. */
  readonly expiresAt: number | null
  /** What to do, as text. Keep it short: give the id of data that is stored elsewhere. */
  readonly payload: string
  /**
   * Puts the job in as taken until this time, with its first attempt begun, for a caller that starts on it right after
   * the commit. If the caller dies before, the job is taken again.
   */
  readonly leasedUntil?: number | undefined
}

/** A job that was taken. */
export interface TakenJob {
  readonly id: string
  readonly group: string
  readonly lane: number
  /** The number of the attempt that begins now, from 1. The outcome must name it. */
  readonly attempt: number
  /** When another taker may take it. */
  readonly leasedUntil: number
  readonly expiresAt: number | null
  readonly payload: string
}

/** How many jobs of a lane of a group are wanted. */
export interface Claim {
  readonly group: string
  readonly lane: number
  readonly limit: number
}

/** The earliest job of a lane of a group. */
export interface DueLane {
  readonly group: string
  readonly lane: number
  readonly dueAt: number
}

/** A job that waits for an operator. */
export interface ParkedJob {
  readonly id: string
  readonly group: string
  readonly lane: number
  readonly attempts: number
  readonly expiresAt: number | null
  readonly payload: string
  readonly error: string
}

/** A job that was removed because it had expired. */
export interface ExpiredJob {
  readonly id: string
  readonly group: string
  readonly lane: number
  readonly attempts: number
  readonly payload: string
}

export interface Backlog {
  /** Jobs that wait or are being worked on. */
  readonly pending: number
  readonly parked: number
  /** When the longest waiting job became due; null when there is none. */
  readonly oldestDueAt: number | null
}

/**
 * PostgreSQL cannot be reached, or cancelled the statement. Inside a transaction nothing was done; outside, the
 * statement may have run.
 */
export class WorkQueueUnavailable extends Data.TaggedError("WorkQueueUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

export interface WorkQueue {
  /**
   * Puts jobs in. Inside a transaction the statement is sent together with the transaction's next one, which then fails
   * if this one fails.
   */
  readonly put: (jobs: ReadonlyArray<NewJob>) => Effect.Effect<void, WorkQueueUnavailable>

  /**
   * Lists the lanes that hold jobs with their earliest job, in the order of group and lane, at most `limit`. Lanes that
   * are due only later are included, so that the caller knows when. `after` continues behind a lane.
   */
  readonly due: (
    partition: number,
    options: { readonly after?: { readonly group: string; readonly lane: number } | undefined; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<DueLane>, WorkQueueUnavailable>

  /**
   * Takes jobs that are due at `now`, the longest waiting of each claim first, until `leasedUntil`. Jobs that somebody
   * else is taking at this moment are skipped.
   */
  readonly take: (
    partition: number,
    claims: ReadonlyArray<Claim>,
    options: { readonly now: number; readonly leasedUntil: number }
  ) => Effect.Effect<ReadonlyArray<TakenJob>, WorkQueueUnavailable>

  /** Keeps taken jobs longer; answers the ids of those that are still the caller's. */
  readonly keep: (
    jobs: ReadonlyArray<{ readonly id: string; readonly attempt: number }>,
    leasedUntil: number
  ) => Effect.Effect<ReadonlySet<string>, WorkQueueUnavailable>

  /**
   * Records outcomes, as part of a transaction if one is open. Answers the ids of those that counted; a job that
   * somebody else has taken since, or that is gone, is not among them.
   */
  readonly settle: (outcomes: ReadonlyArray<Outcome>) => Effect.Effect<ReadonlySet<string>, WorkQueueUnavailable>

  /**
   * The same as the first part of a caller's own statement, `with ${settling(outcomes)} …`, which finds the ids of those that counted in
   * `counted (id)`: what belongs to the outcomes is recorded in one round trip and without a transaction of its own. Join `counted` in a
   * `from`, not in a sub-select: a statement that has waited for a row is evaluated once more, and cannot settle a second time. Throws a
   * RangeError for more than `maximumBatch`.
   */
  readonly settling: (outcomes: ReadonlyArray<Outcome>) => Statement.Fragment

  /**
   * Removes expired jobs, at most `limit`, and answers them, so that the caller can record it in the same transaction.
   * Jobs that are taken, or whose next attempt is later, expire when they are due.
   */
  readonly expire: (
    partition: number,
    options: { readonly now: number; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<ExpiredJob>, WorkQueueUnavailable>

  /** Removes all jobs of a group, parked ones too; answers how many. */
  readonly removeGroup: (partition: number, group: string) => Effect.Effect<number, WorkQueueUnavailable>

  /** Jobs that wait for an operator, in the order of id, at most `limit`. */
  readonly parked: (
    partition: number,
    options: { readonly group?: string | undefined; readonly after?: string | undefined; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<ParkedJob>, WorkQueueUnavailable>

  /** Lets parked jobs be tried again from `dueAt` on, their attempts counted anew; answers how many. */
  readonly unpark: (ids: ReadonlyArray<string>, dueAt: number) => Effect.Effect<number, WorkQueueUnavailable>

  /** For metrics. It counts the whole queue, so do not call it every second. */
  readonly backlog: (partition: number) => Effect.Effect<Backlog, WorkQueueUnavailable>
}

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

/** Jobs in, and what tells when they are due. */
const filling = (sql: SqlClient.SqlClient, name: string): Pick<WorkQueue, "put" | "due"> => {
  const table = tableOf(sql, name)
  return {
    put: (jobs) =>
      forAll(jobs, undefined, () =>
        run(
          deferred(
            sql,
            sql`
              insert into ${table} (id, partition, group_key, lane, due_at, attempts, expires_at, payload)
              select * from ${unnest(
                jobs.map((job) => ({
                  ...job,
                  group_key: job.group,
                  due_at: job.leasedUntil ?? job.dueAt,
                  attempts: job.leasedUntil === undefined ? 0 : 1,
                  expires_at: job.expiresAt
                })),
                {
                  id: "text",
                  partition: "int4",
                  group_key: "text",
                  lane: "int2",
                  due_at: "int8",
                  attempts: "int4",
                  expires_at: "int8",
                  payload: "text"
                }
              )}
              on conflict (id) do nothing`
          )
        )
      ),

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
const taking = (sql: SqlClient.SqlClient, name: string): Pick<WorkQueue, "take" | "keep" | "settle" | "settling"> => {
  const table = tableOf(sql, name)

  const settling = (outcomes: ReadonlyArray<Outcome>): Statement.Fragment => {
    if (outcomes.length > maximumBatch) throw tooMany(outcomes)
    return settlingIn(sql, name, outcomes)
  }

  return {
    // Claims come as an array: a planner that knew their number would expect a tenth of the table and read all of it.
    take: (partition, claims, { now, leasedUntil }) =>
      forAll<Claim, ReadonlyArray<TakenJob>, WorkQueueUnavailable>(claims, [], () =>
        run(sql<TakenJob>`
            update ${table} t set attempts = t.attempts + 1, due_at = ${leasedUntil}
            where t.id = any(array(
              select job.id
              from ${unnest(
                claims.map((claim) => ({ group_key: claim.group, lane: claim.lane, wanted: claim.limit })),
                { group_key: "text", lane: "int2", wanted: "int4" }
              )}
              cross join lateral (
                select t.id from ${table} t
                where t.partition = ${partition} and t.group_key = batch.group_key and t.lane = batch.lane
                  and t.due_at <= ${now}
                order by t.due_at limit batch.wanted
                for update skip locked
              ) job
            ))
            returning t.id, t.group_key as "group", t.lane, t.attempts as attempt, t.due_at as "leasedUntil",
              t.expires_at as "expiresAt", t.payload`)
      ),

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

/** What an operator sees and does. */
const operating = (sql: SqlClient.SqlClient, name: string): Pick<WorkQueue, "parked" | "unpark" | "backlog"> => {
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

    backlog: (partition) =>
      Effect.map(
        run(sql<Backlog>`
          select count(*) filter (where due_at is not null) as pending, count(*) filter (where due_at is null) as parked,
            min(due_at) as "oldestDueAt"
          from ${table} where partition = ${partition}`),
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
