/**
 * Lists and repeats deliveries for the HTTP API (docs/platform.md, 7.7 and 7.8): the deliveries of an endpoint, and the
 * events that it missed while it was Paused or Disabled; it also sends a delivery once more. The reactor and the
 * dispatcher write the rows. Needs `SqlClient`, `Engine` and `PageCursors`.
 */
import { Clock, Context, Data, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Engine } from "../../engine/Engine.ts"
import { EventId, eventRetentionMillis, eventsTable } from "../../events/index.ts"
import { InvalidCursor, PageCursors, pageOf } from "../../http/PageCursors.ts"
import { quote } from "../../http/parameters.ts"
import type { Owner } from "../../platform/model.ts"
import type { Page } from "../../platform/Organizations.ts"
import * as WorkQueue from "../../postgres/WorkQueue.ts"
import type { DeliveryOrigin, EndpointPlace } from "../endpoint/model.ts"
import { DispatcherWakeup } from "./DispatchFeed.ts"
import {
  DeliveryAttempt,
  type DeliveryStatus,
  deliveriesTable,
  deliveryIdOf,
  encodePayload,
  jobLanes,
  jobsTable,
  replaysTable,
  skippedTable
} from "./model.ts"

/**
 * Deliveries that one page of a filtered list scans, so that a rare status of a busy endpoint cannot keep the database
 * busy. An index by status would have to be written with every outcome.
 */
export const maximumScannedDeliveries = 10_000

/** Most replays that are searched for deliveries of an event: the newest ones. */
const maximumReplaysOfEvent = 1_000

/** A delivery with its attempts. Times in milliseconds since the Unix epoch. See {@link Webhooks}. */
export interface Delivery {
  readonly id: string
  readonly endpointId: string
  readonly eventId: string
  readonly eventType: string
  readonly eventCreatedAt: number
  readonly origin: DeliveryOrigin
  /** The replay that made it; null if it was the event. */
  readonly replayId: string | null
  readonly status: DeliveryStatus
  /** How many attempts were made; `attempts` shows the newest of them. */
  readonly attemptCount: number
  readonly attempts: ReadonlyArray<DeliveryAttempt>
  readonly createdAt: number
  /** Null once it is over. */
  readonly nextAttemptAt: number | null
  /** Null while it is pending. */
  readonly settledAt: number | null
}

/** An event that an endpoint subscribes to and missed. */
export interface SkippedEvent {
  readonly eventId: string
  readonly eventType: string
  readonly eventCreatedAt: number
  readonly reason: "paused" | "disabled"
}

/** The endpoint has no such delivery. */
export class DeliveryNotFound extends Data.TaggedError("DeliveryNotFound")<{ readonly deliveryId: string }> {
  override get message(): string {
    return `There is no delivery ${this.deliveryId}`
  }
}

/** The delivery cannot be sent again; the message says why. */
export class DeliveryNotRetryable extends Data.TaggedError("DeliveryNotRetryable")<{
  readonly deliveryId: string
  readonly message: string
}> {}

/** The caller has no such event, or it is older than the event log. */
export class EventNotFound extends Data.TaggedError("EventNotFound")<{ readonly eventId: string }> {
  override get message(): string {
    return `No event has the id ${quote(this.eventId)}.`
  }
}

export interface PageRequest {
  readonly limit: number
  readonly cursor: string | undefined
}

