/**
 * Turns a batch of the log into deliveries: events are matched with endpoints in their state at that place in the log
 * (docs/platform.md, 6.4), and become deliveries, skipped events, and deliveries that the dispatcher of this process
 * can begin immediately. The SQL reactor writes the result into PostgreSQL (`projection.ts`), `Webhooks.ts` into
 * memory. No I/O, no clock.
 */
import type { EventRecord, FactRecord } from "../../engine/records.ts"
import type { WrittenTask } from "../../engine/tasks/TaskRegister.ts"
import {
  type Event,
  encodeEvent,
  eventRetentionMillis,
  type Matchable,
  readEvent,
  testEventsKind
} from "../../events/index.ts"
import type { NewJob } from "../../postgres/WorkQueue.ts"
import { lineOf } from "../endpoint/deliveryOrder.ts"
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
import { type CountedAttempt, countedAttempt } from "../metrics/countAttempts.ts"
import type { CommittedDeliveries, DispatchListener } from "./DispatchListener.ts"
import { type DeliveryStatus, deliveryIdOf, encodePayload, jobLanes, retryLaneOf } from "./model.ts"
import type { DeliveryOutcome, TakenDelivery } from "./ports.ts"

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
  readonly status: DeliveryStatus
  readonly attempts: number
  /** JSON array of attempts. */
  readonly attempt_log: string
  readonly next_attempt_at: number | null
  readonly settled_at: number | null
}

/** The columns of a delivery's row before its first attempt. */
export const unattempted = (createdAt: number) =>
  ({ status: "pending", attempts: 0, attempt_log: "[]", next_attempt_at: createdAt, settled_at: null }) as const

/** The last attempt of an endpoint in a batch. */
export interface AnsweredRow {
  readonly endpoint_id: string
  readonly ended_at: number
  readonly answered: number
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

/** The endpoints that an event of the log may reach, and how its mode and patterns count. */
export const reachOf = (
  record: EventRecord,
  endpoints: ReadonlyMap<string, FoldedEndpoint>
): { readonly candidates: Iterable<FoldedEndpoint>; readonly reach: Reach } => {
  if (record.kind !== testEventsKind) return { candidates: endpoints.values(), reach: "mode" }
  if (record.key === "") return { candidates: endpoints.values(), reach: "both modes" }
  const chosen = endpoints.get(record.key)
  return { candidates: chosen === undefined ? [] : [chosen], reach: "chosen" }
}

/** An endpoint after a fact of it. */
export const foldEndpoint = (before: FoldedEndpoint | undefined, record: FactRecord): FoldedEndpoint => ({
  endpointId: record.key,
  organizationId: record.organization,
  partition: record.partition,
  sequence: record.sequence,
  // The actor's own schema has decoded it before.
  endpoint: WebhookEndpoint.options.evolve(before?.endpoint ?? null, record.fact as EndpointFact)
})

/** Finds what a transaction writes of a delivery that was offered from its frame; undefined where none was. */
export type WrittenDelivery = WrittenTask<TakenDelivery, DeliveryOutcome>
export type FindWritten = (place: MatchPlace, endpointId: string) => WrittenDelivery | undefined

/** The parts of a delivery's row that its first attempt has decided. */
const endedRow = ({ made, result }: DeliveryOutcome, now: number) =>
  ({
    status: result._tag === "Settled" ? result.status : "pending",
    attempts: made === null ? 0 : 1,
    attempt_log: made === null ? "[]" : JSON.stringify([made]),
    next_attempt_at: result._tag === "Settled" ? null : result.dueAt,
    settled_at: result._tag !== "Settled" ? null : made === null ? now : made.at + made.duration
  }) satisfies Partial<DeliveryRow>

/** The deliveries of an endpoint that wait in the queue: those of lines by their ids. */
interface QueuedDeliveries {
  readonly partition: number
  readonly lines: Array<{ readonly line: string; readonly id: string }>
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
  readonly retries: Array<NonNullable<CommittedDeliveries["retries"]>[number]> = []
  private readonly answered = new Map<string, AnsweredRow>()
  /** The attempts that were made before their rows. */
  readonly attempts: Array<CountedAttempt> = []
  private readonly findWritten: FindWritten
  private readonly now: number
  readonly queued = new Map<string, QueuedDeliveries>()
  private readonly leasedUntil: number
  private readonly roomOf: (endpointId: string) => number
  private readonly rooms = new Map<string, number>()
  /** The dispatcher's free capacity, in all and by organization. */
  private readonly left: RoomLeft
  private readonly leftOf = new Map<string, RoomLeft>()
  private readonly roomFor: (organizationId: string) => RoomLeft
  private readonly holds: (deliveryId: string) => boolean

