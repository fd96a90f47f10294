/**
 * Opens a connection outside the pool, for listening and advisory locks, which belong to a session. It lives as long as
 * its scope and reports its loss. A watch sends queries: one without an answer shows that the peer has silently
 * vanished. Needs no service.
 */
import { connect, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { PgConnection, PgProtocol } from "@effect/sql-pg"
import { Effect, type Queue, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import type { ResolvedConfig } from "./config.ts"
import { explaining } from "./connection.ts"

/** How long a close waits for the server's answer. */
const closeMillis = 1_000

/** A session of the database. See {@link Durable.layer}. */
export interface PgSession {
  /** One statement; the session's statements take turns. */
  readonly query: (
    sql: string,
    params?: ReadonlyArray<unknown>
  ) => Effect.Effect<ReadonlyArray<PgConnection.Row>, SqlError.SqlError>
  /** Puts a channel in force for as long as the scope lives. The queue fails with the session. */
  readonly listen: (
    channel: string
  ) => Effect.Effect<Queue.Dequeue<PgConnection.Notification, SqlError.SqlError>, SqlError.SqlError, Scope.Scope>
  /** Completes with the reason once the session is lost. */
  readonly lost: Effect.Effect<Error>
  /** Cuts the session. Statements that run on it fail. */
  readonly destroy: (reason: string) => void
}

/** Connects; the scope's end disconnects. `purpose` is added to the application's name in `pg_stat_activity`. */
export const open = Effect.fnUntraced(function* (
  { applicationName, pool, statementTimeoutMillis, target }: ResolvedConfig,
  purpose: string
): Effect.fn.Return<PgSession, SqlError.SqlError, Scope.Scope> {
  const { host, port } = target
  let socket: Socket | undefined
  const dial = (): Socket => {
    const opened = host.startsWith("/")
      ? connect(`${host}/.s.PGSQL.${port}`)
      : connect({ host, port, noDelay: true, keepAlive: true })
    // The first socket is the session's; the client opens others to cancel statements.
    socket ??= opened
    return opened
  }
  const connection = yield* explaining(
    PgConnection.make({ ...pool, multiplex: false, stream: dial, applicationName: `${applicationName} ${purpose}` }),
    "connect"
  )
  const own = socket!
  let reason: Error | undefined
  const session = yield* connection.pin
  yield* explaining(session.query(`SET statement_timeout = ${statementTimeoutMillis}`, [], false), "connect")

  const lost = Effect.callback<Error>((resume) => {
    // Statements on a lost session fail with the reason of the loss.
    const tell = () =>
      resume(
        Effect.map(Effect.flip(explaining(session.query("SELECT"), "execute")), (error) => reason ?? error).pipe(
          Effect.orElseSucceed(() => reason ?? new Error("The connection has ended"))
        )
      )
    if (own.closed) {
      tell()
      return
    }
    own.once("close", tell)
    return Effect.sync(() => {
      own.off("close", tell)
    })
  })

  const destroy = (why: string): void => {
    reason ??= new Error(why)
    own.destroy()
  }

  // Finalizers run last to first, so this one runs before the client's own, which would ask a silent server to give up
  // each channel and wait for that.
  yield* Effect.addFinalizer(() => close(own, spokenTo(connection) ?? own))
  return {
    query: (sql, params = []) =>
      explaining(
        Effect.map(session.query(sql, params, params.length > 0), ({ rows }) => rows),
        "execute"
      ),
    listen: (channel) => explaining(session.listen(channel), "execute"),
    lost,
    destroy
  }
})

/**
 * The socket on which the client speaks: with TLS another one than that which was opened, and what is written to that
 * one is no TLS. The client does not give it out.
 */
const spokenTo = (connection: object): Duplex | undefined =>
  (connection as { readonly session?: { readonly socket?: Duplex } }).session?.socket

/** When the server closes its end, it has forgotten the session and its locks. */
const close = (socket: Socket, spoken: Duplex): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (socket.closed) {
      resume(Effect.void)
      return
    }
    socket.once("close", () => resume(Effect.void))
    spoken.end(PgProtocol.encodeTerminate())
  }).pipe(
    Effect.timeoutOrElse({
      duration: closeMillis,
      orElse: () => Effect.sync(() => socket.destroy())
    })
  )

/** How often a session is asked for a sign of life, and how long it may take to give it. See {@link Notifications}. */
export interface Watch {
  readonly intervalMillis: number
  readonly timeoutMillis: number
}

/** Asks for signs of life until one does not come; then cuts the session and answers the reason. */
export const watch = (session: PgSession, { intervalMillis, timeoutMillis }: Watch): Effect.Effect<Error> =>
  Effect.raceFirst(
    session.lost,
    Effect.sleep(intervalMillis).pipe(
      Effect.andThen(
        Effect.raceFirst(
          Effect.ignore(session.query("SELECT 1")),
          Effect.andThen(
            Effect.sleep(timeoutMillis),
            Effect.sync(() => session.destroy(`PostgreSQL gave no sign of life within ${timeoutMillis} ms`))
          )
        )
      ),
      Effect.forever
    )
  )
