/**
 * Publishes facts and events to streams of the program's own in JetStream (docs/streams.md, "Streams out"): a reactor
 * that stores its records there before its cursor moves over them.
 */
import { Effect, Metric } from "effect"
import type { Actor } from "./Actor.ts"
import {
  ProgramStreams,
  type PublishedMessage,
  PublishRefused,
  type StreamUnavailable
} from "./ports/ProgramStreams.ts"
import { events as eventsPart, type FactOf, facts as factsPart, onCommit, type Pace, type Reactor } from "./Reactor.ts"
import type { EventRecord, LogRecord } from "./records.ts"

/** The records that are published. Made by `Publish.facts` and `Publish.events`. See {@link Publish.jetStream}. */
export interface PublishSource<out Record extends LogRecord> {
  readonly wants: (record: LogRecord) => boolean
  /** Only its type is used. */
  readonly record?: Record
}

/** The content of a record's message. See {@link Publish.jetStream}. */
export interface PublishedContent {
  readonly data: Uint8Array | string
  readonly headers?: Readonly<Record<string, string>>
}

/** The definition of a publisher. See {@link Publish.jetStream}. */
export interface PublishOptions<Source extends LogRecord> {
  /** Unique in the engine, stored with the cursors and part of the messages' ids: never rename it. */
  readonly name: string
  readonly from: PublishSource<Source>
  /** A subject, or the one of each record. Pure. */
  readonly subject: string | ((record: NoInfer<Source>) => string)
  /** The content of a record's message; by default the fact, or the event's data, as JSON. Pure. */
  readonly encode?: (record: NoInfer<Source>) => Uint8Array | string | PublishedContent
  /** The stream that must store the messages, so that a wrong subject cannot reach another one. */
  readonly stream?: string
  readonly pace?: Pace
}

/** Organizations of a batch that are published side by side; each one's records go one after the other. */
const concurrentOrganizations = 64

/**
 * The facts of an actor, typed.
 *
 * @example
 * ```ts
 * import { type Actor, Publish } from "sluice"
 *
 * export const sold = (Shop: Actor.Actor<unknown, { readonly cents: number }, number, void, never>) =>
 *   Publish.jetStream({ name: "sold", from: Publish.facts(Shop), subject: ({ organization }) => `sold.${organization}` })
 * ```
 */
export const facts = <Command, Fact, State, Reply, Rejection>(
  actor: Actor<Command, Fact, State, Reply, Rejection>
): PublishSource<FactOf<Fact>> => ({ wants: wantsOf(factsPart(actor, () => Effect.void)) })

/**
 * Public events of some types: `orders.created`, or `orders.*` for every type below `orders`.
 *
 * @example
 * ```ts
 * import { Publish } from "sluice"
 *
 * export const orders = Publish.jetStream({ name: "orders-out", from: Publish.events(["orders.*"]), subject: "orders" })
 * ```
 */
export const events = (types: ReadonlyArray<string>): PublishSource<EventRecord> => ({
  wants: wantsOf(eventsPart(types, () => Effect.void))
})

/** A part of `facts` and `events` always has its filter. */
const wantsOf = ({ wants }: { readonly wants?: (record: LogRecord) => boolean }) => wants!

/**
 * Defines a publisher, for `reactors` of the engine: each record is stored by a stream before the cursor moves over it,
 * in the order of the log within an organization. Its `Nats-Msg-Id` is made of the record's place, so that what is sent
 * again after a crash is stored once within the stream's duplicate window.
 *
 * @example
 * ```ts
 * import { type Actor, Publish } from "sluice"
 *
 * export const sold = (Shop: Actor.Actor<unknown, { readonly cents: number }, number, void, never>) =>
 *   Publish.jetStream({
 *     name: "sold",
 *     from: Publish.facts(Shop),
 *     stream: "SOLD",
 *     subject: ({ organization }) => `sold.${organization}`,
 *     encode: ({ fact, now }) => JSON.stringify({ cents: fact.cents, at: now })
 *   })
 * ```
 */
export const jetStream = <Source extends LogRecord>(options: PublishOptions<Source>): Reactor<ProgramStreams> => {
  /** By the streams of an engine: several engines of a process may share a definition. */
  const known = new WeakMap<ProgramStreams["Service"], Acknowledged>()
  const publisherOf = (streams: ProgramStreams["Service"]) => {
    const acknowledged = known.get(streams) ?? new Acknowledged()
    known.set(streams, acknowledged)
    return new Publisher(options, streams, acknowledged)
  }
  const publish = (records: ReadonlyArray<LogRecord>, isAhead: boolean) =>
    Effect.flatMap(ProgramStreams, (streams) => publisherOf(streams).publish(records, isAhead))
  // A rebuilt publisher publishes them again.
  const forget = (records: ReadonlyArray<LogRecord>) =>
    Effect.flatMap(ProgramStreams, (streams) => onCommit(() => publisherOf(streams).forget(records)))
  return {
    name: options.name,
    wants: options.from.wants,
    ...(options.pace === undefined ? {} : { pace: options.pace }),
    ahead: (records) => publish(records, true),
    // Some were not published ahead: those tried again behind a parked one, or one by one.
    handle: (records) => Effect.andThen(publish(records, false), forget(records))
  }
}

