/** Maps failures of billing to answers of the generic shape (docs/platform.md, 1.4). */
import { Duration, Effect } from "effect"
import { SqlError } from "effect/sql"
import { databaseFailed } from "../../http/databaseFailure.ts"
import { retryAfter, retryAfterMillis, unlessRead } from "../../http/RequestState.ts"
import { EnvelopeUnavailable } from "../../http/wireErrors.ts"
import { BillingUnavailable } from "../errors.ts"

/** How long a request may take before the answer says that its outcome is not known. */
const requestTimeoutMillis = 10_000

const unavailableFor = (afterMillis: number | undefined, message: string) =>
  Effect.andThen(
    afterMillis === undefined ? Effect.void : retryAfter(afterMillis),
    Effect.fail(EnvelopeUnavailable.of(message))
  )

type Down = BillingUnavailable | SqlError.SqlError

const isDown = (error: unknown): error is Down => error instanceof BillingUnavailable || SqlError.isSqlError(error)

/** Answers what is away, and a timeout, with 503; what else fails is the caller's to answer. */
export const available = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, Down> | EnvelopeUnavailable, R> =>
  Effect.catch(effect, (error): Effect.Effect<never, Exclude<E, Down> | EnvelopeUnavailable> => {
    // All other errors follow.
    if (!isDown(error)) return Effect.fail(error as Exclude<E, Down>)
    if (error instanceof BillingUnavailable) return unavailableFor(error.retryAfterMillis, error.message)
    return databaseFailed(
      error,
      unavailableFor(retryAfterMillis, "The database cannot be reached right now; the request is safe to repeat")
    )
  }).pipe(
    Effect.timeoutOrElse({
      duration: Duration.millis(requestTimeoutMillis),
      orElse: () =>
        Effect.flatMap(
          unlessRead("The request took too long, and its outcome is not known; it is safe to repeat"),
          (message) => unavailableFor(retryAfterMillis, message)
        )
    })
  )
