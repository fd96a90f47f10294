/**
 * What a decision says over HTTP (platform-api.md, "Platform request rate"; decisions, the same heading). Pure.
 */
import type { Decision } from "./rules.ts"

/**
 * The headers of a counted response: `X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset` (Unix seconds), and
 * `Retry-After` (whole seconds, at least 1) where the request was refused. Empty for an unlimited plan. A response that
 * was let through without an answer of the limiter was not counted and has none.
 */
export const rateLimitHeaders = (decision: Decision): Record<string, string> => {
  if (decision.limit === "unlimited") return {}
  const headers: Record<string, string> = {
    "X-RateLimit-Limit": String(decision.limit),
    "X-RateLimit-Remaining": String(decision.remaining),
    "X-RateLimit-Reset": String(decision.reset)
  }
  if (!decision.allowed) headers["Retry-After"] = String(decision.retryAfterSeconds)
  return headers
}
