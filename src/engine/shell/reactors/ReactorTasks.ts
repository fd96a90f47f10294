/**
 * The tasks of a reactor's parts in one life of a partition, as its pace sees them (docs/architecture.md, rule 11): the
 * frames that may be written now, because what they asked for has ended or they are old enough.
 */

import type { CommittedFrame } from "../../records.ts"
import type { LifeOfTasks, TaskLife, TaskSource } from "../../tasks/TaskSource.ts"
import { Wakeup } from "../../Wakeup.ts"

/** The age at which a frame is written although its tasks have not ended, milliseconds: twice the last transaction's time, within these. */
export const shortestAgeMillis = 10
export const longestAgeMillis = 100

/** The age for a reactor whose last transaction took this long. */
export const ageAfter = (transactionMillis: number): number =>
  Math.min(longestAgeMillis, Math.max(shortestAgeMillis, 2 * transactionMillis))

interface AgedFrame {
  readonly sequence: number
  /** When it was acknowledged, on the monotonic clock. */
  readonly at: number
}

export class ReactorTasks {
  /** Notified when no task waits or runs any more. */
  readonly atRest = new Wakeup()
  private readonly parts: ReadonlyArray<LifeOfTasks>
  /** Frames that are not recorded, oldest first. */
  private frames: Array<AgedFrame> = []

  constructor(sources: ReadonlyArray<TaskSource>, life: Omit<TaskLife, "rested">) {
    const rested = () => this.atRest.notify()
    this.parts = sources.map((source) => source.open({ ...life, rested }))
  }

  /** Whether no part has tasks, so that nothing needs to be followed. */
  get isEmpty(): boolean {
    return this.parts.length === 0
  }

  /** Whether no task waits or runs. */
  get isAtRest(): boolean {
    return this.parts.every((part) => part.isAtRest())
  }

  /** Gives the parts a frame that is acknowledged. */
  followed(frame: CommittedFrame, monotonic: number): void {
    this.frames.push({ sequence: frame.sequence, at: monotonic })
    for (const part of this.parts) part.followed(frame)
  }

  /** Milliseconds until a frame behind `after` must be written whatever its tasks do; 0 when all may be written now. */
  waitMillis(after: number, ageMillis: number, monotonic: number): number {
    if (this.isAtRest) return 0
    const oldest = this.frames.find(({ sequence }) => sequence > after && !this.isSettled(sequence))
    return oldest === undefined ? 0 : Math.max(0, oldest.at + ageMillis - monotonic)
  }

  /**
   * The last frame behind `after` up to which all may be written now: each has settled, or is at least half as old as
   * it may become. Half, so that one old frame does not make a transaction of its own.
   */
  readyThrough(after: number, ageMillis: number, monotonic: number): number {
    if (this.isAtRest) return Number.POSITIVE_INFINITY
    for (const { at, sequence } of this.frames) {
      if (sequence <= after || at + ageMillis / 2 <= monotonic || this.isSettled(sequence)) continue
      return sequence - 1
    }
    return Number.POSITIVE_INFINITY
  }

  /** Notes that the store has all frames up to this one. */
  recorded(sequence: number): void {
    if (this.isEmpty) return
    const first = this.frames.findIndex((frame) => frame.sequence > sequence)
    this.frames = first < 0 ? [] : first === 0 ? this.frames : this.frames.slice(first)
    for (const part of this.parts) part.recorded(sequence)
  }

  /** Stops tasks of an organization with parked records; undefined for all organizations. */
  exclude(organization: string | undefined): void {
    for (const part of this.parts) part.exclude(organization)
  }

  allow(organization: string): void {
    for (const part of this.parts) part.allow(organization)
  }

  close(): void {
    for (const part of this.parts) part.close()
  }

  private isSettled(sequence: number): boolean {
    return this.parts.every((part) => part.isSettled(sequence))
  }
}
