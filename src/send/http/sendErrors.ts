/**
 * Defines the errors of the send endpoints, `{error: {code, message, …}}` (docs/platform.md, 1.5), and maps failures of
 * the engine and of the database to them. The edge adds `name`, `message` and `statusCode` for clients that read those.
 */
import { Duration, Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { AskError, isRetryable } from "../../engine/errors.ts"
import { databaseFailed } from "../../http/databaseFailure.ts"
import { nestedError } from "../../http/errorClass.ts"
import { NestedUnavailable } from "../../http/nestedErrors.ts"
import { retryAfter, retryAfterMillis, unlessRead } from "../../http/RequestState.ts"
import type { EngineNotStarted } from "../../platform/EngineOnDemand.ts"
import type { OrganizationNotFound } from "../../platform/Organizations.ts"

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

/** 429: the address was mailed a moment ago; `Retry-After` says when it may be mailed again. */
export class VerificationTooSoonError extends nestedError<VerificationTooSoonError>()(
  "VerificationTooSoonError",
  "verification_too_soon"
) {}

/** The time after which a request is answered that its outcome is not known. */
const requestTimeoutMillis = 10_000

/** 503 with a `Retry-After`. */
const unavailableFor = (afterMillis: number, message: string): Effect.Effect<never, NestedUnavailable> =>
  Effect.andThen(retryAfter(afterMillis), Effect.fail(NestedUnavailable.of(message)))

/** The engine gave no answer. What cannot be repeated is a fault of the platform. */
export const engineFailed = (error: AskError): Effect.Effect<never, NestedUnavailable> => {
  const message = "The request cannot be decided right now; it is safe to repeat"
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

/** The errors of systems that any of send's services may miss. */
export type Down = SqlError.SqlError | AskError | EngineNotStarted | OrganizationNotFound

const isAskError = Schema.is(AskError)

const isDown = (error: { readonly _tag: string }): error is { readonly _tag: string } & Down =>
  error._tag === "SqlError" ||
  error._tag === "EngineNotStarted" ||
  error._tag === "OrganizationNotFound" ||
  isAskError(error)

const downFailed = (error: Down): Effect.Effect<never, NestedUnavailable> => {
  switch (error._tag) {
    case "SqlError":
      return sqlFailed(error)
    case "EngineNotStarted":
      return unavailableFor(retryAfterMillis, error.message)
    // The key that asks belongs to it, so it was deleted meanwhile.
    case "OrganizationNotFound":
      return unavailableFor(retryAfterMillis, "The organization of the key is not there any more")
    default:
      return engineFailed(error)
  }
}

/** Answers an unreachable system and a timeout with 503; other errors are left to the caller. */
export const available = <A, E extends { readonly _tag: string }, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, Down> | NestedUnavailable, R> =>
  Effect.catch(
    effect,
    (error): Effect.Effect<never, Exclude<E, Down> | NestedUnavailable> =>
      // The other errors are among those left to the caller.
      isDown(error) ? downFailed(error) : Effect.fail(error as Exclude<E, Down>)
  ).pipe(
    Effect.timeoutOrElse({
      duration: Duration.millis(requestTimeoutMillis),
      orElse: () =>
        Effect.flatMap(
          unlessRead("The request took too long, and its outcome is not known; it is safe to repeat"),
          (message) => unavailableFor(retryAfterMillis, message)
        )
    })
  )
