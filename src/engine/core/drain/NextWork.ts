/**
 * Tells whether a drain of a partition would find something to decide, and how long there will be nothing
 * (docs/architecture.md, rules 10, 13, 19).
 */
import type { ActorLoader } from "../actors/ActorLoader.ts"
import type { LogRoom } from "../log/LogRoom.ts"
import type { Instant, PartitionTime } from "../PartitionTime.ts"
import type { TimerPages } from "../timers/TimerPages.ts"
import type { Timers } from "../timers/Timers.ts"
import type { Lanes } from "./Lanes.ts"
import type { Mailbox } from "./Mailbox.ts"
import type { SignalQueues } from "./SignalQueues.ts"

/** How long timers and signals wait while memory is full of changes that no checkpoint has yet. */
const crowdedHoldMillis = 100

export interface NextWorkOptions {
  readonly mailbox: Mailbox
  readonly signals: SignalQueues
  readonly pages: TimerPages
  readonly room: LogRoom
  readonly loader: ActorLoader
  readonly lanes: Lanes
  readonly time: PartitionTime
  readonly timers: Timers
}

export class NextWork {
  private readonly options: NextWorkOptions
  private crowdedUntil = 0

  constructor(options: NextWorkOptions) {
    this.options = options
  }

  /** Makes timers and signals wait, because memory is full and nothing can leave before a checkpoint. */
  crowded({ monotonic }: Instant): void {
    this.crowdedUntil = monotonic + crowdedHoldMillis
  }

  /** Whether timers and signals wait, because there is no room for them in the log or in memory. */
  isHeld({ monotonic }: Instant): boolean {
    return this.options.room.isHeld(monotonic) || monotonic < this.crowdedUntil
  }

  /** Whether there is something to decide at this time of the partition. */
  hasAny(told: number, isHeld: boolean, { monotonic }: Instant): boolean {
    const { mailbox, pages, signals } = this.options
    if (mailbox.hasRunnable) return true
    if (isHeld) return false
    if (signals.isReady) return true
    const timers = this.options.timers
    const timer = timers.first
    if (timer === undefined || timer.wakeAt > told) return false
    return !pages.holds(timer, timers, monotonic)
  }

  /** How long the partition may wait for news, milliseconds. */
  waitMillis(told: number, now: Instant): number {
    const { lanes, loader, pages, room, time } = this.options
    const { monotonic } = now
    const until = (at: number) => (at > monotonic ? at - monotonic : Number.POSITIVE_INFINITY)
    const untilHold = Math.min(until(room.heldTo), until(this.crowdedUntil), until(loader.heldTo))
    const untilTimer = pages.waitMillis(this.options.timers, told, monotonic)
    // A due timer that was not fired waits for the end of a hold.
    const untilWork = untilTimer > 0 ? Math.min(untilTimer, untilHold) : untilHold
    // An ask of a lane waits no longer than the pause after a failed proof.
    const untilProof = lanes.needsConfirmation ? time.untilAsk(now) : time.untilLook(now)
    return Math.max(1, Math.min(untilWork, untilProof))
  }
}
