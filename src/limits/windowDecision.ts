/**
 * Defines the common parts of the rolling, distinct and monthly rules: their answer, and the checks of their arguments.
 * Unlike a fixed window they can say exactly when a refused request would pass. Pure.
 */
import { InvalidArgument } from "./errors.ts"
import type { LimitOutcome } from "./rules.ts"

/** The answer to a request under a limit. See {@link RollingWindowRule.take}. */
export interface WindowDecision {
  /** Whether the request may proceed. Only then was it counted. */
  readonly allowed: boolean
  readonly outcome: LimitOutcome
  /** The cost of the request, in the window's units. */
  readonly cost: number
  /** Units that the window takes; `"unlimited"` for a quota without one. */
  readonly limit: number | "unlimited"
  /** Units in the window, after this request if it was allowed. Above `limit` only if the limit was lowered. */
  readonly used: number
  /**
   * Unix milliseconds of the earliest instant at which this request would pass if nothing else were counted; for an
   * allowed one the time of the decision. A request that is dearer than the whole limit never passes and gets the end
   * of a window that begins now.
   */
  readonly resetsAt: number
  /** Whole seconds until `resetsAt`, rounded up, so that a retry then passes; 0 for an allowed request. */
  readonly retryAfterSeconds: number
}

/** Words the answer. `used` is the count after the decision. */
export const windowDecision = (
  outcome: LimitOutcome,
  cost: number,
  limit: number | "unlimited",
  used: number,
  resetsAt: number,
  now: number
): WindowDecision => ({
  allowed: outcome === "allowed",
  outcome,
  cost,
  limit,
  used,
  resetsAt,
  retryAfterSeconds: Math.ceil((resetsAt - now) / 1000)
})

/** @throws InvalidArgument unless `value` is an integer from `minimum` to `maximum`. */
export const assertInteger = (argument: string, value: number, minimum: number, maximum: number): void => {
  if (!(Number.isInteger(value) && value >= minimum && value <= maximum)) {
    throw new InvalidArgument({
      argument,
      message: `${argument} must be an integer from ${minimum} to ${maximum}, got ${value}`
    })
  }
}

/** Longest rolling window: the longest month. See {@link RollingWindowRule.take}. */
export const maximumRollingWindowMillis = 31 * 86_400_000

/**
 * Highest limit of a window that keeps each entry. A state of that many pairs is some 40 kB of JSON, within an actor's
 * bound. See {@link RollingWindowRule.take}.
 */
export const maximumExactLimit = 5_000

/** A window that moves with the time, and its capacity. See {@link RollingWindowRule.take}. */
export interface RollingCap {
  /** Length of the window: an entry at t counts in [t, t + windowMillis). */
  readonly windowMillis: number
  /** Units per window, an integer from 0 to `maximumExactLimit`. */
  readonly limit: number
}

/** @throws InvalidArgument unless both figures are within their range. */
export const assertCap = (cap: RollingCap): void => {
  assertInteger("windowMillis", cap.windowMillis, 1, maximumRollingWindowMillis)
  assertInteger("limit", cap.limit, 0, maximumExactLimit)
}
