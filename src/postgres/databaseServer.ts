/**
 * Checks the server at boot: it must be reachable, accept the user, be new enough and be writable. Each way to fail is
 * an error of its own, with one sentence for the operator that names host, port, user and database, never the password.
 * Needs no service: it opens one connection and closes it again.
 */
import { Data, Effect } from "effect"
import type { SqlError } from "effect/sql"
import { type PgConfig, type PgTarget, type PostgresUrlInvalid, resolve } from "./config.ts"
import { sqlState } from "./errors.ts"
import { defaultMigrationsTable } from "./migrate.ts"
import * as Session from "./PgSession.ts"

/** The oldest major version whose behaviour the adapter relies on. */
export const minimumMajorVersion = 16

const place = (target: PgTarget): string => `${target.host}:${target.port}`

/** No PostgreSQL answers there: refused, unknown host, no answer in time, no TLS. `detail` is the system's message. */
export class PostgresUnreachable extends Data.TaggedError("PostgresUnreachable")<{
  readonly target: PgTarget
  readonly detail: string
}> {
  override get message(): string {
    return `PostgreSQL is not reachable at ${place(this.target)} (${this.detail})`
  }
}

/** The server takes no connections at present: it is starting, stopping, or full. */
export class PostgresUnavailable extends Data.TaggedError("PostgresUnavailable")<{
  readonly target: PgTarget
  readonly detail: string
}> {
  override get message(): string {
    return `PostgreSQL at ${place(this.target)} accepts no connection at present (${this.detail})`
  }
}

/** Unknown user, wrong or missing password, or a user who may not connect to this database from here. */
export class PostgresAuthenticationFailed extends Data.TaggedError("PostgresAuthenticationFailed")<{
  readonly target: PgTarget
  readonly detail: string
}> {
  override get message(): string {
    return `PostgreSQL at ${place(this.target)} refused user "${this.target.user}" for database "${this.target.database}" (${this.detail})`
  }
}

export class PostgresDatabaseMissing extends Data.TaggedError("PostgresDatabaseMissing")<{
  readonly target: PgTarget
}> {
  override get message(): string {
    return `PostgreSQL at ${place(this.target)} has no database "${this.target.database}": create it first`
  }
}

export class PostgresTooOld extends Data.TaggedError("PostgresTooOld")<{
  readonly target: PgTarget
  readonly version: string
  readonly minimumMajorVersion: number
}> {
  override get message(): string {
    return `PostgreSQL at ${place(this.target)} is version ${this.version}, but ${this.minimumMajorVersion} or newer is needed`
  }
}

/** A pool in between gives each transaction another session. */
export class PostgresPooled extends Data.TaggedError("PostgresPooled")<{ readonly target: PgTarget }> {
  override get message(): string {
    return `PostgreSQL at ${place(this.target)} is behind a pool in transaction mode (such as PgBouncer's pool_mode = transaction): locks, notifications and prepared statements belong to a session, so Sluice does not work there, and two platforms could run on one database. Set pool_mode = session for this database and user, or connect to PostgreSQL itself`
  }
}

/** A standby, or a database set to read only. */
export class PostgresReadOnly extends Data.TaggedError("PostgresReadOnly")<{ readonly target: PgTarget }> {
  override get message(): string {
    return `PostgreSQL at ${place(this.target)} allows reading only: connect to the primary server`
  }
}

export type PostgresRefusal =
  | PostgresUrlInvalid
  | PostgresUnreachable
  | PostgresUnavailable
  | PostgresAuthenticationFailed
  | PostgresDatabaseMissing
  | PostgresTooOld
  | PostgresReadOnly
  | PostgresPooled

/** The result of the check. */
export interface PostgresServer {
  readonly target: PgTarget
  /** As the server says it, for example `18.4`. */
  readonly version: string
  readonly majorVersion: number
}

