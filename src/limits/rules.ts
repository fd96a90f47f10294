/**
 * Defines the request rate rule (docs/platform.md, 3.1): a fixed window aligned to the clock, by default the UTC
 * minute. A request that passes is counted, one that does not is not. Pure: the time comes in as an argument, nothing
 * is kept. `makeMemory` and the limiter's actor count by these functions. Time never runs backwards in a window's
 * state: when a clock is set back, the later window stays in force until the clock is there again, so that setting a
 * clock grants nothing.
 */
import { InvalidArgument } from "./errors.ts"

/** Length of the window of the platform's request rate. See {@link FixedWindow.take}. */
export const minuteMillis = 60_000

/**
 * Longest window. A window divides the time since 1970-01-01T00:00Z, so a day is a UTC day. See
 * {@link FixedWindow.take}.
 */
export const maximumWindowMillis = 86_400_000

/**
 * Highest limit, and highest cost of one request; the sum of two stays a 32-bit integer. See {@link FixedWindow.take}.
 */
export const maximumLimit = 1_000_000_000

/** The last instant that a JavaScript `Date` can show. A later time is a mistake of the clock. */
const maximumNowMillis = 8_640_000_000_000_000

/**
 * Requests per window: an integer from 0 (nothing passes) to `maximumLimit`, or `"unlimited"`. See
 * {@link FixedWindow.take}.
 */
export type Limit = number | "unlimited"

/** The use of one key. Plain data, so that it can be shown and sent. See {@link FixedWindow.take}. */
export interface WindowState {
  /** Unix milliseconds at which the window ends; 0 before the first request. */
  readonly endMillis: number
  /** Sum of the accepted costs in the window, less refunds. */
  readonly used: number
}

/** A key that has not been seen. See {@link FixedWindow.take}. */
export const initial: WindowState = { endMillis: 0, used: 0 }

/**
 * - `allowed`: counted, the request may proceed
 * - `limited`: over the limit; passes in a later window
 * - `cost_above_limit`: dearer than the whole limit; passes in no window
 * - `full`: the limiter has no room to count another key (never from the pure rule) See {@link FixedWindow.take}.
 */
export type LimitOutcome = "allowed" | "limited" | "cost_above_limit" | "full"

/** The fields of every decision. See {@link FixedWindow.take}. */
export interface DecisionBase {
  /** Whether the request may proceed. Only then was its cost counted. */
  readonly allowed: boolean
  readonly outcome: LimitOutcome
  /** The cost of the request. */
  readonly cost: number
  /** Unix seconds at which the window ends. */
  readonly reset: number
  /** Whole seconds until the window ends, at least 1: when a refused request should come again. */
  readonly retryAfterSeconds: number
}

/** The answer under a limit. See {@link FixedWindow.take}. */
export interface LimitedDecision extends DecisionBase {
  /** Requests per window. */
  readonly limit: number
  /** Requests left in the window, after this one if it was allowed. Never below 0. */
  readonly remaining: number
}

/**
 * The answer without a limit. The request is still counted, in case the plan changes within the window. See
 * {@link FixedWindow.take}.
 */
export interface UnlimitedDecision extends DecisionBase {
  readonly allowed: true
  readonly outcome: "allowed"
  readonly limit: "unlimited"
  readonly remaining: "unlimited"
}

/** The answer to `take` and `peek`. `limit` tells the two cases apart. See {@link FixedWindow.take}. */
export type Decision = LimitedDecision | UnlimitedDecision

/** The part of a decision that `refund` needs. See {@link FixedWindow.refund}. */
export type Receipt = Pick<DecisionBase, "allowed" | "cost" | "reset">

/**
 * Throws `InvalidArgument` unless `now` is a time that a `Date` can show.
 *
 * @example
 * ```ts
 * import { FixedWindow } from "sluice/limits"
 *
 * // does nothing for a time, throws `InvalidArgument` for anything else
 * FixedWindow.assertNow(Date.UTC(2026, 0, 1))
 * ```
 */
export const assertNow = (now: number): void => {
  if (!(Math.abs(now) <= maximumNowMillis)) {
    throw new InvalidArgument({ argument: "now", message: `now must be Unix milliseconds, got ${now}` })
  }
}

/**
 * End in Unix milliseconds of the window that contains `now`.
 * @throws InvalidArgument if `now` is no time.
 *
 * @example
 * ```ts
 * import { FixedWindow } from "sluice/limits"
 *
 * console.log(FixedWindow.windowEnd(61_000, 60_000)) // 120000
 * ```
 */
