import { expect, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { preparedStatements } from "../../src/postgres/config.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { backendPid, sessionsOf, until } from "./support.ts"

layer(freshDatabase(), { excludeTestServices: true })("the pool", (it) => {
  it.effect("when exhausted fails the waiting with a typed error, and recovers", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      const admin = yield* SqlClient.SqlClient
      const sessions = Effect.provideService(sessionsOf("exhausted"), SqlClient.SqlClient, admin)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const enough = yield* Deferred.make<void>()
        const holders = yield* Effect.forEach(Array.from({ length: 2 }), () =>
          Effect.forkChild(sql.withTransaction(Effect.andThen(sql`SELECT 1`, Deferred.await(enough))))
        )
        yield* until(Effect.map(sessions, ({ busy }) => busy === 2))
        const errors = yield* Effect.forEach(Array.from({ length: 5 }), () => Effect.flip(sql`SELECT 1`), {
          concurrency: "unbounded"
        })
        for (const error of errors) {
          expect(error.reason._tag).toBe("ConnectionError")
          expect(error.reason.operation).toBe("connect")
          expect(error.message).toContain("within 2000 ms")
        }
        yield* Deferred.succeed(enough, undefined)
        yield* Effect.forEach(holders, Fiber.join)
        const rows = yield* Effect.forEach(Array.from({ length: 20 }), () => sql`SELECT 1 AS one`, {
          concurrency: "unbounded"
        })
        expect(rows).toEqual(Array.from({ length: 20 }, () => [{ one: 1 }]))
        expect((yield* sessions).open).toBe(2)
      }).pipe(
        Effect.provide(
          PgClient.layer({ ...config, maxConnections: 2, connectTimeoutMillis: 2_000, applicationName: "exhausted" })
        )
      )
    })
  )

  it.effect("serves many more callers than it has connections", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      const admin = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const numbers = yield* Effect.forEach(
          Array.from({ length: 2_000 }, (_, n) => n),
          (n) => sql<{ readonly n: number }>`SELECT ${n}::int4 AS n`,
          { concurrency: 200 }
        )
        expect(numbers.map((rows) => rows[0]!.n)).toEqual(Array.from({ length: 2_000 }, (_, n) => n))
        const { open } = yield* Effect.provideService(sessionsOf("many callers"), SqlClient.SqlClient, admin)
        expect(open).toBeLessThanOrEqual(3)
      }).pipe(
        Effect.provide(
          PgClient.layer({
            ...config,
            maxConnections: 3,
            connectTimeoutMillis: 60_000,
            applicationName: "many callers"
          })
        )
      )
    })
  )

  it.effect("keeps a bounded number of prepared statements on each connection, whatever is run", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const prepared = () => sql<{ readonly count: number }>`SELECT count(*) AS count FROM pg_prepared_statements`
        expect((yield* prepared())[0]!.count).toBe(1)
        for (let n = 0; n < 5; n++) yield* sql`SELECT ${n}::int4 AS n`
        expect((yield* prepared())[0]!.count).toBe(2)
        for (let n = 0; n < preparedStatements + 100; n++) {
          expect(yield* sql`SELECT ${n}::int4 AS ${sql(`n${n}`)}`).toEqual([{ [`n${n}`]: n }])
        }
        expect((yield* prepared())[0]!.count).toBe(preparedStatements)
      }).pipe(Effect.provide(PgClient.layer({ ...config, maxConnections: 1 })))
    })
  )

  it.effect("does not lend a connection that came back inside a transaction", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      yield* Effect.gen(function* () {
        const client = yield* PgClient.PgClient
        yield* client`CREATE TABLE left_open (entry text)`
        const before = yield* backendPid
        yield* Effect.scoped(
          Effect.gen(function* () {
            const connection = yield* client.reserve
            yield* connection.executeUnprepared("BEGIN", [], undefined)
            yield* connection.execute("INSERT INTO left_open VALUES ('a')", [], undefined)
          })
        )
        expect(yield* backendPid).not.toBe(before)
        expect(yield* client`SELECT * FROM left_open`).toEqual([])
      }).pipe(Effect.provide(PgClient.layer({ ...config, maxConnections: 1 })))
    })
  )

  it.effect("closes all its connections with its scope", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      const sessions = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql`SELECT 1 FROM pg_stat_activity WHERE application_name = 'closing'`
        return rows.length
      })
      const during = yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Effect.forEach(Array.from({ length: 8 }), () => sql`SELECT pg_sleep(0.02)`, { concurrency: 8 })
        return yield* sessions
      }).pipe(Effect.provide(PgClient.layer({ ...config, maxConnections: 4, applicationName: "closing" })))
      expect(during).toBe(4)
      yield* until(Effect.map(sessions, (count) => count === 0))
    })
  )

  it.effect("reports a server that is not there", () =>
    Effect.gen(function* () {
      const error = yield* SqlClient.SqlClient.pipe(
        Effect.flatMap((sql) => sql`SELECT 1`),
        Effect.provide(PgClient.layer({ url: Redacted.make("postgres://nobody:hidden@127.0.0.1:1/nothing") })),
        Effect.flip
      )
      expect(error._tag).toBe("SqlError")
      if (error._tag === "SqlError") expect(error.reason._tag).toBe("ConnectionError")
      expect(error.message).toContain("ECONNREFUSED")
      expect(JSON.stringify(error)).not.toContain("hidden")
    })
  )

  for (const url of ["", "not a url", "mysql://root:hidden@localhost/x", "postgres://a:hidden@host:99999/x"]) {
    it.effect(`refuses the URL ${JSON.stringify(url.replace("hidden", "…"))} without quoting it`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(
          Effect.scoped(Effect.provide(SqlClient.SqlClient, PgClient.layer({ url: Redacted.make(url) })))
        )
        expect(error._tag).toBe("PostgresUrlInvalid")
        expect(`${error.message} ${JSON.stringify(error)} ${error.stack}`).not.toContain("hidden")
      })
    )
  }

  it.effect("ends statements that exceed the configured time", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      const error = yield* SqlClient.SqlClient.pipe(
        Effect.flatMap((sql) => sql`SELECT pg_sleep(60)`),
        Effect.provide(PgClient.layer({ ...config, statementTimeoutMillis: 50 })),
        Effect.flip
      )
      expect(error._tag === "SqlError" && error.reason._tag).toBe("StatementTimeoutError")
    })
  )
})