/** Whether migrations have run in the database, so that it is no new one. */
export const isMigrated = (
  config: PgConfig,
  table: string = defaultMigrationsTable
): Effect.Effect<boolean, PostgresRefusal> =>
  Effect.scoped(
    Effect.gen(function* () {
      const resolved = yield* resolve(config)
      const { target } = resolved
      return yield* Effect.gen(function* () {
        const session = yield* Session.open(resolved, "boot check")
        const [row] = yield* session.query(`SELECT to_regclass('${table}') IS NOT NULL AS "isThere"`)
        return (row as unknown as { readonly isThere: boolean }).isThere
      }).pipe(
        Effect.timeoutOrElse({
          duration: resolved.connectTimeoutMillis * 2,
          orElse: () => Effect.fail(new PostgresUnreachable({ target, detail: "no answer in time" }))
        }),
        Effect.catchTag("SqlError", (error) => Effect.fail(refusalOf(error, target, resolved.connectTimeoutMillis)))
      )
    })
  )

/** Connects once and judges the server. `minimumMajorVersion` defaults to {@link minimumMajorVersion}. */
export const checkServer = (
  config: PgConfig,
  options: { readonly minimumMajorVersion?: number } = {}
): Effect.Effect<PostgresServer, PostgresRefusal> =>
  Effect.scoped(
    Effect.gen(function* () {
      const resolved = yield* resolve(config)
      const { target } = resolved
      const facts = yield* Effect.gen(function* () {
        const session = yield* Session.open(resolved, "boot check")
        const [row] = yield* session.query(
          `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int4 AS number,
             current_setting('transaction_read_only') = 'on' AS "readOnly"`
        )
        const facts = row as unknown as {
          readonly version: string
          readonly number: number
          readonly readOnly: boolean
        }
        const needed = options.minimumMajorVersion ?? minimumMajorVersion
        if (Math.floor(facts.number / 10_000) < needed)
          return yield* new PostgresTooOld({ target, version: facts.version, minimumMajorVersion: needed })
        if (yield* isShared(session, Session.open(resolved, "boot check"))) return yield* new PostgresPooled({ target })
        return facts
      }).pipe(
        Effect.timeoutOrElse({
          duration: resolved.connectTimeoutMillis * 2,
          orElse: () => Effect.fail(new PostgresUnreachable({ target, detail: "no answer in time" }))
        }),
        Effect.catchTag("SqlError", (error) => Effect.fail(refusalOf(error, target, resolved.connectTimeoutMillis)))
      )
      const majorVersion = Math.floor(facts.number / 10_000)
      if (facts.readOnly) return yield* new PostgresReadOnly({ target })
      return { target, version: facts.version, majorVersion }
    })
  )

/** Sessions that are compared: a pool may have more servers than one at hand. */
const comparedSessions = 4

/**
 * Whether two sessions that are open at the same time are one of the server. A pool in transaction mode gives a
 * server's session back after each statement, and takes the one that was used last.
 */
export const isShared = Effect.fnUntraced(function* (
  session: Session.PgSession,
  other: ReturnType<typeof Session.open>
): Effect.fn.Return<boolean, SqlError.SqlError> {
  const processOf = (one: Session.PgSession) =>
    Effect.map(one.query("SELECT pg_backend_pid() AS pid"), ([row]) => (row as { readonly pid: number }).pid)
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const another = yield* other
      for (let compared = 0; compared < comparedSessions; compared++) {
        const first = yield* processOf(session)
        yield* another.query("BEGIN")
        const second = yield* processOf(another)
        yield* another.query("ROLLBACK")
        if (first === second) return true
      }
      return false
    })
  )
})

const refusalOf = (error: SqlError.SqlError, target: PgTarget, timeoutMillis: number): PostgresRefusal => {
  const state = sqlState(error.reason.cause)
  const detail = error.message
  if (state === "3D000") return new PostgresDatabaseMissing({ target })
  if (state === undefined) {
    if (error.reason._tag === "AuthenticationError") {
      return new PostgresAuthenticationFailed({ target, detail: "the password is missing or not accepted" })
    }
    const timedOut = detail.includes("timed out")
    return new PostgresUnreachable({ target, detail: timedOut ? `no answer within ${timeoutMillis} ms` : detail })
  }
  // 42501: the user exists, but may not connect to this database.
  if (state.startsWith("28") || state === "42501") return new PostgresAuthenticationFailed({ target, detail })
  return new PostgresUnavailable({ target, detail })
}
