/**
 * Embeds the dispatcher alone, without PostgreSQL, NATS or an engine. The embedder gives endpoints and events, with
 * event types of its own; signatures, retries and pauses are the platform's (docs/platform.md, 7). Everything is in
 * memory, bounded, and lost with the process. `layerMemory` needs nothing.
 */
import { randomUUID } from "node:crypto"
import { Clock, Context, Data, Effect, Layer, Result } from "effect"
import {
  type Event,
  eventIdPrefix,
  eventRetentionMillis,
  type InvalidPattern,
  isEventType
} from "../../events/index.ts"
import type { Delivery } from "../delivery/Deliveries.ts"
import { DispatchFeed } from "../delivery/DispatchFeed.ts"
import type { DeliverySender, DeliveryStore, EndpointActors } from "../delivery/ports.ts"
import type { DispatcherSettings } from "../dispatcher/DispatcherState.ts"
import { defaultSettings, make as makeDispatcher, WebhookDispatcher } from "../dispatcher/WebhookDispatcher.ts"
import {
  defaultOverlapSeconds,
  type Endpoint,
  type EndpointCommand,
  type EndpointDisabled,
  EndpointInvalid,
  EndpointNotFound,
  type EndpointRejection,
  type EndpointReply,
  type EndpointStatus,
  statusOf
} from "../endpoint/model.ts"
import * as HttpSender from "../sender/HttpSender.ts"
import { makeTargetGuard, type TargetPolicy, type UrlRefused } from "../target/targets.ts"
import { DeliveriesMemory, type DeliveriesMemoryOptions, make as makeStore } from "./DeliveryStoreMemory.ts"
import { EmbeddedEndpoints, type EndpointOptions } from "./EmbeddedEndpoints.ts"

/** The longest body of an event, in characters. See {@link Webhooks}. */
export const maximumEventLength = 256 * 1024

/** An event to be delivered. See {@link Webhooks}. */
export interface EventOptions {
  /** Two or more segments of lower-case letters, digits and `_`, joined by dots. */
  readonly type: string
  /** The payload, a JSON object. */
  readonly data: { readonly [name: string]: unknown }
  /** Its origin; default: the first segment of the type. */
  readonly service?: string | undefined
  /** Default true. */
  readonly livemode?: boolean | undefined
}

/** The current state of an endpoint. See {@link Webhooks}. */
export interface EndpointState extends Endpoint {
  readonly id: string
  readonly status: EndpointStatus
  /** When and how the last attempt ended, milliseconds since the Unix epoch and HTTP status; null before the first. */
  readonly lastDeliveryAt: number | null
  readonly lastDeliveryStatus: number | null
}

/** The event cannot be delivered as it is. Terminal. See {@link Webhooks}. */
export class EventRefused extends Data.TaggedError("EventRefused")<{ readonly message: string }> {}

/** The bound of waiting deliveries is reached. Try again later. See {@link Webhooks}. */
export class WebhooksFull extends Data.TaggedError("WebhooksFull")<{ readonly maximumPending: number }> {
  override get message(): string {
    return `${this.maximumPending} deliveries are pending, no more are taken now`
  }
}

/** There is no finished delivery with this id whose event is at most 30 days old. See {@link Webhooks}. */
export class NotRetryable extends Data.TaggedError("NotRetryable")<{ readonly deliveryId: string }> {
  override get message(): string {
    return `The delivery ${this.deliveryId} is unknown, still pending or too old`
  }
}

/** Endpoints, settings and bounds of a dispatcher in memory. See {@link Webhooks}. */
export interface MemoryOptions extends DeliveriesMemoryOptions {
  readonly endpoints?: ReadonlyArray<EndpointOptions> | undefined
  /** Allowed targets of deliveries; default `public`: https to public addresses. */
  readonly targets?: TargetPolicy | undefined
  /** Schedule, timeout, capacity; omitted ones are as in the platform. */
  readonly settings?: Partial<DispatcherSettings> | undefined
  /** Posts in place of HTTP: for tests and simulations. */
  readonly sender?: DeliverySender | undefined
}

/**
 * Sends webhooks of a program's own, in memory (docs/webhooks.md).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { makeSecret } from "sluice/webhook"
 * import { Webhooks } from "sluice/webhook/dispatcher"
 *
 * const shop = { id: "shop", url: "https://shop.example/hook", patterns: ["orders.*"], secret: makeSecret() }
 *
 * export const program = Effect.gen(function* () {
 *   const webhooks = yield* Webhooks
 *   yield* webhooks.emit({ type: "orders.created", data: { order: 7 } })
 *   return yield* webhooks.deliveries("shop")
 * }).pipe(Effect.provide(Webhooks.layerMemory({ endpoints: [shop] })))
 * ```
 */
