/** Defines the jobs of the work queue, and its operations (docs/architecture.md, rule 11). Needs no service. */
import { Data, type Effect } from "effect"
import type { Statement } from "effect/sql"
import type { JobOutcome } from "./workQueueOutcomes.ts"

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
  /** The work, as text. Keep it short: give the id of data that is stored elsewhere. */
  readonly payload: string
  /**
   * Puts the job in as taken until this time, with its first attempt begun, for a caller that starts on it right after
   * the commit. If the caller dies before, the job is taken again.
   */
  readonly leasedUntil?: number | undefined
  /** Why an attempt before this was put in was not the end. */
  readonly error?: string | undefined
  /**
   * The line in which it goes, and its place there. The queue only keeps both, in columns that its table must have
   * (`addLines` of `workQueueTable.ts`).
   */
  readonly line?: { readonly name: string; readonly place: number; readonly index: number } | undefined
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

/** A request for jobs of a lane of a group. */
export interface Claim {
  readonly group: string
  readonly lane: number
  readonly limit: number
}

/** The same, where groups of several partitions are taken from together. */
export interface PartitionClaim extends Claim {
  readonly partition: number
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

  /** The same for claims in several partitions, with one statement. */
  readonly takeFrom: (
    claims: ReadonlyArray<PartitionClaim>,
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
  readonly settle: (outcomes: ReadonlyArray<JobOutcome>) => Effect.Effect<ReadonlySet<string>, WorkQueueUnavailable>

  /**
   * The same as the first part of a caller's own statement, `with ${settling(outcomes)} …`, which finds the ids of
   * those that counted in `counted (id)`: what belongs to the outcomes is recorded in one round trip and without a
   * transaction of its own. Join `counted` in a `from`, not in a sub-select: a statement that has waited for a row is
   * evaluated once more, and cannot settle a second time. Throws a RangeError for more than `maximumBatch`.
   */
  readonly settling: (outcomes: ReadonlyArray<JobOutcome>) => Statement.Fragment

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

  /** Lets parked jobs be tried again from `dueAt` on, with new attempt counts; returns their number. */
  readonly unpark: (ids: ReadonlyArray<string>, dueAt: number) => Effect.Effect<number, WorkQueueUnavailable>

  /**
   * The partitions among these that hold jobs, parked ones too. One statement answers for all, so that an idle process
   * does not ask for each of its partitions.
   */
  readonly holding: (partitions: ReadonlyArray<number>) => Effect.Effect<ReadonlySet<number>, WorkQueueUnavailable>

  /** For metrics. It counts all jobs of the partition, so do not call it every second. */
  readonly backlog: (partition: number) => Effect.Effect<Backlog, WorkQueueUnavailable>
}
