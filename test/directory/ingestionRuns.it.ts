/** Runs of ingestion on a real database (docs/directory.md, 6): several at once, beside readers, and when things break. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { Ingestions, runsAtOnce } from "../../src/directory/Ingestions.ts"
import { ingestionLockKey } from "../../src/directory/ingest.ts"
import { TestDatabase } from "../support/database.ts"
import { changedManhattan, manhattan, toronto } from "./ingestionLines.ts"
import {
  bundledPath,
  differenceOf,
  directoryDatabase,
  failuresOf,
  ingest,
  ingestionCount,
  storedDigest,
  summariesOf,
  temporaryFolder,
  until,
  workerIngestions,
  writeLines
} from "./support.ts"

/** How many other sessions the worker's connection is: 0 when nothing of it is left. */
const workerSessions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly count: number }>`
    select count(*) from pg_stat_activity
    where datname = current_database() and application_name = 'sluice ingest'`
  return Number(row!.count)
})

layer(directoryDatabase, { excludeTestServices: true })("runs of ingestion", (it) => {
  it.effect("a run beyond those that may be under way is told which ones are, and begins when one ends", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ingestions = yield* Effect.provide(Ingestions, yield* Layer.build(workerIngestions))
      const folder = yield* temporaryFolder
      const held = yield* Deferred.make<void>()
      const enough = yield* Deferred.make<void>()
      yield* sql`select pg_advisory_xact_lock(${sql.literal(ingestionLockKey)})`.pipe(
        Effect.andThen(Deferred.succeed(held, undefined)),
        Effect.andThen(Deferred.await(enough)),
        sql.withTransaction,
        Effect.forkScoped
      )
      yield* Deferred.await(held)
      const sources = Array.from({ length: runsAtOnce }, () => writeLines(folder, manhattan))
      const running = []
      for (const source of sources) {
        const waits = yield* Deferred.make<void>()
        const run = Stream.runForEach(ingestions.run([source]), (event) =>
          event._tag === "Progress" && event.phase === "waiting" ? Deferred.succeed(waits, undefined) : Effect.void
        )
        running.push(yield* Effect.forkScoped(run))
        yield* Deferred.await(waits)
      }
      const told = yield* Deferred.make<string>()
      const last = yield* ingestions.run([writeLines(folder, toronto)]).pipe(
        Stream.tap((event) =>
          event._tag === "Progress" && event.phase === "waiting"
            ? Deferred.succeed(told, event.detail ?? "")
            : Effect.void
        ),
        Stream.runCollect,
        Effect.forkScoped
      )
      assert.strictEqual(yield* Deferred.await(told), `${runsAtOnce} ingestions are under way: ${sources.join(", ")}`)
      yield* Deferred.succeed(enough, undefined)
      assert.strictEqual(summariesOf(yield* Fiber.join(last))[0]?.kind, "CNAC")
      for (const one of running) yield* Fiber.join(one)
    })
  )

  it.effect("two ingestions at once end as one after the other would", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const folder = yield* temporaryFolder
      const other = yield* Layer.build(workerIngestions)
      yield* sql`delete from directory_codes where npa = '212'`
      const source = writeLines(folder, manhattan)
      const [here, there] = yield* Effect.all([ingest([source]), Effect.provide(ingest([source]), other)], {
        concurrency: 2
      })
      const added = [differenceOf(here), differenceOf(there)].map((difference) => difference.added)
      assert.deepStrictEqual([...added].sort(), [0, 800])
      const [row] = yield* sql`select count(*)::int as count from directory_codes where npa = '212'`
      assert.deepStrictEqual(row, { count: 800 })
    })
  )

  it.effect(
    "waits for an ingestion that is comparing, says for which session, and readers meanwhile see the old records",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ingestions = yield* Ingestions
        const folder = yield* temporaryFolder
        const before = yield* storedDigest
        const held = yield* Deferred.make<void>()
        const enough = yield* Deferred.make<void>()
        yield* sql`select pg_advisory_xact_lock(${sql.literal(ingestionLockKey)})`.pipe(
          Effect.andThen(Deferred.succeed(held, undefined)),
          Effect.andThen(Deferred.await(enough)),
          sql.withTransaction,
          Effect.forkScoped
        )
        yield* Deferred.await(held)
        const events: Array<string> = []
        let reason = ""
        const running = yield* ingestions.run([writeLines(folder, changedManhattan)]).pipe(
          Stream.runForEach((event) =>
            Effect.sync(() => {
              events.push(event._tag === "Progress" ? event.phase : event._tag)
              if (event._tag === "Progress" && event.phase === "waiting") reason = event.detail ?? ""
            })
          ),
          Effect.forkScoped
        )
        const waiting = sql`select 1 from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`
        yield* until(Effect.map(waiting, (rows) => rows.length === 1))
        assert.strictEqual(yield* storedDigest, before)
        assert.strictEqual(events.at(-1), "waiting")
        assert.match(
          reason,
          /^another ingestion is storing its records, .+ \(PostgreSQL process \d+\), at work for \d+ s$/
        )
        yield* Deferred.succeed(enough, undefined)
        yield* Fiber.join(running)
        assert.strictEqual(events.at(-1), "Ingested")
        assert.notStrictEqual(yield* storedDigest, before)
      })
  )

  it.effect("[directory 6.2] readers see the old set or the new one, never a mixture", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const folder = yield* temporaryFolder
      const companies = sql<{
        readonly company: string
      }>`select distinct company from directory_codes where npa = '416'`
      const named = (company: string) =>
        toronto.map((line, n) =>
          n < 2 ? line : line.replace(/^(\d+,\d+).*$/, `$1,"In Service","N","Toronto","ON","${company}","8051",`)
        )
      yield* ingest([writeLines(folder, named("before"))])
      const running = yield* Effect.forkScoped(ingest([writeLines(folder, named("after"))]))
      const seen = new Set<string>()
      yield* until(
        Effect.map(companies, (rows) => {
          assert.strictEqual(rows.length, 1)
          seen.add(rows[0]!.company)
          return rows[0]!.company === "after"
        })
      )
      assert.deepStrictEqual([...seen], ["before", "after"])
      assert.deepStrictEqual(differenceOf(yield* Fiber.join(running)), { added: 0, changed: 800, removed: 0 })
    })
  )

  it.effect("a database session that dies midway is a clear error; the old data stays, and a repeat succeeds", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ingestions = yield* Effect.provide(Ingestions, yield* Layer.build(workerIngestions))
      const before = yield* storedDigest
      const count = yield* ingestionCount
      let killed = false
      const events = yield* ingestions.run([bundledPath("NANPA")]).pipe(
        Stream.tap((event) => {
          if (killed || event._tag !== "Progress" || event.phase !== "reading" || event.rows < 10_000)
            return Effect.void
          killed = true
          return Effect.asVoid(sql`
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and application_name = 'sluice ingest'`)
        }),
        Stream.runCollect
      )
      const [failure, ...others] = failuresOf(events)
      assert.strictEqual(failure?.code, "DatabaseAway")
      assert.include(failure!.message, "the connection to the database failed")
      assert.deepStrictEqual(others, [])
      assert.strictEqual(yield* storedDigest, before)
      assert.strictEqual(yield* ingestionCount, count)
      const folder = yield* temporaryFolder
      assert.strictEqual(summariesOf(yield* ingest([writeLines(folder, manhattan)])).length, 1)
    })
  )

  it.effect("interrupting it cancels and leaves nothing", () =>
    Effect.gen(function* () {
      const ingestions = yield* Effect.provide(Ingestions, yield* Layer.build(workerIngestions))
      const before = yield* storedDigest
      const count = yield* ingestionCount
      yield* ingestions.run([bundledPath("NANPA")]).pipe(
        Stream.takeUntil((event) => event._tag === "Progress" && event.phase === "reading" && event.rows > 10_000),
        Stream.runDrain
      )
      yield* until(Effect.map(workerSessions, (sessions) => sessions === 0))
      assert.strictEqual(yield* storedDigest, before)
      assert.strictEqual(yield* ingestionCount, count)
    })
  )

  it.effect("no worker and no session is left after an ingestion", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const worker = yield* Layer.build(workerIngestions)
      const [summary] = summariesOf(yield* Effect.provide(ingest([writeLines(folder, manhattan)]), worker))
      assert.strictEqual(summary?.read, 800)
      yield* until(Effect.map(workerSessions, (sessions) => sessions === 0))
    })
  )

  it.effect("a worker that ends before its work is done is a clear error", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      // It cannot make a client of this, and has nothing left to do.
      const lost = yield* Layer.build(Ingestions.layer({ databaseUrl: Redacted.make("no address at all") }))
      const source = writeLines(folder, manhattan)
      const events = yield* Effect.provide(ingest([source]), lost)
      assert.deepStrictEqual(
        failuresOf(events).map((failure) => [failure.code, failure.source]),
        [["WorkerEnded", source]]
      )
    })
  )

  it.effect("an unreachable database is a clear error that names no password", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const folder = yield* temporaryFolder
      const nowhere = new URL(Redacted.value(url))
      nowhere.port = "1"
      nowhere.password = "a-secret"
      const unreachable = yield* Layer.build(Ingestions.layer({ databaseUrl: Redacted.make(nowhere.toString()) }))
      const events = yield* Effect.provide(ingest([writeLines(folder, manhattan)]), unreachable)
      assert.strictEqual(failuresOf(events)[0]?.code, "DatabaseAway")
      assert.notInclude(JSON.stringify(events), "a-secret")
    })
  )
})
