/** Tables partitioned by day, on a real PostgreSQL: days are made once, with the transaction that needs them, and go as a whole. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import {
  createDayPartitioned,
  DayPartitions,
  dayMillis,
  dayOf,
  layerKeeper,
  partitionOfDay,
  setDayFillFactor
} from "../../src/postgres/dayPartitions.ts"
import { freshDatabase } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"

const startOf = (date: string) => Date.parse(`${date}T00:00:00Z`)

let tables = 0

/** A table of its own for each test. */
const freshTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const table = `things_${"abcdefghijklmnopqrstuvwxyz"[tables++]}`
  yield* createDayPartitioned(table, {
    column: "created_at",
    columns: "id int4 not null, created_at int8 not null, body text, primary key (id, created_at)"
  })
  yield* sql`create index on ${sql(table)} (body)`
  const days = Effect.map(
    sql<{ readonly name: string }>`
      select inhrelid::regclass::text as name from pg_inherits where inhparent = ${table}::text::regclass order by 1`,
    (rows) => rows.map(({ name }) => name.slice(table.length + 2))
  )
  const insert = (id: number, createdAt: number) =>
    sql`insert into ${sql(table)} (id, created_at, body) values (${id}, ${createdAt}, 'body')`
  const ids = Effect.map(sql<{ readonly id: number }>`select id from ${sql(table)} order by created_at`, (rows) =>
    rows.map(({ id }) => id)
  )
  return { sql, table, days, insert, ids, partitions: yield* DayPartitions }
})

