/** The dispatcher over ports of the test's own: what it does when the store, the secrets or the endpoint's actor are away for a while. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../src/engine/errors.ts"
import { DispatchFeed, type DispatchListener } from "../../src/webhooks/DispatchFeed.ts"
import { lanes } from "../../src/webhooks/deliveryModel.ts"
import {
  DeliveriesUnavailable,
  type DeliveryAnswer,
  type DeliveryOutcome,
  type DeliveryStore,
  type FoldedEndpoint,
  SecretsUnavailable,
  type TakenDelivery
} from "../../src/webhooks/dispatchPorts.ts"
import type { Endpoint, EndpointCommand } from "../../src/webhooks/endpointModel.ts"
import { RememberedEndpoints, RememberedOrganizations } from "../../src/webhooks/endpointRows.ts"
import { type DispatcherPorts, defaultSettings, make } from "../../src/webhooks/WebhookDispatcher.ts"

const endpoint: Endpoint = {
  url: "https://example.com/",
  enabledEvents: ["*"],
  description: null,
  isActive: true,
  paused: null,
  consecutiveFailures: 0,
  failedDeliveries: [],
  secretId: "secret",
  previousSecret: null,
  createdAt: 0
}

const folded: FoldedEndpoint = { endpointId: "we_1", organizationId: "org_1", partition: 0, sequence: 1, endpoint }

const delivery = (name: string): TakenDelivery => ({
  id: `dlv_${name}`,
  partition: 0,
  organizationId: "org_1",
  endpointId: "we_1",
  lane: lanes.first,
  attempt: 1,
  takenUntil: 60_000,
  origin: "event",
  eventId: `evt_${name}`,
  eventCreatedAt: 0,
  body: name
})

const answered = (status: number, response = ""): DeliveryAnswer => ({
  attempt: { _tag: "Answered", status },
  response,
  error: null
})

interface Faults {
  /** What a body is answered with. */
  readonly answer?: (body: string) => DeliveryAnswer
  readonly record?: (outcomes: ReadonlyArray<DeliveryOutcome>) => Effect.Effect<void, DeliveriesUnavailable>
  readonly tell?: (command: EndpointCommand) => Effect.Effect<void, Unavailable>
  readonly open?: () => Effect.Effect<void, SecretsUnavailable>
  /** How far the clock goes on with what is handed over; otherwise further than outcomes wait for each other. */
  readonly momentMillis?: number
}

/** A dispatcher; deliveries are handed over as by the reactor. */
const start = (faults: Faults = {}): Effect.Effect<Started, never, Scope.Scope> =>
  Effect.gen(function* () {
    const recorded: Array<DeliveryOutcome> = []
    const told: Array<EndpointCommand> = []
    const sent: Array<string> = []
    let listener: DispatchListener | undefined
    const store: DeliveryStore = {
      due: () => Effect.succeed([]),
      take: () => Effect.succeed([]),
      keep: (deliveries) => Effect.succeed(new Set(deliveries.map(({ id }) => id))),
      record: (outcomes) =>
        Effect.map(faults.record?.(outcomes) ?? Effect.void, () => {
          recorded.push(...outcomes)
          return new Set(outcomes.map((outcome) => outcome.delivery.id))
        }),
      expire: () => Effect.succeed(0),
      endpoints: () => Effect.succeed([]),
      deleted: () => Effect.succeed([]),
      cancel: () => Effect.succeed(0),
      backlog: () => Effect.succeed({ pending: 0, oldestDueAt: null }),
      pausedEndpoints: () => Effect.succeed(0)
    }
    const ports: DispatcherPorts = {
      store,
      sender: {
        send: ({ body }) =>
          Effect.sync(() => {
            sent.push(body)
            return faults.answer?.(body) ?? answered(200)
          })
      },
      actors: {
        tell: (_, command) =>
          Effect.map(faults.tell?.(command) ?? Effect.void, () => {
            told.push(command)
            return { endpoint: { ...endpoint, consecutiveFailures: 1 } }
          }),
        partitions: Effect.succeed([0])
      },
      secrets: {
        open: (ids) => Effect.map(faults.open?.() ?? Effect.void, () => new Map(ids.map((id) => [id, "whsec_1"]))),
        forget: () => Effect.void
      },
      feed: DispatchFeed.of({
        remembered: new RememberedEndpoints(),
        organizations: new RememberedOrganizations(),
        listener: () => listener,
        attach: (attached) =>
          Effect.sync(() => {
            listener = attached
          })
      })
    }
    const dispatcher = yield* make(ports, {
      ...defaultSettings,
      schedule: { ...defaultSettings.schedule, delaysMillis: [] }
    })
    return {
      recorded,
      told,
      sent,
      held: Effect.map(dispatcher.load, ({ held }) => held),
      hand: (...names: ReadonlyArray<string>) =>
        Effect.andThen(
          Effect.sync(() =>
            listener!.committed({ taken: names.map(delivery), queued: new Map(), endpoints: [folded] })
          ),
          TestClock.adjust(faults.momentMillis ?? 20)
        )
    }
  })

