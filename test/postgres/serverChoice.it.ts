/**
 * Several servers in one address: two real ones, of which the first ends, hangs or takes no writes any more while a
 * client is at work. Both have one user, as a primary and its standby have.
 */
import { expect, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted, Scope, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { startPostgres } from "../../src/embedded/EmbeddedPostgres.ts"
import { findMarked, findPostgresWorkers, postgresMark } from "../../src/embedded/orphans.ts"
import { signal } from "../../src/embedded/processes.ts"
import * as AdvisoryLock from "../../src/postgres/advisoryLock.ts"
import * as Notifications from "../../src/postgres/Notifications.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { temporaryFolder } from "../embedded/support.ts"
import { patienceMillis } from "../support/patience.ts"
import { until } from "./support.ts"

const user = "application"
const password = "of-both-servers"

interface Server {
  readonly port: number
  /** Ends it in order, and lets nobody start it again. */
  readonly end: Effect.Effect<void>
  /** Stops all its processes, so that it takes connections and answers nothing. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
  /** Makes it take no writes, as a standby does, or take them. */
  readonly setReadOnly: (isReadOnly: boolean) => Effect.Effect<void>
}

const startServer = Effect.gen(function* () {
  const outer = yield* Effect.scope
  const folder = yield* openDataFolder(yield* temporaryFolder())
  yield* folder.hold({ purpose: "test" })
  const scope = yield* Scope.fork(outer)
  const { port, url } = yield* Scope.provide(startPostgres({ folder, progress: () => Effect.void }), scope)
  const all = (name: NodeJS.Signals) =>
    Effect.gen(function* () {
      for (const find of [findMarked(postgresMark(folder.token)), findPostgresWorkers(folder.token)])
        yield* Effect.forEach(yield* find, (one) => signal(one, name))
    })
  yield* Effect.addFinalizer(() => all("SIGCONT"))
  const asOwner = (...statements: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const statement of statements) yield* sql.unsafe(statement).unprepared
    }).pipe(Effect.provide(PgClient.layer({ url, maxConnections: 1 })), Effect.orDie)
  yield* asOwner(
    `CREATE ROLE ${user} LOGIN PASSWORD '${password}'`,
    "CREATE TABLE entries (entry text)",
    `GRANT ALL ON entries TO ${user}`
  )
  return {
    port,
    end: Scope.close(scope, Exit.void),
    freeze: all("SIGSTOP"),
    thaw: all("SIGCONT"),
    setReadOnly: (isReadOnly) =>
      asOwner(
        "SET default_transaction_read_only = off",
        `ALTER SYSTEM SET default_transaction_read_only = ${isReadOnly ? "on" : "off"}`,
        "SELECT pg_reload_conf()"
      )
  } satisfies Server
})

/** A client of both servers, with notifications. */
const clientOf = (servers: ReadonlyArray<Server>) => {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(",")
  const client = PgClient.layer({
    url: Redacted.make(`postgres://${user}:${password}@${hosts}/sluice?target_session_attrs=read-write`),
    maxConnections: 4,
    sharedConnections: 1,
    connectTimeoutMillis: 1_000,
    statementTimeoutMillis: 500
  })
  return Layer.provideMerge(Notifications.layer({ watch: { intervalMillis: 200, timeoutMillis: 500 } }), client)
}

const portOf = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{ readonly port: number }>`
      INSERT INTO entries VALUES ('a') RETURNING inet_server_port() AS port`,
    ([row]) => row!.port
  )

/** The ports at which a statement, one that shares its connection, a transaction, and a session arrive. */
const ports = Effect.gen(function* () {
  const client = yield* PgClient.PgClient
  const plain = yield* portOf(client)
  const pipelined = yield* portOf(client.pipelined)
  const [transaction] = yield* client.withTransaction(Effect.all([portOf(client), portOf(client)]))
  const session = yield* Effect.scoped(
    Effect.flatMap(client.session("test"), ({ query }) => query("SELECT inet_server_port() AS port"))
  )
  return [plain, pipelined, transaction, Number(session[0]?.port)]
})

/** Returns once everything arrives at this server. */
const arrivesAt = ({ port }: Server) =>
  until(
    ports.pipe(
      Effect.map((all) => all.every((one) => one === port)),
      Effect.orElseSucceed(() => false)
    )
  )

/** A channel is in force. */
const hears = (channel: string) =>
  Effect.gen(function* () {
    const { listen, notify } = yield* Notifications.Notifications
    const heard = yield* Effect.forkChild(Stream.runHead(Notifications.payloads(listen(channel))))
    yield* until(
      Effect.gen(function* () {
        yield* Effect.ignore(notify(channel, "hello"))
        return heard.pollUnsafe() !== undefined
      })
    )
  })

/** A primary and a standby. Each test leaves them so, and the last one ends the primary. */
class Pair extends Context.Service<Pair, { readonly first: Server; readonly second: Server }>()("test/postgres/Pair") {
  static readonly layer = Layer.effect(
    Pair,
    Effect.gen(function* () {
      const [first, second] = yield* Effect.all([startServer, startServer])
      yield* second.setReadOnly(true)
      return { first, second }
    })
  )
}

/** What a client notices: everything goes on at the second server, its lock and its channel included. */
const movesWhen = (happen: (first: Server) => Effect.Effect<void>) =>
  Effect.gen(function* () {
    const { first, second } = yield* Pair
    yield* Effect.gen(function* () {
      expect(new Set(yield* ports)).toEqual(new Set([first.port]))
      const lock = yield* AdvisoryLock.hold("test")
      yield* happen(first)
      yield* second.setReadOnly(false)
      yield* arrivesAt(second)
      // A lock is at the first server until it is lost there.
      expect((yield* lock.lost)._tag).toBe("LockLost")
      yield* AdvisoryLock.hold("test")
      yield* hears("test")
    }).pipe(Effect.provide(clientOf([first, second])), Effect.scoped)
  })

const restored = Effect.gen(function* () {
  const { first, second } = yield* Pair
  yield* second.setReadOnly(true)
  yield* first.setReadOnly(false)
})

layer(Pair.layer, { excludeTestServices: true, timeout: patienceMillis })("a client of several servers", (it) => {
  it.effect("goes on at the next one when the first takes no writes any more", () =>
    Effect.andThen(
      movesWhen(({ setReadOnly }) => setReadOnly(true)),
      restored
    )
  )

  it.effect("stays where it fits when a connection is lost, and does not go back to a server that fits again", () =>
    Effect.gen(function* () {
      const { first, second } = yield* Pair
      yield* Effect.gen(function* () {
        const client = yield* PgClient.PgClient
        const cut = Effect.flip(client`SELECT pg_terminate_backend(pg_backend_pid())`)
        expect((yield* cut).reason._tag).toBe("ConnectionError")
        yield* arrivesAt(first)
        yield* first.setReadOnly(true)
        yield* second.setReadOnly(false)
        yield* arrivesAt(second)
        yield* first.setReadOnly(false)
        yield* cut
        yield* arrivesAt(second)
      }).pipe(Effect.provide(clientOf([first, second])))
      yield* restored
    })
  )

  it.effect("goes on at the next one when the first hangs", () =>
    Effect.gen(function* () {
      const { first } = yield* Pair
      yield* movesWhen(({ freeze }) => freeze)
      yield* first.thaw
      yield* restored
    })
  )

  it.effect("goes on at the next one when the first has ended", () => movesWhen(({ end }) => end))
})