layer(DayPartitions.layer.pipe(Layer.provideMerge(freshDatabase({ maxConnections: 12 }))), {
  excludeTestServices: true,
  timeout: patienceMillis
})("tables partitioned by day", (it) => {
  it.effect("a day begins at midnight UTC, and rows of both sides of it find their own", () =>
    Effect.gen(function* () {
      const { days, ids, insert, partitions, table } = yield* freshTable
      const midnight = startOf("2026-03-01")
      yield* partitions.ensureDays(table, [midnight, midnight - 1, midnight + dayMillis - 1])
      assert.deepStrictEqual(yield* days, ["20260228", "20260301"])
      yield* insert(1, midnight - 1)
      yield* insert(2, midnight)
      yield* insert(3, midnight + dayMillis - 1)
      assert.deepStrictEqual(yield* ids, [1, 2, 3])
      assert.strictEqual((yield* Effect.flip(insert(4, midnight + dayMillis)))._tag, "SqlError")
    })
  )

  it.effect("days made after a fill factor was set have it, those of other tables do not", () =>
    Effect.gen(function* () {
      const [filled, other] = [yield* freshTable, yield* freshTable]
      const { partitions, sql } = filled
      const at = startOf("2026-03-01")
      yield* partitions.ensureDays(filled.table, [at - dayMillis])
      yield* setDayFillFactor(filled.table, 70)
      yield* partitions.ensureDays(filled.table, [at])
      yield* partitions.ensureDays(other.table, [at])
      const optionsOf = (table: string, millis: number) =>
        Effect.map(
          sql<{ readonly options: ReadonlyArray<string> | null }>`
            select reloptions as options from pg_class where oid = ${partitionOfDay(table, dayOf(millis))}::text::regclass`,
          ([row]) => row!.options
        )
      assert.isNull(yield* optionsOf(filled.table, at - dayMillis))
      assert.deepStrictEqual(yield* optionsOf(filled.table, at), ["fillfactor=70"])
      assert.isNull(yield* optionsOf(other.table, at))
    })
  )

  it.effect("a day has the keys and indexes of its table", () =>
    Effect.gen(function* () {
      const { insert, partitions, sql, table } = yield* freshTable
      const now = startOf("2026-03-01")
      yield* partitions.ensureDays(table, [now])
      yield* insert(1, now)
      assert.strictEqual((yield* Effect.flip(insert(1, now))).reason._tag, "UniqueViolation")
      const [row] = yield* sql<{ readonly count: number }>`
        select count(*) as count from pg_indexes where tablename = ${partitionOfDay(table, dayOf(now))}`
      assert.strictEqual(row!.count, 2)
    })
  )

  it.effect("a day that was rolled back is made again", () =>
    Effect.gen(function* () {
      const { days, insert, ids, partitions, sql, table } = yield* freshTable
      const now = Date.now()
      const write = partitions.ensureDays(table, [now]).pipe(Effect.andThen(insert(1, now)))
      yield* Effect.flip(sql.withTransaction(Effect.andThen(write, Effect.fail("rolled back"))))
      assert.deepStrictEqual(yield* days, [])
      // Also where only the savepoint was rolled back.
      yield* sql.withTransaction(
        Effect.ignore(sql.withTransaction(Effect.andThen(write, Effect.fail("to the savepoint"))))
      )
      assert.deepStrictEqual(yield* days, [])
      yield* sql.withTransaction(write)
      assert.deepStrictEqual(yield* ids, [1])
    })
  )

  it.effect("eight writers who need the same new days at once all get them", () =>
    Effect.gen(function* () {
      const first = yield* freshTable
      const second = yield* freshTable
      const now = startOf("2026-05-01")
      const all = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, writer) => writer),
        (writer) =>
          Effect.gen(function* () {
            // A memory of its own, as on another node.
            const partitions = yield* DayPartitions
            const both = writer % 2 === 0 ? [first, second] : [second, first]
            yield* first.sql.withTransaction(
              Effect.forEach(both, ({ insert, table }) =>
                Effect.forEach([0, 1, 2], (day) =>
                  Effect.andThen(
                    partitions.ensureDays(table, [now + day * dayMillis]),
                    insert(writer, now + day * dayMillis)
                  )
                )
              )
            )
            return writer
          }).pipe(Effect.provide(Layer.fresh(DayPartitions.layer))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(all.length, 8)
      for (const { days, ids } of [first, second]) {
        assert.deepStrictEqual(yield* days, ["20260501", "20260502", "20260503"])
        assert.strictEqual((yield* ids).length, 24)
      }
    })
  )

  it.effect("readers and writers of other days go on while a day is being made", () =>
    Effect.gen(function* () {
      const { ids, insert, partitions, sql, table } = yield* freshTable
      const now = startOf("2026-05-01")
      yield* partitions.ensureDays(table, [now])
      const made = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const maker = yield* Effect.forkChild(
        sql.withTransaction(
          partitions
            .ensureDays(table, [now + dayMillis])
            .pipe(Effect.andThen(Deferred.succeed(made, undefined)), Effect.andThen(Deferred.await(release)))
        )
      )
      yield* Deferred.await(made)
      yield* insert(1, now)
      assert.deepStrictEqual(yield* ids, [1])
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(maker)
      yield* insert(2, now + dayMillis)
      assert.deepStrictEqual(yield* ids, [1, 2])
    })
  )

  it.effect("days wholly before a time are dropped, the day of the time itself stays", () =>
    Effect.gen(function* () {
      const { days, ids, insert, partitions, table } = yield* freshTable
      const now = startOf("2026-03-10")
      for (const day of [0, 1, 2]) {
        yield* partitions.ensureDays(table, [now + day * dayMillis])
        yield* insert(day, now + day * dayMillis)
      }
      const dropped = yield* partitions.dropDaysBefore(table, now + 2 * dayMillis + 1)
      assert.deepStrictEqual(dropped, [`${table}_d20260310`, `${table}_d20260311`])
      assert.deepStrictEqual(yield* days, ["20260312"])
      assert.deepStrictEqual(yield* ids, [2])
      assert.deepStrictEqual(yield* partitions.dropDaysBefore(table, now + 2 * dayMillis), [])
    })
  )

  it.effect("a day dropped here is made again for who still writes into it", () =>
    Effect.gen(function* () {
      const { ids, insert, partitions, table } = yield* freshTable
      const now = Date.now()
      const write = Effect.andThen(partitions.ensureDays(table, [now]), insert(1, now))
      yield* write
      yield* partitions.dropDaysBefore(table, now + dayMillis)
      yield* write
      assert.deepStrictEqual(yield* ids, [1])
    })
  )

  it.effect("an old day that another node dropped is made again: only recent ones are remembered", () =>
    Effect.gen(function* () {
      const { ids, insert, partitions, table } = yield* freshTable
      const old = Date.now() - 20 * dayMillis
      const write = Effect.andThen(partitions.ensureDays(table, [old]), insert(1, old))
      yield* write
      yield* Effect.flatMap(DayPartitions, (other) => other.dropDaysBefore(table, old + dayMillis)).pipe(
        Effect.provide(Layer.fresh(DayPartitions.layer))
      )
      yield* write
      assert.deepStrictEqual(yield* ids, [1])
    })
  )

  it.effect("a drop gives way to a long transaction instead of holding writers up", () =>
    Effect.gen(function* () {
      const { days, ids, insert, partitions, sql, table } = yield* freshTable
      const now = startOf("2026-03-10")
      yield* partitions.ensureDays(table, [now, now + dayMillis])
      const open = yield* Deferred.make<void>()
      const close = yield* Deferred.make<void>()
      const long = yield* Effect.forkChild(
        sql.withTransaction(
          insert(1, now + dayMillis).pipe(
            Effect.andThen(Deferred.succeed(open, undefined)),
            Effect.andThen(Deferred.await(close))
          )
        )
      )
      yield* Deferred.await(open)
      const error = yield* Effect.flip(partitions.dropDaysBefore(table, now + dayMillis))
      assert.strictEqual(error.reason._tag, "LockTimeoutError")
      yield* insert(2, now + dayMillis)
      yield* Deferred.succeed(close, undefined)
      yield* Fiber.join(long)
      yield* partitions.dropDaysBefore(table, now + dayMillis)
      assert.deepStrictEqual(yield* days, ["20260311"])
      assert.deepStrictEqual((yield* ids).toSorted(), [1, 2])
    })
  )

  it.effect("the keeper makes the coming days, and drops those past their time as the days go by", () =>
    Effect.gen(function* () {
      const { days, insert, partitions, table } = yield* freshTable
      const start = startOf("2026-06-01") + 5 * 60 * 60 * 1000
      yield* TestClock.setTime(start)
      yield* partitions.ensureDays(table, [start - 2 * dayMillis])
      yield* insert(1, start - 2 * dayMillis)
      yield* Layer.launch(layerKeeper([{ table, retentionMillis: 2 * dayMillis }])).pipe(Effect.forkChild)
      // The keeper sleeps an hour from whenever it has finished.
      const become = Effect.fnUntraced(function* (expected: ReadonlyArray<string>) {
        for (let polls = 0; (yield* days).join() !== expected.join(); polls++) {
          assert.isBelow(polls, 1_000, "the days never came to be")
          yield* TestClock.adjust(Duration.minutes(1))
        }
      })
      yield* become(["20260530", "20260601", "20260602", "20260603"])
      yield* TestClock.adjust(Duration.days(1))
      yield* become(["20260601", "20260602", "20260603", "20260604"])
    }).pipe(Effect.scoped, Effect.provide([TestClock.layer(), Logger.layer([])]))
  )
})