  /**
   * `listener` accepts deliveries from memory while it has room; `now` is the time of the batch, milliseconds since the
   * Unix epoch. `findWritten` knows the deliveries that were offered before.
   */
  constructor(
    endpoints: ReadonlyArray<FoldedEndpoint>,
    listener: DispatchListener | undefined,
    now: number,
    findWritten: FindWritten = () => undefined
  ) {
    this.now = now
    this.findWritten = findWritten
    for (const folded of endpoints) this.of(folded.organizationId).set(folded.endpointId, folded)
    this.left = { ...(listener?.room() ?? noRoom) }
    this.roomFor = (organizationId) => ({ ...(listener?.roomFor(organizationId) ?? noRoom) })
    this.roomOf = (endpointId) => listener?.roomOf(endpointId) ?? 0
    this.holds = (deliveryId) => listener?.holds(deliveryId) === true
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
    const before = endpoints.get(record.key)
    const folded = foldEndpoint(before, record)
    const { endpoint } = folded
    // The actor's own schema has decoded it before.
    const fact = record.fact as EndpointFact
    this.forgotten.push(...forgottenSecrets(before?.endpoint ?? null, endpoint))
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
    const { candidates, reach } = reachOf(record, endpoints)
    this.match(record, event, body, candidates, reach)
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
        this.deliver(record, event, body, endpointId, lineOf(endpoint.ordering, event.data))
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
    place: MatchPlace,
    event: MatchedEvent,
    body: string,
    endpointId: string,
    lineOfEvent: string | undefined
  ): void {
    const { organization, partition } = place
    const { createdAt, eventId, type } = event
    const written = this.findWritten(place, endpointId)
    const id = written?.task.payload.id ?? deliveryIdOf(eventId, endpointId)
    this.bodies.set(eventId, body)
    const origin: DeliveryOrigin = type === "platform.test" ? "test" : "event"
    // Tests are outside of lines.
    const line = origin === "test" ? undefined : lineOfEvent
    const lane = origin === "test" ? jobLanes.asked : line === undefined ? jobLanes.first : jobLanes.line
    const about = {
      id,
      organization_id: organization,
      endpoint_id: endpointId,
      event_id: eventId,
      event_type: type,
      event_created_at: createdAt,
      origin
    }
    const job = {
      id,
      partition,
      group: endpointId,
      lane,
      dueAt: createdAt,
      expiresAt: createdAt + eventRetentionMillis,
      payload: encodePayload({ organizationId: organization, eventId, eventCreatedAt: createdAt, origin }),
      line: line === undefined ? undefined : { name: line, place: place.sequence, index: place.index }
    }
    if (written?._tag === "Ended") {
      this.deliveries.push({ ...about, ...endedRow(written.outcome, this.now) })
      this.ended(job, written.outcome)
      return
    }
    this.deliveries.push({ ...about, ...unattempted(createdAt) })
    if (written?._tag === "Running") {
      // Its lease begins with its job.
      written.task.payload.leasedUntil = this.leasedUntil
      this.jobs.push({ ...job, leasedUntil: this.leasedUntil })
      return
    }
    // An attempt that an earlier life has begun goes on, so its job is taken. One of a line is repeated in its turn:
    // those before it may have to be repeated too, and only the queue can tell which is the first.
    const isTaken = line === undefined && (this.holds(id) || this.hasRoom(organization, endpointId, body.length))
    this.jobs.push({ ...job, leasedUntil: isTaken ? this.leasedUntil : undefined })
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
    else this.queue(partition, endpointId, line, id)
  }

  /** Notes a delivery that waits in the queue. */
  private queue(partition: number, endpointId: string, line: string | undefined, id: string): void {
    const known = this.queued.get(endpointId) ?? { partition, lines: [] }
    this.queued.set(endpointId, known)
    if (line !== undefined) known.lines.push({ line, id })
  }

  /** Notes a first attempt that was made before its row: the retry, if it needs one, and the endpoint's last attempt. */
  private ended(job: NewJob, outcome: DeliveryOutcome): void {
    const { made, result } = outcome
    const { group: endpointId, partition } = job
    if (result._tag === "Again") {
      // As if it had been taken: the first attempt is over, and the next one is due then.
      const line = job.line?.name
      this.jobs.push({ ...job, lane: retryLaneOf(line), leasedUntil: result.dueAt })
      this.retries.push({ partition, endpointId, dueAt: result.dueAt, line })
    } else if (result._tag === "Returned") {
      this.jobs.push({ ...job, dueAt: result.dueAt })
      this.queue(partition, endpointId, job.line?.name, job.id)
    }
    if (made === null) return
    const counted = countedAttempt(outcome)
    if (counted !== undefined) this.attempts.push(counted)
    const ended_at = made.at + made.duration
    const known = this.answered.get(endpointId)
    if (known === undefined || known.ended_at <= ended_at)
      this.answered.set(endpointId, { endpoint_id: endpointId, ended_at, answered: made.status })
  }

  /** The last attempt of each endpoint that was made before its row, by endpoint. */
  get answers(): ReadonlyArray<AnsweredRow> {
    return [...this.answered.values()].sort((one, other) => (one.endpoint_id < other.endpoint_id ? -1 : 1))
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
