/**
 * Turns a batch of the log into deliveries: events are matched with endpoints in their state at that place in the log
 * (docs/platform.md, 6.4), and become deliveries, skipped events, and deliveries that the dispatcher of this process
 * can begin immediately. The SQL reactor writes the result into PostgreSQL (`projection.ts`), `Webhooks.ts` into
 * memory. No I/O, no clock.
 */
import type { EventRecord, FactRecord } from "../../engine/records.ts"
import {
  type Event,
  encodeEvent,
  eventRetentionMillis,
  type Matchable,
  readEvent,
  testEventsKind
} from "../../events/index.ts"
import type { NewJob } from "../../postgres/WorkQueue.ts"
import {
  type DeliveryOrigin,
  dispositionOf,
  type Endpoint,
  type EndpointFact,
  type FoldedEndpoint,
  type Reach,
  secretIdsOf,
  statusOf,
  testEventOf
} from "../endpoint/model.ts"
import { WebhookEndpoint } from "../endpoint/rules.ts"
import type { DispatchListener } from "./DispatchFeed.ts"
import { deliveryIdOf, encodePayload, jobLanes } from "./model.ts"
import type { TakenDelivery } from "./ports.ts"

/** An event of the log with its place. */
export interface PlacedEvent {
  readonly organizationId: string
  readonly sequence: number
  readonly index: number
  readonly event: Event
  readonly body: string
}

/** A place in the log. */
export interface MatchPlace {
  readonly partition: number
  readonly sequence: number
  readonly index: number
  readonly organization: string
}

/** The parts of an event that matching needs. */
export interface MatchedEvent extends Matchable {
  readonly eventId: string
  readonly data: unknown
  readonly livemode: boolean
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number
}

/** A row of the deliveries. */
export interface DeliveryRow {
  readonly id: string
  readonly organization_id: string
  readonly endpoint_id: string
  readonly event_id: string
  readonly event_type: string
  readonly event_created_at: number
  readonly origin: DeliveryOrigin
}

/** A row of the skipped events. */
export interface SkippedRow {
  readonly organization_id: string
  readonly endpoint_id: string
  readonly event_id: string
  readonly event_type: string
  readonly event_created_at: number
  readonly sequence: number
  readonly idx: number
  readonly reason: string
}

/** The secrets that the endpoint no longer names after a fact. */
const forgottenSecrets = (before: Endpoint | null, after: Endpoint | null): ReadonlyArray<string> => {
  if (before === null) return []
  const kept = after === null ? [] : secretIdsOf(after)
  return secretIdsOf(before).filter((id) => !kept.includes(id))
}

/** Free capacity for deliveries from memory. */
interface RoomLeft {
  deliveries: number
  characters: number
}

const noRoom = { deliveries: 0, characters: 0 }

/** The result of a batch, collected in the order of the log. */
export class MatchedBatch {
  private readonly byOrganization = new Map<string, Map<string, FoldedEndpoint>>()
  readonly changed = new Map<string, FoldedEndpoint>()
  private readonly receiving = new Set<FoldedEndpoint>()
  readonly forgotten: Array<string> = []
  readonly tests: Array<PlacedEvent> = []
  deliveries: Array<DeliveryRow> = []
  skipped: Array<SkippedRow> = []
  jobs: Array<NewJob> = []
  /** Bodies of the delivered events, by event id. */
  readonly bodies = new Map<string, string>()
  readonly taken: Array<TakenDelivery> = []
  readonly queued = new Map<string, { readonly partition: number }>()
  private readonly leasedUntil: number
  private readonly roomOf: (endpointId: string) => number
  private readonly rooms = new Map<string, number>()
  /** The dispatcher's free capacity, in all and by organization. */
  private readonly left: RoomLeft
  private readonly leftOf = new Map<string, RoomLeft>()
  private readonly roomFor: (organizationId: string) => RoomLeft

  /**
   * `listener` accepts deliveries from memory while it has room; `now` is the time of the batch, milliseconds since the
   * Unix epoch.
   */
  constructor(endpoints: ReadonlyArray<FoldedEndpoint>, listener: DispatchListener | undefined, now: number) {
    for (const folded of endpoints) this.of(folded.organizationId).set(folded.endpointId, folded)
    this.left = { ...(listener?.room() ?? noRoom) }
    this.roomFor = (organizationId) => ({ ...(listener?.roomFor(organizationId) ?? noRoom) })
    this.roomOf = (endpointId) => listener?.roomOf(endpointId) ?? 0
    this.leasedUntil = now + (listener?.leaseMillis ?? 0)
  }

