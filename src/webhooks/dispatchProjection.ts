/**
 * Matches events to endpoints as they were at that place in the log, as part of the SQL reactor's batch (decisions, "Events and webhooks"):
 * folds the facts of endpoints into their rows, writes deliveries, skipped events and jobs, and hands over to the dispatcher what it can
 * begin with at once. The same records give the same rows, so that a second run changes nothing. Needs `SqlClient`, `DayPartitions`,
 * `DispatchFeed`, `SigningSecrets` and `EventAppend`.
 */
import { Clock, Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ReactorTransaction } from "../engine/Cursors.ts"
import type { EventRecord, FactRecord, LogRecord } from "../engine/records.ts"
import { type Event, encodeEvent, eventOf, eventRetentionMillis } from "../events/event.ts"
import { unnest } from "../postgres/compiler.ts"
import { DayPartitions } from "../postgres/dayPartitions.ts"
import { make as makeWorkQueue, maximumBatch, type NewJob } from "../postgres/WorkQueue.ts"
import { type CommittedDeliveries, DispatchFeed } from "./DispatchFeed.ts"
import { deliveriesTable, deliveryIdOf, encodePayload, jobsTable, lanes, skippedTable } from "./deliveryModel.ts"
import { type FoldedEndpoint, SigningSecrets, type TakenDelivery } from "./dispatchPorts.ts"
import {
  type DeliveryOrigin,
  dispositionOf,
  type Endpoint,
  type EndpointFact,
  statusOf,
  testEventOf
} from "./endpointModel.ts"
import { endpointsOf, saveEndpoints } from "./endpointRows.ts"
import { WebhookEndpoint } from "./endpointRules.ts"

/** Rows in one statement at most. */
const maximumRows = Math.min(4_000, maximumBatch)

/** An event of the log with its place. */
export interface PlacedEvent {
  readonly organizationId: string
  readonly sequence: number
  readonly index: number
  readonly event: Event
  readonly body: string
}

/** Writes events into the event log, with the caller's transaction: those of test requests, which are facts of endpoints. */
export class EventAppend extends Context.Service<
  EventAppend,
  { readonly append: (events: ReadonlyArray<PlacedEvent>) => Effect.Effect<void, unknown> }
>()("sluice/webhooks/EventAppend") {}

const isEndpointFact = (record: LogRecord): record is FactRecord =>
  record._tag === "Fact" && record.kind === WebhookEndpoint.kind

const isOurs = (record: LogRecord): record is FactRecord | EventRecord =>
  record._tag === "Event" || isEndpointFact(record)

interface DeliveryRow {
  readonly id: string
  readonly organization_id: string
  readonly endpoint_id: string
  readonly event_id: string
  readonly event_type: string
  readonly event_created_at: number
  readonly origin: DeliveryOrigin
}

interface SkippedRow {
  readonly organization_id: string
  readonly endpoint_id: string
  readonly event_id: string
  readonly event_type: string
  readonly event_created_at: number
  readonly sequence: number
  readonly idx: number
  readonly reason: string
}

/** Secrets that no endpoint names any more after a fact. */
const forgottenSecrets = (before: Endpoint | null, after: Endpoint | null): ReadonlyArray<string> => {
  if (before === null) return []
  const kept = [after?.secretId, after?.previousSecret?.secretId]
  return [before.secretId, before.previousSecret?.secretId].filter(
    (id): id is string => id !== undefined && !kept.includes(id)
  )
}

/** What a batch comes to, collected in the order of the log. */
class Batch {
  readonly #endpoints = new Map<string, Map<string, FoldedEndpoint>>()
  readonly changed = new Map<string, FoldedEndpoint>()
  readonly #receiving = new Set<FoldedEndpoint>()
  readonly forgotten: Array<string> = []
  readonly tests: Array<PlacedEvent> = []
  deliveries: Array<DeliveryRow> = []
  skipped: Array<SkippedRow> = []
  jobs: Array<NewJob> = []
  readonly taken: Array<TakenDelivery> = []
  readonly queued = new Map<string, { readonly partition: number }>()
  readonly #takenUntil: number
  readonly #roomOf: (endpointId: string) => number
  readonly #rooms = new Map<string, number>()
  #deliveriesLeft: number
  #charactersLeft: number

