/** A role that owns no table, on a real PostgreSQL: it writes rows and makes days, and can change nothing else. */
import { randomUUID } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { createDayPartitioned, DayPartitions, dayMillis, setDayFillFactor } from "../../src/postgres/dayPartitions.ts"
import { migrate } from "../../src/postgres/migrate.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { createDayFunctions, grantRuntime } from "../../src/postgres/runtimeRole.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"

const midnight = Date.parse("2026-03-01T00:00:00Z")

const migrations = [
  {
    number: 1,
    name: "things",
    run: Effect.andThen(
      createDayPartitioned("things", {
        column: "at",
        columns: "at int8 not null"
      }),
      setDayFillFactor("things", 70)
    )
  },
  { number: 2, name: "functions", run: createDayFunctions }
]

/** A login of its own, which goes with the test, and what it is connected with. */
const makeRole = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { url } = yield* TestDatabase
  const role = `Role ${randomUUID().slice(0, 8)}`
  yield* Effect.acquireRelease(sql.unsafe(`create role "${role}" login password 'x'`).unprepared, () =>
    Effect.ignore(
      Effect.andThen(sql.unsafe(`drop owned by "${role}"`).unprepared, sql.unsafe(`drop role "${role}"`).unprepared),
      { log: "Warn" }
    )
  )
  const own = new URL(Redacted.value(url))
  own.username = encodeURIComponent(role)
  own.password = "x"
  return { role, client: PgClient.layer({ url: Redacted.make(own.toString()), maxConnections: 2 }) }
})

layer(freshDatabase({ maxConnections: 2 }), { excludeTestServices: true })("a role that owns no table", (it) => {
  it.effect("writes rows, makes and drops days, and is refused everything else", () =>
    Effect.gen(function* () {
      yield* migrate(migrations)
      const { client, role } = yield* makeRole
      const owned = yield* SqlClient.SqlClient
      yield* grantRuntime(role)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const days = yield* DayPartitions
        // A start looks, and has nothing to do.
        expect(yield* migrate(migrations)).toEqual([])
        yield* days.ensureDays("things", [midnight - dayMillis, midnight])
        yield* sql`insert into things (at) values (${midnight - 1}), (${midnight})`
        expect(yield* sql`select reloptions from pg_class where relname = 'things_d20260301'`).toEqual([
          { reloptions: ["fillfactor=70"] }
        ])
        expect(yield* days.dropDaysBefore("things", midnight)).toEqual(["things_d20260228"])
        expect(yield* sql`select at::float8 as at from things`).toEqual([{ at: midnight }])

        const refusals = [
          "create table mine (id int4)",
          "alter table things add column more text",
          "drop table things",
          "drop table things_d20260301",
          "truncate things",
          "update schema_migrations set name = 'changed'",
          "select sluice_drop_day('things', 'schema_migrations')",
          "select sluice_drop_day('things', 'things_d2026030')",
          "select sluice_drop_day('schema_migrations', 'schema_migrations_d20260301')",
          `select sluice_create_day('things', 'things_d20260303', 'with (fillfactor = 70); drop table things')`,
          `select sluice_create_day('things"; drop table things; --', 'x_d20260303', '')`,
          "select sluice_create_day('things', 'things_d20261399', '')"
        ]
        for (const statement of refusals)
          expect([statement, (yield* Effect.flip(sql.unsafe(statement).unprepared))._tag]).toEqual([
            statement,
            "SqlError"
          ])

        // A table of the same name that the functions must not take for the owner's.
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql.unsafe("create temporary table things (at int8) partition by range (at)").unprepared
            yield* sql`select sluice_create_day('things', 'things_d20260305', '')`
          })
        )
        expect(
          yield* sql`select p.relnamespace::regnamespace::text || '.' || p.relname as parent from pg_inherits
            join pg_class c on c.oid = inhrelid join pg_class p on p.oid = inhparent
            where c.relname = 'things_d20260305'`
        ).toEqual([{ parent: "public.things" }])
        // A table whose name is a day's, but that is none.
        yield* owned.unsafe("create table things_d20260399 (at int8)").unprepared
        yield* sql`select sluice_drop_day('things', 'things_d20260399')`
        expect(yield* sql`select to_regclass('things_d20260399')::text as name`).toEqual([{ name: "things_d20260399" }])
      }).pipe(Effect.provide(DayPartitions.layer.pipe(Layer.provideMerge(Layer.fresh(client)))))

      const stranger = yield* makeRole
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (const statement of ["select sluice_drop_day('things', 'things_d20260301')", "select at from things"])
          expect((yield* Effect.flip(sql.unsafe(statement).unprepared))._tag).toBe("SqlError")
      }).pipe(Effect.provide(Layer.fresh(stranger.client)))
    })
  )

  it.effect("has to be there", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(grantRuntime("nobody; drop table things"))
      expect(error.message).toBe(
        'PostgreSQL has no role "nobody; drop table things": create it first, with LOGIN and a password'
      )
    })
  )
})