  private of(organization: string): Map<string, FoldedEndpoint> {
    const endpoints = this.byOrganization.get(organization) ?? new Map<string, FoldedEndpoint>()
    this.byOrganization.set(organization, endpoints)
    return endpoints
  }

  /** The current endpoints of an organization, without deleted ones. */
  endpointsOf(organization: string): ReadonlyArray<FoldedEndpoint> {
    return [...(this.byOrganization.get(organization)?.values() ?? [])]
  }

  /** Folds a fact of an endpoint; a requested test adds its event. */
  fold(record: FactRecord): void {
    const endpoints = this.of(record.organization)
    const before = endpoints.get(record.key)?.endpoint ?? null
    // The actor's own schema has decoded it before.
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
    this.match(record, event, body, [folded], "mode")
  }

  /** Matches a public event. It is not even decoded if no endpoint could receive it. */
  event(record: EventRecord): void {
    const endpoints = this.byOrganization.get(record.organization)
    if (endpoints === undefined || endpoints.size === 0) return
    const { body, event } = readEvent(record)
    if (record.kind !== testEventsKind) this.match(record, event, body, endpoints.values(), "mode")
    else if (record.key === "") this.match(record, event, body, endpoints.values(), "both modes")
    else {
      const chosen = endpoints.get(record.key)
      if (chosen !== undefined) this.match(record, event, body, [chosen], "chosen")
    }
  }

  /** Matches an event from outside the platform's catalogue, whose endpoints have no mode. */
  own(place: MatchPlace, event: MatchedEvent, body: string): void {
    this.match(place, event, body, this.of(place.organization).values(), "both modes")
  }

  private match(
    record: MatchPlace,
    event: MatchedEvent,
    body: string,
    endpoints: Iterable<FoldedEndpoint>,
    reach: Reach
  ): void {
    for (const folded of endpoints) {
      const { endpoint, endpointId } = folded
      if (endpoint === null) continue
      const disposition = dispositionOf(endpointId, endpoint, event, reach)
      if (disposition === "delivered") {
        this.receiving.add(folded)
        this.deliver(record, event, body, endpointId)
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

  private deliver(
    { organization, partition }: MatchPlace,
    event: MatchedEvent,
    body: string,
    endpointId: string
  ): void {
    const { createdAt, eventId, type } = event
    const id = deliveryIdOf(eventId, endpointId)
    this.bodies.set(eventId, body)
    const origin: DeliveryOrigin = type === "platform.test" ? "test" : "event"
    const lane = origin === "test" ? jobLanes.asked : jobLanes.first
    this.deliveries.push({
      id,
      organization_id: organization,
      endpoint_id: endpointId,
      event_id: eventId,
      event_type: type,
      event_created_at: createdAt,
      origin
    })
    const isTaken = this.hasRoom(organization, endpointId, body.length)
    this.jobs.push({
      id,
      partition,
      group: endpointId,
      lane,
      dueAt: createdAt,
      expiresAt: createdAt + eventRetentionMillis,
      payload: encodePayload({ organizationId: organization, eventId, eventCreatedAt: createdAt, origin }),
      leasedUntil: isTaken ? this.leasedUntil : undefined
    })
    if (isTaken)
      this.taken.push({
        id,
        partition,
        organizationId: organization,
        endpointId,
        lane,
        attempt: 1,
        leasedUntil: this.leasedUntil,
        origin,
        eventId,
        eventCreatedAt: createdAt,
        body
      })
    else this.queued.set(endpointId, { partition })
  }

  private hasRoom(organization: string, endpointId: string, characters: number): boolean {
    const room = this.rooms.get(endpointId) ?? this.roomOf(endpointId)
    const own = this.leftOf.get(organization) ?? this.roomFor(organization)
    this.leftOf.set(organization, own)
    const lefts = [this.left, own]
    if (room <= 0 || lefts.some((left) => left.deliveries <= 0 || left.characters < characters)) return false
    this.rooms.set(endpointId, room - 1)
    for (const left of lefts) {
      left.deliveries--
      left.characters -= characters
    }
    return true
  }

  /** Endpoints that have changed or receive something, in their state at the end of the batch. */
  get endpoints(): ReadonlyArray<FoldedEndpoint> {
    return [...[...this.receiving].filter(({ endpointId }) => !this.changed.has(endpointId)), ...this.changed.values()]
  }

  get rows(): number {
    return this.deliveries.length + this.skipped.length
  }
}
