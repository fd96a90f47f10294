/**
 * A partition's time (architecture, rule 7): what the clock says, never earlier than the last frame or than what was told before, and unknown
 * while the clock is too far behind the last frame. Starts anew with each life.
 */
import type { Clock } from "effect"
import { clockBehindMillis } from "./limits.ts"
import type { Sabotage } from "./sabotage.ts"

export class PartitionTime {
  private readonly clock: () => Clock.Clock
  private readonly sabotage: ReadonlySet<Sabotage>
  /** The latest time that was told in this life. */
  private latest = 0

  constructor(clock: () => Clock.Clock, sabotage: ReadonlySet<Sabotage>) {
    this.clock = clock
    this.sabotage = sabotage
  }

  /** The time after a frame of `headNow`, milliseconds since the Unix epoch, or undefined while the clock is too far behind that frame. */
  after(headNow: number): number | undefined {
    const clock = this.clock().currentTimeMillisUnsafe()
    if (this.sabotage.has("clock-may-go-back")) return clock
    if (headNow - clock > clockBehindMillis) return undefined
    // what was told without a frame (a lane's windows) does not come again; a clock that was far ahead for a while is not held to it
    if (clock < this.latest && this.latest - clock > clockBehindMillis) this.latest = 0
    this.latest = Math.max(clock, headNow, this.latest)
    return this.latest
  }

  /** Forgets what was told, before a recovery. */
  beginLife(): void {
    this.latest = 0
  }
}