/**
 * Ids that a stream has acknowledged and over which no cursor has moved yet, with their frames, by partition: of one
 * batch at most.
 */
class Acknowledged {
  private readonly ids = new Map<number, Map<string, number>>()

  /** Keeps of a partition those from a frame on. The next batch may be shorter than the one that failed. */
  keep(partition: number, from: number): void {
    const known = this.ids.get(partition)
    for (const [id, sequence] of known ?? []) if (sequence < from) known?.delete(id)
  }

  has(partition: number, id: string): boolean {
    return this.ids.get(partition)?.has(id) === true
  }

  delete(partition: number, id: string): void {
    this.ids.get(partition)?.delete(id)
  }

  add(partition: number, id: string, sequence: number): void {
    const known = this.ids.get(partition)
    if (known === undefined) this.ids.set(partition, new Map([[id, sequence]]))
    else known.set(id, sequence)
  }
}

const isSubject = (subject: unknown): boolean =>
  typeof subject === "string" && subject.length <= 1_024 && /^[!-)+-\-/-=?-~]+(\.[!-)+-\-/-=?-~]+)*$/.test(subject)

class Publisher<Source extends LogRecord> {
  private readonly options: PublishOptions<Source>
  private readonly streams: ProgramStreams["Service"]
  private readonly acknowledged: Acknowledged

  constructor(options: PublishOptions<Source>, streams: ProgramStreams["Service"], acknowledged: Acknowledged) {
    this.options = options
    this.streams = streams
    this.acknowledged = acknowledged
  }

  /** The id of a record's message: its place in the log, and the frame's time, should a log have lost frames. */
  private idOf({ index, now, partition, sequence }: LogRecord): string {
    return `${this.options.name}.${partition}.${sequence}.${index}.${now}`
  }

  /** Stores records that no stream has acknowledged yet. `isAhead`: they are a whole batch. */
  publish(
    records: ReadonlyArray<LogRecord>,
    isAhead: boolean
  ): Effect.Effect<void, StreamUnavailable | PublishRefused> {
    if (isAhead)
      for (const [partition, batch] of Map.groupBy(records, (record) => record.partition))
        this.acknowledged.keep(partition, batch[0]!.sequence)
    const groups = Map.groupBy(records, ({ organization }) => organization)
    return Effect.forEach(
      groups.values(),
      (group) => Effect.forEach(group, (record) => this.one(record), { discard: true }),
      { concurrency: concurrentOrganizations, discard: true }
    )
  }

  /** Drops what is known of records whose cursor has moved over them. */
  forget(records: ReadonlyArray<LogRecord>): void {
    for (const record of records) this.acknowledged.delete(record.partition, this.idOf(record))
  }

  private readonly one = Effect.fnUntraced(function* (this: Publisher<Source>, record: LogRecord) {
    const id = this.idOf(record)
    if (this.acknowledged.has(record.partition, id)) return
    const message = yield* Effect.try({
      try: () => this.messageOf(record, id),
      catch: (cause) => new PublishRefused({ message: cause instanceof Error ? cause.message : String(cause) })
    })
    yield* this.streams.publish(message)
    this.acknowledged.add(record.partition, id, record.sequence)
    yield* Metric.update(published(this.options.name), 1)
  })

  private messageOf(record: LogRecord, id: string): PublishedMessage {
    const { encode = encodeJson, stream } = this.options
    // The source wants records of this type alone.
    const wanted = record as Source
    const subject = typeof this.options.subject === "string" ? this.options.subject : this.options.subject(wanted)
    if (!isSubject(subject))
      throw new TypeError(`"${String(subject).slice(0, 128)}" is not a subject without wildcards`)
    const encoded = encode(wanted)
    const content = typeof encoded === "string" || encoded instanceof Uint8Array ? { data: encoded } : encoded
    const data = typeof content.data === "string" ? Buffer.from(content.data) : content.data
    if (!(data instanceof Uint8Array)) throw new TypeError("encode must give bytes or text")
    return { subject, data, id, stream, headers: content.headers }
  }
}

const encodeJson = (record: LogRecord): string =>
  JSON.stringify(record._tag === "Fact" ? record.fact : record.event.data) ?? "null"

const published = (reactor: string) =>
  Metric.counter("sluice_published_total", {
    description: "Records that streams of the program have stored",
    incremental: true,
    attributes: { reactor }
  })
