/**
 * Defines whether this machine's clock can be trusted (docs/architecture.md, rule 7). Frames carry the time, and it
 * never goes back: frames written by a clock that runs ahead keep a partition from serving until the right time has
 * come. A program that can compare the clock with others reports here when it is ahead, and no partition begins or
 * continues a life meanwhile. By default the clock is not compared.
 */
import { Context } from "effect"

export interface ClockGuardShape {
  /**
   * A sentence for the operator while the clock is ahead; undefined while there is no sign of that. Read before each
   * frame.
   */
  readonly problem: () => string | undefined
}

export const ClockGuard: Context.Reference<ClockGuardShape> = Context.Reference<ClockGuardShape>(
  "sluice/engine/ClockGuard",
  { defaultValue: () => ({ problem: () => undefined }) }
)
