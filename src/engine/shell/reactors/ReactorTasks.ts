/**
 * The tasks of a reactor's parts in one life of a partition, as its pace sees them (docs/architecture.md, rule 11): the
 * frames that may be written now, because what they asked for has ended or they are old enough.
 */

import type { CommittedFrame } from "../../records.ts"
import type { LifeOfTasks, TaskLife, TaskSource } from "../../tasks/TaskSource.ts"
import { Wakeup } from "../../Wakeup.ts"

/** The shortest and the longest time for which a frame waits for its tasks, milliseconds. */
export const shortestAgeMillis = 10
export const longestAgeMillis = 100

/** With as many open tasks a partition is busy: fewer and larger transactions are worth the wait. */
const busyTasks = 64

/** The part of the newest time in the typical one. */
const weight = 1 / 16

/**
 * How old a frame becomes before it is written although its tasks have not ended: twice the time that tasks typically
 * take, or the longest where many are open. Each that ends before costs one row in place of a row, a job and an update.
 */
export const ageFor = (typicalMillis: number, openTasks: number): number =>
  openTasks >= busyTasks
    ? longestAgeMillis
    : Math.min(longestAgeMillis, Math.max(shortestAgeMillis, Math.ceil(2 * typicalMillis)))

export class ReactorTasks {
  /** Notified when no task waits or runs any more. */
  readonly atRest = new Wakeup()
  private readonly parts: ReadonlyArray<LifeOfTasks>
  private readonly monotonic: () => number
  /** Frames that are not recorded, by sequence, oldest first, with the time at which they were acknowledged. */
  private readonly frames = new Map<number, number>()
  private typicalMillis = 0

  /** `monotonic` is a clock that is never set back, in milliseconds. */
  constructor(sources: ReadonlyArray<TaskSource>, life: Omit<TaskLife, "settled">, monotonic: () => number) {
    this.monotonic = monotonic
    const settled = (sequence: number, hasEnded: boolean) => this.settled(sequence, hasEnded)
    this.parts = sources.map((source) => source.open({ ...life, settled }))
  }

  /** Whether no part has tasks, so that nothing needs to be followed. */
  get isEmpty(): boolean {
    return this.parts.length === 0
  }

  /** Whether no task waits or runs. */
  get isAtRest(): boolean {
    return this.parts.every((part) => part.open() === 0)
  }

  private get ageMillis(): number {
    return ageFor(
      this.typicalMillis,
      this.parts.reduce((sum, part) => sum + part.open(), 0)
    )
  }

  /** Gives the parts a frame that is acknowledged. */
  followed(frame: CommittedFrame): void {
    if (this.isEmpty) return
    this.frames.set(frame.sequence, this.monotonic())
    for (const part of this.parts) part.followed(frame)
  }

  /** Milliseconds until a frame behind `after` must be written whatever its tasks do; 0 when all may be written now. */
  waitMillis(after: number): number {
    if (this.isAtRest) return 0
    for (const [sequence, at] of this.frames)
      if (sequence > after && !this.isSettled(sequence)) return Math.max(0, at + this.ageMillis - this.monotonic())
    return 0
  }

  /**
   * The last frame behind `after` up to which all may be written now: each has settled, or is at least half as old as
   * it may become. Half, so that one old frame does not make a transaction of its own.
   */
  readyThrough(after: number): number {
    if (this.isAtRest) return Number.POSITIVE_INFINITY
    const oldEnough = this.monotonic() - this.ageMillis / 2
    for (const [sequence, at] of this.frames)
      if (sequence > after && at > oldEnough && !this.isSettled(sequence)) return sequence - 1
    return Number.POSITIVE_INFINITY
  }

  /** Notes that the store has all frames up to this one. */
  recorded(sequence: number): void {
    if (this.isEmpty) return
    for (const known of this.frames.keys()) {
      if (known > sequence) break
      this.frames.delete(known)
    }
    for (const part of this.parts) part.recorded(sequence)
  }

  /** Stops tasks of an organization with parked records; undefined for all organizations. */
  exclude(organization: string | undefined): void {
    for (const part of this.parts) part.exclude(organization)
  }

  allow(organization: string): void {
    for (const part of this.parts) part.allow(organization)
  }

  /** Notes that the reactor reads its place again. */
  resumed(): void {
    for (const part of this.parts) part.resumed()
  }

  close(): void {
    for (const part of this.parts) part.close()
  }

  private isSettled(sequence: number): boolean {
    return this.parts.every((part) => part.isSettled(sequence))
  }

  private settled(sequence: number, hasEnded: boolean): void {
    const at = this.frames.get(sequence)
    if (hasEnded && at !== undefined) this.typicalMillis += weight * (this.monotonic() - at - this.typicalMillis)
    if (this.isAtRest) this.atRest.notify()
  }
}
