/** Reports replays over HTTP: the number of their events, and their progress. Needs `SqlClient`. */
import { Context, Data, Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { deliveriesTable, replaysTable } from "../delivery/model.ts"
import type { EndpointPlace } from "../endpoint/model.ts"
import { type ReplayRange, sentEventsOf } from "./range.ts"
import type { ReplayStatus } from "./status.ts"

/** How long the count of a replay waits until all events before it are in the event log; normally milliseconds. */
const projectionWaitMillis = 2_000
const projectionPollMillis = 20

/** A replay. Times in milliseconds since the Unix epoch. */
export interface Replay {
  readonly id: string
  readonly since: number
  readonly until: number
  readonly types: ReadonlyArray<string> | null
  readonly status: ReplayStatus
  /** All events that it sends, those still to come included. */
  readonly asked: number
  /** Deliveries that it has made of them. */
  readonly queued: number
  /** Deliveries of it that have succeeded, and that have failed or expired. */
  readonly delivered: number
  readonly failed: number
  readonly createdAt: number
  /** When everything was queued. */
  readonly finishedAt: number | null
}

/** The endpoint has no such replay, or it ended more than 30 days ago. */
export class ReplayNotFound extends Data.TaggedError("ReplayNotFound")<{ readonly replayId: string }> {
  override get message(): string {
    return `There is no replay ${this.replayId}`
  }
}

export class Replays extends Context.Service<
  Replays,
  {
    /** How many events a replay sends. */
    readonly count: (replayId: string, range: ReplayRange) => Effect.Effect<number, SqlError.SqlError>
    /** The progress of a replay. */
    readonly get: (place: EndpointPlace, replayId: string) => Effect.Effect<Replay, ReplayNotFound | SqlError.SqlError>
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
    // The replay is behind its events in the log, so once the reactor has recorded it, it has recorded them too.
    yield* isTakenDown(replayId).pipe(
      Effect.repeat({
        until: (isThere) => isThere,
        schedule: Schedule.spaced(Duration.millis(projectionPollMillis))
      }),
      Effect.timeoutOption(Duration.millis(projectionWaitMillis))
    )
    return yield* countNow(replayId, range)
  })

  const get: Replays["Service"]["get"] = Effect.fn("Replays.get")(function* ({ endpointId, organizationId }, replayId) {
    type Stored = Omit<Replay, "types" | "asked" | "delivered" | "failed"> & {
      readonly types: string | null
      readonly patterns: string
      readonly livemode: boolean
    }
    // Its deliveries are counted before it is looked at, so that it never seems to have delivered more than it has
    // queued.
    const outcomes = yield* sql<{ readonly status: string; readonly count: number }>`
      select status, count(*) as count from ${sql(deliveriesTable)} where replay_id = ${replayId} group by status`
    const [row] = yield* sql<Stored>`
      select id, since_at as since, until_at as until, patterns, types, livemode, status, sent as queued,
        created_at as "createdAt", finished_at as "finishedAt"
      from ${sql(replaysTable)}
      where id = ${replayId} and endpoint_id = ${endpointId} and organization_id = ${organizationId}`
    if (row === undefined) return yield* new ReplayNotFound({ replayId })
    const { livemode, patterns, types, ...replay } = row
    const parsed = types === null ? null : (JSON.parse(types) as ReadonlyArray<string>)
    const asked =
      replay.finishedAt !== null
        ? replay.queued
        : yield* countNow(replayId, {
            organizationId,
            endpointId,
            since: replay.since,
            until: replay.until,
            patterns: JSON.parse(patterns) as ReadonlyArray<string>,
            types: parsed,
            livemode
          })
    const countOf = (...wanted: ReadonlyArray<string>) =>
      outcomes.reduce((sum, { count, status }) => sum + (wanted.includes(status) ? count : 0), 0)
    return { ...replay, types: parsed, asked, delivered: countOf("succeeded"), failed: countOf("failed", "expired") }
  })

  return Replays.of({ count, get })
})
