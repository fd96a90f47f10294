/**
 * Counts a distinct window exactly: the different values used in the window's last milliseconds. A value lives until
 * its latest use and the window's length have passed (docs/send.md, 1.2). Pure, and a plain JSON state like the rolling
 * window's, ordered by latest use. Setting a clock back grants nothing.
 */
import { InvalidArgument } from "./errors.ts"
import { assertNow, type LimitOutcome } from "./rules.ts"
import { assertCap, type RollingCap, type WindowDecision, windowDecision } from "./windowDecision.ts"

/** Longest value, in UTF-16 code units: longer than any domain. See {@link DistinctWindowRule.take}. */
export const maximumValueLength = 256

/** Most values of one request: a batch of 100 emails with 50 recipients each. See {@link DistinctWindowRule.take}. */
export const maximumValues = 5_000

/**
 * The values in the order of their latest use. Plain data, at most `limit` values. See
 * {@link DistinctWindowRule.take}.
 */
export interface DistinctState {
  /** Unix milliseconds of the latest use of the first value. */
  readonly startMillis: number
  readonly values: ReadonlyArray<string>
  /** For each value the milliseconds since the latest use of the value before (0 for the first). */
  readonly deltas: ReadonlyArray<number>
}

/** The state without any use. See {@link DistinctWindowRule.take}. */
export const initial: DistinctState = { startMillis: 0, values: [], deltas: [] }

/**
 * The answer: besides the decision, the request's values that are new to the window and those without room. See
 * {@link DistinctWindowRule.take}.
 */
export interface DistinctDecision extends WindowDecision {
  /** Values that are not in the window, each once, in the order of the request. */
  readonly fresh: ReadonlyArray<string>
  /** The last of `fresh`: the values over the limit. Without them the request would pass. */
  readonly over: ReadonlyArray<string>
}

const latestUses = (state: DistinctState): ReadonlyArray<number> => {
  let at = state.startMillis
  return state.deltas.map((delta) => {
    at += delta
    return at
  })
}

/**
 * Unix milliseconds of the newest use, undefined without one.
 *
 * @example
 * ```ts
 * import { DistinctWindowRule } from "sluice/limits"
 *
 * const state = DistinctWindowRule.record(DistinctWindowRule.initial, 3_600_000, ["a.test"], 5_000)
 * console.log(DistinctWindowRule.latest(state)) // 5000
 * ```
 */
export const latest = (state: DistinctState): number | undefined =>
  state.deltas.length === 0 ? undefined : state.deltas.reduce((at, delta) => at + delta, state.startMillis)

/**
 * The effective time: the clock's, but never before the newest use.
 *
 * @example
 * ```ts
 * import { DistinctWindowRule } from "sluice/limits"
 *
 * const state = DistinctWindowRule.record(DistinctWindowRule.initial, 3_600_000, ["a.test"], 5_000)
 * // a clock that was set back counts as standing still
 * console.log(DistinctWindowRule.timeOf(state, 4_000)) // 5000
 * ```
 */
export const timeOf = (state: DistinctState, now: number): number => Math.max(now, latest(state) ?? now)

const assertValues = (values: ReadonlyArray<string>): void => {
  if (values.length === 0 || values.length > maximumValues) {
    throw new InvalidArgument({
      argument: "values",
      message: `values must be 1 to ${maximumValues}, got ${values.length}`
    })
  }
  for (const { length } of values) {
    if (length === 0 || length > maximumValueLength) {
      throw new InvalidArgument({
        argument: "values",
        message: `a value must have 1 to ${maximumValueLength} characters, got ${length}`
      })
    }
  }
}

/** Places in `state` of the values that live at `time`. */
const firstLiving = (uses: ReadonlyArray<number>, windowMillis: number, time: number): number => {
  const first = uses.findIndex((at) => at + windowMillis > time)
  return first === -1 ? uses.length : first
}

/** Values of a request that are searched for one by one; for more of them an index is made. */
const fewValues = 8

/** The values of a request that do not live. */
const freshOf = (values: ReadonlyArray<string>, first: number, asked: ReadonlySet<string>): ReadonlyArray<string> => {
  if (asked.size <= fewValues) return [...asked].filter((value) => !values.includes(value, first))
  const living = new Set(values.slice(first))
  return [...asked].filter((value) => !living.has(value))
}

