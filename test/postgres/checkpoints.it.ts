/** The contract of the checkpoints on PostgreSQL, and a session that dies while one is written. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { Checkpoints } from "../../src/engine/ports/Checkpoints.ts"
import * as CheckpointsPostgres from "../../src/postgres/CheckpointsPostgres.ts"
import { checkpointsContract } from "../engine/contracts/checkpoints.ts"
import { engineTables, freshDatabase } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"
import { terminate, until } from "./support.ts"

const checkpoints = CheckpointsPostgres.layer.pipe(
  Layer.provideMerge(Layer.effectDiscard(engineTables)),
  Layer.provideMerge(freshDatabase())
)

checkpointsContract("PostgreSQL", checkpoints)

layer(checkpoints.pipe(Layer.provideMerge(Logger.layer([]))), { excludeTestServices: true, timeout: patienceMillis })(
  "checkpoints on PostgreSQL",
  (it) => {
    it.effect("a session that dies in the middle of a checkpoint leaves nothing of it", () =>
      Effect.gen(function* () {
        const store = yield* Checkpoints
        const sql = yield* SqlClient.SqlClient
        const record = {
          partition: 1,
          sequence: 5,
          hash: "0".repeat(64),
          epoch: 1,
          number: 5,
          now: 5,
          signalSequence: 0
        }
        const address = { organization: "org", kind: "account" }
        const rows = function* () {
          for (let index = 0; index < 20_000; index++) {
            yield { ...address, key: `k${index}`, sequence: 5, version: 1, state: "{}", wakeAt: null, expiresAt: null }
          }
        }
        const writer = sql<{ readonly pid: number }>`
          select pid from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and query like '%insert into engine_actors%'
            and xact_start is not null`.pipe(Effect.map((found) => found[0]?.pid))
        const fiber = yield* Effect.forkScoped(store.save({ record, previous: 0, rows: rows() }))
        yield* until(Effect.map(writer, (pid) => pid !== undefined))
        yield* terminate((yield* writer) ?? 0)
        const error = yield* Effect.flip(Fiber.join(fiber))
        assert.strictEqual(error._tag, "CheckpointsUnavailable")
        assert.deepStrictEqual(yield* store.list(1), [])
        assert.deepStrictEqual(yield* store.load(1, [{ ...address, key: "k0" }], 100), [])
        yield* store.save({ record, previous: 0, rows: rows() })
        assert.strictEqual((yield* store.load(1, [{ ...address, key: "k19999" }], 5)).length, 1)
      })
    )

    it.effect("timers are found among many without looking at all of them", () =>
      Effect.gen(function* () {
        const store = yield* Checkpoints
        const sql = yield* SqlClient.SqlClient
        yield* sql`
          insert into engine_actors (partition, organization, kind, key, sequence, version, state, wake_at)
          select 2, 'org_' || n % 100, 'account', 'key ' || n, 7, 1, '{}', n from generate_series(1, 50000) n`
        yield* sql`analyze engine_actors`
        const read = Effect.map(
          sql<{ readonly rows: number }>`
            select idx_tup_read as rows from pg_stat_user_indexes where indexrelname = 'engine_actors_by_timer'`,
          ([row]) => row!.rows
        )
        const flush = sql`select pg_stat_force_next_flush()`
        yield* flush
        const before = yield* read
        const page = yield* store.timers(2, { through: 7, after: undefined, limit: 100 })
        assert.deepStrictEqual([page[0]?.wakeAt, page[99]?.wakeAt], [1, 100])
        yield* flush
        yield* until(Effect.map(read, (rows) => rows > before))
        assert.isBelow((yield* read) - before, 1_000)
      })
    )
  }
)
