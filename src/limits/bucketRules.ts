/**
 * Counts a token bucket exactly: it holds up to `burst` tokens, gains `tokens` of them in each `everyMillis`, and a
 * request takes its cost out of it (docs/limits.md, "A token bucket"). Pure, and a plain JSON state of two numbers. The
 * tokens arrive one after the other and not in lumps, so the bucket is counted in whole parts of a token: every usual
 * interval divides a week, so each millisecond brings a whole number of them, nothing is rounded and nothing drifts.
 * The state holds the absent parts instead of the present ones, so that it stays true when a cap changes. Setting a
 * clock back grants nothing.
 */
import { InvalidArgument } from "./errors.ts"
import { assertCost, assertNow, type LimitOutcome } from "./rules.ts"
import { assertInteger, type WindowDecision, windowDecision } from "./windowDecision.ts"

/** Longest interval of a refill: a week. Every interval divides it. See {@link TokenBucketRule.take}. */
export const maximumEveryMillis = 604_800_000

/** Parts of a token, as many as a week has milliseconds. */
const parts = maximumEveryMillis

/** Highest burst, and most tokens of an interval: as parts they are safe integers. See {@link TokenBucketRule.take}. */
export const maximumBurst = 10_000_000

/** The size of a bucket and its rate. See {@link TokenBucketRule.take}. */
export interface BucketCap {
  /** Tokens of a full bucket, an integer from 0 (nothing passes) to `maximumBurst`. A new bucket is full. */
  readonly burst: number
  /** Tokens that arrive in each interval, an integer from 1 to `maximumBurst`. */
  readonly tokens: number
  /** Length of the interval in milliseconds. It divides a week, as 1 to 10, 1,000, 60,000 and 86,400,000 do. */
  readonly everyMillis: number
}

/** The bucket at its latest request. Plain data. See {@link TokenBucketRule.take}. */
export interface BucketState {
  /** Unix milliseconds of the latest accepted request; 0 before the first one. */
  readonly atMillis: number
  /** Parts that the bucket lacked then, 604,800,000 for each token. */
  readonly missing: number
}

/** A full bucket. See {@link TokenBucketRule.take}. */
export const initial: BucketState = { atMillis: 0, missing: 0 }

/** The answer: besides the decision, the tokens that are left. See {@link TokenBucketRule.take}. */
export interface BucketDecision extends WindowDecision {
  /** Whole tokens in the bucket, after this request if it was allowed. `used` are those it lacks. */
  readonly remaining: number
  /** Unix milliseconds at which the bucket is full if nothing else is taken. */
  readonly fullAt: number
}

/**
 * Throws `InvalidArgument` unless the three figures are within their range.
 *
 * @example
 * ```ts
 * import { InvalidArgument, TokenBucketRule } from "sluice/limits"
 *
 * try {
 *   TokenBucketRule.assertBucket({ burst: 20, tokens: 10, everyMillis: 11 })
 * } catch (error) {
 *   console.log(error instanceof InvalidArgument && error.argument) // everyMillis
 * }
 * ```
 */
export const assertBucket = ({ burst, everyMillis, tokens }: BucketCap): void => {
  assertInteger("burst", burst, 0, maximumBurst)
  assertInteger("tokens", tokens, 1, maximumBurst)
  assertInteger("everyMillis", everyMillis, 1, maximumEveryMillis)
  if (maximumEveryMillis % everyMillis === 0) return
  throw new InvalidArgument({
    argument: "everyMillis",
    message: `everyMillis must divide ${maximumEveryMillis}, the milliseconds of a week, got ${everyMillis}`
  })
}

const partsPerMilli = ({ everyMillis, tokens }: BucketCap): number => tokens * (parts / everyMillis)

/**
 * The quotient of safe integers, rounded up. A quotient that is no integer is at least 1 / divisor away from the next
 * one, further than the division rounds below 2^53: so the result is exact.
 */
const dividedUp = (dividend: number, divisor: number): number => Math.ceil(dividend / divisor)

/** The effective time: the clock's, but never before the latest request. */
const timeOf = (state: BucketState, now: number): number => (state.missing === 0 ? now : Math.max(now, state.atMillis))

/** Parts that the bucket lacks at `time`. */
const missingAt = ({ atMillis, missing }: BucketState, perMilli: number, time: number): number => {
  const elapsed = time - atMillis
  // A long time would be no safe integer of parts.
  return elapsed >= dividedUp(missing, perMilli) ? 0 : missing - elapsed * perMilli
}

/**
 * Unix milliseconds from which on the bucket is full, and equals a new one.
 *
 * @example
 * ```ts
 * import { TokenBucketRule } from "sluice/limits"
 *
 * const cap = { burst: 20, tokens: 10, everyMillis: 1_000 }
 * const { state } = TokenBucketRule.take(TokenBucketRule.initial, cap, 15, 5_000)
 * console.log(TokenBucketRule.fullAt(state, cap)) // 6500
 * ```
 */
