/**
 * Completes the answers of both paths: the headers that each answer carries besides its own, the form of errors that a
 * client reads, and the line in the log. No key reaches a log: it has the path only, never the query or a header.
 */
import { type Cause, Effect } from "effect"
import { flattened } from "./errors.ts"
import type { RequestStateShape } from "./RequestState.ts"
import type { RetryGrowth } from "./RetryGrowth.ts"

/** Adds the header that a 401 must have (RFC 9110, 11.6.1), which describes how to give a key. */
const challenged = (headers: Record<string, string> | undefined): Record<string, string> => ({
  ...headers,
  "www-authenticate": 'Bearer realm="sluice"'
})

/** The path of a request's target. */
export const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** The path as logged: the text behind a `;` may be a parameter, such as a key, and parameters are not logged. */
const loggedPath = (url: string): string => pathOf(url).replace(/(?:;|%3b).*$/i, ";…")

const clientOf = (headers: Readonly<Record<string, unknown>>) => ({
  userAgent: headers["user-agent"] as string | undefined,
  hasKey: headers.authorization !== undefined || headers["x-api-key"] !== undefined
})

/** The body of an error in the form that its client reads; undefined if it stays as it is. */
export const flattenedFor = (
  { headers, url }: { readonly headers: Readonly<Record<string, unknown>>; readonly url: string },
  status: number,
  body: string
): object | undefined => flattened(pathOf(url), clientOf(headers), status, body)

/**
 * Makes the client of a 503 wait for longer, the longer the failure lasts (docs/platform.md, 8.5). The answer's own
 * time is the least.
 */
const patient = (
  growth: RetryGrowth,
  nowNanos: bigint,
  { responseHeaders: headers }: RequestStateShape,
  own: string | undefined
) => {
  const said = headers?.["retry-after"] ?? own ?? 0
  const seconds = growth.refused(Number(nowNanos) / 1e6)
  return { ...headers, "retry-after": String(Math.max(seconds, Number(said))) }
}

/** The headers of an answer besides its own. `retryAfter` is its own `Retry-After`. */
export const answerFields = (
  { status, retryAfter }: { readonly status: number; readonly retryAfter?: string | undefined },
  state: RequestStateShape,
  { growth, nowNanos }: { readonly growth: RetryGrowth; readonly nowNanos: bigint }
): Record<string, string> | undefined => {
  if (status === 401) return challenged(state.responseHeaders)
  return status === 503 ? patient(growth, nowNanos, state, retryAfter) : state.responseHeaders
}

/** Logs an answer; the cause is that of a failure which the endpoint does not describe. */
export const logAnswer = (
  {
    method,
    requestId,
    status,
    url
  }: Readonly<Record<"method" | "requestId" | "url", string>> & {
    readonly status: number
  },
  cause?: Cause.Cause<unknown>
): Effect.Effect<void> =>
  Effect.annotateLogs(
    status >= 500 && cause !== undefined
      ? Effect.logError("Request failed", cause)
      : Effect.logInfo("Request answered"),
    { requestId, method, path: loggedPath(url), status }
  )
