import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { PgClient, type UnnestType, unnest } from "../../src/postgres/PgClient.ts"
import { freshDatabase } from "../support/database.ts"

/** What goes in as a parameter of the type, and what comes out when it differs. */
const roundTrips: ReadonlyArray<readonly [type: string, value: unknown, read?: unknown]> = [
  ["int2", -32_768],
  ["int4", 2_147_483_647],
  ["int8", 9_007_199_254_740_991],
  ["int8", -9_007_199_254_740_991],
  ["int8", 9_007_199_254_740_992n],
  ["int8", -9_223_372_036_854_775_808n],
  ["int8", 5n, 5],
  ["oid", 4_294_967_295],
  ["float4", 1.5],
  ["float8", -0.1],
  ["float8", Number.NaN],
  ["float8", Number.POSITIVE_INFINITY],
  ["numeric", "123456789012345678901234567890.000000001"],
  ["numeric", 1.25, "1.25"],
  ["bool", true],
  ["bool", false],
  ["text", ""],
  ["text", 'quotes " and \\ backslashes, commas, {braces}, NULL, 电话 ☎ 🇨🇦'],
  ["varchar", "x".repeat(100_000)],
  ["bytea", Buffer.from([0, 1, 127, 128, 255])],
  ["bytea", new Uint8Array([0, 255]), Buffer.from([0, 255])],
  ["bytea", Buffer.alloc(0)],
  ["timestamptz", new Date("2026-11-20T10:00:00.123Z")],
  ["timestamptz", new Date("0099-01-01T00:00:00.000Z")],
  ["timestamptz", new Date("1900-01-01T00:00:00.000Z")],
  ["timestamp", "2026-11-20 10:00:00.123456", new Date("2026-11-20T10:00:00.123Z")],
  ["date", "2026-03-29"],
  ["time", "23:59:59.999999", 86_399_999_999n],
  ["uuid", "0192d3a4-0000-7000-8000-000000000001"],
  ["int4[]", []],
  ["int4[]", [1, null, -3]],
  ["int8[]", [1n, null, 9_007_199_254_740_993n], [1, null, 9_007_199_254_740_993n]],
  ["numeric[]", ["1.10", null]],
  ["text[]", ["", "NULL", null, 'a"b\\c', "{x,y}", " spaced "]],
  ["bool[]", [true, false, null]],
  ["uuid[]", ["0192d3a4-0000-7000-8000-000000000001"]],
  ["bytea[]", [Buffer.from([0, 255]), null]],
  ["timestamptz[]", [new Date("2026-11-20T10:00:00.123Z"), null]],
  ["date[]", ["2026-03-29", null]]
]