export const windowEnd = (now: number, windowMillis: number): number => {
  assertNow(now)
  return (Math.floor(now / windowMillis) + 1) * windowMillis
}

/**
 * Throws `InvalidArgument` unless `cost` is an integer from 1 to `maximumLimit`.
 *
 * @example
 * ```ts
 * import { FixedWindow, InvalidArgument } from "sluice/limits"
 *
 * try {
 *   FixedWindow.assertCost(0)
 * } catch (error) {
 *   console.log(error instanceof InvalidArgument && error.argument) // cost
 * }
 * ```
 */
export const assertCost = (cost: number): void => {
  if (!(Number.isInteger(cost) && cost >= 1 && cost <= maximumLimit)) {
    throw new InvalidArgument({
      argument: "cost",
      message: `cost must be an integer from 1 to ${maximumLimit}, got ${cost}`
    })
  }
}

/**
 * Throws `InvalidArgument` unless `limit` is an integer from 0 to `maximumLimit` or `"unlimited"`.
 *
 * @example
 * ```ts
 * import { FixedWindow } from "sluice/limits"
 *
 * // what a configuration file says, before it is used
 * FixedWindow.assertLimit("unlimited")
 * ```
 */
export const assertLimit = (limit: Limit): void => {
  if (limit !== "unlimited" && !(Number.isInteger(limit) && limit >= 0 && limit <= maximumLimit)) {
    throw new InvalidArgument({
      argument: "limit",
      message: `limit must be an integer from 0 to ${maximumLimit} or "unlimited", got ${limit}`
    })
  }
}

/**
 * Throws `InvalidArgument` unless `windowMillis` is a whole number of seconds, at most `maximumWindowMillis`.
 *
 * @example
 * ```ts
 * import { FixedWindow } from "sluice/limits"
 *
 * // whole seconds, at most a day
 * FixedWindow.assertWindow(60_000)
 * ```
 */
export const assertWindow = (windowMillis: number): void => {
  // Whole seconds, because a decision names its window by the Unix second at which it ends.
  if (!(windowMillis >= 1000 && windowMillis <= maximumWindowMillis && windowMillis % 1000 === 0)) {
    throw new InvalidArgument({
      argument: "windowMillis",
      message: `windowMillis must be a multiple of 1000 from 1000 to ${maximumWindowMillis}, got ${windowMillis}`
    })
  }
}

/**
 * The rule itself: whether `cost` more passes when `used` of `limit` is gone.
 *
 * @example
 * ```ts
 * import { FixedWindow } from "sluice/limits"
 *
 * console.log(FixedWindow.judge(59, 60, 1), FixedWindow.judge(60, 60, 1), FixedWindow.judge(0, 60, 61)) // allowed limited cost_above_limit
 * ```
 */
export const judge = (used: number, limit: Limit, cost: number): LimitOutcome => {
  if (limit === "unlimited" || used + cost <= limit) return "allowed"
  return cost > limit ? "cost_above_limit" : "limited"
}

/** The last count of an unlimited key: above every limit, so that it is not mistaken for an exact count. */
const uncountable = maximumLimit + 1

/**
 * Counts `cost`.
 *
 * @example
 * ```ts
 * import { FixedWindow } from "sluice/limits"
 *
 * console.log(FixedWindow.count(59, 1)) // 60
 * ```
 */
export const count = (used: number, cost: number): number => Math.min(used + cost, uncountable)

/**
 * The units to take off `used` for `receipt`: none unless it was counted in the window that ends at `endMillis`.
 *
 * @example
 * ```ts
 * import { FixedWindow } from "sluice/limits"
 *
 * const { decision, state } = FixedWindow.take(FixedWindow.initial, 60, 5, 1_000)
 * console.log(FixedWindow.refundable(state.used, state.endMillis, decision)) // 5
 * ```
 */
export const refundable = (used: number, endMillis: number, receipt: Receipt): number =>
  receipt.allowed && receipt.reset * 1000 === endMillis && used < uncountable ? Math.min(receipt.cost, used) : 0

/**
 * Words the answer. `used` is the count after the decision.
 *
 * @example
 * ```ts
 * import { FixedWindow } from "sluice/limits"
 *
 * console.log(FixedWindow.decision("limited", 60, 1, 60, 60_000, 45_000).retryAfterSeconds) // 15
 * ```
 */
