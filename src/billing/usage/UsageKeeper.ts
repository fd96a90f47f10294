/**
 * Keeps figures of usage for their time (docs/platform.md, 11.8), and removes older ones. It adds up the earlier
 * storage of contents in one row for each organization, because today's figures continue from there. Every node may do
 * it: removing twice removes nothing more. Needs `SqlClient`.
 */
import { Clock, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { superviseLoop } from "../../common/superviseLoop.ts"
import { addMonths, monthAt } from "../periods.ts"
import { hourMillis } from "./model.ts"

/**
 * Whole calendar months before the present one of which figures are kept: three years of invoices, the yearly ones
 * included, can be held against them.
 */
export const keptMonths = 36

/** How often old figures are removed, and how soon it is tried again after a failure. */
const roundMillis = 24 * hourMillis
const retryMillis = 60_000

/** Rows that one statement removes. */
const maximumRows = 5_000

/** The start of the first month of which figures are kept. */
export const figuresSince = (now: number): number => addMonths(monthAt(now).start, -keptMonths)

/** Removes older figures, in transactions of a bounded number of rows. */
export const removeOldUsage = Effect.fn("removeOldUsage")(function* (batch: number = maximumRows) {
  const sql = yield* SqlClient.SqlClient
  const since = figuresSince(yield* Clock.currentTimeMillis)
  const last = since - hourMillis
  for (;;) {
    // The row that takes the sums is removed in no statement that adds to it.
    const [removed] = yield* sql<{ readonly count: string }>`
      with old as (
        delete from usage_hours where ctid = any(array(
          select ctid from usage_hours where hour < ${since} and (usage_type <> 'contents' or hour <> ${last})
          limit ${batch} for update
        ))
        returning organization_id, product, usage_type, quantity
      ), kept as (
        insert into usage_hours as u (organization_id, hour, product, usage_type, quantity)
        select organization_id, ${last}::int8, product, usage_type, sum(quantity) from old
        where usage_type = 'contents' group by organization_id, product, usage_type
        on conflict (organization_id, hour, product, usage_type) do update set quantity = u.quantity + excluded.quantity
      )
      select count(*) as count from old`
    if (Number(removed?.count) < batch) return
  }
})

/** Removes old figures at the start and every day until the scope ends. */
export const layerUsageKeeper: Layer.Layer<never, never, SqlClient.SqlClient> = Layer.effectDiscard(
  Effect.forkScoped(
    superviseLoop(Effect.andThen(removeOldUsage(), Effect.sleep(Duration.millis(roundMillis))), {
      failed: "Old figures of usage could not be removed",
      retryMillis
    })
  )
)
