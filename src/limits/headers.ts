/**
 * Writes a decision as HTTP headers (docs/platform.md, 3.1). Pure.
 */
import type { BucketDecision } from "./bucketRules.ts"
import type { Decision } from "./rules.ts"

/**
 * The headers of a counted response: `X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset` (Unix seconds),
 * and `Retry-After` (whole seconds, at least 1) if the request was refused. Of a token bucket they are the burst, the
 * tokens that are left, and the time at which it is full. Empty for an unlimited plan. A response that passed without
 * an answer of the limiter was not counted and has none.
 *
 * @example
 * ```ts
 * import { makeMemory, rateLimitHeaders } from "sluice/limits"
 *
 * const decision = makeMemory().take("ann", 10, 1, Date.UTC(2026, 0, 1))
 * console.log(rateLimitHeaders(decision)["X-RateLimit-Remaining"]) // 9
 * ```
 */
export const rateLimitHeaders = (decision: Decision | BucketDecision): Record<string, string> => {
  if (decision.limit === "unlimited") return {}
  const reset = "fullAt" in decision ? Math.ceil(decision.fullAt / 1000) : decision.reset
  const headers: Record<string, string> = {
    "X-RateLimit-Limit": String(decision.limit),
    "X-RateLimit-Remaining": String(decision.remaining),
    "X-RateLimit-Reset": String(reset)
  }
  if (!decision.allowed) headers["Retry-After"] = String(decision.retryAfterSeconds)
  return headers
}

/** The message for a request over the limit. */
export const overLimit = ({ limit, retryAfterSeconds }: Decision): string =>
  `The limit of ${limit} requests per minute is reached. Retry after ${retryAfterSeconds} s.`

/** The same with names in lower case, as the platform's server keeps headers; undefined if there are none. */
export const rateLimitFields = (decision: Decision): Record<string, string> | undefined => {
  if (decision.limit === "unlimited") return undefined
  const fields: Record<string, string> = {
    "x-ratelimit-limit": String(decision.limit),
    "x-ratelimit-remaining": String(decision.remaining),
    "x-ratelimit-reset": String(decision.reset)
  }
  if (!decision.allowed) fields["retry-after"] = String(decision.retryAfterSeconds)
  return fields
}
