/** Outcomes are recorded by one statement: beside others who write the same rows at that moment, and among many rows without reading them all. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { migrations } from "../../../src/app/migrations.ts"
import { DayPartitions, dayOf, partitionOfDay } from "../../../src/postgres/dayPartitions.ts"
import { migrate } from "../../../src/postgres/migrate.ts"
import { make } from "../../../src/webhooks/delivery/DeliveryStorePostgres.ts"
import { deliveriesTable, jobsTable } from "../../../src/webhooks/delivery/model.ts"
import type { DeliveryOutcome } from "../../../src/webhooks/delivery/ports.ts"
import { endpointsTable } from "../../../src/webhooks/endpoint/model.ts"
import { attemptHoursTable } from "../../../src/webhooks/metrics/attemptHours.ts"
import { freshDatabase } from "../../support/database.ts"
import { patienceMillis } from "../../support/patience.ts"
import { until } from "../until.ts"

/** An afternoon. */
const now = Date.UTC(2026, 6, 1, 14)
const day = partitionOfDay(deliveriesTable, dayOf(now))
const perEndpoint = 100

let partitions = 0

/** So many deliveries that are being attempted, a hundred for an endpoint, in a partition of the test's own. */
const attempted = (count: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const partition = partitions++
    const prefix = `p${partition}`
    yield* (yield* DayPartitions).ensureDays(deliveriesTable, [now])
    yield* sql`
      insert into ${sql(endpointsTable)} (id, organization_id, partition, sequence, state)
      select ${prefix} || ' we ' || n, 'org', ${partition}::int4, 1, '{}'
      from generate_series(0, ${Math.ceil(count / perEndpoint)}::int4) n`
    yield* sql`
      insert into ${sql(jobsTable)}
      select ${prefix} || ' ' || n, ${partition}::int4, ${prefix} || ' we ' || n / ${perEndpoint}::int4, 0, ${now}::int8, 1, null, 'x', null
      from generate_series(0, ${count - 1}::int4) n`
    yield* sql`
      insert into ${sql(deliveriesTable)}
      select ${prefix} || ' ' || n, 'org', ${prefix} || ' we ' || n / ${perEndpoint}::int4, 'evt', 'type', ${now}::int8, 'event', ${now}::int8,
        'pending', 0, '[]', ${now}::int8, null
      from generate_series(0, ${count - 1}::int4) n`
    const outcome = (number: number, at = now): DeliveryOutcome => ({
      delivery: {
        id: `${prefix} ${number}`,
        endpointId: `${prefix} we ${Math.floor(number / perEndpoint)}`,
        attempt: 1,
        eventCreatedAt: now
      },
      made: { at, status: 200, duration: 20, response: "", error: null },
      result: { _tag: "Settled", status: "succeeded" }
    })
    const shown = (number: number) =>
      Effect.map(
        sql<{ readonly status: string; readonly attempts: number }>`
          select status, attempts from ${sql(deliveriesTable)} where id = ${`${prefix} ${number}`}`,
        ([row]) => ({ ...row! })
      )
    const lastAt = Effect.map(
      sql<{ readonly at: number | null }>`
        select last_delivery_at as at from ${sql(endpointsTable)} where id = ${`${prefix} we 0`}`,
      ([row]) => row!.at
    )
    return { sql, store: yield* make, prefix, partition, outcome, shown, lastAt }
  })

/** Records while somebody else has written and not committed yet; what is recorded waits for that one's lock. */
const recordBeside = (
  { sql, store }: Effect.Success<ReturnType<typeof attempted>>,
  outcomes: ReadonlyArray<DeliveryOutcome>,
  other: Effect.Effect<unknown, unknown>
) =>
  Effect.gen(function* () {
    const written = yield* Deferred.make<void>()
    const commit = yield* Deferred.make<void>()
    const beside = yield* Effect.forkChild(
      sql.withTransaction(
        Effect.andThen(other, Effect.andThen(Deferred.succeed(written, undefined), Deferred.await(commit)))
      )
    )
    yield* Deferred.await(written)
    const recording = yield* Effect.forkChild(store.record(outcomes, now + 50))
    yield* until(
      Effect.map(
        sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        (waiting) => waiting.length > 0
      )
    )
    yield* Deferred.succeed(commit, undefined)
    yield* Fiber.join(beside)
    return yield* Fiber.join(recording)
  })

const stores = Layer.mergeAll(
  DayPartitions.layer,
  Layer.effectDiscard(Effect.provide(migrate(migrations), Logger.layer([])))
).pipe(Layer.provideMerge(freshDatabase()))

