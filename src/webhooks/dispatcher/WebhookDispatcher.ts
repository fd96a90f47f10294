/**
 * Delivers events to webhook endpoints (docs/platform.md, 7): at least once, and each endpoint by itself, so that a
 * slow or dead one takes nothing from the others. Deliveries come from the SQL reactor over `DispatchFeed`, or from the
 * store, where they wait, are due again, or were left by a crash. At the end of its scope it waits a bounded time for
 * attempts in flight and gives the rest back. Its ports (`delivery/ports.ts`) are arguments of `make`; `onEngine.ts`
 * has those of the platform.
 */
import { Cause, Clock, Context, Duration, Effect, FiberSet, type Scope } from "effect"
import { make as makeGroupCommit } from "../../common/groupCommit.ts"
import { isTraced } from "../../common/isTraced.ts"
import type { DispatchFeed } from "../delivery/DispatchFeed.ts"
import type {
  DeliveriesUnavailable,
  DeliveryOutcome,
  DeliverySender,
  DeliveryStore,
  EndpointActors,
  SigningSecrets
} from "../delivery/ports.ts"
import { attemptTimeoutMillis, defaultSchedule } from "../delivery/schedule.ts"
import { type AttemptContext, attemptDelivery, recordLate, spanOf } from "./attemptDelivery.ts"
import { type DeliverySlot, type DispatcherSettings, DispatcherState } from "./DispatcherState.ts"
import { DispatchMetrics } from "./DispatchMetrics.ts"
import type { AttemptPlace } from "./DispatchQueue.ts"
import { fibers, giveBack } from "./storeSync.ts"

/** Most outcomes in one statement, concurrent statements, and waiting outcomes. */
const outcomesAtOnce = 1_000
const recordersAtOnce = 2
const waitingOutcomes = 20_000

/** How long a shutdown tries to give deliveries back. Otherwise they are free when their lease ends. */
const giveBackMillis = 2_000

/**
 * The lease for a timeout: longer than any attempt, with room for recording it.
 *
 * @example
 * ```ts
 * import { defaultSettings, leaseOf } from "sluice/webhook/dispatcher"
 *
 * // another timeout comes with its lease
 * export const settings = { ...defaultSettings, timeoutMillis: 5_000, leaseMillis: leaseOf(5_000) }
 * ```
 */
export const leaseOf = (timeoutMillis: number): number => 2 * timeoutMillis + 5_000

/**
 * The platform's own settings.
 *
 * @example
 * ```ts
 * import { defaultSettings } from "sluice/webhook/dispatcher"
 *
 * console.log(defaultSettings.timeoutMillis, defaultSettings.schedule.delaysMillis) // 15000 [ 5000, 30000, 120000, 900000, 3600000 ]
 * ```
 */
export const defaultSettings: DispatcherSettings = {
  schedule: defaultSchedule,
  timeoutMillis: attemptTimeoutMillis,
  capacity: { main: 256, slow: 256 },
  leaseMillis: leaseOf(attemptTimeoutMillis),
  scanMillis: 1_000,
  drainMillis: 5_000,
  lingerMillis: 10
}

/** The ports of a dispatcher. See {@link make}. */
export interface DispatcherPorts {
  readonly store: DeliveryStore
  readonly sender: DeliverySender
  readonly actors: EndpointActors
  readonly secrets: SigningSecrets["Service"]
  readonly feed: DispatchFeed["Service"]
}

/**
 * A running dispatcher: it says what it is doing, and does operators' acts.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { WebhookDispatcher } from "sluice/webhook/dispatcher"
 *
 * export const held = Effect.flatMap(WebhookDispatcher, ({ load }) => Effect.map(load, (one) => one.held))
 * ```
 */
export class WebhookDispatcher extends Context.Service<
  WebhookDispatcher,
  {
    /**
     * Tells that an endpoint has new deliveries in the store. If its partition is served elsewhere, the dispatcher
     * there finds them.
     */
    readonly wake: (partition: number, endpointId: string) => Effect.Effect<void>
    /** The current load. */
    readonly load: Effect.Effect<{
      /** Deliveries in memory. */
      readonly held: number
      /** Attempts in flight: at endpoints that answer, at slow ones, and those that hang at either. */
      readonly inFlight: Readonly<Record<AttemptPlace, number>>
    }>
  }
>()("sluice/webhooks/WebhookDispatcher") {}

/**
 * Records outcomes together. If the store refuses them, it records them in halves, so that one bad outcome does not
 * keep the others from being recorded. A single refused outcome is recorded without the endpoint's answer, the only
 * part that comes from outside.
 */