export const fullAt = (state: BucketState, cap: BucketCap): number =>
  state.atMillis + dividedUp(state.missing, partsPerMilli(cap))

/** The time until `cost` tokens are there; the cost comes first: the sum of two large buckets is no safe integer. */
const waitMillis = (burst: number, perMilli: number, missing: number, cost: number): number =>
  dividedUp(cost > burst ? Math.max(burst, 1) * parts : missing - (burst - cost) * parts, perMilli)

const outcomeOf = (burst: number, missing: number, cost: number): LimitOutcome => {
  if (cost > burst) return "cost_above_limit"
  return missing > (burst - cost) * parts ? "limited" : "allowed"
}

/**
 * Whether `cost` tokens are in the bucket at `now`, and when they would be; takes nothing. `resetsAt` of a cost above
 * the burst is the time at which an empty bucket would be full.
 * @throws InvalidArgument for a cost, cap or time outside its range.
 *
 * @example
 * ```ts
 * import { TokenBucketRule } from "sluice/limits"
 *
 * const cap = { burst: 20, tokens: 10, everyMillis: 1_000 }
 * const { state } = TokenBucketRule.take(TokenBucketRule.initial, cap, 20, 5_000)
 * const { outcome, remaining, resetsAt } = TokenBucketRule.peek(state, cap, 3, 5_100)
 * console.log(outcome, remaining, resetsAt) // limited 1 5300
 * ```
 */
export const peek = (state: BucketState, cap: BucketCap, cost: number, now: number): BucketDecision => {
  assertNow(now)
  assertBucket(cap)
  assertCost(cost)
  const { burst } = cap
  const perMilli = partsPerMilli(cap)
  const time = timeOf(state, now)
  const missing = missingAt(state, perMilli, time)
  const outcome = outcomeOf(burst, missing, cost)
  const used = dividedUp(missing, parts)
  const resetsAt = outcome === "allowed" ? now : time + waitMillis(burst, perMilli, missing, cost)
  return {
    ...windowDecision(outcome, cost, burst, used, resetsAt, now),
    remaining: Math.max(0, burst - used),
    fullAt: time + dividedUp(missing, perMilli)
  }
}

/**
 * Takes `cost` tokens at `now` without asking. A bucket that lacks more than its burst refuses until it is paid.
 *
 * @example
 * ```ts
 * import { TokenBucketRule } from "sluice/limits"
 *
 * const cap = { burst: 20, tokens: 10, everyMillis: 1_000 }
 * // what was done already, and counts without having asked
 * const state = TokenBucketRule.record(TokenBucketRule.initial, cap, 25, 5_000)
 * console.log(TokenBucketRule.peek(state, cap, 1, 5_000).resetsAt) // 5600
 * ```
 */
export const record = (state: BucketState, cap: BucketCap, cost: number, now: number): BucketState => {
  const time = timeOf(state, now)
  const missing = missingAt(state, partsPerMilli(cap), time) + cost * parts
  return { atMillis: time, missing: Math.min(missing, maximumBurst * parts) }
}

/**
 * Words the answer to a request that `peek` lets pass and `record` has counted.
 *
 * @example
 * ```ts
 * import { TokenBucketRule } from "sluice/limits"
 *
 * const cap = { burst: 20, tokens: 10, everyMillis: 1_000 }
 * const would = TokenBucketRule.peek(TokenBucketRule.initial, cap, 5, 5_000)
 * const after = TokenBucketRule.record(TokenBucketRule.initial, cap, 5, 5_000)
 * console.log(TokenBucketRule.takenDecision(would, after, cap).remaining) // 15
 * ```
 */
export const takenDecision = (would: BucketDecision, after: BucketState, cap: BucketCap): BucketDecision => {
  const used = would.used + would.cost
  return { ...would, used, remaining: Math.max(0, cap.burst - used), fullAt: fullAt(after, cap) }
}

/**
 * Asks for `cost` tokens at `now` and takes them if they are there; a refusal leaves the state as it was. The cap may
 * change between calls: the missing tokens stay missing, so a larger burst is free immediately.
 * @throws InvalidArgument for a cost, cap or time outside its range.
 *
 * @example
 * ```ts
 * import { TokenBucketRule } from "sluice/limits"
 *
 * const cap = { burst: 20, tokens: 10, everyMillis: 1_000 }
 * const { decision, state } = TokenBucketRule.take(TokenBucketRule.initial, cap, 20, 5_000)
 * console.log(decision.remaining, TokenBucketRule.take(state, cap, 1, 5_100).decision.allowed) // 0 true
 * ```
 */
export const take = (
  state: BucketState,
  cap: BucketCap,
  cost: number,
  now: number
): { readonly state: BucketState; readonly decision: BucketDecision } => {
  const decision = peek(state, cap, cost, now)
  if (!decision.allowed) return { state, decision }
  const after = record(state, cap, cost, now)
  return { state: after, decision: takenDecision(decision, after, cap) }
}