layer(stores, { excludeTestServices: true, timeout: patienceMillis })("recording outcomes in PostgreSQL", (it) => {
  it.effect("waits for who writes the endpoint's row, and leaves a later attempt there", () =>
    Effect.gen(function* () {
      const all = yield* attempted(2)
      const { lastAt, outcome, prefix, shown, sql } = all
      const set = (at: number) =>
        sql`update ${sql(endpointsTable)} set last_delivery_at = ${at} where id = ${`${prefix} we 0`}`
      assert.strictEqual((yield* recordBeside(all, [outcome(0)], set(now + 900))).size, 1)
      assert.deepStrictEqual(yield* shown(0), { status: "succeeded", attempts: 1 })
      assert.strictEqual(yield* lastAt, now + 900)
      assert.strictEqual((yield* recordBeside(all, [outcome(1, now + 2_000)], set(now + 901))).size, 1)
      assert.strictEqual(yield* lastAt, now + 2_020)
    })
  )

  it.effect("counts what somebody else takes or ends meanwhile for nothing, and records the others", () =>
    Effect.gen(function* () {
      const all = yield* attempted(3)
      const { lastAt, outcome, prefix, shown, sql } = all
      const others = Effect.andThen(
        sql`update ${sql(jobsTable)} set attempts = 2 where id = ${`${prefix} 1`}`,
        sql`delete from ${sql(jobsTable)} where id = ${`${prefix} 2`}`
      )
      const counted = yield* recordBeside(all, [outcome(0), outcome(1, now + 10), outcome(2, now + 20)], others)
      assert.deepStrictEqual([...counted], [`${prefix} 0`])
      assert.deepStrictEqual(yield* shown(0), { status: "succeeded", attempts: 1 })
      for (const number of [1, 2]) assert.deepStrictEqual(yield* shown(number), { status: "pending", attempts: 0 })
      assert.strictEqual(yield* lastAt, now + 20)
    })
  )

  it.effect("writes onto what somebody else has made of the delivery's row", () =>
    Effect.gen(function* () {
      const all = yield* attempted(1)
      const { outcome, prefix, shown, sql } = all
      const other = sql`update ${sql(deliveriesTable)} set attempts = 4 where id = ${`${prefix} 0`}`
      assert.strictEqual((yield* recordBeside(all, [outcome(0)], other)).size, 1)
      assert.deepStrictEqual(yield* shown(0), { status: "succeeded", attempts: 5 })
    })
  )

  it.effect("[platform 7.11] adds figures of what counts, once for an outcome whose answer was lost", () =>
    Effect.gen(function* () {
      const { outcome, partition, prefix, sql, store } = yield* attempted(4)
      const endpoint = `${prefix} we 0`
      const figures = Effect.map(
        sql<Record<string, number>>`
          select attempts, succeeded, failed, retried, t2, t3 from ${sql(attemptHoursTable)}
          where endpoint_id = ${endpoint} and hour = ${now}`,
        (rows) => rows.map((row) => ({ ...row }))
      )
      const again: DeliveryOutcome = { ...outcome(0), result: { _tag: "Again", dueAt: now + 60_000 } }
      const last: DeliveryOutcome = { ...outcome(1), result: { _tag: "Settled", status: "failed" } }
      const unmade: DeliveryOutcome = { ...outcome(2), made: null, result: { _tag: "Returned", dueAt: now } }
      yield* store.record([again, last, unmade], now)
      const first = { attempts: 2, succeeded: 0, failed: 2, retried: 1, t2: 2, t3: 0 }
      assert.deepStrictEqual(yield* figures, [first])
      // The job of the first one has the same number still.
      assert.strictEqual((yield* store.record([again, last], now)).size, 1)
      assert.deepStrictEqual(yield* figures, [first])
      // Of an attempt that somebody else has taken over nothing counts.
      const stale: DeliveryOutcome = { ...outcome(3), delivery: { ...outcome(3).delivery, attempt: 2 } }
      const slow: DeliveryOutcome = { ...outcome(3), made: { ...outcome(3).made!, duration: 40 } }
      yield* store.record([stale], now)
      yield* store.record([slow], now)
      assert.deepStrictEqual(yield* figures, [{ ...first, attempts: 3, succeeded: 1, t3: 1 }])
      // They go with the endpoint, once no delivery of it waits.
      yield* sql`delete from ${sql(jobsTable)} where group_key = ${endpoint}`
      yield* sql`update ${sql(endpointsTable)} set state = null where id = ${endpoint}`
      yield* store.cancel(partition, endpoint, { now, limit: 100 })
      assert.deepStrictEqual(yield* figures, [])
    })
  )

  it.effect("finds the rows of a batch among many by their indexes", () =>
    Effect.gen(function* () {
      const { outcome, sql, store } = yield* attempted(100_000)
      yield* sql`vacuum analyze ${sql(jobsTable)}`
      yield* sql`vacuum analyze ${sql(deliveriesTable)}`
      const scanned = Effect.gen(function* () {
        yield* sql`select pg_stat_force_next_flush()`
        const [row] = yield* sql<{ readonly rows: number }>`
          select sum(coalesce(seq_tup_read, 0))::int8 as rows from pg_stat_user_tables where relname in (${jobsTable}, ${day})`
        return row!.rows
      })
      const before = yield* scanned
      // A plan for the values at hand at first, one for all values after the fifth time.
      for (let round = 0; round < 8; round++) {
        const outcomes = Array.from({ length: 200 }, (_, index) => outcome(index * 500 + round))
        assert.strictEqual((yield* store.record(outcomes, now)).size, 200)
      }
      assert.strictEqual((yield* scanned) - before, 0)
    })
  )
})