export class Deliveries extends Context.Service<
  Deliveries,
  {
    /**
     * Lists deliveries, newest first. A cursor that was not made for this list, or whose place is no longer kept, is
     * refused. A page with a status may be shorter than its limit, even empty, and still have more behind it: it looks
     * through `maximumScannedDeliveries`. A cursor is good with any status.
     */
    readonly list: (
      place: EndpointPlace,
      page: PageRequest & { readonly status?: DeliveryStatus | undefined }
    ) => Effect.Effect<Page<Delivery>, InvalidCursor | SqlError.SqlError>
    /** Deliveries of an event to these endpoints of the owner, newest first. */
    readonly ofEvent: (
      owner: Owner,
      eventId: string,
      endpointIds: ReadonlyArray<string>,
      page: PageRequest
    ) => Effect.Effect<Page<Delivery>, EventNotFound | InvalidCursor | SqlError.SqlError>
    readonly get: (
      place: EndpointPlace,
      deliveryId: string
    ) => Effect.Effect<Delivery, DeliveryNotFound | SqlError.SqlError>
    /** The event of a delivery, byte for byte as it is sent. */
    readonly bodyOf: (
      organizationId: string,
      eventId: string,
      eventCreatedAt: number
    ) => Effect.Effect<string, EventNotFound | SqlError.SqlError>
    /** Lists skipped events, newest first. */
    readonly skipped: (
      place: EndpointPlace,
      page: PageRequest
    ) => Effect.Effect<Page<SkippedEvent>, InvalidCursor | SqlError.SqlError>
    /**
     * Sends a finished delivery once more: one attempt, which never counts as a failure. `also` runs in the same
     * transaction, with the delivery as it is answered.
     */
    readonly retry: (
      place: EndpointPlace,
      deliveryId: string,
      also?: (delivery: Delivery) => Effect.Effect<void, SqlError.SqlError>
    ) => Effect.Effect<
      Delivery,
      DeliveryNotFound | DeliveryNotRetryable | WorkQueue.WorkQueueUnavailable | SqlError.SqlError
    >
  }
>()("sluice/webhooks/Deliveries") {
  static readonly layer: Layer.Layer<Deliveries, never, SqlClient.SqlClient | Engine | PageCursors> = Layer.effect(
    Deliveries,
    Effect.suspend(() => make)
  )
}

const decodeAttempts = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Array(DeliveryAttempt)))

const fromRow = ({ attemptLog, ...row }: Omit<Delivery, "attempts"> & { readonly attemptLog: string }): Delivery => ({
  ...row,
  attempts: decodeAttempts(attemptLog)
})

const isEventId = Schema.is(EventId)

/** The services of the lists. */
interface Reading {
  readonly sql: SqlClient.SqlClient
  readonly cursors: PageCursors["Service"]
}

type Row = Parameters<typeof fromRow>[0]

const columnsOf = (sql: SqlClient.SqlClient) =>
  sql.literal(
    `id, endpoint_id as "endpointId", event_id as "eventId", event_type as "eventType", event_created_at as "eventCreatedAt", origin, replay_id as "replayId", status, attempts as "attemptCount", attempt_log as "attemptLog", created_at as "createdAt", next_attempt_at as "nextAttemptAt", settled_at as "settledAt"`
  )

/** Restricts rows to those of an endpoint. */
const belongsTo = (sql: SqlClient.SqlClient, { endpointId, organizationId }: EndpointPlace) =>
  sql`endpoint_id = ${endpointId} and organization_id = ${organizationId}`

/** The position where a page begins. Refuses a cursor that is older than the kept rows. */
const positionIn = Effect.fnUntraced(function* (
  cursors: PageCursors["Service"],
  name: string,
  cursor: string | undefined
) {
  const position = Option.getOrUndefined(yield* cursors.decode(name, cursor))
  const now = yield* Clock.currentTimeMillis
  if (position !== undefined && position.atMillis < now - eventRetentionMillis)
    return yield* new InvalidCursor({ cursor: cursor ?? "" })
  return position
})

