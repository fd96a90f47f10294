/**
 * Helpers of this folder's tests: waiting for a condition, the server's own view of a session, and a TCP proxy in
 * front of the real server that can fall silent or break, as a network does.
 */
import { connect, createServer, type Socket } from "node:net"
import { Effect, Schedule, type Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** Returns once the condition holds, fails the test when it never does. */
export const until = <E, R>(condition: Effect.Effect<boolean, E, R>): Effect.Effect<void, E | Error, R> =>
  condition.pipe(
    Effect.filterOrFail(
      (holds) => holds,
      () => new Error("the condition never came to hold")
    ),
    Effect.retry({ while: (error) => error instanceof Error, schedule: Schedule.spaced("10 millis"), times: 1_500 }),
    Effect.asVoid
  )

/** How many other sessions of this database run a statement that contains the marker. */
export const running = (marker: string): Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ readonly count: number }>`SELECT count(*) AS count FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND query LIKE ${`%${marker}%`}`
    return row!.count
  })

/** Open sessions of the client with this name, as the server sees them; `busy` ones are inside a statement or a transaction. */
export const sessionsOf = (
  applicationName: string
): Effect.Effect<{ readonly open: number; readonly busy: number }, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ readonly open: number; readonly busy: number }>`
      SELECT count(*) AS open, count(*) FILTER (WHERE state <> 'idle') AS busy FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = ${applicationName}`
    return row!
  })

/** Kills the session with this process id; returns whether there was one. */
export const terminate = (pid: number): Effect.Effect<boolean, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ readonly done: boolean }>`SELECT pg_terminate_backend(${pid}::int4, 5000) AS done`
    return row!.done
  })

/** The session's process id on the server. */
export const backendPid: Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
  return row!.pid
})

export interface Proxy {
  /** The same database through the proxy. */
  readonly url: string
  /** From now on nothing passes in either direction, and nothing is closed. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
  /** From now on what clients send arrives so much later. */
  readonly delay: (millis: number) => Effect.Effect<void>
  /** Breaks every connection. */
  readonly cut: Effect.Effect<void>
  /** Open connections from clients. */
  readonly connections: Effect.Effect<number>
}

export const proxyTo = (target: string): Effect.Effect<Proxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sockets = new Set<Socket>()
    const clients = new Set<Socket>()
    let frozen = false
    let delayMillis = 0
    const { hostname, port } = new URL(target)
    const server = createServer((client) => {
      const upstream = connect(Number(port), hostname)
      clients.add(client)
      for (const [socket, other] of [
        [client, upstream],
        [upstream, client]
      ] as const) {
        sockets.add(socket)
        socket.on("data", (data) => {
          // Timers of one length keep their order.
          if (socket === client && delayMillis > 0) setTimeout(() => other.write(data), delayMillis)
          else other.write(data)
        })
        socket.on("error", () => other.destroy())
        socket.on("close", () => {
          sockets.delete(socket)
          clients.delete(socket)
          other.destroy()
        })
        if (frozen) socket.pause()
      }
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.callback<void>((resume) => {
          for (const socket of sockets) socket.destroy()
          server.close(() => resume(Effect.void))
        })
    )
    const address = server.address()
    if (address === null || typeof address === "string") return yield* Effect.die("no port")
    const url = new URL(target)
    url.port = String(address.port)
    return {
      url: url.toString(),
      freeze: Effect.sync(() => {
        frozen = true
        for (const socket of sockets) socket.pause()
      }),
      thaw: Effect.sync(() => {
        frozen = false
        for (const socket of sockets) socket.resume()
      }),
      delay: (millis) =>
        Effect.sync(() => {
          delayMillis = millis
        }),
      cut: Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
      }),
      connections: Effect.sync(() => clients.size)
    }
  })
