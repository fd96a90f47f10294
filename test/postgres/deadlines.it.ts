/**
 * A PostgreSQL that hangs: it accepts connections, since the kernel does that, and answers nothing. Frozen for real, with all its processes, and
 * then let go on.
 */
import { expect, it, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Redacted, Stream } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { startPostgres } from "../../src/embedded/EmbeddedPostgres.ts"
import { findMarked, findPostgresWorkers, postgresMark } from "../../src/embedded/orphans.ts"
import { signal } from "../../src/embedded/processes.ts"
import { answerMarginMillis } from "../../src/postgres/config.ts"
import { withStatementTimeout } from "../../src/postgres/deadlines.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { temporaryFolder } from "../embedded/support.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { backendPid, sessionsOf, until } from "./support.ts"

const statementTimeoutMillis = 500
const connectTimeoutMillis = 1_000
const answerTimeoutMillis = statementTimeoutMillis + answerMarginMillis
const connections = 4

/** A server of its own that can be frozen; it goes on at the latest when the scope ends. */
const freezable = Effect.gen(function* () {
  const folder = yield* openDataFolder(yield* temporaryFolder())
  yield* folder.hold({ purpose: "test" })
  const server = yield* startPostgres({ folder, progress: () => Effect.void })
  const all = (name: NodeJS.Signals) =>
    Effect.gen(function* () {
      // The postmaster first, so that it starts no further ones.
      for (const find of [findMarked(postgresMark(folder.token)), findPostgresWorkers(folder.token)]) {
        yield* Effect.forEach(yield* find, (one) => signal(one, name))
      }
    })
  yield* Effect.addFinalizer(() => all("SIGCONT"))
  return { url: server.url, freeze: all("SIGSTOP"), thaw: all("SIGCONT") }
})

const reasonOf = <A, E>(exit: Exit.Exit<A, E>): string => {
  if (Exit.isSuccess(exit)) return "Success"
  const [reason] = exit.cause.reasons
  if (reason?._tag !== "Fail") return reason?._tag ?? "Nothing"
  return SqlError.isSqlError(reason.error) ? reason.error.reason._tag : String(reason.error)
}

it.live("a server that hangs fails what waits for it within its time, and the pool serves again when it goes on", () =>
  Effect.gen(function* () {
    const server = yield* freezable
    const watching = { url: server.url, applicationName: "watching" }
    const config = {
      ...{ url: server.url, maxConnections: connections, applicationName: "hanging" },
      ...{ statementTimeoutMillis, connectTimeoutMillis }
    }
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE entries (entry text)`
      const outside = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
        Effect.provide(effect, PgClient.layer(watching))
      // All connections are open before.
      yield* Effect.forEach(Array.from({ length: connections }), () => sql`SELECT pg_sleep(0.1)`, {
        concurrency: "unbounded"
      })
      const isFrozen = yield* Deferred.make<void>()
      const inside = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO entries VALUES ('inside')`
            yield* server.freeze
            yield* Deferred.succeed(isFrozen, undefined)
            yield* sql`SELECT 1`
          })
        )
      )
      yield* Deferred.await(isFrozen)
      const answers = yield* Effect.forEach(
        [
          Fiber.join(inside),
          ...Array.from({ length: 3 * connections }, () => sql`SELECT 1 AS one`),
          sql.withTransaction(sql`INSERT INTO entries VALUES ('never')`),
          Stream.runDrain(sql`SELECT generate_series(1, 10)`.stream)
        ],
        (effect) => Effect.exit<unknown, unknown, never>(effect),
        { concurrency: "unbounded" }
      )
      expect(new Set(answers.map(reasonOf))).toEqual(new Set(["ConnectionError"]))
      const messages = answers.map((exit) => String(exit))
      expect(messages.some((message) => message.includes(`did not answer within ${answerTimeoutMillis} ms`))).toBe(true)
      expect(messages.some((message) => message.includes("came free within"))).toBe(true)
      expect(messages.join()).not.toContain(Redacted.value(server.url))

      yield* server.thaw
      const all = Array.from({ length: 5 * connections }, () => sql`SELECT 1 AS one`)
      expect(yield* Effect.all(all, { concurrency: "unbounded" })).toEqual(all.map(() => [{ one: 1 }]))
      expect(yield* sql`SELECT * FROM entries`).toEqual([])
      // What was cut is gone from the server too.
      yield* until(Effect.map(outside(sessionsOf("hanging")), ({ busy, open }) => open <= connections && busy === 0))
    }).pipe(Effect.provide(PgClient.layer(config)))
  })
)

layer(freshDatabase(), { excludeTestServices: true })("a slow statement", (it) => {
  it.effect("is ended by the server and keeps its connection, unless its transaction is given longer", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const before = yield* backendPid
        const error = yield* Effect.flip(sql`SELECT pg_sleep(600)`)
        expect(error.reason._tag).toBe("StatementTimeoutError")
        expect(yield* backendPid).toBe(before)
        const long = sql`SELECT pg_sleep(${(2 * statementTimeoutMillis) / 1000}::float8)`
        expect(yield* sql.withTransaction(withStatementTimeout(sql, 600_000, long))).toHaveLength(1)
        expect((yield* Effect.flip(long)).reason._tag).toBe("StatementTimeoutError")
      }).pipe(Effect.provide(PgClient.layer({ ...config, maxConnections: 1, statementTimeoutMillis })))
    })
  )
})
