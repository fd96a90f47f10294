import { expect, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { streamChunkRows } from "../../src/postgres/stream.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { until } from "./support.ts"

layer(freshDatabase({ maxConnections: 1 }), { excludeTestServices: true })("streams", (it) => {
  it.effect("100,000 rows arrive once, in order, in chunks, without being held", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let next = 1
      let largest = 0
      let peak = 0
      globalThis.gc?.()
      const before = process.memoryUsage().heapUsed
      yield* sql<{
        readonly n: number
        readonly body: string
      }>`SELECT n, repeat('x', 1000) AS body FROM generate_series(1, 100000) AS n`.stream.pipe(
        Stream.chunks,
        Stream.runForEach((rows) =>
          Effect.sync(() => {
            largest = Math.max(largest, rows.length)
            for (const row of rows) {
              if (row.n !== next) throw new Error(`row ${row.n} came where ${next} was due`)
              next++
            }
            if (next % 10_000 < streamChunkRows) peak = Math.max(peak, process.memoryUsage().heapUsed - before)
          })
        )
      )
      expect(next).toBe(100_001)
      expect(largest).toBe(streamChunkRows)
      // All rows together are over 100 MB.
      expect(peak).toBeLessThan(80_000_000)
    })
  )

  it.effect("the server is asked for no more than is consumed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { config } = yield* TestDatabase
      yield* sql`CREATE SEQUENCE produced`
      const consumed = yield* Effect.scoped(
        Effect.gen(function* () {
          const pull = yield* Stream.toPull(sql`SELECT nextval('produced') FROM generate_series(1, 100000)`.stream)
          yield* pull
          yield* pull
          const other = yield* Layer.build(PgClient.layer(config))
          return yield* Context.get(other, PgClient.PgClient)`SELECT last_value AS rows FROM produced`
        })
      )
      expect(consumed).toEqual([{ rows: 2 * streamChunkRows }])
    })
  )

  for (const count of [0, 1, streamChunkRows - 1, streamChunkRows, streamChunkRows + 1, 3 * streamChunkRows]) {
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
      yield* until(Effect.map(client.poolState, (state) => state.idle === 1 && state.open === 1))
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
      expect(seen).toBe(3 * streamChunkRows)
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