interface Started {
  readonly recorded: ReadonlyArray<DeliveryOutcome>
  readonly told: ReadonlyArray<EndpointCommand>
  readonly sent: ReadonlyArray<string>
  readonly held: Effect.Effect<number>
  readonly hand: (...names: ReadonlyArray<string>) => Effect.Effect<void>
}

const resultsOf = ({ recorded }: Started) =>
  recorded.map(({ delivery: { id }, made, result }) => [
    id,
    result._tag === "Settled" ? result.status : result._tag,
    made?.response ?? null
  ])

const away = new DeliveriesUnavailable({ message: "away", isTransient: true })
const notTaken = new DeliveriesUnavailable({ message: "not taken", isTransient: false })

describe("the dispatcher", () => {
  it.effect("records an outcome once the store is back, and sends nothing twice", () =>
    Effect.gen(function* () {
      let failures = 3
      const started = yield* start({ record: () => (failures-- > 0 ? Effect.fail(away) : Effect.void) })
      yield* started.hand("a")
      expect(started.recorded).toEqual([])
      expect(yield* started.held).toBe(1)
      yield* TestClock.adjust("10 seconds")
      expect(resultsOf(started)).toEqual([["dlv_a", "succeeded", ""]])
      expect(started.sent).toEqual(["a"])
      expect(yield* started.held).toBe(0)
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("records the others, and what happened, where one answer is not taken by the store", () =>
    Effect.gen(function* () {
      const started = yield* start({
        answer: (body) => answered(200, `answer to ${body}`),
        record: (outcomes) =>
          outcomes.some(({ made }) => made?.response === "answer to c") ? Effect.fail(notTaken) : Effect.void
      })
      yield* started.hand("a", "b", "c", "d")
      yield* TestClock.adjust("1 seconds")
      expect(resultsOf(started).toSorted()).toEqual([
        ["dlv_a", "succeeded", "answer to a"],
        ["dlv_b", "succeeded", "answer to b"],
        ["dlv_c", "succeeded", null],
        ["dlv_d", "succeeded", "answer to d"]
      ])
      expect(yield* started.held).toBe(0)
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("tells the actor of a failure before it records it, however long that takes", () =>
    Effect.gen(function* () {
      let failures = 4
      const partitionAway = new Unavailable({ partition: 0, reason: "recovering", retryAfterMillis: 100 })
      const started = yield* start({
        answer: () => answered(500),
        tell: () => (failures-- > 0 ? Effect.fail(partitionAway) : Effect.void)
      })
      yield* started.hand("a")
      yield* TestClock.adjust("1 seconds")
      expect(started.told).toEqual([])
      expect(started.recorded).toEqual([])
      yield* TestClock.adjust("10 seconds")
      expect(started.told).toEqual([{ _tag: "RecordFailure", deliveryId: "dlv_a", origin: "event", status: 500 }])
      expect(resultsOf(started)).toEqual([["dlv_a", "failed", ""]])
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("tells of one success after a failure, and of none without", () =>
    Effect.gen(function* () {
      const started = yield* start({ answer: (body) => answered(body.startsWith("bad") ? 500 : 200) })
      yield* started.hand("a", "b")
      expect(started.told).toEqual([])
      yield* started.hand("bad")
      yield* started.hand("c")
      expect(started.told.map(({ _tag }) => _tag)).toEqual(["RecordFailure", "RecordSuccess"])
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("sends nothing unsigned: without its secret a delivery goes back as if it had not been taken", () =>
    Effect.gen(function* () {
      const started = yield* start({ open: () => Effect.fail(new SecretsUnavailable({ message: "away" })) })
      yield* started.hand("a")
      expect(started.sent).toEqual([])
      expect(started.recorded).toMatchObject([{ made: null, result: { _tag: "Returned", dueAt: 1_000 } }])
      expect(yield* started.held).toBe(0)
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("records outcomes that come within a moment together", () =>
    Effect.gen(function* () {
      const batches: Array<ReadonlyArray<string>> = []
      const record = (outcomes: ReadonlyArray<DeliveryOutcome>) =>
        Effect.sync(() => {
          batches.push(outcomes.map(({ delivery: { id } }) => id))
        })
      const started = yield* start({ record, momentMillis: 3 })
      for (const name of ["a", "b", "c"]) yield* started.hand(name)
      expect(batches).toEqual([])
      yield* TestClock.adjust("10 millis")
      expect(batches).toEqual([["dlv_a", "dlv_b", "dlv_c"]])
    })
  )

  it.effect("records at a shutdown without waiting for others", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const started = yield* Scope.provide(start({ momentMillis: 0 }), scope)
      yield* started.hand("a")
      expect(started.recorded).toEqual([])
      yield* Scope.close(scope, Exit.void)
      expect(resultsOf(started)).toEqual([["dlv_a", "succeeded", ""]])
    })
  )
})
