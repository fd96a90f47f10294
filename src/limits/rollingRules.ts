/**
 * Counts a rolling window exactly: every accepted entry is kept until it has left the window, so no instant ever sees
 * more than the limit (docs/send.md, 1.1). Pure: the time is an argument. The state is plain JSON in flat arrays,
 * because an engine checks and stores it whole: a long one, which few changes copy, and the newest entries in a short
 * one, which each of them copies. One state can be judged under several windows. Setting a clock back grants nothing:
 * an entry is never older than the one before it.
 */
import { assertCost, assertNow, type LimitOutcome } from "./rules.ts"
import { assertCap, type RollingCap, type WindowDecision, windowDecision } from "./windowDecision.ts"

/** Entries one after the other. See {@link RollingWindowRule.take}. */
export interface Entries {
  /** Unix milliseconds of the oldest entry. */
  readonly startMillis: number
  /**
   * Pairs of milliseconds since the entry before (0 for the oldest) and units; entries of one millisecond are one
   * pair.
   */
  readonly entries: ReadonlyArray<number>
}

/**
 * The accepted entries. Plain data, at most one pair for each accepted unit, and some that have left the window. See
 * {@link RollingWindowRule.take}.
 */
export interface RollingState extends Entries {
  /** The entries behind them, if there are many. */
  readonly recent?: Entries
}

/** Numbers of the short array, and the length from which on a long one has a short one behind it. */
const recentNumbers = 32
const manyNumbers = 64

/** The times of a long array's entries, and the units before each of them and in all. */
interface Index {
  readonly startMillis: number
  readonly times: Float64Array
  readonly unitsBefore: Float64Array
}

/**
 * Made once for a long array, which stays the same object while entries go to the short one behind it, and is read
 * several times by each of them. It only speeds up reading the array.
 */
const indexes = new WeakMap<ReadonlyArray<number>, Index>()

const indexOf = ({ entries, startMillis }: Entries): Index => {
  const known = indexes.get(entries)
  if (known !== undefined && known.startMillis === startMillis) return known
  const count = entries.length / 2
  const times = new Float64Array(count)
  const unitsBefore = new Float64Array(count + 1)
  let at = startMillis
  for (let pair = 0; pair < count; pair++) {
    at += entries[2 * pair] as number
    times[pair] = at
    unitsBefore[pair + 1] = unitsBefore[pair]! + (entries[2 * pair + 1] as number)
  }
  const made = { startMillis, times, unitsBefore }
  indexes.set(entries, made)
  return made
}

/** How many of the ascending times are at or before `limit`. */
const countUntil = (times: Float64Array, limit: number): number => {
  let low = 0
  let high = times.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (times[middle]! <= limit) low = middle + 1
    else high = middle
  }
  return low
}

/** The state without any entry. See {@link RollingWindowRule.take}. */
export const initial: RollingState = { startMillis: 0, entries: [] }

/**
 * Unix milliseconds of the newest entry, undefined without one.
 *
 * @example
 * ```ts
 * import { RollingWindowRule } from "sluice/limits"
 *
 * const state = RollingWindowRule.record(RollingWindowRule.initial, 3_600_000, 3, 5_000)
 * console.log(RollingWindowRule.latest(state), RollingWindowRule.latest(RollingWindowRule.initial)) // 5000 undefined
 * ```
 */
export const latest = (state: RollingState): number | undefined => {
  const { entries, startMillis } = state.recent ?? state
  if (entries.length === 0) return undefined
  if (entries.length >= manyNumbers) return indexOf({ entries, startMillis }).times.at(-1)
  let at = startMillis
  for (let index = 0; index < entries.length; index += 2) at += entries[index] as number
  return at
}

/**
 * The effective time: the clock's, but never before the newest entry.
 *
 * @example
 * ```ts
 * import { RollingWindowRule } from "sluice/limits"
 *
 * const state = RollingWindowRule.record(RollingWindowRule.initial, 3_600_000, 3, 5_000)
 * // a clock that was set back counts as standing still
 * console.log(RollingWindowRule.timeOf(state, 4_000)) // 5000
 * ```
 */
