/**
 * Defines an event as it is recorded, listed and delivered (docs/platform.md, 5.1). It is part of the decision that
 * caused it: the engine stores type, service, data and mode, the frame gives id and time. Pure, needs no service.
 */
import { Schema } from "effect"
import type { EventRecord } from "../engine/records.ts"

/** The services that events originate from (docs/platform.md, 5.1). */
export const eventServices = ["send", "telco", "talk", "voip", "transcribe", "platform"] as const
export type EventService = (typeof eventServices)[number]

/**
 * The kind of the actor that emits an operator's test events: they go to endpoints of both modes, or to the one that is
 * the actor's key.
 */
export const testEventsKind = "test-events"

/** The prefix of `eventId`; a UUID follows. */
export const eventIdPrefix = "evt_"

/** How long events are kept in the event log, and how far back a replay reaches (docs/platform.md, 5.4). */
export const eventRetentionMillis = 30 * 24 * 60 * 60 * 1000

/** The longest event type and the longest pattern, in characters. */
export const maximumTypeLength = 128

const typeExpression = /^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+$/

/** Whether a text can be an event type: two or more segments of lower-case letters, digits and `_`, joined by dots. */
export const isEventType = (text: string): boolean => text.length <= maximumTypeLength && typeExpression.test(text)

export const EventId = Schema.String.check(
  Schema.isPattern(/^evt_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
).annotate({ description: "evt_ followed by a UUID", examples: ["evt_00000000-0000-8000-8000-000000000000"] })

/** A public event, as it is recorded and delivered (docs/platform.md, 5.1). See {@link encodeEvent}. */
export const Event = Schema.Struct({
  eventId: EventId,
  type: Schema.String.check(Schema.isPattern(typeExpression), Schema.isMaxLength(maximumTypeLength)).annotate({
    description: "Dotted event type",
    examples: ["telco.lookup.completed"]
  }),
  service: Schema.Literals(eventServices).annotate({ description: "Originating service" }),
  data: Schema.JsonObject.annotate({ description: "Payload, by type: see the catalogue" }),
  livemode: Schema.Boolean.annotate({ description: "False for test events" }),
  createdAt: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
    description: "Milliseconds since the Unix epoch"
  })
}).annotate({ identifier: "Event" })
export type Event = typeof Event.Type

/** Fields of `data` that name the object of an event; the first that it has counts. */
const objectFields = ["messageId", "endpoint_id", "id", "sender", "tn"] as const

/** Names of objects: one line of at most 320 characters, which PostgreSQL can store. */
export const objectExpression = /^[^\p{Cc}\p{Cs}]{1,320}$/u

/** The email, endpoint, subscription, invoice, sender or number that an event is about; null for an event about none. */
export const objectOf = ({ data }: Pick<Event, "data">): string | null => {
  const object = objectFields.map((name) => data[name]).find((value) => typeof value === "string")
  return typeof object === "string" && objectExpression.test(object) ? object : null
}

const decode = Schema.decodeUnknownSync(Event)

/**
 * The event of a record of the log. Throws a `SchemaError` on a record that no rule of the catalogue can have emitted.
 */
export const eventOf = (record: Pick<EventRecord, "id" | "now" | "event">): Event =>
  decode({ ...record.event, eventId: `${eventIdPrefix}${record.id}`, createdAt: record.now })

/**
 * The JSON text of an event, with its fields in the order of docs/platform.md, 5.1, so that the event log and every
 * delivery show the same bytes.
 *
 * @example
 * ```ts
 * import { createHash } from "node:crypto"
 * import { encodeEvent, type Event } from "sluice/webhook"
 *
 * // The same bytes for the same event, on every node.
 * export const fingerprint = (event: Event) => createHash("sha256").update(encodeEvent(event)).digest("hex")
 * ```
 */
export const encodeEvent = (event: Event): string =>
  JSON.stringify({
    eventId: event.eventId,
    type: event.type,
    service: event.service,
    data: event.data,
    livemode: event.livemode,
    createdAt: event.createdAt
  })

/** An event of the log with its text. */
export interface ReadEvent {
  readonly event: Event
  /** `encodeEvent(event)`. */
  readonly body: string
}

const read = new WeakMap<object, ReadEvent>()

/**
 * The event of a record with its text. It is made once, however many parts of a reactor ask for it. Throws like
 * `eventOf`.
 */
export const readEvent = (record: Pick<EventRecord, "id" | "now" | "event">): ReadEvent => {
  const known = read.get(record)
  if (known !== undefined) return known
  const event = eventOf(record)
  const made = { event, body: encodeEvent(event) }
  read.set(record, made)
  return made
}