const makeList = ({ cursors, sql }: Reading): Deliveries["Service"]["list"] =>
  Effect.fn("Deliveries.list")(function* (place, { cursor, limit, status }) {
    const name = `deliveries of ${place.endpointId}`
    const position = yield* positionIn(cursors, name, cursor)
    const cursorOf = ({ createdAt, id }: Pick<Row, "createdAt" | "id">) =>
      cursors.encode(name, { atMillis: createdAt, id })
    const conditions = [belongsTo(sql, place)]
    if (position !== undefined) conditions.push(sql`(created_at, id) < (${position.atMillis}, ${position.id})`)
    const [end] =
      status === undefined
        ? []
        : yield* sql<Pick<Row, "createdAt" | "id">>`
            select created_at as "createdAt", id from ${sql(deliveriesTable)} where ${sql.and(conditions)}
            order by created_at desc, id desc limit 1 offset ${maximumScannedDeliveries - 1}`
    if (end !== undefined) conditions.push(sql`(created_at, id) >= (${end.createdAt}, ${end.id})`)
    if (status !== undefined) conditions.push(sql`status = ${status}`)
    const rows = yield* sql<Row>`
      select ${columnsOf(sql)} from ${sql(deliveriesTable)} where ${sql.and(conditions)}
      order by created_at desc, id desc limit ${limit + 1}`
    const { data, pagination } = pageOf(rows.map(fromRow), limit, cursorOf)
    return {
      data,
      pagination: pagination.hasMore || end === undefined ? pagination : { hasMore: true, nextCursor: cursorOf(end) }
    }
  })

const makeOfEvent = ({ cursors, sql }: Reading): Deliveries["Service"]["ofEvent"] =>
  Effect.fn("Deliveries.ofEvent")(function* ({ livemode, organizationId }, eventId, endpointIds, page) {
    const keptSince = (yield* Clock.currentTimeMillis) - eventRetentionMillis
    // Ids of another form do not exist, and may hold characters that PostgreSQL cannot store.
    const [event] = isEventId(eventId)
      ? yield* sql<{ readonly createdAt: number }>`
          select created_at as "createdAt" from ${sql(eventsTable)}
          where event_id = ${eventId} and organization_id = ${organizationId} and created_at >= ${keptSince}
            and (${livemode} or not livemode)`
      : []
    if (event === undefined) return yield* new EventNotFound({ eventId })
    const eventCreatedAt = event.createdAt
    const name = `deliveries of ${eventId}`
    const position = yield* positionIn(cursors, name, page.cursor)
    // Looked up by the ids that they can have: an index by event would be one more for every delivery.
    const replays = yield* sql<{ readonly id: string; readonly endpointId: string }>`
      select id, endpoint_id as "endpointId" from ${sql(replaysTable)}
      where endpoint_id = any(${[...endpointIds]}::text[]) and since_at <= ${eventCreatedAt} and until_at > ${eventCreatedAt}
      order by created_at desc limit ${maximumReplaysOfEvent}`
    const ids = [
      ...endpointIds.map((endpointId) => deliveryIdOf(eventId, endpointId)),
      ...replays.map(({ endpointId, id }) => deliveryIdOf(eventId, endpointId, id))
    ]
    const behind = position === undefined ? sql`true` : sql`(created_at, id) < (${position.atMillis}, ${position.id})`
    const rows = yield* sql<Row>`
      select ${columnsOf(sql)} from ${sql(deliveriesTable)}
      where id = any(${ids}::text[]) and event_created_at = ${eventCreatedAt} and organization_id = ${organizationId} and ${behind}
      order by created_at desc, id desc limit ${page.limit + 1}`
    return pageOf(rows.map(fromRow), page.limit, ({ createdAt, id }) =>
      cursors.encode(name, { atMillis: createdAt, id })
    )
  })

const makeGet = (sql: SqlClient.SqlClient): Deliveries["Service"]["get"] =>
  Effect.fn("Deliveries.get")(function* (place, deliveryId) {
    const [row] = yield* sql<Row>`
      select ${columnsOf(sql)} from ${sql(deliveriesTable)} where id = ${deliveryId} and ${belongsTo(sql, place)}`
    return row === undefined ? yield* new DeliveryNotFound({ deliveryId }) : fromRow(row)
  })