export class Webhooks extends Context.Service<
  Webhooks,
  {
    /** Creates an endpoint, or changes the one with that id. A new secret replaces the old one immediately. */
    readonly set: (endpoint: EndpointOptions) => Effect.Effect<void, EndpointInvalid | UrlRefused | InvalidPattern>
    /** Deletes an endpoint; its pending deliveries are cancelled. */
    readonly remove: (endpointId: string) => Effect.Effect<void, EndpointNotFound>
    readonly endpoint: (endpointId: string) => Effect.Effect<EndpointState, EndpointNotFound>
    /** Ends a pause: pending deliveries continue, and failures count from 0. */
    readonly unpause: (endpointId: string) => Effect.Effect<void, EndpointNotFound>
    /** A new secret; for the overlap (seconds, default one day) both sign, the new one first. */
    readonly rotateSecret: (
      endpointId: string,
      secret: string,
      overlapSeconds?: number
    ) => Effect.Effect<void, EndpointNotFound | EndpointInvalid>
    /** Sends `platform.test` to one endpoint, once, even while it is paused; returns the event's id. */
    readonly test: (endpointId: string) => Effect.Effect<string, EndpointNotFound | EndpointDisabled | WebhooksFull>
    /** Accepts an event; returns its id. Delivered at least once to each active endpoint that it matches. */
    readonly emit: (event: EventOptions) => Effect.Effect<string, EventRefused | WebhooksFull>
    /** Deliveries of an endpoint, newest first: the pending ones, and the newest finished ones. */
    readonly deliveries: (endpointId: string) => Effect.Effect<ReadonlyArray<Delivery>>
    /** Sends a finished delivery once more; it never counts as a failure. */
    readonly retry: (deliveryId: string) => Effect.Effect<void, NotRetryable | WebhooksFull>
    /** Waits until no delivery is pending. Deliveries of a paused endpoint stay pending until it is unpaused. */
    readonly settled: Effect.Effect<void>
  }
