/**
 * One life of a partition: the state that a recovery rebuilds and that ends with a fence, a fault or a restart
 * (docs/architecture.md, rules 3 and 4). A new life is a new object, so it holds no state of the previous one. The
 * actors in memory, waiting commands and the states of lanes outlive it; they are in `PartitionCore`.
 */
import { emptyHead, type Head } from "../frame.ts"
import type { CheckpointRecord } from "../ports/Checkpoints.ts"
import { ActorLoader, type LoaderOptions } from "./actors/ActorLoader.ts"
import type { Cell, Entry, LaneAsk, Timer } from "./actors/Organization.ts"
import { Drain } from "./drain/Drain.ts"
import type { Lanes } from "./drain/Lanes.ts"
import { NextWork } from "./drain/NextWork.ts"
import { SignalQueues } from "./drain/SignalQueues.ts"
import { CheckpointPace } from "./log/CheckpointPace.ts"
import { LogRoom } from "./log/LogRoom.ts"
import { type Moment, PartitionTime } from "./PartitionTime.ts"
import type { CoreOptions, DraftedFrame } from "./protocol.ts"
import { TimerPages } from "./timers/TimerPages.ts"
import { Timers } from "./timers/Timers.ts"

/** The level in force without older programs. */
const everyLevel = () => Number.POSITIVE_INFINITY

/** The parts of a partition that outlive a life. */
export interface LifeOptions extends LoaderOptions {
  readonly options: CoreOptions
  readonly lanes: Lanes
  readonly now: Moment
}

export class Life {
  readonly signals = new SignalQueues()
  readonly pages = new TimerPages()
  readonly room = new LogRoom()
  readonly time = new PartitionTime()
  readonly pace: CheckpointPace
  readonly timers: Timers
  readonly loader: ActorLoader
  readonly work: NextWork
  readonly drain: Drain
  head: Head = emptyHead
  /** The frame that is being appended. */
  underWay: DraftedFrame | undefined = undefined
  /** Whether a deposed leader may still answer, so that only a stored frame proves the log to be ours. */
  provesByFrames = false
  isMarkWanted = false
  isCheckpointDue = false
  private readonly now: Moment

  /** `base`: the checkpoint to begin from. */
  constructor(shared: LifeOptions, base?: CheckpointRecord) {
    const { lanes, mailbox, memory, now, options, partition } = shared
    const { host } = options
    const { pages, room, signals, time } = this
    this.now = now
    this.pace = new CheckpointPace(options)
    this.timers = new Timers(base !== undefined)
    this.loader = new ActorLoader(shared, this.timers)
    this.loader.useBase(base, false)
    const { loader, timers } = this
    this.work = new NextWork({ mailbox, signals, pages, room, loader, lanes, time, timers })
    this.drain = new Drain(
      {
        partition,
        memory,
        mailbox,
        signals,
        load: (cell: Cell, isFresh?: boolean) => loader.load(cell, isFresh),
        waitFor: (cell: Cell, waiter: Entry | LaneAsk) => loader.waitFor(cell, waiter),
        prefetch: (entry: Entry) => loader.prefetch(entry),
        mayLoad: () => loader.mayLoad,
        defer: (timer: Timer) => loader.defer(timer),
        waitsForPage: (timer: Timer) => pages.holds(timer, timers, now.monotonic),
        crowded: () => this.crowded(),
        poisoned: host.poisoned,
        braked: host.braked,
        signalFailed: host.signalFailed,
        level: options.level ?? everyLevel,
        wantsRecords: options.wantsRecords
      },
      timers
    )
  }

  get newestCheckpoint(): CheckpointRecord | undefined {
    return this.loader.newestCheckpoint
  }

  /** Makes timers and signals wait for a checkpoint, because memory is full of changes. */
  private crowded(): void {
    this.work.crowded(this.now)
    this.isCheckpointDue = true
  }
}
