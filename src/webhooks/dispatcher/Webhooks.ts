/**
 * Webhooks for embedding the dispatcher alone, without PostgreSQL, NATS or an engine. The embedder gives endpoints and
 * events, with event types of its own; signatures, retries and pauses are the platform's (docs/platform.md, 7).
 * Everything is in memory, bounded, and gone with the process. `layerMemory` needs nothing.
 */
import { randomUUID } from "node:crypto"
import { Clock, Context, Data, Effect, Layer, Result } from "effect"
import { randomText } from "../../common/identifiers.ts"
import {
  type Event,
  eventIdPrefix,
  eventRetentionMillis,
  type InvalidPattern,
  isEventType,
  parsePatterns
} from "../../events/index.ts"
import type { Delivery } from "../delivery/Deliveries.ts"
import { DeliveriesMemory, type DeliveriesMemoryOptions, make as makeStore } from "../delivery/DeliveryStoreMemory.ts"
import { DispatchFeed } from "../delivery/DispatchFeed.ts"
import { MatchedBatch } from "../delivery/matching.ts"
import type { DeliverySender, DeliveryStore, EndpointActors } from "../delivery/ports.ts"
import { type DecidedEndpoint, EndpointsMemory } from "../endpoint/EndpointsMemory.ts"
import {
  defaultOverlapSeconds,
  type Endpoint,
  type EndpointCommand,
  type EndpointDisabled,
  type EndpointFact,
  EndpointInvalid,
  EndpointNotFound,
  type EndpointRejection,
  type EndpointStatus,
  maximumIdLength,
  statusOf
} from "../endpoint/model.ts"
import { checkUrl, makeTargetGuard, type TargetPolicy, type UrlRefused } from "../target/targets.ts"
import type { DispatcherSettings } from "./Dispatching.ts"
import * as HttpSender from "./HttpSender.ts"
import { defaultSettings, make as makeDispatcher, WebhookDispatcher } from "./WebhookDispatcher.ts"

/** Endpoints that one dispatcher in memory serves. */
export const maximumMemoryEndpoints = 10_000

/** The longest body of an event, in characters. */
export const maximumEventLength = 256 * 1024

/** An endpoint, as its owner describes it. */
export interface EndpointOptions {
  /** Chosen by the caller, 1 to 64 characters. */
  readonly id: string
  readonly url: string
  /** What it receives: `*`, `orders.*`, `orders.created`; 1 to 50 of them. */
  readonly patterns: ReadonlyArray<string>
  /** Signs its deliveries; `makeSecret` makes one. */
  readonly secret: string
  /** False: nothing is delivered, and nothing kept for it but what is pending. Default true. */
  readonly isActive?: boolean | undefined
}

/** An event to be delivered. */
export interface EventOptions {
  /** Two or more segments of lower-case letters, digits and `_`, joined by dots. */
  readonly type: string
  /** The payload, a JSON object. */
  readonly data: { readonly [name: string]: unknown }
  /** Where it comes from; default: the first segment of the type. */
  readonly service?: string | undefined
  /** Default true. */
  readonly livemode?: boolean | undefined
}

/** An endpoint as it is now. */
export interface EndpointState extends Endpoint {
  readonly id: string
  readonly status: EndpointStatus
  /** When and how the last attempt ended, milliseconds since the Unix epoch and HTTP status; null before the first. */
  readonly lastDeliveryAt: number | null
  readonly lastDeliveryStatus: number | null
}

/** The event cannot be delivered as it is. Terminal. */
export class EventRefused extends Data.TaggedError("EventRefused")<{ readonly message: string }> {}

/** The bound of waiting deliveries is reached. Try again later. */
export class WebhooksFull extends Data.TaggedError("WebhooksFull")<{ readonly maximumPending: number }> {
  override get message(): string {
    return `${this.maximumPending} deliveries are pending, no more are taken now`
  }
}

/** There is no finished delivery with this id whose event is at most 30 days old. */
export class NotRetryable extends Data.TaggedError("NotRetryable")<{ readonly deliveryId: string }> {
  override get message(): string {
    return `The delivery ${this.deliveryId} is unknown, still pending or too old`
  }
}

