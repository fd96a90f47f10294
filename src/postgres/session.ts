/**
 * A connection of its own, outside the pool, for what belongs to a session: listening and advisory locks. It lives as long as its scope, tells
 * when it is lost, and is watched: a peer that has silently vanished is found by a query that gets no answer. Needs no service.
 */
import { connect, type Socket } from "node:net"
import { PgConnection, PgProtocol } from "@effect/sql-pg"
import { Effect, type Queue, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import type { ResolvedConfig } from "./config.ts"
import { explaining } from "./connection.ts"

/** A goodbye that the server does not answer within this time is cut short. */
const closeMillis = 1_000

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
  /** Cuts the session; what runs on it fails. */
  readonly destroy: (reason: string) => void
}

/** Connects; the scope's end disconnects. `purpose` is added to the application's name in `pg_stat_activity`. */
export const open = Effect.fnUntraced(function* (
  { applicationName, pool, target }: ResolvedConfig,
  purpose: string
): Effect.fn.Return<PgSession, SqlError.SqlError, Scope.Scope> {
  const { host, port } = target
  let socket: Socket | undefined
  const dial = (): Socket => {
    const opened = host.startsWith("/")
      ? connect(`${host}/.s.PGSQL.${port}`)
      : connect({ host, port, noDelay: true, keepAlive: true })
    // The first one is the session's; the client opens others to cancel statements.
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

  const lost = Effect.callback<Error>((resume) => {
    // Whatever is asked of a lost session fails with the reason for which it was.
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

  // The last finalizer comes first: the client's own would ask a silent server to give up each channel, and wait for that.
  yield* Effect.addFinalizer(() => close(own))
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

/** The server has forgotten the session, and with it its locks, when it closes its end. */
const close = (socket: Socket): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (socket.closed) {
      resume(Effect.void)
      return
    }
    socket.once("close", () => resume(Effect.void))
    socket.end(PgProtocol.encodeTerminate())
  }).pipe(
    Effect.timeoutOrElse({
      duration: closeMillis,
      orElse: () => Effect.sync(() => socket.destroy())
    })
  )

/** How often a session is asked for a sign of life, and how long it may take to give it. */
export interface Watch {
  readonly intervalMillis: number
  readonly timeoutMillis: number
}

/** Asks for signs of life until one fails to come; then the session is cut and this returns the reason. */
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
