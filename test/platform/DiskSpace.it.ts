/** Answers of full stores are seen on the way: a log at its bound, and a database that has no room (SQLSTATE 53100). */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import { emptyLogHash } from "../../src/engine/ports/Checkpoints.ts"
import { Cursors } from "../../src/engine/ports/Cursors.ts"
import { Journal } from "../../src/engine/ports/Journal.ts"
import { DiskSpace, diskCheck, layerWatched } from "../../src/platform/DiskSpace.ts"
import * as CursorsPostgres from "../../src/postgres/CursorsPostgres.ts"
import { createEngineTables } from "../../src/postgres/migrations.ts"
import { freshDatabase } from "../support/database.ts"

describe("a log", () => {
  it.effect("that is full counts as full until it takes something, or nothing was written for long", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const { fullStores } = yield* DiskSpace
      const log = yield* journal.open(3)
      const publish = (bytes: number, expectedLast: number) =>
        log.publish({ bytes: new Uint8Array(bytes), identity: "3/1/1", expectedLast, timeoutMillis: 1_000 })
      assert.strictEqual((yield* publish(600, 0))._tag, "Acked")
      assert.deepStrictEqual(yield* fullStores, [])
      assert.strictEqual((yield* publish(600, 1))._tag, "Full")
      assert.deepStrictEqual(yield* fullStores, ["the log of partition 3"])
      assert.strictEqual((yield* publish(100, 1))._tag, "Acked")
      assert.deepStrictEqual(yield* fullStores, [])
      assert.strictEqual((yield* publish(600, 2))._tag, "Full")
      yield* TestClock.adjust("6 minutes")
      assert.deepStrictEqual(yield* fullStores, [])
    }).pipe(
      Effect.scoped,
      Effect.provide(
        layerWatched.pipe(
          Layer.provide(
            Layer.mergeAll(JournalMemory.layerOf(JournalMemory.makeStore({ maximumBytes: 1_000 })), CursorsMemory.layer)
          ),
          Layer.provideMerge(DiskSpace.layer)
        )
      )
    )
  )
})

const database = layerWatched.pipe(
  Layer.provide(Layer.mergeAll(JournalMemory.layer, CursorsPostgres.layer)),
  Layer.provideMerge(DiskSpace.layer),
  Layer.provideMerge(
    Layer.effectDiscard(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(createEngineTables)))
  ),
  Layer.provideMerge(freshDatabase({ maxConnections: 2 }))
)

layer(database, { excludeTestServices: true })("a database", (it) => {
  it.effect("without room counts as full until it writes, and what was to be written is tried again, not parked", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const cursors = yield* Cursors
      const { fullStores } = yield* DiskSpace
      const at = { sequence: 0, hash: emptyLogHash }
      const move = { partition: 1, reactor: "a", from: at, to: { sequence: 1, hash: "f".repeat(64) } }
      const full = sql`do $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`
      const failed = yield* Effect.flip(cursors.transact(move, full))
      assert.strictEqual(failed._tag, "CursorsUnavailable")
      assert.deepStrictEqual(yield* fullStores, ["PostgreSQL"])
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(cursors.transact(move, sql`select 1`))))
      assert.deepStrictEqual(yield* fullStores, [])
    })
  )
})

describe("the check", () => {
  it("names what is full and a disk under 5 % once each", () => {
    assert.deepStrictEqual(diskCheck([], 0.05, "/data"), { ok: true })
    assert.deepStrictEqual(diskCheck([], undefined, "/data"), { ok: true })
    assert.deepStrictEqual(diskCheck(["PostgreSQL", "the log of partition 3"], 0.0499, "/data"), {
      ok: false,
      detail: "no room is left in PostgreSQL, the log of partition 3; the disk of /data has 5.0 % free"
    })
  })
})
