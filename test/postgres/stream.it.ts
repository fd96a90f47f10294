import { expect, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { heldBytes } from "../support/memory.ts"
import { until } from "./support.ts"

layer(freshDatabase({ maxConnections: 1 }), { excludeTestServices: true })("streams", (it) => {
  it.effect("100,000 rows arrive once, in order, without being held", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let next = 1
      let peak = 0
      const before = heldBytes()
      yield* sql<{
        readonly n: number
        readonly body: string
      }>`SELECT n, repeat('x', 1000) AS body FROM generate_series(1, 100000) AS n`.stream.pipe(
        Stream.chunks,
        Stream.runForEach((rows) =>
          Effect.sync(() => {
            for (const row of rows) {
              if (row.n !== next) throw new Error(`row ${row.n} came where ${next} was due`)
              next++
            }
            // What was read and let go is there until a collection, which comes when it likes.
            if (next % 25_000 < rows.length) peak = Math.max(peak, heldBytes() - before)
          })
        )
      )
      expect(next).toBe(100_001)
      // All rows together are over 100 MB.
      expect(peak).toBeLessThan(10_000_000)
    })
  )

  it.effect("a reader that stands still holds up the server, not this process", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { config } = yield* TestDatabase
      yield* sql`CREATE SEQUENCE produced`
      yield* Effect.scoped(
        Effect.gen(function* () {
          const pull = yield* Stream.toPull(
            sql`SELECT nextval('produced'), repeat('x', 1000) AS body FROM generate_series(1, 1000000)`.stream
          )
          yield* pull
          const other = Context.get(yield* Layer.build(PgClient.layer(config)), PgClient.PgClient)
          const waiting = Effect.map(
            other`SELECT 1 FROM pg_stat_activity WHERE wait_event = 'ClientWrite' AND query LIKE '%produced%'`,
            (rows) => rows.length === 1
          )
          yield* until(waiting)
          const [row] = yield* other<{ readonly rows: number }>`SELECT last_value AS rows FROM produced`
          expect(row!.rows).toBeLessThan(1_000_000)
        })
      )
    })
  )

  for (const count of [0, 1, 511, 512, 513, 5_000]) {
    it.effect(`${count} rows are ${count} rows, and the connection is free afterwards`, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const rows = yield* Stream.runCollect(sql`SELECT n FROM generate_series(1, ${count}::int4) AS n`.stream)
        expect(rows.length).toBe(count)
        expect(yield* sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
      })
    )
  }

  it.effect("an early stop releases the connection and the server's cursor", () =>
    Effect.gen(function* () {
      const client = yield* PgClient.PgClient
      const taken = yield* client<{ readonly n: number }>`SELECT generate_series(1, 10000000) AS n`.stream.pipe(
        Stream.take(3),
        Stream.runCollect
      )
      expect(taken.map((row) => row.n)).toEqual([1, 2, 3])
      // The pool has one connection: the same one answers, in no transaction and without a portal.
      expect(yield* client`SELECT name FROM pg_cursors WHERE name <> ''`).toEqual([])
    })
  )

  it.effect("a consumer that fails releases the connection", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const exit = yield* sql`SELECT n FROM generate_series(1, 100000) AS n`.stream.pipe(
        Stream.runForEach(() => Effect.fail("enough")),
        Effect.exit
      )
      expect(exit).toEqual(Exit.fail("enough"))
      expect(yield* sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
    })
  )

  it.effect("an error at the start and one in the middle both come out typed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const syntax = yield* Effect.flip(Stream.runDrain(sql`SELECT nonsense`.stream))
      expect(syntax.reason._tag).toBe("SqlSyntaxError")
      let seen = 0
      const division = yield* sql`SELECT 1 / (2000 - n) FROM generate_series(1, 5000) AS n`.stream.pipe(
        Stream.runForEach(() =>
          Effect.sync(() => {
            seen++
          })
        ),
        Effect.flip
      )
      expect(division.message).toContain("division by zero")
      expect(seen).toBeLessThan(2_000)
      expect(yield* sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
    })
  )

  it.effect("parameters and types are those of a plain statement", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const statement = () => sql`SELECT ${["a", "b"]}::text[] AS list, 5000000000::int8 AS big, ${null}::text AS none`
      expect(yield* Stream.runCollect(statement().stream)).toEqual(yield* statement())
    })
  )
})
