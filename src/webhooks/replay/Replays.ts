/** Replays for whoever asks by HTTP: how many events one sends. Needs `SqlClient`. */
import { Context, Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type ReplayRange, replaysTable, sentEventsOf } from "./range.ts"

/** How long the count of a replay waits until all events before it are in the event log; normally milliseconds. */
const projectionWaitMillis = 2_000
const projectionPollMillis = 20

export class Replays extends Context.Service<
  Replays,
  {
    /** How many events a replay sends. */
    readonly count: (replayId: string, range: ReplayRange) => Effect.Effect<number, SqlError.SqlError>
  }
>()("sluice/webhooks/Replays") {
  static readonly layer: Layer.Layer<Replays, never, SqlClient.SqlClient> = Layer.effect(
    Replays,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const isTakenDown = (replayId: string) =>
    Effect.map(sql`select 1 from ${sql(replaysTable)} where id = ${replayId}`, (rows) => rows.length > 0)

  const countNow = Effect.fnUntraced(function* (replayId: string, range: ReplayRange) {
    // The planner may have no statistics of the latest days, and joining both tables row by row would take minutes.
    yield* sql`set local enable_nestloop = off`
    // One statement counts both what was sent and what is still to be sent, because the replay may be under way.
    const [row] = yield* sql<{ readonly count: number }>`
      select coalesce(r.sent, 0) + case when r.finished_at is not null then 0 else (
          select count(*) ${sentEventsOf(sql, range)} and (e.created_at, e.sequence, e.idx) >
            (coalesce(r.after_created_at, ${range.since}), coalesce(r.after_sequence, -1), coalesce(r.after_idx, -1))
        ) end as count
      from (select ${replayId}::text as id) wanted left join ${sql(replaysTable)} r on r.id = wanted.id`
    return row!.count
  }, sql.withTransaction)

  const count: Replays["Service"]["count"] = Effect.fn("Replays.count")(function* (replayId, range) {
    // The replay stands behind its events in the log, so once the reactor has recorded it, it has recorded them too.
    yield* isTakenDown(replayId).pipe(
      Effect.repeat({
        until: (isThere) => isThere,
        schedule: Schedule.spaced(Duration.millis(projectionPollMillis))
      }),
      Effect.timeoutOption(Duration.millis(projectionWaitMillis))
    )
    return yield* countNow(replayId, range)
  })

  return Replays.of({ count })
})
