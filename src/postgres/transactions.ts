/**
 * Runs transactions of the engine's adapters: every failure of the store itself becomes one error of the adapter, and
 * failures of the caller's own effects stay as they are. Needs `SqlClient`.
 */
import { Cause, Effect } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import { sqlState } from "./errors.ts"

/** Wraps a failure of the caller's effects, to tell it apart from the store's inside the transaction. */
class OwnFailure<E> {
  readonly error: E
  constructor(error: E) {
    this.error = error
  }
}

/** The server has no room to write: a full disk (53100), or a temporary file over its bound (53400). */
export const isOutOfSpace = ({ reason }: SqlError.SqlError): boolean => {
  const state = sqlState(reason.cause)
  return state === "53100" || state === "53400"
}

/**
 * A table, schema or column is not there (42P01, 3F000, 42703): the database is not as the program needs it, so a
 * statement succeeds once its migration was run, whatever it is about.
 */
export const isMissing = (error: unknown): error is SqlError.SqlError => {
  const state = SqlError.isSqlError(error) ? sqlState(error.reason.cause) : undefined
  return state === "42P01" || state === "3F000" || state === "42703"
}

/**
 * Whether a failure is the store's (connection, deadlock, serialization, timeout, full disk) and so worth trying again.
 */
export const isStoreFailure = (error: unknown): error is SqlError.SqlError =>
  SqlError.isSqlError(error) && (error.isRetryable || isOutOfSpace(error))

/** For one statement, or several outside a transaction: turns the store's failures into `unavailable`. */
export const mapSqlError = <A, E, R, E2>(
  effect: Effect.Effect<A, E | SqlError.SqlError, R>,
  unavailable: (cause: SqlError.SqlError) => E2
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | E2, R> =>
  Effect.mapError(effect, (error) =>
    SqlError.isSqlError(error) ? unavailable(error) : (error as Exclude<E, SqlError.SqlError>)
  )

/**
 * Runs `body` in a transaction, or in a savepoint when one is open. A failure that the store caused, inside or around
 * it, becomes `unavailable`; every other failure of `body`, an `SqlError` of its own mistake included, is passed on
 * after the roll-back. `isStores` says which failures are the store's.
 */
export const transaction = <A, E, R, E2>(
  sql: SqlClient.SqlClient,
  body: Effect.Effect<A, E, R>,
  unavailable: (cause: SqlError.SqlError) => E2,
  isStores: (error: unknown) => error is SqlError.SqlError = isStoreFailure
): Effect.Effect<A, E | E2, R> =>
  sql
    .withTransaction(
      Effect.mapError(body, (error) =>
        isStores(error) ? error : new OwnFailure(error as Exclude<E, SqlError.SqlError>)
      )
    )
    .pipe(
      Effect.mapError((error): E | E2 => (error instanceof OwnFailure ? (error.error as E) : unavailable(error))),
      // A savepoint on a dead connection cannot be ended, which the client reports as a defect.
      Effect.catchCause((cause) => {
        const defect = Cause.squash(cause)
        return Cause.hasDies(cause) && isStoreFailure(defect)
          ? Effect.fail(unavailable(defect))
          : Effect.failCause(cause)
      })
    )
