/**
 * Defines the request rates of the platform's plans (docs/platform.md, 3.1) and how a custom limit overrides them.
 */
import type { Limit } from "./rules.ts"

/** Requests per minute of each platform plan. See {@link platformPlans}. */
export const requestsPerMinuteByPlan = { free: 60, early_adopter: 600, team: 6000 } as const

/** A plan of the platform (docs/platform.md, 2.1). See {@link platformPlans}. */
export type PlatformPlan = keyof typeof requestsPerMinuteByPlan

/**
 * The platform plans, smallest first.
 *
 * @example
 * ```ts
 * import { platformPlans, requestsPerMinuteByPlan } from "sluice/limits"
 *
 * console.log(platformPlans.map((plan) => requestsPerMinuteByPlan[plan])) // [ 60, 600, 6000 ]
 * ```
 */
export const platformPlans = ["free", "early_adopter", "team"] as const satisfies ReadonlyArray<PlatformPlan>

/**
 * The limit in force: the custom one if there is one, else the plan's.
 *
 * @example
 * ```ts
 * import { requestsPerMinute } from "sluice/limits"
 *
 * console.log(requestsPerMinute("free"), requestsPerMinute("free", 1_000)) // 60 1000
 * ```
 */
export const requestsPerMinute = (plan: PlatformPlan, customLimit: Limit | null = null): Limit =>
  customLimit ?? requestsPerMinuteByPlan[plan]
