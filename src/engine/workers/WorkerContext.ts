/** Defines the things that the attempts of a worker share. */
import type { Engine } from "../EngineService.ts"
import { freshnessMillis } from "../limits.ts"
import type { TakenWorkerJob, WorkerJobs } from "../ports/WorkerJobs.ts"
import type { WorkerMetrics } from "./WorkerMetrics.ts"
import type { Worker } from "./workerTypes.ts"

export interface WorkerContext {
  readonly worker: Worker<never>
  readonly jobs: WorkerJobs["Service"]
  readonly engine: Engine["Service"]
  readonly metrics: WorkerMetrics
  /** The partitions that this process serves. */
  readonly served: () => ReadonlyArray<number>
  /** The last frame of a partition that its owner in this process has read; undefined if none serves it here. */
  readonly readThrough: (partition: number) => number | undefined
  /** Called when jobs were put in, or one has left or waits again. */
  readonly changed: () => void
}

/** A job that this process holds. */
export interface HeldJob extends TakenWorkerJob {
  readonly leasedUntil: number
}

/**
 * How much longer a worker keeps a job than its attempt may take: to take it, to record the outcome, and for clocks of
 * other processes that are ahead by up to five seconds.
 */
export const leaseMarginMillis = 15_000

/** The part of it that must be left when an attempt or a reply begins: the job may be somebody else's afterwards. */
export const minimumMarginMillis = 10_000

/** How long a worker keeps a job whose outcome it has stored, to ask the reply and record the end. */
export const replyLeaseMillis = 25_000

/** How long a reply is asked before the job waits again, and the pauses between the asks. */
export const replyPatienceMillis = 10_000
export const firstReplyPauseMillis = 50
export const lastReplyPauseMillis = 2_000

/**
 * How long after the first ask of a reply a rejection may come from an owner that was replaced before the job's record
 * was stored: it answers from its memory for the freshness of docs/architecture.md, rule 6. An ask after that reaches
 * an owner whose proof is younger than the record.
 */
export const replyDoubtMillis = freshnessMillis + 500

/** How long a job waits whose reply could not be asked. */
export const replyHoldMillis = 5_000