  constructor(endpoints: ReadonlyArray<FoldedEndpoint>, feed: DispatchFeed["Service"], now: number) {
    for (const folded of endpoints) this.#of(folded.organizationId).set(folded.endpointId, folded)
    const listener = feed.listener()
    const room = listener?.room() ?? { deliveries: 0, characters: 0 }
    this.#deliveriesLeft = room.deliveries
    this.#charactersLeft = room.characters
    this.#roomOf = (endpointId) => listener?.roomOf(endpointId) ?? 0
    this.#takenUntil = now + (listener?.leaseMillis ?? 0)
  }

  #of(organization: string): Map<string, FoldedEndpoint> {
    const endpoints = this.#endpoints.get(organization) ?? new Map<string, FoldedEndpoint>()
    this.#endpoints.set(organization, endpoints)
    return endpoints
  }

  /** A fact of an endpoint, and where it asks for a test, its event. */
  fold(record: FactRecord): void {
    const endpoints = this.#of(record.organization)
    const before = endpoints.get(record.key)?.endpoint ?? null
    // decoded by the actor's own schema before it came here
    const fact = record.fact as EndpointFact
    const endpoint = WebhookEndpoint.options.evolve(before, fact)
    this.forgotten.push(...forgottenSecrets(before, endpoint))
    const folded: FoldedEndpoint = {
      endpointId: record.key,
      organizationId: record.organization,
      partition: record.partition,
      sequence: record.sequence,
      endpoint
    }
    if (endpoint === null) endpoints.delete(record.key)
    else endpoints.set(record.key, folded)
    this.changed.set(record.key, folded)
    if (fact._tag !== "TestRequested" || endpoint === null) return
    const event = testEventOf(record.key, fact, record.now)
    const body = encodeEvent(event)
    this.tests.push({
      organizationId: record.organization,
      sequence: record.sequence,
      index: record.index,
      event,
      body
    })
    this.#match(record, event, body, [folded])
  }

  /** A public event. One that nobody could receive is not even decoded. */
  event(record: EventRecord): void {
    const endpoints = this.#endpoints.get(record.organization)
    if (endpoints === undefined || endpoints.size === 0) return
    const event = eventOf(record)
    this.#match(record, event, encodeEvent(event), endpoints.values())
  }

  #match(record: LogRecord, event: Event, body: string, endpoints: Iterable<FoldedEndpoint>): void {
    for (const folded of endpoints) {
      const { endpoint, endpointId } = folded
      if (endpoint === null) continue
      const disposition = dispositionOf(endpointId, endpoint, event)
      if (disposition === "delivered") {
        this.#receiving.add(folded)
        this.#deliver(record, event, body, endpointId)
      } else if (disposition === "skipped")
        this.skipped.push({
          organization_id: record.organization,
          endpoint_id: endpointId,
          event_id: event.eventId,
          event_type: event.type,
          event_created_at: event.createdAt,
          sequence: record.sequence,
          idx: record.index,
          reason: statusOf(endpoint)
        })
    }
  }

  #deliver({ organization, partition }: LogRecord, event: Event, body: string, endpointId: string): void {
    const { createdAt, eventId, type } = event
    const id = deliveryIdOf(eventId, endpointId)
    const origin: DeliveryOrigin = type === "platform.test" ? "test" : "event"
    const lane = origin === "test" ? lanes.asked : lanes.first
    this.deliveries.push({
      id,
      organization_id: organization,
      endpoint_id: endpointId,
      event_id: eventId,
      event_type: type,
      event_created_at: createdAt,
      origin
    })
    const isTaken = this.#hasRoom(endpointId, body.length)
    this.jobs.push({
      id,
      partition,
      group: endpointId,
      lane,
      dueAt: createdAt,
      expiresAt: createdAt + eventRetentionMillis,
      payload: encodePayload({ organizationId: organization, eventId, eventCreatedAt: createdAt, origin }),
      takenUntil: isTaken ? this.#takenUntil : undefined
    })
    if (isTaken)
      this.taken.push({
        id,
        partition,
        organizationId: organization,
        endpointId,
        lane,
        attempt: 1,
        takenUntil: this.#takenUntil,
        origin,
        eventId,
        eventCreatedAt: createdAt,
        body
      })
    else this.queued.set(endpointId, { partition })
  }

  #hasRoom(endpointId: string, characters: number): boolean {
    const left = this.#rooms.get(endpointId) ?? this.#roomOf(endpointId)
    if (left <= 0 || this.#deliveriesLeft <= 0 || this.#charactersLeft < characters) return false
    this.#rooms.set(endpointId, left - 1)
    this.#deliveriesLeft--
    this.#charactersLeft -= characters
    return true
  }

  /** Endpoints that have changed or receive something, as they are at the end of the batch. */
  get endpoints(): ReadonlyArray<FoldedEndpoint> {
    return [...[...this.#receiving].filter(({ endpointId }) => !this.changed.has(endpointId)), ...this.changed.values()]
  }

  get rows(): number {
    return this.deliveries.length + this.skipped.length
  }
}

const chunksOf = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  items.length <= maximumRows
    ? [items]
    : Array.from({ length: Math.ceil(items.length / maximumRows) }, (_, at) =>
        items.slice(at * maximumRows, (at + 1) * maximumRows)
      )

/** Writes the rows that were collected so far. */
const write = Effect.fnUntraced(function* (batch: Batch) {
  const sql = yield* SqlClient.SqlClient
  const days = yield* DayPartitions
  const queue = yield* makeWorkQueue(jobsTable)
  const { deliveries, jobs, skipped } = batch
  batch.deliveries = []
  batch.jobs = []
  batch.skipped = []
  if (deliveries.length > 0) {
    yield* days.ensureDays(
      deliveriesTable,
      deliveries.map((row) => row.event_created_at)
    )
    for (const rows of chunksOf(deliveries))
      yield* sql`
        insert into ${sql(deliveriesTable)} (id, organization_id, endpoint_id, event_id, event_type, event_created_at,
          origin, created_at, status, attempts, attempt_log, next_attempt_at)
        select id, organization_id, endpoint_id, event_id, event_type, event_created_at,
          origin, event_created_at, 'pending', 0, '[]', event_created_at
        from ${unnest(rows, {
          id: "text",
          organization_id: "text",
          endpoint_id: "text",
          event_id: "text",
          event_type: "text",
          event_created_at: "int8",
          origin: "text"
        })}
        on conflict do nothing`
    for (const some of chunksOf(jobs)) yield* queue.put(some)
  }
  if (skipped.length > 0) {
    yield* days.ensureDays(
      skippedTable,
      skipped.map((row) => row.event_created_at)
    )
    for (const rows of chunksOf(skipped))
      yield* sql`
        insert into ${sql(skippedTable)} (organization_id, endpoint_id, event_id, event_type, event_created_at, sequence, idx,
          reason)
        select * from ${unnest(rows, {
          organization_id: "text",
          endpoint_id: "text",
          event_id: "text",
          event_type: "text",
          event_created_at: "int8",
          sequence: "int8",
          idx: "int4",
          reason: "text"
        })}
        on conflict do nothing`
  }
})

const project = Effect.fnUntraced(function* (records: ReadonlyArray<FactRecord | EventRecord>) {
  const feed = yield* DispatchFeed
  const transaction = yield* ReactorTransaction
  const organizations = [...new Set(records.map((record) => record.organization))]
  const endpoints = yield* endpointsOf(organizations, feed.remembered)
  const batch = new Batch(endpoints, feed, yield* Clock.currentTimeMillis)
  for (const record of records) {
    if (record._tag === "Fact") batch.fold(record)
    else batch.event(record)
    if (batch.rows >= maximumRows) yield* write(batch)
  }
  if (batch.tests.length > 0) yield* (yield* EventAppend).append(batch.tests)
  yield* write(batch)
  const changed = [...batch.changed.values()]
  if (changed.length > 0) yield* saveEndpoints(changed)
  if (batch.forgotten.length > 0) yield* (yield* SigningSecrets).forget(batch.forgotten)
  const committed: CommittedDeliveries = { taken: batch.taken, queued: batch.queued, endpoints: batch.endpoints }
  transaction.onCommit(() => {
    for (const folded of changed) feed.remembered.set(folded)
    feed.listener()?.committed(committed)
  })
})

/** The part of the SQL reactor that decides who receives what. Runs behind the one that writes the event log. */
export const dispatchProjection = {
  wants: isOurs,
  handle: (records: ReadonlyArray<LogRecord>) => project(records.filter(isOurs))
}
