/**
 * Keeps a reactor to its pace (docs/architecture.md, rule 11): counts the time of its transactions, and waits before
 * the next one, also for the tasks of the unread frames to end. The wait ends early when a purge or a caller waits for
 * the cursor, when the unread frames fill a batch or half of the feed, and when the partition is closing.
 */
import { Duration, Effect } from "effect"
import { maximumBatchFrames, maximumBatchRecords } from "../../Reactor.ts"
import { type Budget, fullBudget, type Pace, spend, waitMillis } from "../../reactorPace.ts"
import type { CommittedFrame } from "../../records.ts"
import type { Partition } from "../partition/Partition.ts"
import type { ReactorTasks } from "./ReactorTasks.ts"

/** The part of the feed that may be unread while a reactor waits. */
const crowdedShare = 0.5

export class ReactorPacer {
  private readonly partition: Partition
  private readonly pace: Pace
  private readonly name: string
  private readonly tasks: ReactorTasks
  private budget: Budget

  constructor(partition: Partition, name: string, pace: Pace) {
    this.partition = partition
    this.name = name
    this.pace = pace
    this.tasks = partition.tasksOf(name)
    this.budget = fullBudget(pace, partition.now().monotonic)
  }

  /** Notes a transaction that has just ended. */
  spent(begunAt: number): void {
    this.budget = spend(this.pace, this.budget, begunAt, this.partition.now().monotonic)
  }

  /** Waits until the frames behind `after` may be processed. */
  wait(after: number): Effect.Effect<void> {
    const millis = waitMillis(this.pace, this.budget, this.partition.now().monotonic)
    const settling = Effect.suspend(() => this.settle(after))
    return millis <= 0 ? settling : Effect.andThen(this.unlessPressing(after, millis), settling)
  }

  /** How many of the frames behind `after` may be written now: those whose tasks have ended, and those that are old. */
  ready(after: number, frames: ReadonlyArray<CommittedFrame>): ReadonlyArray<CommittedFrame> {
    const through = this.tasks.readyThrough(after)
    if (through === Number.POSITIVE_INFINITY) return frames
    return frames.filter(({ sequence }) => sequence <= through)
  }

  /** Waits until all tasks have ended, or the oldest frame is old enough. */
  private settle(after: number): Effect.Effect<void> {
    const { atRest } = this.tasks
    const millis = this.tasks.waitMillis(after)
    if (millis <= 0) return Effect.void
    atRest.clear()
    return Effect.raceFirst(this.unlessPressing(after, millis), atRest.wait)
  }

  private unlessPressing(after: number, millis: number): Effect.Effect<void> {
    this.partition.heldBack.add(this.name)
    return Effect.raceFirst(pressing(this.partition, after), Effect.sleep(Duration.millis(Math.ceil(millis))))
  }

  /** Notes that the reactor holds nothing back: the frames behind its place have been processed, or failed. */
  caughtUp(): void {
    if (this.partition.heldBack.delete(this.name)) this.partition.heldBackWakeup.notify()
  }
}

/** Completes when a reactor that has not read the frames behind `after` should not wait any longer. */
const pressing = (partition: Partition, after: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const { feedBytes, feedFrames } = partition.context.config
    let frames = partition.core.head.sequence - after
    let records = 0
    let bytes = 0
    const add = (frame: CommittedFrame) => {
      records += frame.records.length
      bytes += frame.bytes
    }
    const isPressing = () =>
      partition.isClosing ||
      partition.wantsPositions ||
      partition.isHurried ||
      frames >= Math.min(maximumBatchFrames, feedFrames * crowdedShare) ||
      records >= maximumBatchRecords ||
      bytes >= feedBytes * crowdedShare
    // A reactor that lags has a full batch in the log, though none of it is in memory.
    for (const frame of partition.feed.after(after, maximumBatchFrames) ?? []) add(frame)
    if (isPressing()) {
      resume(Effect.void)
      return
    }
    const stop = partition.feed.listen((frame) => {
      if (frame !== undefined) {
        frames++
        add(frame)
      }
      if (!isPressing()) return
      stop()
      resume(Effect.void)
    })
    return Effect.sync(stop)
  })
