/**
 * The request rates of the platform's plans (docs/platform.md, 3.1) and how a custom limit overrides them.
 */
import type { Limit } from "./rules.ts"

/** Requests per minute of each platform plan. */
export const requestsPerMinuteByPlan = { free: 60, early_adopter: 600, team: 6000 } as const

export type PlatformPlan = keyof typeof requestsPerMinuteByPlan

/** The platform plans, smallest first. */
export const platformPlans = ["free", "early_adopter", "team"] as const satisfies ReadonlyArray<PlatformPlan>

/** The limit in force: the custom one where there is one, else the plan's. */
export const requestsPerMinute = (plan: PlatformPlan, customLimit: Limit | null = null): Limit =>
  customLimit ?? requestsPerMinuteByPlan[plan]