layer(freshDatabase({ maxConnections: 2 }), { excludeTestServices: true })("types", (it) => {
  for (const [index, [type, value, read]] of roundTrips.entries()) {
    it.effect(`${type} (${index}) comes back as it went in`, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const cast = sql.literal(type)
        const expected = [{ value: read ?? value }]
        const statement = () => sql<{ readonly value: unknown }>`SELECT ${value}::${cast} AS value`
        expect(yield* statement()).toEqual(expected)
        expect(yield* statement().unprepared).toEqual(expected)
        expect(yield* statement().values).toEqual([[read ?? value]])
        // As a column, where the server stores and sends it in the column's own type.
        yield* sql`CREATE TABLE ${sql(`column_${index}`)} (value ${cast})`
        yield* sql`INSERT INTO ${sql(`column_${index}`)} VALUES (${value}::${cast}), (${null})`
        expect(yield* sql`SELECT value FROM ${sql(`column_${index}`)}`).toEqual([...expected, { value: null }])
      })
    )
  }

  it.effect("undefined and null are null, of every type", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const type of new Set(roundTrips.map(([name]) => name))) {
        const rows = yield* sql`SELECT ${undefined}::${sql.literal(type)} AS a, ${null}::${sql.literal(type)} AS b`
        expect(rows).toEqual([{ a: null, b: null }])
      }
    })
  )

  it.effect("a Date means the same instant whatever zone the session and the process are in", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const instant = new Date("2026-03-29T01:30:00.000Z")
      const rows = yield* sql.withTransaction(
        Effect.andThen(
          sql`SET LOCAL TIME ZONE 'America/St_Johns'`,
          sql`SELECT ${instant}::timestamptz AS instant, ${instant}::timestamptz = '2026-03-29T01:30:00Z' AS same`
        )
      )
      expect(rows).toEqual([{ instant, same: true }])
    })
  )

  it.effect("json takes what a parameter alone cannot: arrays, strings, numbers and null", () =>
    Effect.gen(function* () {
      const client = yield* PgClient
      yield* client`CREATE TABLE documents (id int4 GENERATED ALWAYS AS IDENTITY, body jsonb)`
      const values = [[1, 2], "text", 3, null, { a: [1, "two", null, { three: 3.5 }] }]
      for (const value of values) yield* client`INSERT INTO documents ${client.insert({ body: client.json(value) })}`
      const rows = yield* client<{ readonly body: unknown }>`SELECT body FROM documents ORDER BY id`
      expect(rows.map((row) => row.body)).toEqual(values)
      expect(yield* client`SELECT body IS NULL AS missing FROM documents WHERE id = 4`).toEqual([{ missing: false }])
    })
  )

  it.effect("unnest inserts any number of rows with one parameter per column", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE batch_of (id int8 PRIMARY KEY, name text, tags jsonb, raw bytea, at timestamptz)`
      const rows = Array.from({ length: 20_000 }, (_, id) => ({
        id,
        name: id % 3 === 0 ? null : `name "${id}"`,
        tags: id % 5 === 0 ? null : [id, { even: id % 2 === 0 }],
        raw: Buffer.from([id & 255]),
        at: new Date(1_700_000_000_000 + id)
      }))
      const types = { id: "int8", name: "text", tags: "jsonb", raw: "bytea", at: "timestamptz" } as const
      const insert = (batch: typeof rows) =>
        sql`INSERT INTO batch_of (id, name, tags, raw, at) SELECT id, name, tags, raw, at FROM ${unnest(batch, types)}`
      yield* insert(rows)
      yield* insert([])
      expect(yield* sql`SELECT * FROM batch_of ORDER BY id`).toEqual(rows)
      expect(yield* sql`SELECT count(*) AS nulls FROM batch_of WHERE tags IS NULL`).toEqual([{ nulls: 4_000 }])
      expect(insert([]).compile()[0]).toBe(insert(rows).compile()[0])
    })
  )

  it.effect("a column of unnest comes back as it went in, whatever its values", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const texts = ["", "NULL", 'quotes " and \\ backslashes', "{braces}, commas", "\u0001\n\t", "电话 ☎ 🇨🇦", "\ud83d"]
      const columns: ReadonlyArray<readonly [UnnestType, ReadonlyArray<unknown>]> = [
        ["text", [...texts, null, undefined, "é".repeat(40_000)]],
        ["int2", [0, -32_768, 32_767, null]],
        ["int4", [0, -1, -2_147_483_648, 2_147_483_647, undefined]],
        ["int8", [0, -1, 2 ** 32 - 1, 2 ** 32, -(2 ** 32), -(2 ** 32) - 1, 1_763_000_000_000, null]],
        ["int8", [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 9_223_372_036_854_775_807n]],
        ["bool", [true, false, null]],
        ["float8", [0.5, -1, null]],
        ["numeric", ["1.10", null]],
        ["uuid", ["0192d3a4-0000-7000-8000-000000000001", null]],
        ["date", ["2026-03-29", null]],
        ["timestamptz", [new Date("2026-11-20T10:00:00.123Z"), null]],
        ["text", [null, null]],
        ["int8", []]
      ]
      for (const [type, values] of columns) {
        const rows = values.map((value) => ({ value }))
        const read = yield* sql<{ readonly value: unknown }>`SELECT value FROM ${unnest(rows, { value: type })}`
        expect(read.map(({ value }) => value)).toEqual(
          values.map((value) => (value === undefined ? null : typeof value === "string" ? value.toWellFormed() : value))
        )
      }
    })
  )

  it.effect("what a column's type cannot hold fails typed, and the connection works on", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns: ReadonlyArray<readonly [UnnestType, unknown]> = [
        ["int2", 32_768],
        ["int4", 2_147_483_648],
        ["int8", 1.5],
        ["int8", Number.NaN]
      ]
      for (const [type, value] of columns) {
        const error = yield* Effect.flip(sql`SELECT value FROM ${unnest([{ value }], { value: type })}`)
        expect(error.reason._tag).toBe("UnknownError")
        expect(error.isRetryable).toBe(false)
        expect(yield* sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
      }
    })
  )

  it.effect("a text with U+0000, as earlier versions have stored it in JSON, does not hold up the rows beside it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`SELECT value FROM ${unnest([{ value: "a\0b" }, { value: "c" }], { value: "text" })}`
      expect(rows).toEqual([{ value: "a\ufffdb" }, { value: "c" }])
    })
  )

  it.effect("helpers of effect/sql produce PostgreSQL's dialect", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE ${sql('od"d')} (id int4 PRIMARY KEY, "a b" text)`
      const inserted = yield* sql`INSERT INTO ${sql('od"d')} ${sql
        .insert([
          { id: 1, "a b": "x" },
          { id: 2, "a b": "y" },
          { id: 3, "a b": "z" }
        ])
        .returning("*")}`
      expect(inserted.length).toBe(3)
      yield* sql`UPDATE ${sql('od"d')} SET ${sql.update({ "a b": "changed" })} WHERE ${sql.in("id", [1, 2])}`
      yield* sql`UPDATE ${sql('od"d')} SET "a b" = data.text FROM ${sql.updateValues(
        [
          { number: 2, text: "two" },
          { number: 3, text: "three" }
        ],
        "data"
      )} WHERE id = data.number::int4`
      const rows = yield* sql`SELECT * FROM ${sql('od"d')} WHERE ${sql.and(["id > 0", sql.in("id", [])])}`
      expect(rows).toEqual([])
      expect(yield* sql`SELECT "a b" AS text FROM ${sql('od"d')} ORDER BY id`).toEqual([
        { text: "changed" },
        { text: "two" },
        { text: "three" }
      ])
    })
  )
})