/**
 * Whether all of `values` together pass under `cap` at `now`, and when they would; counts nothing. `cost` is how many
 * are not in the window yet, `used` how many are in it.
 * @throws InvalidArgument for values, a cap or a time outside their range.
 *
 * @example
 * ```ts
 * import { DistinctWindowRule } from "sluice/limits"
 *
 * const cap = { limit: 1, windowMillis: 3_600_000 }
 * const state = DistinctWindowRule.record(DistinctWindowRule.initial, cap.windowMillis, ["a.test"], 0)
 * console.log(DistinctWindowRule.peek(state, cap, ["b.test"], 0).resetsAt) // 3600000
 * ```
 */
export const peek = (
  state: DistinctState,
  cap: RollingCap,
  values: ReadonlyArray<string>,
  now: number
): DistinctDecision => {
  assertNow(now)
  assertCap(cap)
  assertValues(values)
  const { limit, windowMillis } = cap
  const uses = latestUses(state)
  const time = Math.max(now, uses[uses.length - 1] ?? now)
  const first = firstLiving(uses, windowMillis, time)
  const livingCount = uses.length - first
  const asked = new Set(values)
  const fresh = freshOf(state.values, first, asked)
  const over = fresh.slice(Math.max(0, limit - livingCount))
  if (livingCount + fresh.length <= limit || fresh.length === 0)
    return { ...windowDecision("allowed", fresh.length, limit, livingCount, now, now), fresh, over: [] }
  const outcome: LimitOutcome = asked.size > limit ? "cost_above_limit" : "limited"
  let resetsAt = time + windowMillis
  if (outcome === "limited") {
    // The request's own values are needed at any time, so only the others make room by leaving.
    const others = uses.slice(first).filter((_, index) => !asked.has(state.values[first + index] as string))
    resetsAt = (others[others.length + asked.size - limit - 1] as number) + windowMillis
  }
  return { ...windowDecision(outcome, fresh.length, limit, livingCount, resetsAt, now), fresh, over }
}

/**
 * Notes a use of `values` at `now` without asking, and drops the values that no longer live.
 *
 * @example
 * ```ts
 * import { DistinctWindowRule } from "sluice/limits"
 *
 * // what was done already, and counts without having asked
 * const state = DistinctWindowRule.record(DistinctWindowRule.initial, 3_600_000, ["a.test"], 5_000)
 * console.log(state.values) // [ 'a.test' ]
 * ```
 */
export const record = (
  state: DistinctState,
  windowMillis: number,
  values: ReadonlyArray<string>,
  now: number
): DistinctState => {
  const uses = latestUses(state)
  const time = Math.max(now, uses[uses.length - 1] ?? now)
  const asked = new Set(values)
  const kept: Array<string> = []
  const deltas: Array<number> = []
  let startMillis = time
  let newest = time
  const keep = (value: string, at: number): void => {
    if (kept.length === 0) startMillis = at
    deltas.push(kept.length === 0 ? 0 : at - newest)
    kept.push(value)
    newest = at
  }
  for (let index = firstLiving(uses, windowMillis, time); index < uses.length; index++) {
    const value = state.values[index] as string
    if (!asked.has(value)) keep(value, uses[index] as number)
  }
  for (const value of asked) keep(value, time)
  return { startMillis, values: kept, deltas }
}

/**
 * Asks for all of `values` at `now` and notes their use if they pass; a refusal leaves the state as it was. Values that
 * are in the window already cost nothing, and live longer by it.
 * @throws InvalidArgument for values, a cap or a time outside their range.
 *
 * @example
 * ```ts
 * import { DistinctWindowRule } from "sluice/limits"
 *
 * const cap = { limit: 2, windowMillis: 3_600_000 }
 * const { state } = DistinctWindowRule.take(DistinctWindowRule.initial, cap, ["a.test", "b.test"], 0)
 * const { decision } = DistinctWindowRule.take(state, cap, ["b.test", "c.test"], 1_000)
 * console.log(decision.allowed, decision.over) // false [ 'c.test' ]
 * ```
 */
export const take = (
  state: DistinctState,
  cap: RollingCap,
  values: ReadonlyArray<string>,
  now: number
): { readonly state: DistinctState; readonly decision: DistinctDecision } => {
  const decision = peek(state, cap, values, now)
  if (!decision.allowed) return { state, decision }
  return {
    state: record(state, cap.windowMillis, values, now),
    decision: { ...decision, used: decision.used + decision.cost }
  }
}
