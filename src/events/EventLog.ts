/**
 * Keeps the event log (docs/platform.md, 5.4): every event of an organization for 30 days, as it was delivered, byte
 * for byte. It is a projection and follows the decisions, normally within a second. Needs `SqlClient`, `PageCursors`
 * and `EventWakeups`; appending needs `DayPartitions` too.
 */
import { Clock, Context, Duration, Effect, Layer, Option, Schema, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { KeptTimes, type KeptTimesShape } from "../common/KeptTimes.ts"
import { PageCursors } from "../http/PageCursors.ts"
import { DayPartitions } from "../postgres/dayPartitions.ts"
import { deferred } from "../postgres/deferredStatements.ts"
import { unnest } from "../postgres/unnest.ts"
import { EventWakeups } from "./EventWakeups.ts"
import { type Event, EventId, objectOf } from "./event.ts"
import { type EventPosition, type EventReader, keptSince, type ListEvents, makeEventList } from "./makeEventList.ts"
import { type EventPattern, matchesAny } from "./patterns.ts"
import { eventsTable } from "./table.ts"

export type { EventPosition, EventReader } from "./makeEventList.ts"

/** Events of one read of a follower. */
const followPage = 100

/** How long a follower waits after a failure of the database. */
const followRetryMillis = 1_000

/** An event with its place in the log. */
export interface LoggedEvent {
  readonly organizationId: string
  /** The sequence of its frame. */
  readonly sequence: number
  /** Its record's place in the frame. */
  readonly index: number
  readonly event: Event
  /** `encodeEvent(event)`. */
  readonly body: string
  /** Whether it is for endpoints of both modes; otherwise for those of its own. */
  readonly forBothModes?: boolean
}

/** An item for a follower. */
export type Followed =
  | {
      readonly _tag: "Event"
      readonly eventId: string
      readonly type: string
      /** The event, as in `LoggedEvent`. */
      readonly body: string
    }
  /** Nothing has happened for a while; it shows the reader that the stream lives. */
  | { readonly _tag: "Idle" }

/** The events of a type in a minute. */
export interface EventRate {
  /** When the minute begins, in Unix milliseconds. */
  readonly minute: number
  readonly type: string
  readonly count: number
}

/** How far back rates go. */
export const ratesMillis = 60 * 60_000

/**
 * Most events that rates are counted from, so that a busy organization's overview costs the database no more than
 * another list: the newest.
 */
export const maximumRated = 100_000

export interface FollowOptions extends EventReader {
  readonly patterns: ReadonlyArray<EventPattern>
  /** Begins behind this place. */
  readonly after: EventPosition
  /** How long nothing may happen before an `Idle`. */
  readonly idleMillis: number
}

export class EventLog extends Context.Service<
  EventLog,
  {
    /**
     * Lists the events' texts, newest first (docs/platform.md, 5.4). A page is shorter than its limit only at the end.
     * A cursor that was not made for this list with the same filter, or whose place is no longer kept, is refused.
     */
    readonly list: ListEvents
    /** The event's text; undefined when the reader has no event with this id. */
    readonly get: (reader: EventReader, eventId: string) => Effect.Effect<string | undefined, SqlError.SqlError>
    /** The place of an event; undefined when the reader has no event with this id. */
    readonly positionOf: (
      reader: EventReader,
      eventId: string
    ) => Effect.Effect<EventPosition | undefined, SqlError.SqlError>
    /** How many events there were in each minute of the last hour, those of minutes without one left out; in order. */
    readonly rates: (reader: EventReader) => Effect.Effect<ReadonlyArray<EventRate>, SqlError.SqlError>
    /** The log's end: later events are after this place. */
    readonly end: (organizationId: string) => Effect.Effect<EventPosition, SqlError.SqlError>
    /**
     * Streams the organization's events behind a place, in order, then new ones as they come. It reads on only when the
     * reader has taken what was read. While the database is away it emits nothing; it never fails.
     */
    readonly follow: (options: FollowOptions) => Stream.Stream<Followed>
  }
>()("sluice/events/EventLog") {
  static readonly layer: Layer.Layer<EventLog, never, SqlClient.SqlClient | PageCursors | EventWakeups> = Layer.effect(
    EventLog,
    Effect.suspend(() => make)
  )
}

/**
 * Appends events with one statement, inside the caller's transaction. They are appended exactly once, because that
 * transaction moves a cursor. The statement is sent with the transaction's next one. Waiting readers are woken after
 * the commit.
 */
export const appendEvents = Effect.fnUntraced(function* (events: ReadonlyArray<LoggedEvent>) {
  if (events.length === 0) return
  const sql = yield* SqlClient.SqlClient
  const days = yield* DayPartitions
  const wakeups = yield* EventWakeups
  yield* days.ensureDays(
    eventsTable,
    events.map(({ event }) => event.createdAt)
  )
  // A log that was restored from an older copy than this database may bring an event a second time.
  const insert = sql`
    insert into events
      (organization_id, event_id, type, service, livemode, created_at, sequence, idx, body, for_both_modes, object)
    select * from ${unnest(
      events.map(({ body, event, forBothModes = false, index, organizationId, sequence }) => ({
        organization_id: organizationId,
        event_id: event.eventId,
        type: event.type,
        service: event.service,
        livemode: event.livemode,
        created_at: event.createdAt,
        sequence,
        idx: index,
        body,
        for_both_modes: forBothModes,
        object: objectOf(event)
      })),
      {
        organization_id: "text",
        event_id: "text",
        type: "text",
        service: "text",
        livemode: "bool",
        created_at: "int8",
        sequence: "int8",
        idx: "int4",
        body: "text",
        for_both_modes: "bool",
        object: "text"
      }
    )}
    on conflict do nothing`
  yield* deferred(sql, insert)
  const organizations = new Set(events.map(({ organizationId }) => organizationId))
  yield* sql.afterCommit(Effect.sync(() => wakeups.announce(organizations)))
})

/** Ids of another form belong to no event, and may hold characters that PostgreSQL cannot store. */
const isEventId = Schema.is(EventId)

interface Row extends EventPosition {
  readonly eventId: string
  readonly type: string
  readonly service: string
  readonly livemode: boolean
  readonly body: string
}

/** Whether the reader may see an event. */
const sees = ({ mode }: EventReader, { livemode }: { readonly livemode: boolean }): boolean =>
  mode === "live" || !livemode

const columnsOf = (sql: SqlClient.SqlClient) =>
  sql.literal(
    `event_id as "eventId", type, service, livemode, created_at as "createdAt", sequence, idx as "index", body`
  )

const makeFind = (sql: SqlClient.SqlClient, kept: KeptTimesShape) =>
  Effect.fnUntraced(function* (reader: EventReader, eventId: string) {
    if (!isEventId(eventId)) return undefined
    const [row] = yield* sql<Row>`
      select ${columnsOf(sql)} from events
      where event_id = ${eventId} and organization_id = ${reader.organizationId} and created_at >= ${yield* keptSince(kept)}`
    return row !== undefined && sees(reader, row) ? row : undefined
  })

/** The next events behind a place, in order. */
const readBehind = (
  sql: SqlClient.SqlClient,
  organizationId: string,
  { createdAt, index, sequence }: EventPosition
) => sql<Row>`
  select ${columnsOf(sql)} from events
  where organization_id = ${organizationId} and created_at >= ${createdAt}
    and (created_at, sequence, idx) > (${createdAt}, ${sequence}, ${index}::int4)
  order by created_at, sequence, idx limit ${followPage}`

const idle: ReadonlyArray<Followed> = [{ _tag: "Idle" }]

const makeFollow =
  (sql: SqlClient.SqlClient, wakeups: EventWakeups["Service"]): EventLog["Service"]["follow"] =>
  (options) => {
    const { after, idleMillis, organizationId, patterns } = options
    return Stream.unwrap(
      Effect.map(wakeups.listen(organizationId), (waiter) => {
        const step = Effect.fnUntraced(function* (position: EventPosition) {
          const rows = yield* Effect.catch(readBehind(sql, organizationId, position), (error) =>
            Effect.logDebug("Events could not be read", error).pipe(
              Effect.andThen(Effect.sleep(Duration.millis(followRetryMillis))),
              Effect.as(undefined)
            )
          )
          if (rows === undefined) return [idle, Option.some(position)] as const
          const last = rows.at(-1)
          if (last === undefined) {
            const woken = yield* waiter.wait(idleMillis)
            return [woken ? [] : idle, Option.some(position)] as const
          }
          const wanted = rows
            .filter((row) => sees(options, row) && matchesAny(patterns, row))
            .map(({ body, eventId, type }): Followed => ({ _tag: "Event", eventId, type, body }))
          // A long stretch without a wanted event must not look like silence.
          return [wanted.length === 0 ? idle : wanted, Option.some<EventPosition>(last)] as const
        })
        return Stream.paginate(after, step)
      })
    )
  }

const makeRates = (sql: SqlClient.SqlClient): EventLog["Service"]["rates"] =>
  Effect.fn("EventLog.rates")(function* ({ mode, organizationId }) {
    const now = yield* Clock.currentTimeMillis
    return yield* sql<EventRate>`
      select created_at / 60000 * 60000 as minute, type, count(*)::int8 as count from (
        select created_at, type from events
        where organization_id = ${organizationId} and created_at > ${now - ratesMillis} and (${mode === "live"} or not livemode)
        order by created_at desc, sequence desc, idx desc limit ${maximumRated}) newest
      group by 1, 2 order by 1, 2`
  })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* PageCursors
  const wakeups = yield* EventWakeups
  const kept = yield* KeptTimes
  const find = makeFind(sql, kept)
  return EventLog.of({
    list: makeEventList(sql, cursors, kept),
    get: Effect.fn("EventLog.get")((reader, eventId) => Effect.map(find(reader, eventId), (row) => row?.body)),
    positionOf: Effect.fn("EventLog.positionOf")(find),
    rates: makeRates(sql),
    end: Effect.fn("EventLog.end")((organizationId) =>
      Effect.map(
        sql<EventPosition>`
          select created_at as "createdAt", sequence, idx as "index" from events
          where organization_id = ${organizationId}
          order by created_at desc, sequence desc, idx desc limit 1`,
        ([row]): EventPosition => row ?? { createdAt: 0, sequence: 0, index: 0 }
      )
    ),
    follow: makeFollow(sql, wakeups)
  })
})
