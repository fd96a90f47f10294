/**
 * Errors of the send endpoints, `{error: {code, message, …}}` (docs/platform.md, 1.5), and how the engine's and the database's failures become them. The edge adds
 * `name`, `message` and `statusCode` for clients that read those.
 */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { type AskError, isRetryable } from "../../engine/errors.ts"
import { databaseFailed } from "../../http/databaseFailed.ts"
import { NestedUnavailable } from "../../http/nestedErrors.ts"
import { retryAfter, retryAfterMillis } from "../../http/RequestState.ts"

export {
  NestedConflict as SendConflict,
  NestedForbidden as SendForbidden,
  NestedIdempotencyConflict as SendIdempotencyConflict,
  NestedInternalError as SendInternalError,
  NestedInvalidRequest as SendInvalidRequest,
  NestedNotFound as SendNotFound,
  NestedRateLimited as SendRateLimited,
  NestedUnauthorized as SendUnauthorized,
  NestedUnavailable as SendUnavailable
} from "../../http/nestedErrors.ts"

/** 503 with a `Retry-After`. */
const unavailableFor = (afterMillis: number, message: string): Effect.Effect<never, NestedUnavailable> =>
  Effect.andThen(retryAfter(afterMillis), Effect.fail(NestedUnavailable.of(message)))

/** The engine gave no answer. What cannot be repeated is a fault of the platform. */
export const engineFailed = (error: AskError): Effect.Effect<never, NestedUnavailable> => {
  const message = "The request cannot be decided right now; it is safe to repeat"
  // Without Retry-After: a stopped partition waits for its operator.
  if (error._tag === "PartitionStopped") return Effect.fail(NestedUnavailable.of(message))
  if (!isRetryable(error, { isIdempotent: true })) return Effect.die(error)
  return unavailableFor("retryAfterMillis" in error ? error.retryAfterMillis : retryAfterMillis, message)
}

/** The database gave no answer. */
export const sqlFailed = (error: SqlError.SqlError): Effect.Effect<never, NestedUnavailable> =>
  databaseFailed(
    error,
    unavailableFor(retryAfterMillis, "The database cannot be reached right now; the request is safe to repeat")
  )
