/** Indexes that are built while a table is read and written, on a real PostgreSQL (docs/upgrade.md, "Indexes of large tables"). */
import { randomUUID } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { lockKey } from "../../src/postgres/advisoryLock.ts"
import { createDayPartitioned, DayPartitions, dayMillis } from "../../src/postgres/dayPartitions.ts"
import { buildIndexes, createSmallIndexes, type IndexBuild } from "../../src/postgres/indexBuilds.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"

const midnight = Date.parse("2026-03-01T00:00:00Z")

let tables = 0
const nextName = (kind: string): string => `${kind}_${"abcdefghij"[tables++]}`

/** A table of its own for each test, with rows, and an index that it wants. */
const plainTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const table = nextName("plain")
  yield* sql`create table ${sql(table)} (id int4 primary key, word text)`
  yield* sql`insert into ${sql(table)} select id, 'word ' || id from generate_series(1, 2000) as id`
  const build: IndexBuild = { name: `${table}_by_word`, table, definition: "(word) where word is not null" }
  return { sql, table, build }
})

const dayTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const days = yield* DayPartitions
  const table = nextName("days")
  yield* createDayPartitioned(table, { column: "at", columns: "id int4 not null, at int8 not null, word text" })
  yield* days.ensureDays(table, [midnight, midnight + dayMillis])
  yield* sql`insert into ${sql(table)} select id, ${midnight}::int8 + (id % 2) * ${dayMillis}::int8, 'word ' || id
    from generate_series(1, 2000) as id`
  const build: IndexBuild = { name: `${table}_by_word`, table, definition: "(word, id)" }
  return { sql, days, table, build }
})

/** The names of the valid indexes of a table and its partitions that begin with its name and end so. */
const validOf = (sql: SqlClient.SqlClient, { name, table }: IndexBuild) =>
  Effect.map(
    sql<{ readonly name: string }>`
      select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indisvalid and (c.relname = ${name} or c.relname like ${`${table}_d%${name}`}) order by 1`,
    (rows) => rows.map((row) => row.name)
  )

const quiet = () => Effect.void

layer(DayPartitions.layer.pipe(Layer.provideMerge(freshDatabase({ maxConnections: 8 }))), {
  excludeTestServices: true,
  timeout: patienceMillis
})("indexes", (it) => {
  it.effect("of small tables are made by their migration, and nothing is left to build", () =>
    Effect.gen(function* () {
      const { build, sql } = yield* plainTable
      yield* createSmallIndexes([build])
      expect(yield* validOf(sql, build)).toEqual([build.name])
      const told: Array<string> = []
      expect(yield* buildIndexes([build], (line) => Effect.sync(() => void told.push(line)))).toBe("built")
      expect(told).toEqual([])
    })
  )

  it.effect("of large tables are built while rows are written, and found by queries", () =>
    Effect.gen(function* () {
      const { build, sql, table } = yield* plainTable
      yield* createSmallIndexes([build], 1)
      expect(yield* validOf(sql, build)).toEqual([])
      let written = 2_000
      const writer = yield* Effect.forkChild(
        Effect.forever(Effect.suspend(() => sql`insert into ${sql(table)} (id, word) values (${++written}, 'late')`))
      )
      const told: Array<string> = []
      expect(yield* buildIndexes([build], (line) => Effect.sync(() => void told.push(line)))).toBe("built")
      yield* Fiber.interrupt(writer)
      expect(told).toEqual([`Building the index ${build.name} on ${table}`])
      expect(yield* validOf(sql, build)).toEqual([build.name])
    })
  )

  it.effect("of tables with days are built day by day, go on where they were, and cover the days to come", () =>
    Effect.gen(function* () {
      const { build, days, sql, table } = yield* dayTable
      yield* createSmallIndexes([build], 1)
      const [first, second, third] = ["20260301", "20260302", "20260303"].map((day) => `${table}_d${day}_${build.name}`)
      expect(yield* buildIndexes([build], quiet)).toBe("built")
      expect(yield* validOf(sql, build)).toEqual([build.name, first, second].sort())
      // A build of another one that ended in the middle: one day is done, and one was cut short.
      const again = { ...build, name: `${build.name}2` }
      yield* sql.unsafe(`create index "${again.name}" on only "${table}" ${again.definition}`)
      const cut = `${table}_d20260301_${again.name}`
      yield* sql.unsafe(`create index "${cut}" on "${table}_d20260301" ${again.definition}`)
      yield* sql`update pg_index set indisvalid = false where indexrelid = ${cut}::text::regclass`
      expect(yield* buildIndexes([build, again], quiet)).toBe("built")
      expect(yield* validOf(sql, again)).toEqual([again.name, cut, `${table}_d20260302_${again.name}`].sort())
      yield* days.ensureDays(table, [midnight + 2 * dayMillis])
      const [row] = yield* sql<{ readonly count: number }>`
        select count(*)::int4 as count from pg_index where indrelid = ${`${table}_d20260303`}::text::regclass and indisvalid`
      expect(row!.count, third).toBeGreaterThanOrEqual(2)
    })
  )

  it.effect("that were cut short are dropped and built again", () =>
    Effect.gen(function* () {
      const { build, sql, table } = yield* plainTable
      yield* sql.unsafe(`create index "${build.name}" on "${table}" ${build.definition}`)
      yield* sql`update pg_index set indisvalid = false where indexrelid = ${build.name}::text::regclass`
      expect(yield* buildIndexes([build], quiet)).toBe("built")
      expect(yield* validOf(sql, build)).toEqual([build.name])
    })
  )

  it.effect("are built by one node at a time", () =>
    Effect.gen(function* () {
      const { build, sql } = yield* plainTable
      const results = yield* Effect.scoped(
        Effect.gen(function* () {
          const client = yield* PgClient.PgClient
          const other = yield* client.session("another node")
          yield* other.query("select pg_advisory_lock($1)", [lockKey("index builds")])
          return yield* buildIndexes([build], quiet)
        })
      )
      expect(results).toBe("elsewhere")
      expect(yield* validOf(sql, build)).toEqual([])
      expect(yield* buildIndexes([build], quiet)).toBe("built")
    })
  )

  it.effect("are refused to a role that does not own the table, in a sentence that says what to do", () =>
    Effect.gen(function* () {
      const { build, sql, table } = yield* plainTable
      const role = `role_${randomUUID().slice(0, 8)}`
      yield* Effect.acquireRelease(sql.unsafe(`create role "${role}" login password 'x'`).unprepared, () =>
        Effect.ignore(
          Effect.andThen(
            sql.unsafe(`drop owned by "${role}"`).unprepared,
            sql.unsafe(`drop role "${role}"`).unprepared
          ),
          { log: "Warn" }
        )
      )
      yield* sql.unsafe(`grant select on "${table}" to "${role}"`)
      const own = new URL(Redacted.value((yield* TestDatabase).url))
      own.username = role
      own.password = "x"
      const refused = yield* Effect.flip(
        buildIndexes([build], quiet).pipe(
          Effect.provide(PgClient.layer({ url: Redacted.make(own.toString()), maxConnections: 2 }))
        )
      )
      expect(refused).toMatchObject({
        _tag: "IndexNotAllowed",
        message: expect.stringContaining("run `sluice migrate` as the owner")
      })
      expect(yield* validOf(sql, build)).toEqual([])
    })
  )
})
