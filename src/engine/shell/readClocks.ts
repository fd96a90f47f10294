/** Reads the wall clock and the monotonic clock together. */
import type { Clock } from "effect"
import type { Instant } from "../core/PartitionTime.ts"

/** The time of both clocks, in milliseconds. */
export const readClocks = (clock: Clock.Clock): Instant => ({
  wall: clock.currentTimeMillisUnsafe(),
  monotonic: Number(clock.monotonicTimeNanosUnsafe()) / 1e6
})