export interface MemoryOptions extends DeliveriesMemoryOptions {
  readonly endpoints?: ReadonlyArray<EndpointOptions> | undefined
  /** Where deliveries may go; default `public`: https to public addresses. */
  readonly targets?: TargetPolicy | undefined
  /** Schedule, timeout, capacity; what is left out is as in the platform. */
  readonly settings?: Partial<DispatcherSettings> | undefined
  /** Posts in place of HTTP: for tests and simulations. */
  readonly sender?: DeliverySender | undefined
}

export class Webhooks extends Context.Service<
  Webhooks,
  {
    /** Makes an endpoint, or changes the one with that id. A new secret replaces the old one at once. */
    readonly set: (endpoint: EndpointOptions) => Effect.Effect<void, EndpointInvalid | UrlRefused | InvalidPattern>
    /** Deletes an endpoint; its pending deliveries are cancelled. */
    readonly remove: (endpointId: string) => Effect.Effect<void, EndpointNotFound>
    readonly endpoint: (endpointId: string) => Effect.Effect<EndpointState, EndpointNotFound>
    /** Ends a pause: pending deliveries go on, and failures count from 0. */
    readonly unpause: (endpointId: string) => Effect.Effect<void, EndpointNotFound>
    /** A new secret; for the overlap (seconds, default one day) both sign, the new one first. */
    readonly rotateSecret: (
      endpointId: string,
      secret: string,
      overlapSeconds?: number
    ) => Effect.Effect<void, EndpointNotFound | EndpointInvalid>
    /** Sends `platform.test` to one endpoint, once, also while it is paused; answers the event's id. */
    readonly test: (endpointId: string) => Effect.Effect<string, EndpointNotFound | EndpointDisabled | WebhooksFull>
    /** Hands an event in; answers its id. Delivered at least once to each active endpoint that it matches. */
    readonly emit: (event: EventOptions) => Effect.Effect<string, EventRefused | WebhooksFull>
    /** Deliveries of an endpoint, newest first: those that wait, and the newest that are over. */
    readonly deliveries: (endpointId: string) => Effect.Effect<ReadonlyArray<Delivery>>
    /** Sends a delivery that is over once more; it never counts as a failure. */
    readonly retry: (deliveryId: string) => Effect.Effect<void, NotRetryable | WebhooksFull>
    /** Waits until no delivery is pending. Deliveries of a paused endpoint stay pending until it is unpaused. */
    readonly settled: Effect.Effect<void>
  }
>()("sluice/webhooks/Webhooks") {
  /** The dispatcher in memory. Fails where an endpoint of the options is not valid. */
  static readonly layerMemory = (
    options: MemoryOptions = {}
  ): Layer.Layer<Webhooks | WebhookDispatcher, EndpointInvalid | UrlRefused | InvalidPattern> =>
    Layer.effectContext(makeMemory(options)).pipe(Layer.provide(DispatchFeed.layer))
}

/** All endpoints are of one organization. */
const organizationId = "memory"

const invalid = (field: string, message: string) => Result.fail(new EndpointInvalid({ field, message }))

const problemOf = (
  { id, patterns, secret, url }: EndpointOptions,
  targets: TargetPolicy
): Result.Result<unknown, EndpointInvalid | UrlRefused | InvalidPattern> => {
  if (id.length === 0 || id.length > maximumIdLength)
    return invalid("id", `id must have 1 to ${maximumIdLength} characters`)
  if (secret === "") return invalid("secret", "secret must not be empty")
  return Result.flatMap(
    checkUrl(url, targets),
    (): Result.Result<unknown, InvalidPattern> => parsePatterns(patterns, "any")
  )
}

/** The event as it is delivered. */
const eventOf = (
  { data, livemode = true, service, type }: EventOptions,
  now: number
): Result.Result<Event, EventRefused> => {
  if (!isEventType(type)) return Result.fail(new EventRefused({ message: `${JSON.stringify(type)} is no event type` }))
  return Result.succeed({
    eventId: `${eventIdPrefix}${randomUUID()}`,
    type,
    // the embedder's own service, which the platform's type does not know
    service: (service ?? type.slice(0, type.indexOf("."))) as Event["service"],
    data: data as Event["data"],
    livemode,
    createdAt: now
  })
}

