/** Answers an absent database, and a request that takes too long, with 503 (docs/platform.md, 8.4). */
import { Effect } from "effect"
import { SqlError } from "effect/sql"
import { databaseFailed } from "../http/databaseFailure.ts"
import { retryAfter, retryAfterMillis, unlessRead } from "../http/RequestState.ts"
import { EnvelopeUnavailable } from "../http/wireErrors.ts"

/** How long a request may take before it is answered as not done. */
const requestTimeoutMillis = 10_000

/** Answers an absent database with 503 and `Retry-After`. */
export const databaseAway = (error: SqlError.SqlError) =>
  databaseFailed(
    error,
    Effect.andThen(
      retryAfter(retryAfterMillis),
      Effect.fail(EnvelopeUnavailable.of("The database cannot be reached right now; the request is safe to repeat"))
    )
  )

/** The same, and for a timeout. `advice` says what to do about a change whose outcome is not known. */
export const answeredInTime =
  (advice: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.catch(
      effect,
      (error): Effect.Effect<never, Exclude<E, SqlError.SqlError> | EnvelopeUnavailable> =>
        // Errors that are not the database's are among the others.
        SqlError.isSqlError(error) ? databaseAway(error) : Effect.fail(error as Exclude<E, SqlError.SqlError>)
    ).pipe(
      Effect.timeoutOrElse({
        duration: requestTimeoutMillis,
        orElse: () =>
          Effect.flatMap(unlessRead(`The request took too long, and its outcome is not known; ${advice}`), (message) =>
            Effect.fail(EnvelopeUnavailable.of(message))
          )
      })
    )