const recordAll = (
  store: DeliveryStore,
  outcomes: ReadonlyArray<DeliveryOutcome>
): Effect.Effect<ReadonlyArray<boolean>, DeliveriesUnavailable> =>
  Clock.currentTimeMillis.pipe(
    Effect.flatMap((now) => store.record(outcomes, now)),
    Effect.map((counted) => outcomes.map(({ delivery }) => counted.has(delivery.id))),
    Effect.catch((error) => {
      const [only] = outcomes
      if (error.isTransient || only === undefined) return Effect.fail(error)
      if (outcomes.length > 1) {
        const half = outcomes.length >>> 1
        return Effect.map(
          Effect.forEach([outcomes.slice(0, half), outcomes.slice(half)], (part) => recordAll(store, part)),
          (parts) => parts.flat()
        )
      }
      const { made } = only
      const isBare = made === null || (made.response === null && made.error === null)
      return Effect.andThen(
        Effect.logError(`the outcome of the webhook delivery ${only.delivery.id} is not taken`, error),
        isBare ? Effect.fail(error) : recordAll(store, [{ ...only, made: { ...made, response: null, error: null } }])
      )
    })
  )

/**
 * Starts a dispatcher, which ends with the scope.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { defaultSettings, type DispatcherPorts, make } from "sluice/webhook/dispatcher"
 *
 * // A dispatcher on a store of your own, for as long as the scope lasts.
 * export const delivering = (ports: DispatcherPorts) =>
 *   Effect.flatMap(make(ports, { ...defaultSettings, scanMillis: 250 }), ({ load }) => load)
 * ```
 */
export const make = (
  ports: DispatcherPorts,
  settings: DispatcherSettings = defaultSettings
): Effect.Effect<WebhookDispatcher["Service"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const { actors, feed, secrets, sender, store } = ports
    const dispatching = new DispatcherState(settings, yield* Clock.Clock, (read) => feed.tasks.newest(read))
    const metrics = new DispatchMetrics(yield* Effect.context<never>())
    const recorder = yield* makeGroupCommit({
      write: (outcomes: ReadonlyArray<DeliveryOutcome>) => recordAll(store, outcomes),
      maximumBatch: outcomesAtOnce,
      maximumWaiting: waitingOutcomes,
      writers: recordersAtOnce,
      lingerMillis: settings.lingerMillis
    })
    const attempts = yield* FiberSet.make<void>()
    const run = yield* FiberSet.runtime(attempts)()
    const isSeen = isTraced(yield* Effect.context<never>())
    const traced = (slot: DeliverySlot, attempt: Effect.Effect<void>) =>
      isSeen ? Effect.withSpan(attempt, "sluice.webhook.attempt", spanOf(slot.item)) : attempt
    const parts: AttemptContext = { dispatching, sender, actors, secrets, metrics, recorder }
    dispatching.begin = (slot) => {
      run(
        Effect.catchCause(traced(slot, attemptDelivery(parts, slot)), (cause) => {
          if (Cause.hasInterrupts(cause)) return Effect.void
          // It is attempted again when its lease is over.
          dispatching.queue.end(slot, undefined)
          dispatching.giveBackUnrecorded(slot.item, dispatching.now + settings.leaseMillis)
          dispatching.release(slot.item)
          return Effect.logError(`a delivery to webhook endpoint ${slot.item.endpointId} failed`, cause)
        })
      )
    }
    const refill = { dispatching, store, actors, metrics, unrecorded: () => feed.tasks.unrecorded }
    // Once: what a second run gave back could have a new owner by then.
    const drain = yield* Effect.cached(
      Effect.gen(function* () {
        dispatching.beginDrain()
        yield* recorder.hurry
        yield* Effect.timeoutOption(FiberSet.awaitEmpty(attempts), Duration.millis(settings.drainMillis))
        yield* FiberSet.clear(attempts)
        // An outcome that was sent but not acknowledged may be stored; giving the delivery back would undo it and its
        // wait.
        const left = [...dispatching.held.values()]
          .map(({ delivery }) => delivery)
          .filter(({ id }) => !dispatching.recording.has(id))
        if (left.length === 0) return
        yield* giveBack(refill, left).pipe(
          Effect.timeoutOption(Duration.millis(giveBackMillis)),
          Effect.catch((error) => Effect.logWarning(`${left.length} deliveries could not be given back`, error))
        )
      })
    )
    yield* Effect.addFinalizer(() => drain)
    for (const fiber of fibers(refill)) yield* Effect.forkScoped(fiber)
    yield* feed.attach({
      leaseMillis: settings.leaseMillis,
      room: () => dispatching.room(),
      roomFor: (organizationId) => dispatching.roomFor(organizationId),
      roomOf: (endpointId) => dispatching.roomOf(endpointId),
      holds: (deliveryId) => dispatching.held.has(deliveryId),
      committed: (committed) => dispatching.committed(committed),
      followed: (endpoints) => dispatching.followed(endpoints),
      offer: (deliveries) => dispatching.offer(deliveries),
      missed: (delivery) => dispatching.missed(delivery),
      recorded: (partition, sequence) => dispatching.lines.recorded(partition, sequence),
      outdated: (partition) => dispatching.outdate(partition),
      late: (delivery, outcome) => void run(recordLate(parts, outcome, delivery)),
      drain
    })
    return WebhookDispatcher.of({
      wake: (partition, endpointId) =>
        Effect.map(actors.partitions, (partitions) => {
          if (partitions.includes(partition)) dispatching.wake(partition, endpointId)
        }),
      load: Effect.sync(() => ({ held: dispatching.held.size, inFlight: dispatching.queue.used }))
    })
  })
