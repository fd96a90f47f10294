/**
 * Counts a monthly quota: units per calendar month in UTC, counted when they are accepted and never returned
 * (docs/send.md, 1.3). Pure, and a plain JSON state. When a clock is set back, the later month stays in force until the
 * clock is there again.
 */
import { assertCost, assertLimit, assertNow, type Limit, maximumLimit } from "./rules.ts"
import { type WindowDecision, windowDecision } from "./windowDecision.ts"

/** The used units. Plain data. See {@link MonthlyQuotaRule.take}. */
export interface MonthlyState {
  /** Unix milliseconds at which the month ends; before any time until the first request. */
  readonly endMillis: number
  /** Units accepted in that month. */
  readonly used: number
}

/** The state without any use. See {@link MonthlyQuotaRule.take}. */
export const initial: MonthlyState = { endMillis: Number.MIN_SAFE_INTEGER, used: 0 }

/**
 * Unix milliseconds at which the UTC month of `now` ends: the first of the next month, 00:00.
 *
 * @example
 * ```ts
 * import { MonthlyQuotaRule } from "sluice/limits"
 *
 * console.log(new Date(MonthlyQuotaRule.monthEnd(Date.UTC(2026, 1, 14))).toISOString()) // 2026-03-01T00:00:00.000Z
 * ```
 */
export const monthEnd = (now: number): number => {
  const date = new Date(now)
  // Set rather than constructed, because `Date.UTC` takes the years 0 to 99 for 1900 to 1999.
  date.setUTCMonth(date.getUTCMonth() + 1, 1)
  return date.setUTCHours(0, 0, 0, 0)
}

/**
 * The state as `now` sees it: empty if its month has ended.
 *
 * @example
 * ```ts
 * import { MonthlyQuotaRule } from "sluice/limits"
 *
 * const march = MonthlyQuotaRule.record(MonthlyQuotaRule.initial, 100, Date.UTC(2026, 2, 31))
 * console.log(MonthlyQuotaRule.advance(march, Date.UTC(2026, 3, 1)).used) // 0
 * ```
 */
export const advance = (state: MonthlyState, now: number): MonthlyState => {
  assertNow(now)
  return now < state.endMillis ? state : { endMillis: monthEnd(now), used: 0 }
}

/**
 * Whether `cost` units pass under `limit` at `now`; counts nothing. `resetsAt` of a refusal is the first of the next
 * month, even if the cost alone is over the limit.
 * @throws InvalidArgument for a cost, limit or time outside its range.
 *
 * @example
 * ```ts
 * import { MonthlyQuotaRule } from "sluice/limits"
 *
 * const march = MonthlyQuotaRule.record(MonthlyQuotaRule.initial, 2_990, Date.UTC(2026, 2, 31))
 * console.log(MonthlyQuotaRule.peek(march, 3_000, 20, Date.UTC(2026, 2, 31)).outcome) // limited
 * ```
 */
export const peek = (state: MonthlyState, limit: Limit, cost: number, now: number): WindowDecision => {
  assertLimit(limit)
  assertCost(cost)
  const { endMillis, used } = advance(state, now)
  if (limit === "unlimited" || used + cost <= limit) return windowDecision("allowed", cost, limit, used, now, now)
  return windowDecision(cost > limit ? "cost_above_limit" : "limited", cost, limit, used, endMillis, now)
}

/**
 * Counts `cost` units at `now` without asking.
 *
 * @example
 * ```ts
 * import { MonthlyQuotaRule } from "sluice/limits"
 *
 * console.log(MonthlyQuotaRule.record(MonthlyQuotaRule.initial, 100, Date.UTC(2026, 2, 31)).used) // 100
 * ```
 */
export const record = (state: MonthlyState, cost: number, now: number): MonthlyState => {
  const before = advance(state, now)
  // Stops above every limit: the count of an unlimited quota has no other bound.
  return { endMillis: before.endMillis, used: Math.min(before.used + cost, maximumLimit + 1) }
}

/**
 * Asks for `cost` units at `now` and counts them if they pass; a refusal leaves the state as it was. `limit` is the one
 * in force now: the count survives a change of it.
 * @throws InvalidArgument for a cost, limit or time outside its range.
 *
 * @example
 * ```ts
 * import { MonthlyQuotaRule } from "sluice/limits"
 *
 * const { decision, state } = MonthlyQuotaRule.take(MonthlyQuotaRule.initial, 3_000, 2_500, Date.UTC(2026, 2, 31))
 * console.log(decision.used, MonthlyQuotaRule.take(state, 3_000, 501, Date.UTC(2026, 2, 31)).decision.allowed) // 2500 false
 * ```
 */
export const take = (
  state: MonthlyState,
  limit: Limit,
  cost: number,
  now: number
): { readonly state: MonthlyState; readonly decision: WindowDecision } => {
  const decision = peek(state, limit, cost, now)
  if (!decision.allowed) return { state, decision }
  const after = record(state, cost, now)
  return { state: after, decision: { ...decision, used: after.used } }
}