>()("sluice/webhooks/Webhooks") {
  /** The dispatcher in memory. Fails if an endpoint of the options is not valid. */
  static readonly layerMemory = (
    options: MemoryOptions = {}
  ): Layer.Layer<Webhooks | WebhookDispatcher, EndpointInvalid | UrlRefused | InvalidPattern> =>
    Layer.effectContext(makeMemory(options)).pipe(Layer.provide(DispatchFeed.layer))
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
    // The embedder's own service, which the platform's type does not know.
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

/** The store, and an effect that waits until nothing is pending in it. */
const makeSettling = (data: DeliveriesMemory) => {
  const waiting = new Set<() => void>()
  const settling = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.tap(effect, () =>
      Effect.sync(() => {
        if (data.jobs.size > 0) return
        // A resumed waiter may wait again immediately.
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
  const settled = Effect.callback<void>((resume) => {
    const done = () => resume(Effect.void)
    if (data.jobs.size === 0) return done()
    waiting.add(done)
    return Effect.sync(() => waiting.delete(done))
  })
  return { settled, store }
}

type Asked = <E extends EndpointRejection["_tag"]>(
  endpointId: string,
  command: EndpointCommand,
  ...of: Array<E>
) => Effect.Effect<EndpointReply, Extract<EndpointRejection, { readonly _tag: E }>>

/** Asks commands that may be refused only with the errors of `of`. */
const makeAsked =
  (endpoints: EmbeddedEndpoints): Asked =>
  (endpointId, command, ..._of) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.fromResult(
        Result.mapError(
          endpoints.ask(endpointId, command, now),
          (rejection) => rejection as Extract<EndpointRejection, { readonly _tag: (typeof _of)[number] }>
        )
      )
    )

/** Makes the dispatcher over the store and the endpoints in memory. */
const makeEmbedded = Effect.fnUntraced(function* (
  { sender, settings, targets = "public" }: MemoryOptions,
  store: DeliveryStore,
  endpoints: EmbeddedEndpoints,
  asked: Asked
) {
  const { secrets } = endpoints
  const actors: EndpointActors = {
    tell: ({ endpointId }, command) => Effect.orDie(asked(endpointId, command)),
    partitions: Effect.succeed([endpoints.partition])
  }
  return yield* makeDispatcher(
    {
      store,
      sender: sender ?? (yield* HttpSender.make(makeTargetGuard(targets))),
      actors,
      feed: yield* DispatchFeed,
      secrets: {
        open: (ids) =>
          Effect.sync(() => new Map(ids.flatMap((id: string) => (secrets.has(id) ? [[id, secrets.get(id)!]] : [])))),
        forget: (ids) => Effect.sync(() => ids.forEach((id: string) => void secrets.delete(id)))
      }
    },
    // In memory there is no statement to share, so outcomes need not linger.
    { ...defaultSettings, lingerMillis: 0, ...settings }
  )
})

/** The methods that change or read endpoints. */
const makeEndpointMethods = (data: DeliveriesMemory, endpoints: EmbeddedEndpoints, asked: Asked) =>
  ({
    set: Effect.fn("Webhooks.set")((endpoint: EndpointOptions) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fromResult(endpoints.set(endpoint, now)))
    ),
    remove: Effect.fn("Webhooks.remove")((id: string) =>
      Effect.asVoid(asked(id, { _tag: "Delete" }, "EndpointNotFound"))
    ),
    endpoint: Effect.fn("Webhooks.endpoint")(function* (id: string) {
      const endpoint = endpoints.get(id)
      if (endpoint === undefined) return yield* new EndpointNotFound({ endpointId: id })
      const { lastDeliveryAt, lastDeliveryStatus } = data.endpoints.get(id)!
      return { ...endpoint, id, status: statusOf(endpoint), lastDeliveryAt, lastDeliveryStatus }
    }),
    unpause: Effect.fn("Webhooks.unpause")((id: string) =>
      Effect.asVoid(asked(id, { _tag: "Unpause" }, "EndpointNotFound"))
    ),
    rotateSecret: Effect.fn("Webhooks.rotateSecret")((id, secret, overlapSeconds = defaultOverlapSeconds) => {
      if (secret === "")
        return Effect.fail(new EndpointInvalid({ field: "secret", message: "secret must not be empty" }))
      const secretId = endpoints.newSecret(secret)
      return asked(
        id,
        { _tag: "RotateSecret", secretId, overlapSeconds },
        "EndpointNotFound" as const,
        "EndpointInvalid" as const
      ).pipe(
        Effect.tapError(() => Effect.sync(() => endpoints.secrets.delete(secretId))),
        Effect.asVoid
      )
    })
  }) satisfies Partial<Webhooks["Service"]>

/** The methods that make or read deliveries. */
const makeDeliveryMethods = (
  data: DeliveriesMemory,
  endpoints: EmbeddedEndpoints,
  asked: Asked,
  wake: WebhookDispatcher["Service"]["wake"]
) => {
  const full = new WebhooksFull({ maximumPending: data.maximumPending })
  return {
    test: Effect.fn("Webhooks.test")(function* (id: string) {
      if (!data.hasRoom(1)) return yield* full
      const { eventId } = yield* asked(
        id,
        { _tag: "RequestTest" },
        "EndpointNotFound" as const,
        "EndpointDisabled" as const
      )
      return eventId!
    }),
    // Without a span of its own, because an embedder may emit thousands a second.
    emit: Effect.fnUntraced(function* (given: EventOptions) {
      const now = yield* Clock.currentTimeMillis
      const event = yield* Effect.fromResult(eventOf(given, now))
      const body = yield* Effect.fromResult(bodyOf(event))
      if (!endpoints.emit(event, body, now)) return yield* full
      return event.eventId
    }),
    deliveries: (id: string) => Effect.sync(() => data.deliveries(id)),
    retry: Effect.fn("Webhooks.retry")(function* (deliveryId: string) {
      const now = yield* Clock.currentTimeMillis
      if (!data.hasRoom(1)) return yield* full
      const endpointId = data.retry(deliveryId, endpoints.partition, now, eventRetentionMillis)
      if (endpointId === undefined) return yield* new NotRetryable({ deliveryId })
      yield* wake(endpoints.partition, endpointId)
    })
  } satisfies Partial<Webhooks["Service"]>
}

const makeMemory = Effect.fnUntraced(function* (options: MemoryOptions) {
  const data = new DeliveriesMemory(options)
  const endpoints = new EmbeddedEndpoints(options.targets ?? "public", data, yield* DispatchFeed)
  const asked = makeAsked(endpoints)
  const { settled, store } = makeSettling(data)
  const dispatcher = yield* makeEmbedded(options, store, endpoints, asked)
  const webhooks = Webhooks.of({
    ...makeEndpointMethods(data, endpoints, asked),
    ...makeDeliveryMethods(data, endpoints, asked, dispatcher.wake),
    settled
  })
  for (const endpoint of options.endpoints ?? []) yield* webhooks.set(endpoint)
  return Context.make(Webhooks, webhooks).pipe(Context.add(WebhookDispatcher, dispatcher))
})
