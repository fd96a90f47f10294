/**
 * Handles a failed statement of a request. Its input was checked before it reached the database, so any failure other
 * than an absent database is a fault of this program: it is a defect, and answered 500.
 */
import { Effect } from "effect"
import { SqlError } from "effect/sql"
import { isStoreFailure } from "../postgres/transactions.ts"

/**
 * Logs the failure, and returns the error for an absent database. `cause` is the database's own error, if `error` only
 * wraps it.
 */
export const databaseFailed = <A, E>(
  error: unknown,
  unavailable: Effect.Effect<A, E>,
  cause: unknown = error
): Effect.Effect<A, E> =>
  Effect.andThen(
    Effect.logError("The database failed", error),
    SqlError.isSqlError(cause) && !isStoreFailure(cause) ? Effect.die(error) : unavailable
  )
