import { expect, layer } from "@effect/vitest"
import { Context, Data, Deferred, Effect, Exit, Fiber, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { backendPid, proxyTo, terminate, until } from "./support.ts"

class Refused extends Data.TaggedError("Refused") {}

/** Runs on another connection, although a transaction is open around it. */
const outside = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return yield* Effect.updateContext(
      effect,
      (context: Context.Context<R>) => Context.omit(sql.transactionService)(context) as Context.Context<R>
    )
  })

const killFromOutside = (pid: number) => outside(terminate(pid))

/** A table of its own with one unique column, and what is in it. */
const ledger = (name: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE ${sql(name)} (entry text PRIMARY KEY)`
    return {
      write: (entry: string) => sql`INSERT INTO ${sql(name)} VALUES (${entry})`,
      entries: Effect.map(sql<{ readonly entry: string }>`SELECT entry FROM ${sql(name)} ORDER BY entry`, (rows) =>
        rows.map((row) => row.entry)
      )
    }
  })

layer(freshDatabase({ maxConnections: 4 }), { excludeTestServices: true })("transactions", (it) => {
  it.effect("a commit is seen by other connections, and not before", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { write, entries } = yield* ledger("committed")
      const written = yield* Deferred.make<void>()
      const looked = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        sql.withTransaction(
          write("a").pipe(Effect.andThen(Deferred.succeed(written, undefined)), Effect.andThen(Deferred.await(looked)))
        )
      )
      yield* Deferred.await(written)
      expect(yield* entries).toEqual([])
      yield* Deferred.succeed(looked, undefined)
      yield* Fiber.join(fiber)
      expect(yield* entries).toEqual(["a"])
    })
  )

  it.effect("a failure rolls everything back and comes out as it was", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { write, entries } = yield* ledger("failed")
      const refused = new Refused()
      const exit = yield* Effect.exit(sql.withTransaction(Effect.andThen(write("a"), Effect.fail(refused))))
      expect(exit).toEqual(Exit.fail(refused))
      expect(yield* entries).toEqual([])
    })
  )

  it.effect("nested transactions roll back to their savepoint only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { write, entries } = yield* ledger("nested")
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* write("outer")
          yield* Effect.exit(
            sql.withTransaction(
              Effect.gen(function* () {
                yield* write("inner")
                yield* Effect.exit(sql.withTransaction(Effect.andThen(write("innermost"), Effect.fail("no"))))
                yield* sql.withTransaction(write("kept inside"))
                return yield* Effect.fail("no")
              })
            )
          )
          // A savepoint also repairs a transaction in which a statement has failed.
          yield* Effect.exit(sql.withTransaction(write("outer")))
          yield* sql.withTransaction(write("second"))
        })
      )
      expect(yield* entries).toEqual(["outer", "second"])
    })
  )

  it.effect("an interruption rolls back and gives the connection back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { write, entries } = yield* ledger("interrupted")
      const written = yield* Deferred.make<number>()
      const fiber = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* write("a")
            yield* Deferred.succeed(written, yield* backendPid)
            yield* sql`SELECT pg_sleep(60)`
          })
        )
      )
      const pid = yield* Deferred.await(written)
      yield* Fiber.interrupt(fiber)
      expect(yield* entries).toEqual([])
      const [session] = yield* sql<{ readonly state: string }>`SELECT state FROM pg_stat_activity WHERE pid = ${pid}`
      expect(session?.state === "idle" || session?.state === "active").toBe(true)
      // The primary key is free again: no lock was left behind.
      yield* write("a")
    })
  )

  it.effect("a failure that was swallowed does not pass for a commit", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { write, entries } = yield* ledger("swallowed")
      const error = yield* Effect.flip(
        sql.withTransaction(Effect.andThen(write("a"), Effect.ignore(sql`SELECT nonsense`)))
      )
      expect(error._tag).toBe("SqlError")
      expect(error.message).toContain("was rolled back")
      expect(yield* entries).toEqual([])
    })
  )

  it.effect("a deferred constraint fails the commit as a constraint, and the connection stays", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE parents (id int4 PRIMARY KEY)`
        yield* sql`CREATE TABLE children (parent int4 REFERENCES parents DEFERRABLE INITIALLY DEFERRED)`
        const before = yield* backendPid
        const error = yield* Effect.flip(sql.withTransaction(sql`INSERT INTO children VALUES (1)`))
        expect(error.reason._tag).toBe("ConstraintError")
        expect(yield* sql`SELECT * FROM children`).toEqual([])
        expect(yield* backendPid).toBe(before)
      }).pipe(Effect.provide(PgClient.layer({ ...config, maxConnections: 1 })))
    })
  )

  it.effect("a connection that breaks under the rollback itself leaves the failure as it was", () =>
    Effect.gen(function* () {
      const { config, url } = yield* TestDatabase
      const { write, entries } = yield* ledger("broken_rollback")
      const proxy = yield* proxyTo(Redacted.value(url))
      const rollingBack = yield* Deferred.make<void>()
      const refused = new Refused()
      const fiber = yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        return yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO broken_rollback VALUES ('a')`
            yield* proxy.freeze
            yield* Deferred.succeed(rollingBack, undefined)
            return yield* refused
          })
        )
      }).pipe(Effect.provide(PgClient.layer({ ...config, url: Redacted.make(proxy.url) })), Effect.forkChild)
      yield* Deferred.await(rollingBack)
      // The ROLLBACK is under way by now, and nothing will answer it.
      yield* proxy.cut
      expect(yield* Fiber.await(fiber)).toEqual(Exit.fail(refused))
      expect(yield* entries).toEqual([])
      yield* write("a")
    })
  )

  it.effect("a connection that gave no answer to COMMIT is lent to nobody again", () =>
    Effect.gen(function* () {
      const { config, url } = yield* TestDatabase
      const { entries } = yield* ledger("silent_commit")
      const proxy = yield* proxyTo(Redacted.value(url))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const before = yield* backendPid
        const work = Effect.andThen(sql`INSERT INTO silent_commit VALUES ('a')`, proxy.freeze)
        expect((yield* Effect.flip(sql.withTransaction(work))).reason._tag).toBe("ConnectionError")
        yield* proxy.thaw
        expect(yield* backendPid).not.toBe(before)
        // Nobody was told so, but the server has committed.
        yield* until(Effect.map(entries, (all) => all.length === 1))
      }).pipe(
        Effect.provide(
          PgClient.layer({
            ...config,
            url: Redacted.make(proxy.url),
            maxConnections: 1,
            statementTimeoutMillis: 500
          })
        )
      )
    })
  )

  it.effect("statements of several fibers in one transaction take turns on its connection", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const pids = yield* sql.withTransaction(
        Effect.forEach(Array.from({ length: 20 }), () => backendPid, { concurrency: "unbounded" })
      )
      expect(new Set(pids).size).toBe(1)
    })
  )

  it.effect("interrupting one fiber of a transaction leaves the others' statements alone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const answers = yield* sql.withTransaction(
        Effect.gen(function* () {
          const slow = yield* Effect.forkChild(sql`SELECT pg_sleep(0.2)`, { startImmediately: true })
          const waiting = yield* Effect.forkChild(sql`SELECT pg_sleep(60)`, { startImmediately: true })
          const last = yield* Effect.forkChild(sql`SELECT 'kept' AS answer`, { startImmediately: true })
          yield* Fiber.interrupt(waiting)
          yield* Fiber.join(slow)
          return yield* Fiber.join(last)
        })
      )
      expect(answers).toEqual([{ answer: "kept" }])
    })
  )

  it.effect("a connection killed inside a transaction is a typed, retryable error", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { write, entries } = yield* ledger("killed")
      let attempts = 0
      const work = sql.withTransaction(
        Effect.gen(function* () {
          attempts++
          yield* write(`attempt ${attempts}`)
          const pid = yield* backendPid
          // Another connection, since this one is inside the transaction.
          if (attempts === 1) yield* killFromOutside(pid)
          yield* write("done")
        })
      )
      const error = yield* Effect.flip(work)
      expect(error._tag).toBe("SqlError")
      if (error._tag === "SqlError") {
        expect(error.reason._tag).toBe("ConnectionError")
        expect(error.isRetryable).toBe(true)
      }
      yield* work
      expect(yield* entries).toEqual(["attempt 2", "done"])
    })
  )

  it.effect("a connection killed inside a savepoint fails the whole transaction, without a defect", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { write, entries } = yield* ledger("killed_nested")
      const exit = yield* Effect.exit(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* write("outer")
            const pid = yield* backendPid
            yield* Effect.ignore(sql.withTransaction(Effect.andThen(killFromOutside(pid), write("inner"))))
            yield* write("after")
          })
        )
      )
      expect(Exit.isFailure(exit) && exit.cause.reasons.map((reason) => reason._tag)).toEqual(["Fail"])
      expect(yield* entries).toEqual([])
    })
  )

  it.effect("a connection killed under a running statement of a transaction fails it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const started = yield* Deferred.make<number>()
      const fiber = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* Deferred.succeed(started, yield* backendPid)
            yield* sql`SELECT pg_sleep(60)`
          })
        )
      )
      const pid = yield* Deferred.await(started)
      yield* until(
        Effect.map(
          sql`SELECT 1 FROM pg_stat_activity WHERE pid = ${pid} AND query LIKE '%pg_sleep(60)%'`,
          (rows) => rows.length === 1
        )
      )
      expect(yield* terminate(pid)).toBe(true)
      const exit = yield* Fiber.await(fiber)
      expect(Exit.isFailure(exit) && exit.cause.reasons.map((reason) => reason._tag)).toEqual(["Fail"])
    })
  )

  it.effect("a statement beside an open stream of the same transaction is refused, not stuck", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const error = yield* Effect.flip(
        sql.withTransaction(
          sql`SELECT generate_series(1, 10000) AS n`.stream.pipe(
            Stream.mapEffect(() => sql`SELECT 1`),
            Stream.runDrain
          )
        )
      )
      expect(error.message).toContain("A stream is open")
      // After the stream has ended the transaction goes on.
      const count = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT generate_series(1, 2000) AS n`.stream.pipe(Stream.take(3), Stream.runDrain)
          return yield* sql`SELECT 1 AS one`
        })
      )
      expect(count).toEqual([{ one: 1 }])
    })
  )

  it.effect("callbacks registered for after the commit run after it, and not after a rollback", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { write, entries } = yield* ledger("after_commit")
      const seen: Array<ReadonlyArray<string>> = []
      const note = Effect.map(Effect.orDie(entries), (found) => {
        seen.push(found)
      })
      yield* sql.withTransaction(Effect.andThen(sql.afterCommit(note), write("a")))
      yield* Effect.exit(sql.withTransaction(Effect.andThen(sql.afterCommit(note), Effect.fail("no"))))
      expect(seen).toEqual([["a"]])
    })
  )

  it.effect("an isolation level of its own, and the conflict it reports", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE counters (name text PRIMARY KEY, total int4 NOT NULL)`
      yield* sql`INSERT INTO counters VALUES ('a', 0)`
      const error = yield* sql
        .withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT * FROM counters`
            yield* outside(sql`UPDATE counters SET total = total + 1`)
            yield* sql`UPDATE counters SET total = total + 1`
          })
        )
        .pipe(Effect.provideService(SqlClient.BeginTransaction, "BEGIN ISOLATION LEVEL REPEATABLE READ"), Effect.flip)
      expect(error.reason._tag).toBe("SerializationError")
      expect(error.isRetryable).toBe(true)
    })
  )
})
