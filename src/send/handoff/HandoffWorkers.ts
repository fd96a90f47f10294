/**
 * Defines the view of a process's mail workers that the log and the SQL reactor have. `HandoffFeed.ts` connects them.
 * Needs no service.
 */
import type { Effect, Tracer } from "effect"
import type { JobOutcome } from "../../postgres/WorkQueue.ts"

/** A group of the work queue, with the partition that its jobs are in. */
export interface HandoffGroup {
  readonly partition: number
  readonly group: string
  /** The span that has made mail of it due, where anybody sees spans. */
  readonly cause?: Tracer.AnySpan
}

/** The workers of a process. */
export interface HandoffWorkers {
  /** The queue has mail of these groups. Must not throw. */
  readonly committed: (groups: ReadonlyArray<HandoffGroup>) => void
  /** Mail of these groups waits in memory. Must not throw. */
  readonly offered: (groups: ReadonlyArray<HandoffGroup>) => void
  /** How many more mails of a group can go immediately. */
  readonly roomOf: (group: string) => number
  /** Records the outcome of a mail whose job a transaction has written meanwhile. Must not throw. */
  readonly late: (group: HandoffGroup, outcome: JobOutcome) => void
  /** Takes no more mail, and waits until that under way is handed over and recorded. */
  readonly drain: Effect.Effect<void>
}
