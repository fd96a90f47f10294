/**
 * Tracks an actor's wakes in this life (docs/architecture.md, "Wakes"): the next time that `wakeAgain` asks for, and
 * the brake on an actor whose wakes follow each other without end. One for each actor that was woken; it leaves memory
 * with its actor. Pure.
 */
import { brakeHoldMillis, maximumWakes, wakesWindowMillis } from "../../limits.ts"

/** The brake of an actor, made when it is first needed. */
export const brakeOf = (cell: { brake: WakeBrake | undefined }): WakeBrake => {
  cell.brake ??= new WakeBrake()
  return cell.brake
}

export class WakeBrake {
  /** The last time that `wakeAgain` has named, used instead of the state's until the state changes; NaN for none. */
  againAt = Number.NaN
  /** The end of the actor's pause, in the partition's time. */
  private heldUntil = Number.NEGATIVE_INFINITY
  /** When the running window began, monotonic milliseconds, and the wakes in it. */
  private since = Number.NEGATIVE_INFINITY
  private count = 0

  /** When an actor is due whose state wants to be woken at `wakeAt`; infinity for never. */
  dueAt(wakeAt: number): number {
    return Math.max(Number.isNaN(this.againAt) ? wakeAt : this.againAt, this.heldUntil)
  }

  /** When it is due after a change of its state, which cancels the time that `wakeAgain` has named. */
  dueAnew(wakeAt: number): number {
    return Math.max(wakeAt, this.heldUntil)
  }

  /** Counts a wake. Returns false, and pauses the actor, when there were too many within the window already. */
  admits(now: number, monotonic: number): boolean {
    if (monotonic - this.since >= wakesWindowMillis) {
      this.since = monotonic
      this.count = 0
    }
    if (++this.count <= maximumWakes) return true
    this.heldUntil = now + brakeHoldMillis
    this.since = Number.NEGATIVE_INFINITY
    return false
  }
}
