/**
 * What a request comes to whose statement failed. Its input was checked before it reached the database, so whatever is not the database's
 * absence is a fault of this program: it is a defect, and answered 500.
 */
import { Effect } from "effect"
import { SqlError } from "effect/sql"
import { isStoreFailure } from "../postgres/transactions.ts"

/** Tells of the failure, and answers what stands for a database that is away. `cause` is what the database said, where `error` only wraps it. */
export const databaseFailed = <A, E>(
  error: unknown,
  unavailable: Effect.Effect<A, E>,
  cause: unknown = error
): Effect.Effect<A, E> =>
  Effect.andThen(
    Effect.logError("The database failed", error),
    SqlError.isSqlError(cause) && !isStoreFailure(cause) ? Effect.die(error) : unavailable
  )
