/**
 * Stores workers' jobs in PostgreSQL (docs/workers.md), in one work queue for all workers: the group of a job is its
 * worker and its organization. Needs `SqlClient`, the one of the reactors' transactions, and the table of
 * `migrations.ts`.
 */
import { Effect, Layer, type Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import * as GroupCommit from "../common/groupCommit.ts"
import {
  type DueOrganization,
  type FailedJobSelection,
  type FailedWorkerJob,
  type JobClaim,
  type JobFigures,
  type JobLease,
  retryRounds,
  retrySpan,
  type TakenWorkerJob,
  type WorkerJobOutcome,
  WorkerJobs,
  WorkerJobsUnavailable
} from "../engine/ports/WorkerJobs.ts"
import { workerJobsTable } from "./migrations.ts"
import { mapSqlError } from "./transactions.ts"
import { unnest } from "./unnest.ts"
import { make as makeQueue, type WorkQueue, type WorkQueueUnavailable } from "./WorkQueue.ts"
import type { JobOutcome } from "./workQueueOutcomes.ts"
import { tableOf } from "./workQueueTable.ts"

const unavailable = (cause: SqlError.SqlError): WorkerJobsUnavailable =>
  new WorkerJobsUnavailable({ message: `the jobs in PostgreSQL are not available: ${cause.message}`, cause })

const run = <A, E>(effect: Effect.Effect<A, E | SqlError.SqlError>) => mapSqlError(effect, unavailable)

const ofQueue = <A>(effect: Effect.Effect<A, WorkQueueUnavailable>) =>
  Effect.mapError(effect, ({ cause, message }) => new WorkerJobsUnavailable({ message, cause }))

/** All jobs are in one lane and one line of their group. */
const lane = 0
const line = ""

// A worker's name has no blank, so its groups are those between two texts.

const groupOf = (worker: string, organization: string): string => `${worker} ${organization}`
const endOfGroups = (worker: string): string => `${worker}!`
const organizationOf = (worker: string, group: string): string => group.slice(worker.length + 1)

const queueOutcome = ({ attempt, id, ...outcome }: WorkerJobOutcome): JobOutcome => {
  switch (outcome._tag) {
    case "Again":
      return { _tag: "Again", id, attempt, lane, dueAt: outcome.dueAt, error: outcome.error }
    case "Kept":
      return { _tag: "Again", id, attempt, lane, dueAt: outcome.leasedUntil, payload: outcome.payload }
    case "Returned":
      return { _tag: "Returned", id, attempt, dueAt: outcome.dueAt }
    case "Failed":
      return { _tag: "Parked", id, attempt, error: outcome.error, payload: outcome.payload }
    case "Done":
      return { _tag: "Done", id, attempt }
  }
}

type Service = WorkerJobs["Service"]

type Outcomes = GroupCommit.GroupCommit<JobOutcome, boolean, WorkerJobsUnavailable>

/** Records the outcomes of many attempts with few statements. Says of each whether it counted. */
const outcomesOf = (queue: WorkQueue) =>
  GroupCommit.make({
    maximumBatch: 512,
    maximumWaiting: 4_096,
    write: (outcomes: ReadonlyArray<JobOutcome>) =>
      Effect.map(ofQueue(queue.settle(outcomes)), (counted) => {
        // Of two attempts at one job only the later one can have counted: the job was taken again for it.
        const last = new Map<string, number>()
        for (const { attempt, id } of outcomes) last.set(id, Math.max(attempt, last.get(id) ?? 0))
        return outcomes.map(({ attempt, id }) => counted.has(id) && last.get(id) === attempt)
      })
  })

/** Jobs in, and out with their outcomes. */
const filling = (queue: WorkQueue, outcomes: Outcomes): Pick<Service, "put" | "settle"> => ({
  put: (worker, jobs) =>
    ofQueue(
      queue.put(
        jobs.map(({ dueAt, id, index, organization, partition, payload, sequence }) => ({
          id,
          partition,
          group: groupOf(worker, organization),
          lane,
          dueAt,
          expiresAt: null,
          payload,
          line: { name: line, place: sequence, index }
        }))
      )
    ),
  settle: (_, outcome) => outcomes.submit(queueOutcome(outcome))
})

/** The organizations with jobs. It walks from group to group through the index, and does not read the jobs between. */
const dueIn = (sql: SqlClient.SqlClient): Service["due"] => {
  const table = tableOf(sql, workerJobsTable)
  return (worker, partitions, { isOrdered, limit }) => {
    const head = isOrdered
      ? sql`t.line = ${line} and t.due_at is not null order by t.place, t.place_index limit 1`
      : sql`t.lane = ${lane} and t.due_at is not null order by t.due_at limit 1`
    const next = sql`order by t.group_key limit 1`
    const asked = partitions.map(({ after, partition }) => ({ partition, after_key: groupOf(worker, after) }))
    return Effect.map(
      run(sql<DueOrganization & { readonly group: string }>`
        select batch.partition, found.group_key as "group", head.due_at as "dueAt"
        from ${unnest(asked, { partition: "int4", after_key: "text" })}
        cross join lateral (
          with recursive groups as (
            (select t.group_key from ${table} t
             where t.partition = batch.partition and t.due_at is not null
               and t.group_key > batch.after_key collate "C" and t.group_key < ${endOfGroups(worker)} ${next})
            union all
            select following.group_key from groups cross join lateral (
              select t.group_key from ${table} t
              where t.partition = batch.partition and t.due_at is not null
                and t.group_key > groups.group_key and t.group_key < ${endOfGroups(worker)} ${next}
            ) following
          )
          select group_key from groups limit ${limit}
        ) found
        cross join lateral (
          select t.due_at from ${table} t
          where t.partition = batch.partition and t.group_key = found.group_key and ${head}
        ) head
        order by batch.partition, found.group_key`),
      (rows) =>
        rows.map(({ dueAt, group, partition }) => ({ partition, organization: organizationOf(worker, group), dueAt }))
    )
  }
}

type GroupedJob = Omit<TakenWorkerJob, "organization"> & { readonly group: string }

/** Takes jobs: any that are due, or the first of each line. */
const takeFrom = (sql: SqlClient.SqlClient, queue: WorkQueue): Service["take"] => {
  const table = tableOf(sql, workerJobsTable)

  // The first job of a line is not passed over while somebody else takes it: the statement waits, looks at the row
  // again, and finds it taken. Behind an operator's retry a later job may be somebody's. A time behind the end of a
  // lease that began now is a pause: it keeps nobody.
  const takeFirst = (worker: string, claims: ReadonlyArray<JobClaim>, { leasedUntil, now }: JobLease) =>
    run(sql<GroupedJob>`
      update ${table} t set attempts = t.attempts + 1, due_at = ${leasedUntil}
      where t.id = any(array(
        select first.id
        from ${unnest(
          claims.map(({ organization, partition }) => ({ partition, group_key: groupOf(worker, organization) })),
          { partition: "int4", group_key: "text" }
        )}
        cross join lateral (
          select t.id from ${table} t
          where t.partition = batch.partition and t.group_key = batch.group_key and t.line = ${line}
            and t.due_at is not null
          order by t.place, t.place_index limit 1
        ) first
      )) and t.due_at <= ${now} and not exists (
        select 1 from ${table} held
        where held.partition = t.partition and held.group_key = t.group_key and held.lane = ${lane}
          and held.due_at > ${now} and held.due_at <= ${leasedUntil} and held.attempts > 0
      )
      returning t.id, t.group_key as "group", t.attempts as attempt, t.payload`)

  const takeAny = (worker: string, claims: ReadonlyArray<JobClaim>, { leasedUntil, now }: JobLease) =>
    ofQueue(
      queue.takeFrom(
        claims.map(({ limit, organization, partition }) => ({
          partition,
          group: groupOf(worker, organization),
          lane,
          limit
        })),
        { now, leasedUntil }
      )
    )

  return (worker, claims, lease) => {
    const taken: Effect.Effect<ReadonlyArray<GroupedJob>, WorkerJobsUnavailable> = lease.isOrdered
      ? takeFirst(worker, claims, lease)
      : takeAny(worker, claims, lease)
    return Effect.map(taken, (jobs) =>
      jobs.map(({ attempt, group, id, payload }) => ({
        id,
        attempt,
        payload,
        organization: organizationOf(worker, group)
      }))
    )
  }
}

/** The views and acts of an operator. */
const operating = (sql: SqlClient.SqlClient): Pick<Service, "failed" | "retry" | "dismiss" | "figures"> => {
  const table = tableOf(sql, workerJobsTable)
  const nothing = sql.literal("")

  const isFailed = (worker: string, { id, organization }: Omit<FailedJobSelection, "limit">) => sql`
    due_at is null and group_key > ${groupOf(worker, "")} and group_key < ${endOfGroups(worker)}
    ${organization === undefined ? nothing : sql`and group_key = ${groupOf(worker, organization)}`}
    ${id === undefined ? nothing : sql`and id = ${id}`}`

  const selected = (worker: string, selection: FailedJobSelection) => sql`
    (select id from ${table} where ${isFailed(worker, selection)} order by id limit ${selection.limit} for update)`

  return {
    failed: (worker, { after = "", limit, organization }) =>
      Effect.map(
        run(sql<FailedWorkerJob & { readonly group: string }>`
          select id, partition, group_key as "group", attempts, payload, coalesce(error, '') as error from ${table}
          where ${isFailed(worker, { organization })} and id > ${after} order by id limit ${limit}`),
        (rows) =>
          rows.map(({ attempts, error, group, id, partition, payload }) => ({
            id,
            partition,
            organization: organizationOf(worker, group),
            attempts,
            payload,
            error
          }))
      ),

    retry: (worker, selection, dueAt) =>
      Effect.map(
        run(sql`
          update ${table} t set due_at = ${dueAt}, error = null,
            attempts = (t.attempts / ${retrySpan}::int4 + 1) % ${retryRounds}::int4 * ${retrySpan}::int4
          from ${selected(worker, selection)} s where t.id = s.id returning 1`),
        (rows) => rows.length
      ),

    dismiss: (worker, selection) =>
      Effect.map(
        run(sql`delete from ${table} t using ${selected(worker, selection)} s where t.id = s.id returning 1`),
        (rows) => rows.length
      ),

    figures: (worker, partitions) => {
      const own = sql`t.partition = batch.partition and t.group_key > ${groupOf(worker, "")}
        and t.group_key < ${endOfGroups(worker)}`
      return Effect.map(
        run(sql<Omit<JobFigures, "oldestDueAt"> & { readonly oldestDueAt: number | null }>`
          select coalesce(sum(waiting.open), 0)::int8 as open, coalesce(sum(parked.failed), 0)::int8 as failed,
            min(waiting.oldest) as "oldestDueAt"
          from ${unnest(
            partitions.map((partition) => ({ partition })),
            { partition: "int4" }
          )}
          cross join lateral (
            select count(*) as open, min(t.due_at) as oldest from ${table} t where ${own} and t.due_at is not null
          ) waiting
          cross join lateral (select count(*) as failed from ${table} t where ${own} and t.due_at is null) parked`),
        ([row]) => ({ open: row!.open, failed: row!.failed, oldestDueAt: row!.oldestDueAt ?? undefined })
      )
    }
  }
}

export const make: Effect.Effect<Service, never, SqlClient.SqlClient | Scope.Scope> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const queue = yield* makeQueue(workerJobsTable)
  return WorkerJobs.of({
    ...filling(queue, yield* outcomesOf(queue)),
    due: dueIn(sql),
    take: takeFrom(sql, queue),
    ...operating(sql)
  })
})

export const layer: Layer.Layer<WorkerJobs, never, SqlClient.SqlClient> = Layer.effect(WorkerJobs, make)
