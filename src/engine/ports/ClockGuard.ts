/**
 * Whether this machine's clock may be believed (docs/architecture.md, rule 7). Frames carry the time, and it never goes back: what a clock that runs ahead has
 * written keeps a partition from serving until the right time has come. A program that can compare the clock with others says here when it is ahead, and no
 * partition begins or goes on a life meanwhile. Nobody compares unless told otherwise.
 */
import { Context } from "effect"

export interface ClockGuardShape {
  /** A sentence for the operator while the clock is ahead; undefined while nothing speaks against it. Asked before each frame. */
  readonly problem: () => string | undefined
}

export const ClockGuard: Context.Reference<ClockGuardShape> = Context.Reference<ClockGuardShape>(
  "sluice/engine/ClockGuard",
  { defaultValue: () => ({ problem: () => undefined }) }
)
