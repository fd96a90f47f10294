import { randomUUID } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type Migration, migrate } from "../../src/postgres/migrate.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { until } from "./support.ts"

const run = (statement: string) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement).unprepared)

const people: Migration = {
  number: 1,
  name: "people",
  run: Effect.andThen(run("CREATE TABLE people (id int4)"), run("CREATE INDEX ON people (id)"))
}
const names: Migration = { number: 2, name: "names", run: run("ALTER TABLE people ADD COLUMN name text") }
const broken: Migration = {
  number: 3,
  name: "broken",
  run: Effect.andThen(run("CREATE TABLE half_done (id int4)"), run("ALTER TABLE absent ADD COLUMN x int4"))
}
const later: Migration = { number: 7, name: "later", run: run("CREATE TABLE later (id int4)") }

const labels = (migrations: ReadonlyArray<Migration>) => migrations.map(({ number, name }) => ({ number, name }))

const tables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly name: string }>`SELECT tablename AS name FROM pg_tables
    WHERE schemaname = 'public' AND tablename NOT LIKE 'migrations%' ORDER BY 1`
  return rows.map((row) => row.name)
})

/** The tests of one database follow one another; each keeps to a table of its own. */
const database = (
  name: string,
  body: (options: { readonly table: string }) => Effect.Effect<void, unknown, SqlClient.SqlClient | TestDatabase>
) =>
  layer(freshDatabase({ maxConnections: 3 }), { excludeTestServices: true })((it) => {
    it.effect(name, () => Effect.provide(body({ table: "migrations of the test" }), Logger.layer([])))
  })

database("runs what is missing, in order, once", (options) =>
  Effect.gen(function* () {
    expect(yield* migrate([people, names], options)).toEqual(labels([people, names]))
    expect(yield* migrate([people, names], options)).toEqual([])
    expect(yield* migrate([people, names, later], options)).toEqual(labels([later]))
    expect(yield* tables).toEqual(["later", "people"])
  })
)

database("a failing migration leaves nothing of itself and keeps those before it", (options) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(migrate([people, names, broken, later], options))
    expect(error._tag).toBe("MigrationFailed")
    expect(error.message).toBe('Migration 3 (broken) failed: relation "absent" does not exist')
    expect(yield* tables).toEqual(["people"])
    const repaired = { ...broken, run: run("CREATE TABLE repaired (id int4)") }
    expect(yield* migrate([people, names, repaired, later], options)).toEqual(labels([repaired, later]))
  })
)

database("refuses a database that is newer than the code, and touches nothing", (options) =>
  Effect.gen(function* () {
    yield* migrate([people, names, later], options)
    const error = yield* Effect.flip(migrate([people, names], options))
    expect(error._tag).toBe("DatabaseNewer")
    expect(error.message).toContain("is at migration 7 (later) and this program knows only up to 2")
    expect((yield* Effect.flip(migrate([], options)))._tag).toBe("DatabaseNewer")
  })
)

database("refuses a database with another history", (options) =>
  Effect.gen(function* () {
    yield* migrate([people, later], options)
    const renamed = { ...people, name: "humans" }
    for (const list of [
      [renamed, later],
      [people, names, later]
    ]) {
      expect((yield* Effect.flip(migrate(list, options)))._tag).toBe("MigrationsDiverged")
    }
    expect(yield* tables).toEqual(["later", "people"])
  })
)

database("refuses a list that is not in order, before touching the database", (options) =>
  Effect.gen(function* () {
    for (const list of [[names, people], [people, people], [{ ...people, number: 0 }], [{ ...people, number: 1.5 }]]) {
      expect((yield* Effect.flip(migrate(list, options)))._tag).toBe("MigrationsInvalid")
    }
    expect(yield* tables).toEqual([])
  })
)

database("several nodes may start at once: every migration runs once, and all of them end up to date", (options) =>
  Effect.gen(function* () {
    const { config } = yield* TestDatabase
    let runs = 0
    const counted = (migration: Migration): Migration => ({
      ...migration,
      run: Effect.andThen(
        Effect.sync(() => {
          runs++
        }),
        migration.run
      )
    })
    const list = [people, names, later].map(counted)
    const done = yield* Effect.forEach(
      Array.from({ length: 6 }),
      () => Effect.provide(migrate(list, options), PgClient.layer(config)),
      { concurrency: "unbounded" }
    )
    expect(done.flat().toSorted((a, b) => a.number - b.number)).toEqual(labels(list))
    expect(runs).toBe(3)
  })
)

database("a node that waits goes on when the node that migrates dies", (options) =>
  Effect.gen(function* () {
    const { config } = yield* TestDatabase
    const started = yield* Deferred.make<void>()
    const stuck: Migration = {
      ...people,
      run: Effect.andThen(people.run, Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
    }
    const dying = yield* Effect.forkChild(Effect.provide(migrate([stuck], options), PgClient.layer(config)))
    yield* Deferred.await(started)
    const waiting = yield* Effect.forkChild(
      // A short limit for statements is no limit for the wait.
      Effect.provide(migrate([people], options), PgClient.layer({ ...config, statementTimeoutMillis: 100 }))
    )
    const sql = yield* SqlClient.SqlClient
    yield* until(
      Effect.map(
        sql`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND waitstart < clock_timestamp() - interval '150 milliseconds'`,
        (rows) => rows.length === 1
      )
    )
    yield* Fiber.interrupt(dying)
    expect(yield* Fiber.join(waiting)).toEqual(labels([people]))
  })
)

database("a role that may not make tables is told what it lacks", (options) =>
  Effect.gen(function* () {
    const { url } = yield* TestDatabase
    const name = `runner_${randomUUID().replaceAll("-", "")}`
    yield* Effect.acquireRelease(run(`CREATE ROLE "${name}" LOGIN PASSWORD 'x'`), () =>
      Effect.ignore(run(`DROP ROLE "${name}"`))
    )
    const own = new URL(Redacted.value(url))
    own.username = name
    own.password = "x"
    const error = yield* Effect.flip(migrate([people], options)).pipe(
      Effect.provide(PgClient.layer({ url: Redacted.make(own.href), maxConnections: 1 }))
    )
    expect(error).toMatchObject({ _tag: "MigrationsNotAllowed" })
    expect(error.message).toContain("GRANT CREATE, USAGE ON SCHEMA public TO the role")
  }).pipe(Effect.scoped)
)
