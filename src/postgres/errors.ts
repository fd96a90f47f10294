/**
 * From what the driver and the server report to `SqlError` of effect/sql. The reason decides what a caller may do:
 * connection, deadlock, serialization and timeout reasons are retryable, the others are not. The driver's error stays
 * the cause, with its SQLSTATE (`code`), detail and constraint.
 */
import { SqlError } from "effect/sql"
import { DatabaseError } from "pg"

/** Session-ending states outside classes 08 and 57P: too many clients, idle in transaction, transaction timeout. */
const connectionStates = new Set(["53300", "25P03", "25P04"])

/** The SQLSTATE of a server's error, undefined for the driver's own. */
export const sqlState = (cause: unknown): string | undefined =>
  cause instanceof DatabaseError ? cause.code : undefined

/** Wraps what the driver threw. `operation` says what was being done: `connect`, `execute`, `stream`, `commit`. */
export const toSqlError = (cause: unknown, operation: string): SqlError.SqlError =>
  new SqlError.SqlError({ reason: reasonOf(cause, operation) })

/** A failure of the connection that the adapter itself declares. */
export const connectionError = (message: string, operation: string, cause?: unknown): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause: cause ?? new Error(message), message, operation })
  })

/** A statement that the adapter refuses to send. */
export const refusedStatement = (message: string, operation: string, cause?: unknown): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({ cause: cause ?? new Error(message), message, operation })
  })

const reasonOf = (cause: unknown, operation: string): SqlError.SqlErrorReason => {
  const properties = { cause, message: messageOf(cause), operation }
  if (!(cause instanceof DatabaseError)) {
    if (properties.message.startsWith("SASL")) return new SqlError.AuthenticationError(properties)
    // A value that could not be read; everything else that is not the server's word concerns the socket.
    if (cause instanceof SyntaxError || cause instanceof TypeError || cause instanceof RangeError) {
      return new SqlError.UnknownError(properties)
    }
    return new SqlError.ConnectionError(properties)
  }
  const state = cause.code ?? ""
  if (state === "23505") {
    return new SqlError.UniqueViolation({ ...properties, constraint: cause.constraint ?? "unknown" })
  }
  if (state.startsWith("23")) return new SqlError.ConstraintError(properties)
  if (state.startsWith("08") || state.startsWith("57P") || connectionStates.has(state)) {
    return new SqlError.ConnectionError(properties)
  }
  if (state.startsWith("28")) return new SqlError.AuthenticationError(properties)
  if (state === "42501") return new SqlError.AuthorizationError(properties)
  if (state.startsWith("42")) return new SqlError.SqlSyntaxError(properties)
  if (state === "40P01") return new SqlError.DeadlockError(properties)
  if (state === "40001") return new SqlError.SerializationError(properties)
  if (state === "55P03") return new SqlError.LockTimeoutError(properties)
  if (state === "57014") return new SqlError.StatementTimeoutError(properties)
  return new SqlError.UnknownError(properties)
}

/** Node's error for a host with several addresses has an empty message; its code says what happened. */
const messageOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  if (cause.message !== "") return cause.message
  const code = (cause as NodeJS.ErrnoException).code
  return code ?? cause.name
}