export const timeOf = (state: RollingState, now: number): number => Math.max(now, latest(state) ?? now)

const usedOf = ({ entries, startMillis }: Entries, windowMillis: number, time: number): number => {
  if (entries.length >= manyNumbers) {
    const { times, unitsBefore } = indexOf({ entries, startMillis })
    return unitsBefore.at(-1)! - unitsBefore[countUntil(times, time - windowMillis)]!
  }
  let at = startMillis
  let sum = 0
  for (let index = 0; index < entries.length; index += 2) {
    at += entries[index] as number
    if (at + windowMillis > time) sum += entries[index + 1] as number
  }
  return sum
}

const usedAt = (state: RollingState, windowMillis: number, time: number): number =>
  usedOf(state, windowMillis, time) + (state.recent === undefined ? 0 : usedOf(state.recent, windowMillis, time))

/** All of it in the long array. */
const inOne = (state: RollingState): Entries => {
  const { recent } = state
  if (recent === undefined) return state
  const { entries, startMillis } = state
  const until = latest({ entries, startMillis }) ?? startMillis
  return { startMillis, entries: [...entries, recent.startMillis - until, ...recent.entries.slice(1)] }
}

/**
 * Units of the entries that count at `now`.
 *
 * @example
 * ```ts
 * import { RollingWindowRule } from "sluice/limits"
 *
 * const state = RollingWindowRule.record(RollingWindowRule.initial, 3_600_000, 3, 0)
 * console.log(RollingWindowRule.used(state, 3_600_000, 3_599_999), RollingWindowRule.used(state, 3_600_000, 3_600_000)) // 3 0
 * ```
 */
export const used = (state: RollingState, windowMillis: number, now: number): number =>
  usedAt(state, windowMillis, timeOf(state, now))

/** The earliest instant at which `units` of the entries that count at `time` have left the window. */
const freedAt = (state: RollingState, windowMillis: number, units: number, time: number): number => {
  const { entries, startMillis } = inOne(state)
  let at = startMillis
  let freed = 0
  for (let index = 0; index < entries.length && freed < units; index += 2) {
    at += entries[index] as number
    if (at + windowMillis > time) freed += entries[index + 1] as number
  }
  return at + windowMillis
}

/**
 * The earliest instant at which `cost` units pass under `cap` if nothing else is counted: `now` if they pass
 * immediately. The cost is at most the limit, which may be any number here: in a short window even many units are few
 * entries.
 *
 * @example
 * ```ts
 * import { RollingWindowRule } from "sluice/limits"
 *
 * const cap = { limit: 2, windowMillis: 1_000 }
 * const state = RollingWindowRule.record(RollingWindowRule.initial, 1_000, 2, 5_000)
 * console.log(RollingWindowRule.passesAt(state, cap, 1, 5_500)) // 6000
 * ```
 */
export const passesAt = (
  state: RollingState,
  { limit, windowMillis }: RollingCap,
  cost: number,
  now: number
): number => {
  const time = timeOf(state, now)
  const before = used(state, windowMillis, time)
  return before + cost <= limit ? now : freedAt(state, windowMillis, before + cost - limit, time)
}

/**
 * Whether `cost` units pass under `cap` at `now`, and when they would; counts nothing.
 * @throws InvalidArgument for a cost, cap or time outside its range.
 *
 * @example
 * ```ts
 * import { RollingWindowRule } from "sluice/limits"
 *
 * const cap = { limit: 50, windowMillis: 3_600_000 }
 * console.log(RollingWindowRule.peek(RollingWindowRule.initial, cap, 51, 0).outcome) // cost_above_limit
 * ```
 */