const makeSkipped = ({ cursors, sql }: Reading): Deliveries["Service"]["skipped"] =>
  Effect.fn("Deliveries.skipped")(function* (place, { cursor, limit }) {
    const name = `skipped of ${place.endpointId}`
    const position = yield* positionIn(cursors, name, cursor)
    const [sequence, index] = (position?.id ?? "").split(".")
    const behind =
      position === undefined
        ? sql`true`
        : sql`(event_created_at, sequence, idx) < (${position.atMillis}, ${Number(sequence)}, ${Number(index)}::int4)`
    const rows = yield* sql<SkippedEvent & { readonly sequence: number; readonly index: number }>`
      select event_id as "eventId", event_type as "eventType", event_created_at as "eventCreatedAt", reason, sequence,
        idx as "index"
      from ${sql(skippedTable)} where ${belongsTo(sql, place)} and ${behind}
      order by event_created_at desc, sequence desc, idx desc limit ${limit + 1}`
    const page = pageOf(rows, limit, (last) =>
      cursors.encode(name, { atMillis: last.eventCreatedAt, id: `${last.sequence}.${last.index}` })
    )
    return { ...page, data: page.data.map(({ index: _index, sequence: _sequence, ...event }) => event) }
  })

/** The services of a repeated delivery. */
interface Retrying {
  readonly sql: SqlClient.SqlClient
  readonly engine: Engine["Service"]
  readonly jobs: WorkQueue.WorkQueue
  readonly get: Deliveries["Service"]["get"]
}

/** Makes a finished delivery pending again, with a job for one attempt. */
const makeRetryRow = ({ engine, get, jobs, sql }: Retrying) =>
  Effect.fnUntraced(function* (
    place: EndpointPlace,
    deliveryId: string,
    also: (delivery: Delivery) => Effect.Effect<void, SqlError.SqlError>
  ) {
    const now = yield* Clock.currentTimeMillis
    const [row] = yield* sql<Row>`
      update ${sql(deliveriesTable)} set status = 'pending', origin = 'retry', next_attempt_at = ${now}::int8, settled_at = null
      where id = ${deliveryId} and ${belongsTo(sql, place)} and status <> 'pending' and event_created_at > ${now - eventRetentionMillis}
      returning ${columnsOf(sql)}`
    if (row === undefined) {
      const found = yield* get(place, deliveryId)
      const message =
        found.status === "pending"
          ? `The delivery ${deliveryId} is still pending`
          : `The event of the delivery ${deliveryId} is older than 30 days`
      return yield* new DeliveryNotRetryable({ deliveryId, message })
    }
    const delivery = fromRow(row)
    yield* jobs.put([
      {
        id: deliveryId,
        partition: engine.partitionOf(place.organizationId),
        group: place.endpointId,
        lane: jobLanes.asked,
        dueAt: now,
        expiresAt: delivery.eventCreatedAt + eventRetentionMillis,
        payload: encodePayload({
          organizationId: place.organizationId,
          eventId: delivery.eventId,
          eventCreatedAt: delivery.eventCreatedAt,
          origin: "retry"
        })
      }
    ])
    yield* also(delivery)
    return delivery
  }, sql.withTransaction)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const engine = yield* Engine
  const reading = { sql, cursors: yield* PageCursors }
  const jobs = yield* WorkQueue.make(jobsTable)
  const { wake } = yield* DispatcherWakeup
  const get = makeGet(sql)
  const retryRow = makeRetryRow({ sql, engine, jobs, get })
  return Deliveries.of({
    list: makeList(reading),
    ofEvent: makeOfEvent(reading),
    get,
    bodyOf: Effect.fn("Deliveries.bodyOf")(function* (organizationId, eventId, eventCreatedAt) {
      const [row] = yield* sql<{ readonly body: string }>`
        select body from ${sql(eventsTable)}
        where event_id = ${eventId} and organization_id = ${organizationId} and created_at = ${eventCreatedAt}::int8`
      return row === undefined ? yield* new EventNotFound({ eventId }) : row.body
    }),
    skipped: makeSkipped(reading),
    retry: Effect.fn("Deliveries.retry")((place, deliveryId, also = () => Effect.void) =>
      Effect.tap(retryRow(place, deliveryId, also), () =>
        wake(engine.partitionOf(place.organizationId), place.endpointId)
      )
    )
  })
})
