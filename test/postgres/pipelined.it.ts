import { expect, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { sharedStatements } from "../../src/postgres/config.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { proxyTo, sessionsOf, until } from "./support.ts"

/** Two of four connections are shared. */
const sharing = { maxConnections: 4, sharedConnections: 2, applicationName: "sharing" }

layer(freshDatabase(sharing), { excludeTestServices: true })("short statements that share connections", (it) => {
  it.effect("have each its own answer, on no more connections than are shared", () =>
    Effect.gen(function* () {
      const { pipelined } = yield* PgClient.PgClient
      const rows = yield* Effect.forEach(
        Array.from({ length: 2_000 }, (_, n) => n),
        (n) => pipelined<{ readonly n: number; readonly pid: number }>`SELECT ${n}::int4 AS n, pg_backend_pid() AS pid`,
        { concurrency: 8 * sharedStatements }
      )
      expect(rows.map(([row]) => row!.n)).toEqual(Array.from({ length: 2_000 }, (_, n) => n))
      expect(new Set(rows.map(([row]) => row!.pid)).size).toBeLessThanOrEqual(sharing.sharedConnections)
    })
  )

  it.effect("fail each for itself", () =>
    Effect.gen(function* () {
      const { pipelined } = yield* PgClient.PgClient
      const reasons = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, n) => n % 4),
        (n) => Effect.exit(pipelined`SELECT 1 / ${n}::int4 AS one`),
        { concurrency: "unbounded" }
      )
      expect(reasons.map(Exit.isSuccess)).toEqual(Array.from({ length: 40 }, (_, n) => n % 4 !== 0))
    })
  )

  it.effect("are part of the transaction they are run in, whichever of the two began it", () =>
    Effect.gen(function* () {
      const client = yield* PgClient.PgClient
      const { pipelined } = client
      yield* client`CREATE TABLE shared_entries (entry text PRIMARY KEY)`
      for (const [outer, inner] of [
        [client, pipelined],
        [pipelined, client]
      ] as const) {
        const exit = yield* Effect.exit(
          outer.withTransaction(Effect.andThen(inner`INSERT INTO shared_entries VALUES ('a')`, Effect.fail("given up")))
        )
        expect(exit).toEqual(Exit.fail("given up"))
        const kept = inner.withTransaction(
          inner`INSERT INTO shared_entries VALUES (${outer === client ? "one" : "two"})`
        )
        yield* outer.withTransaction(kept)
      }
      expect(yield* pipelined`SELECT * FROM shared_entries`).toEqual([{ entry: "one" }, { entry: "two" }])
    })
  )

  it.effect("leave the others what they are answered where one is interrupted", () =>
    Effect.gen(function* () {
      const { pipelined } = yield* PgClient.PgClient
      const slow = yield* Effect.forkChild(pipelined`SELECT 'shared sleep', pg_sleep(0.3)`, { startImmediately: true })
      const behind = yield* Effect.forkChild(pipelined`SELECT 'behind' AS answer`, { startImmediately: true })
      yield* Fiber.interrupt(slow)
      expect(yield* Fiber.join(behind)).toEqual([{ answer: "behind" }])
    })
  )

  it.effect("do not wait for ever on a connection that hangs, and the next ones get another", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const admin = yield* SqlClient.SqlClient
      const proxy = yield* proxyTo(Redacted.value(url))
      const config = {
        ...sharing,
        ...{ url: Redacted.make(proxy.url), applicationName: "hanging shared", statementTimeoutMillis: 200 }
      }
      yield* Effect.gen(function* () {
        const { pipelined } = yield* PgClient.PgClient
        yield* pipelined`SELECT 1`
        yield* proxy.freeze
        const all = Array.from({ length: 20 }, () => Effect.flip(pipelined`SELECT 1`))
        const errors = yield* Effect.all(all, { concurrency: "unbounded" })
        expect(new Set(errors.map(({ reason }) => reason._tag))).toEqual(new Set(["ConnectionError"]))
        yield* proxy.thaw
        expect(yield* pipelined`SELECT 1 AS one`).toEqual([{ one: 1 }])
      }).pipe(Effect.provide(PgClient.layer(config)))
      yield* until(Effect.map(sessionsOf("hanging shared"), ({ open }) => open === 0)).pipe(
        Effect.provideService(SqlClient.SqlClient, admin)
      )
    })
  )
})
