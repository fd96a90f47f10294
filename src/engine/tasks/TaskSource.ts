/**
 * Defines the tasks of a reactor's part (docs/architecture.md, rule 11): what its records ask for outside, and who does
 * it. The engine opens a source for each life of a partition and gives it every acknowledged frame; the part's handler
 * asks its register what to write.
 */
import type { Tracer } from "effect"
import type { CommittedFrame } from "../records.ts"

/** A life of a partition, as the tasks of a part see it. */
export interface TaskLife {
  readonly partition: number
  /** The acknowledged frames behind this one, in order; undefined while some of them are not in memory. */
  readonly framesAfter: (sequence: number) => ReadonlyArray<CommittedFrame> | undefined
  /** The span in which a frame was appended, if spans are collected. */
  readonly spanOf: (sequence: number) => Tracer.AnySpan | undefined
  /** Call it for each task that has ended or was left, with its frame. */
  readonly settled: (sequence: number, hasEnded: boolean) => void
}

/** The tasks of a part in one life of a partition. Nothing here may throw or wait. */
export interface LifeOfTasks {
  /** A frame is acknowledged. Its records may be seen by the reactor from now on. */
  readonly followed: (frame: CommittedFrame) => void
  /** Whether all tasks of a frame have ended or were left to the queue. */
  readonly isSettled: (sequence: number) => boolean
  /** Tasks that wait or run. */
  readonly open: () => number
  /** The store has all frames up to this one. */
  readonly recorded: (sequence: number) => void
  /** An organization has parked records: it gets no tasks until `allow`. Undefined excludes all organizations. */
  readonly exclude: (organization: string | undefined) => void
  readonly allow: (organization: string) => void
  /** The reactor reads its place again: it may have committed a batch without knowing it. */
  readonly resumed: () => void
  /** The life is over. */
  readonly close: () => void
}

/** Opens the tasks of a part for each life of a partition. */
export interface TaskSource {
  readonly open: (life: TaskLife) => LifeOfTasks
}