export const peek = (state: RollingState, cap: RollingCap, cost: number, now: number): WindowDecision => {
  assertNow(now)
  assertCap(cap)
  assertCost(cost)
  const { limit, windowMillis } = cap
  const time = timeOf(state, now)
  const before = usedAt(state, windowMillis, time)
  if (before + cost <= limit) return windowDecision("allowed", cost, limit, before, now, now)
  const outcome: LimitOutcome = cost > limit ? "cost_above_limit" : "limited"
  const resetsAt =
    outcome === "cost_above_limit" ? time + windowMillis : freedAt(state, windowMillis, before + cost - limit, time)
  return windowDecision(outcome, cost, limit, before, resetsAt, now)
}

/** Adds an entry to the short array; undefined if it is full, or not needed. */
const recordRecent = (state: RollingState, cost: number, newest: number, time: number): RollingState | undefined => {
  const { entries: long, recent, startMillis } = state
  if (recent === undefined) {
    if (long.length < manyNumbers || newest === time) return undefined
    return { startMillis, entries: long, recent: { startMillis: time, entries: [0, cost] } }
  }
  if (recent.entries.length >= recentNumbers) return undefined
  const entries = recent.entries.slice()
  if (newest === time) entries[entries.length - 1] = (entries[entries.length - 1] as number) + cost
  else entries.push(time - newest, cost)
  return { startMillis, entries: long, recent: { startMillis: recent.startMillis, entries } }
}

/**
 * Adds `cost` units at `now` without asking, and drops the entries that a window of `keepMillis` no longer sees, those
 * of a long history some entries later.
 *
 * @example
 * ```ts
 * import { RollingWindowRule } from "sluice/limits"
 *
 * // what was done already, and counts without having asked
 * const state = RollingWindowRule.record(RollingWindowRule.initial, 3_600_000, 3, 5_000)
 * console.log(RollingWindowRule.used(state, 3_600_000, 5_000)) // 3
 * ```
 */
export const record = (state: RollingState, keepMillis: number, cost: number, now: number): RollingState => {
  const newest = latest(state)
  const time = Math.max(now, newest ?? now)
  const recorded = newest === undefined ? undefined : recordRecent(state, cost, newest, time)
  if (recorded !== undefined) return recorded
  const whole = inOne(state)
  const before = whole.entries
  let first = 0
  let startMillis = whole.startMillis
  while (first < before.length) {
    const at = first === 0 ? startMillis : startMillis + (before[first] as number)
    startMillis = at
    if (at + keepMillis > time) break
    first += 2
  }
  if (first >= before.length || newest === undefined) return { startMillis: time, entries: [0, cost] }
  // Copied together and changed at both ends.
  const entries = before.slice(first)
  entries[0] = 0
  if (newest === time) entries[entries.length - 1] = (entries[entries.length - 1] as number) + cost
  else entries.push(time - newest, cost)
  return { startMillis, entries }
}

/**
 * Asks for `cost` units at `now` and counts them if they pass. A refusal leaves the state as it was. The cap may change
 * between calls; a window that grows sees no entry again that a shorter one has dropped.
 * @throws InvalidArgument for a cost, cap or time outside its range.
 *
 * @example
 * ```ts
 * import { RollingWindowRule } from "sluice/limits"
 *
 * const cap = { limit: 50, windowMillis: 3_600_000 }
 * const { state } = RollingWindowRule.take(RollingWindowRule.initial, cap, 50, 0)
 * const { decision } = RollingWindowRule.take(state, cap, 1, 60_000)
 * console.log(decision.allowed, decision.retryAfterSeconds) // false 3540
 * ```
 */
export const take = (
  state: RollingState,
  cap: RollingCap,
  cost: number,
  now: number
): { readonly state: RollingState; readonly decision: WindowDecision } => {
  const decision = peek(state, cap, cost, now)
  if (!decision.allowed) return { state, decision }
  return {
    state: record(state, cap.windowMillis, cost, now),
    decision: { ...decision, used: decision.used + cost }
  }
}
