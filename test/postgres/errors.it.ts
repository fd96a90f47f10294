import { expect, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { freshDatabase } from "../support/database.ts"

/** Makes the server raise the state itself, so that every class is seen with the driver's real error. */
const raise = (state: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe(`DO $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = '${state}'; END $$`).unprepared
  })

const reasons: ReadonlyArray<
  readonly [states: ReadonlyArray<string>, reason: SqlError.SqlErrorReason["_tag"], retryable: boolean]
> = [
  [["08000", "08006", "57P01", "57P03", "53300", "25P03"], "ConnectionError", true],
  [["28000", "28P01"], "AuthenticationError", false],
  [["42501"], "AuthorizationError", false],
  [["42601", "42P01", "42703", "42883"], "SqlSyntaxError", false],
  [["23505"], "UniqueViolation", false],
  [["23502", "23503", "23514", "23P01", "23000"], "ConstraintError", false],
  [["40P01"], "DeadlockError", true],
  [["40001"], "SerializationError", true],
  [["55P03"], "LockTimeoutError", true],
  [["57014"], "StatementTimeoutError", true],
  [["22012", "22P02", "0A000", "53100", "P0001", "XX000"], "UnknownError", false]
]

layer(freshDatabase({ maxConnections: 2 }), { excludeTestServices: true })("errors", (it) => {
  for (const [states, reason, retryable] of reasons) {
    it.effect(`${states.join(", ")} are ${reason}`, () =>
      Effect.gen(function* () {
        for (const state of states) {
          const error = yield* Effect.flip(raise(state))
          expect(error.reason._tag).toBe(reason)
          expect(error.isRetryable).toBe(retryable)
          expect(error.message).toBe("on purpose")
          expect(error.reason.operation).toBe("execute")
          expect(error.reason.cause).toMatchObject({ code: state })
        }
      })
    )
  }

  it.effect("a unique violation names its constraint", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE codes (npa text, nxx text, CONSTRAINT one_record_per_code UNIQUE (npa, nxx))`
      const insert = sql`INSERT INTO codes ${sql.insert({ npa: "212", nxx: "555" })}`
      yield* insert
      const { reason } = yield* Effect.flip(insert)
      expect(reason._tag === "UniqueViolation" && reason.constraint).toBe("one_record_per_code")
    })
  )

  it.effect("a real deadlock is one for exactly one of the two", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE pair (id int4 PRIMARY KEY, total int4 NOT NULL)`
      yield* sql`INSERT INTO pair VALUES (1, 0), (2, 0)`
      const ready = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const
      const crossing = (mine: 0 | 1) =>
        sql
          .withTransaction(
            Effect.gen(function* () {
              yield* sql`SET LOCAL deadlock_timeout = '50ms'`
              yield* sql`UPDATE pair SET total = total + 1 WHERE id = ${mine + 1}`
              yield* Deferred.succeed(ready[mine], undefined)
              yield* Deferred.await(ready[mine === 0 ? 1 : 0])
              yield* sql`UPDATE pair SET total = total + 1 WHERE id = ${2 - mine}`
            })
          )
          .pipe(Effect.result)
      const results = yield* Effect.all([crossing(0), crossing(1)], { concurrency: 2 })
      const failures = results.filter((result) => result._tag === "Failure")
      expect(failures.map((result) => result.failure.reason._tag)).toEqual(["DeadlockError"])
      expect(yield* sql`SELECT total FROM pair`).toEqual([{ total: 1 }, { total: 1 }])
    })
  )

  it.effect("a lock that is not granted in time is a lock timeout", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE guarded (id int4)`
      const locked = yield* Deferred.make<void>()
      const holder = yield* Effect.forkChild(
        sql.withTransaction(
          sql`LOCK TABLE guarded`.pipe(
            Effect.andThen(Deferred.succeed(locked, undefined)),
            Effect.andThen(Effect.never)
          )
        )
      )
      yield* Deferred.await(locked)
      const error = yield* sql
        .withTransaction(Effect.andThen(sql`SET LOCAL lock_timeout = '20ms'`, sql`SELECT * FROM guarded`))
        .pipe(Effect.flip)
      expect(error.reason._tag).toBe("LockTimeoutError")
      yield* Fiber.interrupt(holder)
    })
  )

  it.effect("what cannot be sent or is refused fails typed in every form, and the connection works on", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const circular: { self?: unknown } = {}
      circular.self = circular
      const broken = [
        sql`SELECT nonsense`,
        sql`SELECT ${"x"}::int4`,
        sql`SELECT 1 / ${0}::int4`,
        sql`SELECT ${"zero\0byte"}::text`,
        sql`SELECT ${() => "function"}::text`,
        sql`SELECT ${Symbol("symbol")}::text`,
        sql`SELECT ${new Date(Number.NaN)}::timestamptz`,
        sql`SELECT ${circular}::jsonb`,
        sql`SELECT ${{ count: 1n }}::jsonb`,
        sql.unsafe("SELECT 1 \0 FROM nothing"),
        sql.unsafe("SELECT $1::int4", Array.from({ length: 70_000 }))
      ]
      for (const statement of broken) {
        const forms = [
          statement,
          statement.unprepared,
          statement.values,
          statement.valuesUnprepared,
          statement.raw,
          Stream.runDrain(statement.stream)
        ]
        for (const form of forms) {
          const error = yield* Effect.flip<unknown, SqlError.SqlError, never>(form)
          expect(error._tag).toBe("SqlError")
          expect(error.isRetryable).toBe(false)
        }
        expect(yield* sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
      }
    })
  )

  it.effect("several statements in one text are refused", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const several = sql`SELECT 1 AS one; SELECT 2 AS two`
      for (const form of [several, several.unprepared]) {
        const error = yield* Effect.flip(form)
        expect(error.reason._tag).toBe("SqlSyntaxError")
      }
    })
  )

  it.effect("a table that changes under a prepared statement is read with its new columns", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE changing (a int4)`
      yield* sql`INSERT INTO changing VALUES (1)`
      const all = () => sql`SELECT * FROM changing`
      expect(yield* all()).toEqual([{ a: 1 }])
      yield* sql`ALTER TABLE changing ADD COLUMN b text DEFAULT 'new'`
      expect(yield* all()).toEqual([{ a: 1, b: "new" }])
      expect(yield* all()).toEqual([{ a: 1, b: "new" }])
      yield* sql`ALTER TABLE changing DROP COLUMN a`
      // Inside a transaction the statement has ended it; the next attempt works.
      const attempt = sql.withTransaction(all())
      const error = yield* Effect.flip(attempt)
      expect(error.message).toContain("cached plan")
      expect(yield* attempt).toEqual([{ b: "new" }])
      yield* sql`DISCARD ALL`.unprepared
      expect(yield* all()).toEqual([{ b: "new" }])
    })
  )
})
