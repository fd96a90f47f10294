import { expect, layer } from "@effect/vitest"
import { Data, Effect, Exit, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { deferred, deferredPlanned, flushDeferred } from "../../src/postgres/deferredStatements.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { proxyTo } from "./support.ts"

class Refused extends Data.TaggedError("Refused") {}

/** A table with one unique column. Its statements are known to the one connection, as those of a running program are. */
const ledger = (name: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE ${sql(name)} (entry text PRIMARY KEY)`
    const write = (entry: string) => sql`INSERT INTO ${sql(name)} VALUES (${entry}) RETURNING entry`
    yield* sql.withTransaction(write("first"))
    return {
      sql,
      write,
      later: (entry: string) => deferred(sql, write(entry)),
      entries: Effect.map(
        sql<{ readonly entry: string }>`SELECT entry FROM ${sql(name)} WHERE entry <> 'first' ORDER BY entry`,
        (rows) => rows.map((row) => row.entry)
      )
    }
  })

layer(freshDatabase({ maxConnections: 1 }), { excludeTestServices: true })("deferred statements", (it) => {
  it.effect("are run before the next one, which answers its own rows alone", () =>
    Effect.gen(function* () {
      const { entries, later, sql, write } = yield* ledger("ordered")
      const seen = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* later("a")
          yield* later("b")
          const rows = yield* write("c")
          return { rows, entries: yield* entries }
        })
      )
      expect(seen).toEqual({ rows: [{ entry: "c" }], entries: ["a", "b", "c"] })
    })
  )

  it.effect("are committed where nothing comes behind them", () =>
    Effect.gen(function* () {
      const { entries, later, sql } = yield* ledger("last")
      yield* sql.withTransaction(later("a"))
      expect(yield* entries).toEqual(["a"])
    })
  )

  it.effect(
    "that look a batch up in a table find its rows by its index, though the table was empty when they were first run",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        // PostgreSQL expects few rows in an empty table of this width, so that it would rather read them all.
        yield* sql`
        CREATE TABLE growing (id text PRIMARY KEY, size int4 NOT NULL, a text, b text, c text, d text, e text)
        WITH (autovacuum_enabled = false, fillfactor = 40)`
        /** Changes one row, and answers how many were read one after the other for it. */
        const change = (id: string) =>
          sql.withTransaction(
            Effect.gen(function* () {
              yield* deferredPlanned(
                sql,
                sql`UPDATE growing g SET size = size + 1 FROM ${PgClient.unnest([{ id }], { id: "text" })} WHERE g.id = batch.id`
              )
              yield* flushDeferred(sql)
              const [read] = yield* sql<{ readonly rows: number }>`
              SELECT seq_tup_read::int4 AS rows FROM pg_stat_xact_user_tables WHERE relname = 'growing'`
              return read!.rows
            })
          )
        // As often as it takes until PostgreSQL keeps a plan.
        for (let run = 0; run < 10; run++) yield* change("a")
        yield* sql`INSERT INTO growing SELECT 'entry ' || n, 0 FROM generate_series(1, 20000) n`
        expect(yield* change("entry 7")).toBe(0)
        expect(yield* sql`SELECT id FROM growing WHERE size > 0`).toEqual([{ id: "entry 7" }])
      })
  )

  it.effect("of more than are held back all are run", () =>
    Effect.gen(function* () {
      const { entries, later, sql } = yield* ledger("many")
      const all = Array.from({ length: 50 }, (_, index) => `e${String(index).padStart(2, "0")}`)
      yield* sql.withTransaction(Effect.forEach(all, later, { discard: true }))
      expect(yield* entries).toEqual(all)
    })
  )

  it.effect("make the next one fail with what they fail with, and nothing of the transaction stays", () =>
    Effect.gen(function* () {
      const { entries, later, sql, write } = yield* ledger("failing")
      const behind: Array<string> = []
      const error = yield* sql
        .withTransaction(
          Effect.gen(function* () {
            yield* later("a")
            yield* later("first")
            yield* write("b")
            behind.push("b")
          })
        )
        .pipe(Effect.flip)
      expect(error.reason._tag).toBe("UniqueViolation")
      expect(behind).toEqual([])
      expect(yield* entries).toEqual([])
    })
  )

  it.effect("fail with the commit where nothing came behind them, and the connection serves on", () =>
    Effect.gen(function* () {
      const { entries, later, sql } = yield* ledger("refused_commit")
      const pid = sql`SELECT pg_backend_pid() AS pid`
      const before = yield* pid
      const error = yield* sql.withTransaction(Effect.andThen(later("a"), later("first"))).pipe(Effect.flip)
      expect(error.reason._tag).toBe("UniqueViolation")
      expect(yield* entries).toEqual([])
      expect(yield* pid).toEqual(before)
    })
  )

  it.effect("fail where they are flushed", () =>
    Effect.gen(function* () {
      const { entries, later, sql } = yield* ledger("flushed")
      const reached = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* later("a")
          yield* flushDeferred(sql)
          const inner = yield* Effect.exit(sql.withTransaction(Effect.andThen(later("first"), flushDeferred(sql))))
          return Exit.isFailure(inner)
        })
      )
      expect(reached).toBe(true)
      expect(yield* entries).toEqual(["a"])
    })
  )

  it.effect("are never run once their transaction or savepoint is given up", () =>
    Effect.gen(function* () {
      const { entries, later, sql } = yield* ledger("given_up")
      yield* Effect.exit(sql.withTransaction(Effect.andThen(later("a"), new Refused())))
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* later("b")
          yield* Effect.exit(sql.withTransaction(Effect.andThen(later("c"), new Refused())))
          yield* later("d")
        })
      )
      expect(yield* entries).toEqual(["b", "d"])
    })
  )

  it.effect("are run before a statement without parameters and before a stream", () =>
    Effect.gen(function* () {
      const { entries, later, sql } = yield* ledger("several")
      const counts = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* later("a")
          const texts = yield* sql.unsafe("SELECT count(*)::int4 AS count FROM several").unprepared
          yield* later("b")
          const streamed = yield* Stream.runCollect(sql`SELECT count(*)::int4 AS count FROM several`.stream)
          return [...texts, ...streamed]
        })
      )
      expect(counts).toEqual([{ count: 2 }, { count: 3 }])
      expect(yield* entries).toEqual(["a", "b"])
    })
  )

  it.effect("leave nothing behind where their answer does not come in time, even if that is overlooked", () =>
    Effect.gen(function* () {
      const { entries } = yield* ledger("silent")
      const { url } = yield* TestDatabase
      const proxy = yield* proxyTo(Redacted.value(url))
      const error = yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const write = (entry: string) => sql`INSERT INTO silent VALUES (${entry})`
        return yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* deferred(sql, write("a"))
            yield* proxy.freeze
            yield* Effect.ignore(write("b"))
            yield* proxy.thaw
            yield* write("c")
          })
        )
      }).pipe(
        Effect.provide(
          PgClient.layer({ url: Redacted.make(proxy.url), maxConnections: 1, statementTimeoutMillis: 200 })
        ),
        Effect.flip
      )
      expect(error._tag === "SqlError" && error.reason._tag).toBe("ConnectionError")
      // The table is free again when the server has given the transaction up.
      const sql = yield* SqlClient.SqlClient
      yield* sql`LOCK TABLE silent`.pipe(sql.withTransaction)
      expect(yield* entries).toEqual([])
    })
  )

  it.effect("run at once outside of a transaction", () =>
    Effect.gen(function* () {
      const { entries, later } = yield* ledger("outside")
      yield* later("a")
      expect(yield* entries).toEqual(["a"])
    })
  )
})
