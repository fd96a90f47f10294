import { expect, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { backendPid, proxyTo, running, sessionsOf, terminate, until } from "./support.ts"

layer(freshDatabase({ maxConnections: 4 }), { excludeTestServices: true })("interruption", (it) => {
  it.effect("ends the statement on the server and keeps the connection", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { config } = yield* TestDatabase
      const pids = yield* Effect.gen(function* () {
        const one = yield* SqlClient.SqlClient
        const before = yield* backendPid
        const fiber = yield* Effect.forkChild(one`SELECT 'interrupted select', pg_sleep(60)`)
        yield* until(
          Effect.map(running("interrupted select"), (count) => count === 1).pipe(
            Effect.provideService(SqlClient.SqlClient, sql)
          )
        )
        yield* Fiber.interrupt(fiber)
        expect(yield* running("interrupted select").pipe(Effect.provideService(SqlClient.SqlClient, sql))).toBe(0)
        return [before, yield* backendPid]
      }).pipe(Effect.provide(PgClient.layer({ ...config, maxConnections: 1 })))
      expect(pids[1]).toBe(pids[0])
    })
  )

  it.effect("never hits the next statement of the connection", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (let round = 0; round < 60; round++) {
          const fiber = yield* Effect.forkChild(sql`SELECT pg_sleep(${(round % 10) / 1000}::float8)`, {
            startImmediately: true
          })
          yield* Effect.sleep(round % 7)
          yield* Fiber.interrupt(fiber)
          expect(yield* sql`SELECT ${round}::int4 AS round, pg_sleep(0.002) IS NULL AS slept`).toEqual([
            { round, slept: false }
          ])
        }
      }).pipe(Effect.provide(PgClient.layer({ ...config, maxConnections: 1 })))
    })
  )

  it.effect("while waiting for a connection leaves none behind", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      const admin = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        const client = yield* PgClient.PgClient
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* client.reserve
            const fibers = yield* Effect.forEach(Array.from({ length: 10 }), () =>
              Effect.forkChild(client`SELECT 1`, { startImmediately: true })
            )
            yield* Effect.forEach(fibers, Fiber.interrupt)
          })
        )
        expect(yield* client`SELECT 1 AS one`).toEqual([{ one: 1 }])
        expect(yield* Effect.provideService(sessionsOf("left behind"), SqlClient.SqlClient, admin)).toEqual({
          open: 1,
          busy: 0
        })
      }).pipe(Effect.provide(PgClient.layer({ ...config, maxConnections: 1, applicationName: "left behind" })))
    })
  )

  it.effect("of a stream with a read under way ends it on the server", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const fiber = yield* Effect.forkChild(
        Stream.runDrain(sql`SELECT 'interrupted stream', pg_sleep(0.05) FROM generate_series(1, 100000)`.stream)
      )
      yield* until(Effect.map(running("interrupted stream"), (count) => count === 1))
      yield* Fiber.interrupt(fiber)
      expect(yield* running("interrupted stream")).toBe(0)
      expect(yield* sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
    })
  )

  it.effect("by a timeout counts as the timeout", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const error = yield* sql`SELECT pg_sleep(60)`.pipe(Effect.timeout("50 millis"), Effect.flip)
      expect(error._tag).toBe("TimeoutError")
    })
  )

  it.effect("on a silent network costs the connection, within its bound", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const admin = yield* SqlClient.SqlClient
      const proxy = yield* proxyTo(Redacted.value(url))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const before = yield* backendPid
        const fiber = yield* Effect.forkChild(sql`SELECT 'silent select', pg_sleep(600)`)
        yield* until(Effect.map(running("silent select"), (count) => count === 1)).pipe(
          Effect.provideService(SqlClient.SqlClient, admin)
        )
        yield* proxy.freeze
        yield* Effect.timeout(Fiber.interrupt(fiber), "10 seconds")
        yield* proxy.thaw
        expect(yield* backendPid).not.toBe(before)
      }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(proxy.url), maxConnections: 1 })))
    })
  )
})

layer(freshDatabase({ maxConnections: 2 }), { excludeTestServices: true })("lost connections", (it) => {
  it.effect("a statement whose backend is killed fails as a connection, and the next one works", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      const admin = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const pid = yield* backendPid
        const fiber = yield* Effect.forkChild(sql`SELECT 'killed select', pg_sleep(60)`)
        yield* Effect.gen(function* () {
          yield* until(Effect.map(running("killed select"), (count) => count === 1))
          expect(yield* terminate(pid)).toBe(true)
        }).pipe(Effect.provideService(SqlClient.SqlClient, admin))
        const error = yield* Effect.flip(Fiber.join(fiber))
        expect(error.reason._tag).toBe("ConnectionError")
        expect(error.isRetryable).toBe(true)
        expect(yield* backendPid).not.toBe(pid)
      }).pipe(Effect.provide(PgClient.layer({ ...config, maxConnections: 1 })))
    })
  )

  it.effect("an idle connection that is killed is replaced unnoticed", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      const admin = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        const pid = yield* backendPid
        yield* terminate(pid).pipe(Effect.provideService(SqlClient.SqlClient, admin))
        yield* until(Effect.map(sessionsOf("killed idle"), ({ open }) => open === 0)).pipe(
          Effect.provideService(SqlClient.SqlClient, admin)
        )
        expect(yield* backendPid).not.toBe(pid)
      }).pipe(Effect.provide(PgClient.layer({ ...config, maxConnections: 1, applicationName: "killed idle" })))
    })
  )

  it.effect("a reserved connection that dies says so to every later statement", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      const admin = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        const client = yield* PgClient.PgClient
        yield* Effect.scoped(
          Effect.gen(function* () {
            const connection = yield* client.reserve
            const [row] = yield* connection.execute("SELECT pg_backend_pid() AS pid", [], undefined)
            yield* terminate(row.pid).pipe(Effect.provideService(SqlClient.SqlClient, admin))
            for (let attempt = 0; attempt < 3; attempt++) {
              const error = yield* Effect.flip(connection.execute("SELECT 1", [], undefined))
              expect(error.reason._tag).toBe("ConnectionError")
            }
          })
        )
        expect(yield* client`SELECT 1 AS one`).toEqual([{ one: 1 }])
      }).pipe(Effect.provide(PgClient.layer({ ...config, maxConnections: 1 })))
    })
  )

  it.effect("a broken network under many statements fails each of them once and recovers", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const admin = yield* SqlClient.SqlClient
      const proxy = yield* proxyTo(Redacted.value(url))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const fibers = yield* Effect.forEach(Array.from({ length: 4 }), () =>
          Effect.forkChild(sql`SELECT 'cut select', pg_sleep(60)`)
        )
        yield* until(Effect.map(running("cut select"), (count) => count === 4)).pipe(
          Effect.provideService(SqlClient.SqlClient, admin)
        )
        yield* proxy.cut
        for (const fiber of fibers) {
          const exit = yield* Fiber.await(fiber)
          expect(Exit.isFailure(exit) && exit.cause.reasons.map((reason) => reason._tag)).toEqual(["Fail"])
        }
        expect(yield* sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
      }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(proxy.url), maxConnections: 4 })))
    })
  )
})