export const decision = (
  outcome: LimitOutcome,
  limit: Limit,
  cost: number,
  used: number,
  endMillis: number,
  now: number
): Decision => {
  const reset = endMillis / 1000
  const retryAfterSeconds = Math.ceil((endMillis - now) / 1000)
  return limit === "unlimited"
    ? { allowed: true, outcome: "allowed", limit, remaining: limit, cost, reset, retryAfterSeconds }
    : {
        allowed: outcome === "allowed",
        outcome,
        limit,
        remaining: used < limit ? limit - used : 0,
        cost,
        reset,
        retryAfterSeconds
      }
}

/**
 * The state as `now` sees it: empty if its window has ended.
 *
 * @example
 * ```ts
 * import { FixedWindow } from "sluice/limits"
 *
 * const { state } = FixedWindow.take(FixedWindow.initial, 60, 5, 1_000)
 * console.log(FixedWindow.advance(state, 59_999).used, FixedWindow.advance(state, 60_000).used) // 5 0
 * ```
 */
export const advance = (state: WindowState, now: number, windowMillis: number = minuteMillis): WindowState =>
  now < state.endMillis ? state : { endMillis: windowEnd(now, windowMillis), used: 0 }

/**
 * Asks for `cost` requests at `now` (Unix milliseconds) and counts them if they pass. `limit` is the one in force now:
 * the count survives a change of it. A refusal leaves the count as it was.
 * @throws InvalidArgument for a cost, limit or time outside its range.
 *
 * @example
 * ```ts
 * import { FixedWindow } from "sluice/limits"
 *
 * const { state } = FixedWindow.take(FixedWindow.initial, 60, 59, 1_000)
 * console.log(FixedWindow.take(state, 60, 1, 2_000).decision.remaining) // 0
 * console.log(FixedWindow.take(state, 60, 2, 2_000).decision.outcome) // limited
 * ```
 */
export const take = (
  state: WindowState,
  limit: Limit,
  cost: number,
  now: number,
  windowMillis: number = minuteMillis
): { readonly state: WindowState; readonly decision: Decision } => {
  assertLimit(limit)
  assertCost(cost)
  const before = advance(state, now, windowMillis)
  const outcome = judge(before.used, limit, cost)
  const after = outcome === "allowed" ? { endMillis: before.endMillis, used: count(before.used, cost) } : before
  return { state: after, decision: decision(outcome, limit, cost, after.used, after.endMillis, now) }
}

/**
 * Returns the answer that `take` would give, counting nothing: `remaining` is the rest before the request.
 * @throws InvalidArgument for a cost, limit or time outside its range.
 *
 * @example
 * ```ts
 * import { FixedWindow } from "sluice/limits"
 *
 * console.log(FixedWindow.peek(FixedWindow.initial, 60, 1, 1_000).remaining) // 60
 * ```
 */
export const peek = (
  state: WindowState,
  limit: Limit,
  cost: number,
  now: number,
  windowMillis: number = minuteMillis
): Decision => {
  assertLimit(limit)
  assertCost(cost)
  const { endMillis, used } = advance(state, now, windowMillis)
  return decision(judge(used, limit, cost), limit, cost, used, endMillis, now)
}

/**
 * Returns the units that an allowed decision counted, for a request that was not carried out after all. Once per
 * decision: a second refund would return units that other requests used. `refunded` is 0 if the decision was a refusal
 * or its window has ended; the count never falls below 0, so never more than the limit is free.
 * @throws InvalidArgument for a cost or time outside its range.
 *
 * @example
 * ```ts
 * import { FixedWindow } from "sluice/limits"
 *
 * const { decision, state } = FixedWindow.take(FixedWindow.initial, 60, 5, 1_000)
 * const given = FixedWindow.refund(state, decision, 2_000)
 * console.log(given.refunded, given.state.used) // 5 0
 * ```
 */
export const refund = (
  state: WindowState,
  receipt: Receipt,
  now: number,
  windowMillis: number = minuteMillis
): { readonly state: WindowState; readonly refunded: number } => {
  assertCost(receipt.cost)
  const before = advance(state, now, windowMillis)
  const refunded = refundable(before.used, before.endMillis, receipt)
  return {
    state: refunded === 0 ? before : { endMillis: before.endMillis, used: before.used - refunded },
    refunded
  }
}
