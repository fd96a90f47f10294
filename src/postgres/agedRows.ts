/**
 * Removes rows past their age from tables whose rows are too few, or too much rewritten, to be partitioned by day
 * (`dayPartitions.ts`). Every node may do it: removing twice removes nothing more. Needs `SqlClient`.
 */
import { Clock, Duration, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { superviseLoop } from "../common/superviseLoop.ts"

/** A table whose rows have a time, in Unix milliseconds, with an index that begins with it. */
export interface AgedTable {
  readonly table: string
  /** The column of the time. */
  readonly column: string
  readonly retentionMillis: number
}

/** How often old rows are removed, and how soon it is tried again after a failure. */
const roundMillis = 60 * 60 * 1000
const retryMillis = 60_000

/** Rows that one statement removes. */
const maximumRows = 5_000

/** Removes what is past its age, in transactions of a bounded number of rows. */
export const removeAged = (
  { column, retentionMillis, table }: AgedTable,
  batch: number = maximumRows
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const before = (yield* Clock.currentTimeMillis) - retentionMillis
    for (;;) {
      const [removed] = yield* sql<{ readonly count: number }>`
        with old as (
          delete from ${sql(table)} where ctid = any(array(
            select ctid from ${sql(table)} where ${sql(column)} < ${before}
            order by ${sql(column)} limit ${batch} for update skip locked
          ))
          returning 1
        )
        select count(*)::int4 as count from old`
      if (removed!.count < batch) return
    }
  })

/** Removes old rows of these tables at the start and every hour until the scope ends. */
export const layerAgedRows = (tables: ReadonlyArray<AgedTable>): Layer.Layer<never, never, SqlClient.SqlClient> =>
  Layer.effectDiscard(
    Effect.forkScoped(
      superviseLoop(
        Effect.andThen(
          Effect.forEach(tables, (table) => removeAged(table), { discard: true }),
          Effect.sleep(Duration.millis(roundMillis))
        ),
        { failed: "Old rows could not be removed", retryMillis }
      )
    )
  )
