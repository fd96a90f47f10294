/**
 * The rolling window, exactly: every accepted entry is kept until it has left the window, so no instant ever sees more than the limit
 * (docs/send.md, 1.1). Pure: the time is an argument. The state is plain JSON, one flat array, because a decision copies and an
 * engine stores it whole; one state can be judged under several windows. Time set back grants nothing: an entry is never older than
 * the one before it.
 */
import { assertCost, assertNow, type Outcome } from "./rules.ts"
import { assertCap, type RollingCap, type WindowDecision, windowDecision } from "./windowDecision.ts"

/** What was accepted. Plain data, at most one pair for each unit that was let through. */
export interface RollingState {
  /** Unix milliseconds of the oldest entry. */
  readonly startMillis: number
  /** Pairs of milliseconds since the entry before (0 for the oldest) and units; entries of one millisecond are one pair. */
  readonly entries: ReadonlyArray<number>
}

/** Nothing was accepted yet. */
export const initial: RollingState = { startMillis: 0, entries: [] }

/** Unix milliseconds of the newest entry, undefined without one. */
export const latest = (state: RollingState): number | undefined => {
  if (state.entries.length === 0) return undefined
  let at = state.startMillis
  for (let index = 0; index < state.entries.length; index += 2) at += state.entries[index] as number
  return at
}

/** The time that counts: the clock's, but never before the newest entry. */
export const timeOf = (state: RollingState, now: number): number => Math.max(now, latest(state) ?? now)

const usedAt = (state: RollingState, windowMillis: number, time: number): number => {
  const { entries } = state
  let at = state.startMillis
  let sum = 0
  for (let index = 0; index < entries.length; index += 2) {
    at += entries[index] as number
    if (at + windowMillis > time) sum += entries[index + 1] as number
  }
  return sum
}

/** Units of the entries that count at `now`. */
export const used = (state: RollingState, windowMillis: number, now: number): number =>
  usedAt(state, windowMillis, timeOf(state, now))

/** The earliest instant at which `units` of what counts at `time` have left the window. */
const freedAt = (state: RollingState, windowMillis: number, units: number, time: number): number => {
  let at = state.startMillis
  let freed = 0
  for (let index = 0; index < state.entries.length && freed < units; index += 2) {
    at += state.entries[index] as number
    if (at + windowMillis > time) freed += state.entries[index + 1] as number
  }
  return at + windowMillis
}

/**
 * The earliest instant at which `cost` units pass under `cap` if nothing else is counted: `now` where they pass at once. The cost is at most
 * the limit, which may be any number here: in a short window even many units are few entries.
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
 */
export const peek = (state: RollingState, cap: RollingCap, cost: number, now: number): WindowDecision => {
  assertNow(now)
  assertCap(cap)
  assertCost(cost)
  const { limit, windowMillis } = cap
  const time = timeOf(state, now)
  const before = usedAt(state, windowMillis, time)
  if (before + cost <= limit) return windowDecision("allowed", cost, limit, before, now, now)
  const outcome: Outcome = cost > limit ? "cost_above_limit" : "limited"
  const resetsAt =
    outcome === "cost_above_limit" ? time + windowMillis : freedAt(state, windowMillis, before + cost - limit, time)
  return windowDecision(outcome, cost, limit, before, resetsAt, now)
}

/** Adds `cost` units at `now` without asking, and drops the entries that a window of `keepMillis` no longer sees. */
export const record = (state: RollingState, keepMillis: number, cost: number, now: number): RollingState => {
  const before = state.entries
  const newest = latest(state)
  const time = Math.max(now, newest ?? now)
  let first = 0
  let startMillis = state.startMillis
  while (first < before.length) {
    const at = first === 0 ? startMillis : startMillis + (before[first] as number)
    startMillis = at
    if (at + keepMillis > time) break
    first += 2
  }
  if (first >= before.length || newest === undefined) return { startMillis: time, entries: [0, cost] }
  // Copied at once and changed at both ends: a history of a day has hundreds of entries, and each decision makes a new one.
  const entries = before.slice(first)
  entries[0] = 0
  if (newest === time) entries[entries.length - 1] = (entries[entries.length - 1] as number) + cost
  else entries.push(time - newest, cost)
  return { startMillis, entries }
}

/**
 * Asks for `cost` units at `now` and counts them if they pass. A refusal leaves the state as it was. The cap may change between calls;
 * a window that grows sees no entry again that a shorter one has dropped.
 * @throws InvalidArgument for a cost, cap or time outside its range.
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
