/**
 * Sends statements whose rows nobody needs with their transaction's next statement, as one packet, so that a batch of
 * writes costs one way to the server and back. When one fails, the statement that it was sent with fails. Needs no
 * service.
 */
import { Context, Effect, Option } from "effect"
import type { SqlClient, SqlConnection, SqlError, Statement } from "effect/sql"
import { LeasedConnection } from "./LeasedConnection.ts"

const ofTransaction = (
  sql: SqlClient.SqlClient,
  onLeased: (connection: LeasedConnection) => Effect.Effect<void, SqlError.SqlError>,
  otherwise: Effect.Effect<void, SqlError.SqlError>
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const open = Context.getOption(context, sql.transactionService)
    const connection: SqlConnection.Connection | undefined = Option.getOrUndefined(open)?.[0]
    return connection instanceof LeasedConnection ? onLeased(connection) : otherwise
  })

/** Inside a transaction: runs the statement with the next one, at the latest with COMMIT; outside, immediately. */
export const deferred = (
  sql: SqlClient.SqlClient,
  statement: Statement.Statement<unknown>
): Effect.Effect<void, SqlError.SqlError> =>
  ofTransaction(sql, (connection) => connection.defer(...statement.compile()), Effect.asVoid(statement))

/**
 * The same for a statement that looks up the rows of a batch in a table that grows. It is planned each time: a prepared
 * one keeps the plan of when the table was nearly empty, which reads all of it, until PostgreSQL analyzes the table, a
 * minute later at best.
 */
export const deferredPlanned = (
  sql: SqlClient.SqlClient,
  statement: Statement.Statement<unknown>
): Effect.Effect<void, SqlError.SqlError> =>
  ofTransaction(
    sql,
    (connection) => connection.deferPlanned(...statement.compile()),
    Effect.asVoid(statement.unprepared)
  )

/** Sends the deferred statements now, so that a failure shows here. */
export const flushDeferred = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError.SqlError> =>
  ofTransaction(sql, (connection) => connection.flush, Effect.void)