const bodyOf = (event: Event): Result.Result<string, EventRefused> =>
  Result.flatMap(
    Result.try({
      try: () => JSON.stringify(event),
      catch: () => new EventRefused({ message: "the data of the event is not JSON" })
    }),
    (body) =>
      body.length > maximumEventLength
        ? Result.fail(new EventRefused({ message: `the event is longer than ${maximumEventLength} characters` }))
        : Result.succeed(body)
  )

const makeMemory = Effect.fnUntraced(function* (options: MemoryOptions) {
  const targets = options.targets ?? "public"
  const feed = yield* DispatchFeed
  const data = new DeliveriesMemory(options)
  const endpoints = new EndpointsMemory({ idOf: () => randomUUID() })
  const secrets = new Map<string, string>()
  const waiting = new Set<() => void>()

  const commit = (batch: MatchedBatch, bodies: ReadonlyMap<string, string>): void => {
    data.put(batch, bodies)
    for (const id of batch.forgotten) secrets.delete(id)
    feed.listener()?.committed({ taken: batch.taken, queued: batch.queued, endpoints: batch.endpoints })
  }

  /** Applies a decision. Its events are matched against the states from before. */
  const decided = (
    before: ReturnType<EndpointsMemory["of"]>,
    { records }: Pick<DecidedEndpoint, "records">,
    now: number
  ): void => {
    if (records.length === 0) return
    const batch = new MatchedBatch(before, feed.listener(), now)
    for (const record of records) {
      if (record._tag === "Fact") batch.fold(record)
      else batch.event(record)
    }
    commit(batch, batch.bodies)
  }

  const ask = (endpointId: string, command: EndpointCommand, now: number) => {
    const place = { organizationId, endpointId }
    const due = endpoints.of(organizationId)
    decided(due, endpoints.wakeDue(place, now) ?? { records: [] }, now)
    const before = endpoints.of(organizationId)
    return Result.map(endpoints.ask(place, command, now), (made) => {
      decided(before, made, now)
      return made.reply
    })
  }

  const asked = <E extends EndpointRejection["_tag"]>(endpointId: string, command: EndpointCommand, ..._of: Array<E>) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.fromResult(
        Result.mapError(
          ask(endpointId, command, now),
          (rejection) => rejection as Extract<EndpointRejection, { readonly _tag: E }>
        )
      )
    )

  const happen = (endpointId: string, facts: ReadonlyArray<EndpointFact>, now: number): void => {
    const before = endpoints.of(organizationId)
    decided(before, endpoints.happen({ organizationId, endpointId }, facts, now), now)
  }

  const newSecret = (secret: string): string => {
    const secretId = `wsk_${randomText()}`
    secrets.set(secretId, secret)
    return secretId
  }

  const set = (endpoint: EndpointOptions, now: number) => {
    const { id, isActive = true, patterns, secret, url } = endpoint
    const problem = problemOf(endpoint, targets)
    if (Result.isFailure(problem)) return Effect.fail(problem.failure)
    const known = endpoints.get(id)
    const enabledEvents = [...patterns]
    if (known === undefined) {
      if (endpoints.of(organizationId).length >= maximumMemoryEndpoints)
        return Effect.fail(
          new EndpointInvalid({ field: "id", message: `there are ${maximumMemoryEndpoints} endpoints already` })
        )
      const secretId = newSecret(secret)
      happen(id, [{ _tag: "Created", url, enabledEvents, description: null, secretId, livemode: true, at: now }], now)
      if (!isActive) happen(id, [{ _tag: "Updated", isActive }], now)
      return Effect.void
    }
    const facts: Array<EndpointFact> = [{ _tag: "Updated", url, enabledEvents, isActive }]
    if (secrets.get(known.secretId) !== secret)
      facts.push({ _tag: "SecretRotated", secretId: newSecret(secret), previousUntil: null })
    happen(id, facts, now)
    return Effect.void
  }

  const settling = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.tap(effect, () =>
      Effect.sync(() => {
        if (data.jobs.size > 0) return
        // a resumed waiter may wait again at once
        const resumed = [...waiting]
        waiting.clear()
        for (const resume of resumed) resume()
      })
    )
  const plain = makeStore(data)
  const store: DeliveryStore = {
    ...plain,
    take: (...of) => settling(plain.take(...of)),
    record: (...of) => settling(plain.record(...of)),
    expire: (...of) => settling(plain.expire(...of)),
    cancel: (...of) => settling(plain.cancel(...of))
  }
  const actors: EndpointActors = {
    tell: ({ endpointId }, command) => Effect.orDie(asked(endpointId, command)),
    partitions: Effect.succeed([endpoints.partition])
  }
  const sender = options.sender ?? (yield* HttpSender.make(makeTargetGuard(targets)))
  const dispatcher = yield* makeDispatcher(
    {
      store,
      sender,
      actors,
      feed,
      secrets: {
        open: (ids) =>
          Effect.sync(() => new Map(ids.flatMap((id) => (secrets.has(id) ? [[id, secrets.get(id)!]] : [])))),
        forget: (ids) => Effect.sync(() => ids.forEach((id) => void secrets.delete(id)))
      }
    },
    // in memory there is no statement to share, so outcomes need not linger
    { ...defaultSettings, lingerMillis: 0, ...options.settings }
  )
  const full = new WebhooksFull({ maximumPending: data.maximumPending })

  const webhooks = Webhooks.of({
    set: (endpoint) => Effect.flatMap(Clock.currentTimeMillis, (now) => set(endpoint, now)),
    remove: (id) => Effect.asVoid(asked(id, { _tag: "Delete" }, "EndpointNotFound")),
    endpoint: (id) =>
      Effect.suspend(() => {
        const endpoint = endpoints.get(id)
        if (endpoint === undefined) return Effect.fail(new EndpointNotFound({ endpointId: id }))
        const { lastDeliveryAt, lastDeliveryStatus } = data.endpoints.get(id)!
        return Effect.succeed({ ...endpoint, id, status: statusOf(endpoint), lastDeliveryAt, lastDeliveryStatus })
      }),
    unpause: (id) => Effect.asVoid(asked(id, { _tag: "Unpause" }, "EndpointNotFound")),
    rotateSecret: (id, secret, overlapSeconds = defaultOverlapSeconds) =>
      Effect.suspend(() => {
        if (secret === "")
          return Effect.fail(new EndpointInvalid({ field: "secret", message: "secret must not be empty" }))
        const secretId = newSecret(secret)
        return asked(
          id,
          { _tag: "RotateSecret", secretId, overlapSeconds },
          "EndpointNotFound" as const,
          "EndpointInvalid" as const
        ).pipe(
          Effect.tapError(() => Effect.sync(() => secrets.delete(secretId))),
          Effect.asVoid
        )
      }),
    test: (id) =>
      Effect.gen(function* () {
        if (!data.hasRoom(1)) return yield* full
        const { eventId } = yield* asked(
          id,
          { _tag: "RequestTest" },
          "EndpointNotFound" as const,
          "EndpointDisabled" as const
        )
        return eventId!
      }),
    emit: (given) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const event = yield* Effect.fromResult(eventOf(given, now))
        const body = yield* Effect.fromResult(bodyOf(event))
        const batch = new MatchedBatch(endpoints.of(organizationId), feed.listener(), now)
        const place = {
          partition: endpoints.partition,
          sequence: endpoints.next(),
          index: 0,
          organization: organizationId
        }
        batch.own(place, event, body)
        if (!data.hasRoom(batch.jobs.length)) return yield* full
        commit(batch, new Map([[event.eventId, body]]))
        return event.eventId
      }),
    deliveries: (id) => Effect.sync(() => data.deliveries(id)),
    retry: (deliveryId) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (!data.hasRoom(1)) return yield* full
        const endpointId = data.retry(deliveryId, endpoints.partition, now, eventRetentionMillis)
        if (endpointId === undefined) return yield* new NotRetryable({ deliveryId })
        yield* dispatcher.wake(endpoints.partition, endpointId)
      }),
    settled: Effect.callback<void>((resume) => {
      const done = () => resume(Effect.void)
      if (data.jobs.size === 0) return done()
      waiting.add(done)
      return Effect.sync(() => waiting.delete(done))
    })
  })
  for (const endpoint of options.endpoints ?? []) yield* webhooks.set(endpoint)
  return Context.make(Webhooks, webhooks).pipe(Context.add(WebhookDispatcher, dispatcher))
})
