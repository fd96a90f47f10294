/**
 * Defines the port of workers' jobs (docs/workers.md): rows that the transaction of a worker's reactor puts in, that a
 * worker takes for a time, and that leave with their outcome. An outcome counts only for its own attempt, so a worker
 * that has lost a job changes nothing. Implementations: `WorkerJobsMemory.ts` here, PostgreSQL under `src/postgres`.
 */
import { Context, Data, type Effect } from "effect"
import type { ReactorTransaction } from "./Cursors.ts"

/** A job as it is put in. Times in milliseconds since the Unix epoch. See {@link WorkerJobs}. */
export interface NewWorkerJob {
  /** Made of the record's place; the same id a second time is the same job, and changes nothing. */
  readonly id: string
  readonly partition: number
  readonly organization: string
  /** The place of the record that caused it. */
  readonly sequence: number
  readonly index: number
  readonly dueAt: number
  /** JSON. */
  readonly payload: string
}

/** An organization with jobs, and when its next one is due. See {@link WorkerJobs}. */
export interface DueOrganization {
  readonly partition: number
  readonly organization: string
  readonly dueAt: number
}

/** A request for jobs of an organization. See {@link WorkerJobs}. */
export interface JobClaim {
  readonly partition: number
  readonly organization: string
  readonly limit: number
}

/** A job that was taken. See {@link WorkerJobs}. */
export interface TakenWorkerJob {
  readonly id: string
  readonly organization: string
  /** The number of this taking, which no other one of the job has. The outcome must name it. See {@link attemptOf}. */
  readonly attempt: number
  readonly payload: string
}

/**
 * An operator's retry lets a job's count of takings go on at the next multiple of this. If it began at 0 again, the
 * outcome of an attempt before the retry, whose first answer was lost, would count for an attempt behind it.
 */
export const retrySpan = 100_000

/** Retries after which the numbers begin again: a row's count is a 32-bit integer. */
export const retryRounds = 20_000

/** The number of an attempt since the last retry, from 1. 0 for none. */
export const attemptOf = (count: number): number => count % retrySpan

/** The outcome of an attempt. See {@link WorkerJobs}. */
export type WorkerJobOutcome = {
  readonly id: string
  readonly attempt: number
} & (
  | { /** Over: the job goes. */ readonly _tag: "Done" }
  | { /** To be tried again. */ readonly _tag: "Again"; readonly dueAt: number; readonly error: string }
  | { /** Not tried after all: the attempt does not count. */ readonly _tag: "Returned"; readonly dueAt: number }
  | {
      /** The worker keeps the job until then, with another payload. */
      readonly _tag: "Kept"
      readonly leasedUntil: number
      readonly payload: string
    }
  | {
      /** Waits for an operator, with another payload. */
      readonly _tag: "Failed"
      readonly error: string
      readonly payload: string
    }
)

/** A job that has failed for good, and waits for an operator. See {@link WorkerJobs}. */
export interface FailedWorkerJob {
  readonly id: string
  readonly partition: number
  readonly organization: string
  /** Its count of takings. See {@link attemptOf}. */
  readonly attempts: number
  readonly payload: string
  readonly error: string
}

/** The failed jobs that are meant, at most `limit` of those that match. See {@link WorkerJobs}. */
export interface FailedJobSelection {
  readonly id?: string | undefined
  readonly organization?: string | undefined
  readonly limit: number
}

/** How jobs are taken: at `now`, until `leasedUntil`. See {@link WorkerJobs}. */
export interface JobLease {
  readonly now: number
  readonly leasedUntil: number
  /**
   * Whether only the first job of an organization may be taken, in the order of the log, and only while no later one of
   * it may be somebody's: an operator's retry can put a job before one that is being worked on.
   */
  readonly isOrdered: boolean
}

/** The jobs of a worker on some partitions. See {@link WorkerJobs}. */
export interface JobFigures {
  /** Jobs that wait or are being worked on. */
  readonly open: number
  readonly failed: number
  /** When the job became due that is due for longest; undefined without one. It lies ahead if none is due. */
  readonly oldestDueAt: number | undefined
}

/**
 * The store cannot be reached, or it has no room: nothing was done, or what was done is not known. Try again. See
 * {@link Worker.list}.
 */
export class WorkerJobsUnavailable extends Data.TaggedError("WorkerJobsUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/**
 * The port of workers' jobs. `Durable.layer` brings the one on PostgreSQL.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { WorkerJobs } from "sluice"
 *
 * // a port: the jobs of a worker on the first partition
 * export const figures = Effect.flatMap(WorkerJobs, (jobs) => jobs.figures("charge", [0]))
 * ```
 */
export class WorkerJobs extends Context.Service<
  WorkerJobs,
  {
    /** Puts jobs in, as part of the reactor's transaction. */
    readonly put: (
      worker: string,
      jobs: ReadonlyArray<NewWorkerJob>
    ) => Effect.Effect<void, WorkerJobsUnavailable, ReactorTransaction>

    /**
     * The organizations with jobs, at most `limit` of each partition, in the order of their names behind `after`.
     * Organizations whose next job is due only later are included. If a worker is ordered, the next job is the first in
     * the order of the log.
     */
    readonly due: (
      worker: string,
      partitions: ReadonlyArray<{ readonly partition: number; readonly after: string }>,
      options: { readonly isOrdered: boolean; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<DueOrganization>, WorkerJobsUnavailable>

    /** Takes jobs that are due. A job that somebody else takes at this moment is left to them. */
    readonly take: (
      worker: string,
      claims: ReadonlyArray<JobClaim>,
      lease: JobLease
    ) => Effect.Effect<ReadonlyArray<TakenWorkerJob>, WorkerJobsUnavailable>

    /** Records an outcome. False if it does not count, because somebody else has taken the job, or it is gone. */
    readonly settle: (worker: string, outcome: WorkerJobOutcome) => Effect.Effect<boolean, WorkerJobsUnavailable>

    /** Failed jobs of all partitions in the order of their ids behind `after`, of one organization or of all. */
    readonly failed: (
      worker: string,
      page: { readonly organization?: string | undefined; readonly after?: string | undefined; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<FailedWorkerJob>, WorkerJobsUnavailable>

    /** Lets failed jobs be tried from `dueAt` on, with new attempts ({@link attemptOf}). Returns their number. */
    readonly retry: (
      worker: string,
      selection: FailedJobSelection,
      dueAt: number
    ) => Effect.Effect<number, WorkerJobsUnavailable>

    /** Removes failed jobs. Returns their number. */
    readonly dismiss: (worker: string, selection: FailedJobSelection) => Effect.Effect<number, WorkerJobsUnavailable>

    /** For metrics, and for tests that wait. It counts the rows. */
    readonly figures: (
      worker: string,
      partitions: ReadonlyArray<number>
    ) => Effect.Effect<JobFigures, WorkerJobsUnavailable>
  }
>()("sluice/engine/WorkerJobs") {}
