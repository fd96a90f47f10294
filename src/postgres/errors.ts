/**
 * Turns errors of the client and the server into the `SqlError` that the platform uses. The reason decides what a
 * caller may do: connection, deadlock, serialization and timeout reasons are retryable, the others are not. The message
 * is the server's or the system's own sentence; the server's error stays the cause, with its SQLSTATE (`code`), detail
 * and constraint. The message never contains a statement's values.
 */
import { SqlError } from "effect/sql"

/** The server's error as the client gives it. */
interface ServerError extends Error {
  readonly severity: string
  readonly code?: string | undefined
  readonly constraint?: string | undefined
}

/**
 * States outside classes 08 and 57P in which another session may do: too many clients, idle in transaction, transaction
 * timeout, and a server that takes no writes (it has become a standby, or is set to read only).
 */
const connectionStates = new Set(["53300", "25P03", "25P04", "25006"])

const isServerError = (cause: unknown): cause is ServerError =>
  cause instanceof Error && "severity" in cause && typeof cause.severity === "string"

/** The SQLSTATE of a server's error, undefined for every other. */
export const sqlState = (cause: unknown): string | undefined => (isServerError(cause) ? cause.code : undefined)

/** A failure of the connection that the adapter itself declares. */
export const connectionError = (message: string, operation: string, cause?: unknown): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause: cause ?? new Error(message), message, operation })
  })

/** A statement that is not sent, or whose answer cannot be read. */
export const refusedStatement = (message: string, operation: string): SqlError.SqlError =>
  new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause: new Error(message), message, operation }) })

/**
 * Turns the client's error into ours, as above. `during` says what was being done: `execute` or `stream`; opening a
 * connection is always `connect`.
 */
export const explained = (error: SqlError.SqlError, during: string): SqlError.SqlError => {
  const { reason } = error
  const operation = reason.operation === "connect" ? "connect" : during
  const { cause } = reason
  if (isServerError(cause)) return new SqlError.SqlError({ reason: reasonOf(cause, operation) })
  switch (reason._tag) {
    case "ConnectionError":
      return connectionError(messageOf(cause), operation, cause)
    case "AuthenticationError":
      return error
    default:
      // The client would quote a value that cannot be encoded or decoded.
      return refusedStatement(
        "The statement or its answer holds a value that has no form in PostgreSQL or here",
        operation
      )
  }
}

const reasonOf = (cause: ServerError, operation: string): SqlError.SqlErrorReason => {
  const properties = { cause, message: cause.message, operation }
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
  if (!(cause instanceof Error)) return "The connection failed"
  if (cause.message !== "") return cause.message
  const code = (cause as NodeJS.ErrnoException).code
  return code ?? cause.name
}
