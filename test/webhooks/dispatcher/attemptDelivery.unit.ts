/** One attempt and what follows from it: who is told, what is recorded, in which order, and how many attempts an endpoint has at a time. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { PartitionStopped } from "../../../src/engine/errors.ts"
import { jobLanes } from "../../../src/webhooks/delivery/model.ts"
import type { DeliveryAnswer } from "../../../src/webhooks/delivery/ports.ts"
import { defaultSchedule } from "../../../src/webhooks/delivery/schedule.ts"
import { actorsOf } from "../../../src/webhooks/dispatcher/onEngine.ts"
import { leaseOf } from "../../../src/webhooks/dispatcher/WebhookDispatcher.ts"
import type { Endpoint, EndpointCommand } from "../../../src/webhooks/endpoint/model.ts"
import { sign } from "../../../src/webhooks/secret/signature.ts"
import { noMoreScans, Stock } from "./dispatcherStock.ts"
import { answered, endpoint, type Faults, start } from "./dispatcherSupport.ts"

const settings = { ...noMoreScans, drainMillis: 0 }
const quiet = Effect.provide(Logger.layer([]))

const retried = { ...settings, schedule: { ...defaultSchedule, jitter: 0, delaysMillis: [1_000, 1_000] } }

const unanswered: DeliveryAnswer = { attempt: { _tag: "NoAnswer" }, response: null, error: "no such host" }

/** A dispatcher with one delivery in its store. */
const withOne = (more: Parameters<Stock["put"]>[1], faults: Omit<Faults, "store">) =>
  Effect.gen(function* () {
    const stock = new Stock()
    stock.endpoint("we_1")
    stock.put("a", more)
    return { stock, ...(yield* stock.start({ settings: retried, ...faults })) }
  })

describe("a delivery that fails", () => {
  it.effect(
    "given an event, then it is attempted as the schedule says, and its endpoint hears of it once, at the end",
    () =>
      Effect.gen(function* () {
        const { sent, stock, told } = yield* withOne({}, { answer: () => answered(500) })
        yield* TestClock.adjust("1500 millis")
        expect([sent.length, told.length]).toEqual([2, 0])
        yield* TestClock.adjust("10 seconds")
        expect(sent).toEqual(["a", "a", "a"])
        expect(told).toEqual([{ _tag: "RecordFailure", deliveryId: "dlv_a", origin: "event", status: 500 }])
        expect(stock.statusOf("a")).toBe("failed")
      })
  )

  it.effect.each(["test", "retry"] as const)(
    "given what somebody asked for (%s), then there is one attempt, and it counts for nobody",
    (origin) =>
      Effect.gen(function* () {
        const { sent, stock, told } = yield* withOne({ origin, lane: jobLanes.asked }, { answer: () => answered(500) })
        yield* TestClock.adjust("10 seconds")
        expect(sent).toEqual(["a"])
        expect(told).toEqual([])
        expect(stock.statusOf("a")).toBe("failed")
      })
  )

  it.effect("given a way out that is closed, then it fails in the end, and its endpoint hears of nothing", () =>
    Effect.gen(function* () {
      const closed: DeliveryAnswer = {
        attempt: { _tag: "NoAnswer", isOurs: true },
        response: null,
        error: "The egress proxy could not be reached"
      }
      const { sent, stock, told } = yield* withOne({}, { answer: () => closed })
      yield* TestClock.adjust("10 seconds")
      expect(sent).toEqual(["a", "a", "a"])
      expect(told).toEqual([])
      expect(stock.statusOf("a")).toBe("failed")
    })
  )

  it.effect("given 410 with attempts left, then its endpoint is told at once, before that is recorded", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<void>()
      const { stock, told } = yield* withOne(
        {},
        { answer: () => answered(410), tell: () => Deferred.await(answer), told: () => ({ ...endpoint, ...paused }) }
      )
      yield* TestClock.adjust("1 second")
      expect(stock.data.delivery("dlv_a")?.attemptCount).toBe(0)
      yield* Deferred.succeed(answer, undefined)
      yield* TestClock.adjust("10 seconds")
      expect(told).toEqual([{ _tag: "RecordGone", origin: "event" }])
      // The delivery is kept: it waits for the endpoint.
      expect(stock.data.delivery("dlv_a")).toMatchObject({ status: "pending", attemptCount: 1 })
    })
  )

  it.effect("given an endpoint whose partition waits for an operator, then it is told when that one serves again", () =>
    Effect.gen(function* () {
      let failures = 5
      const stopped = new PartitionStopped({ partition: 0, reason: "its log was cut short" })
      const { stock, told } = yield* withOne(
        {},
        {
          answer: () => answered(500),
          settings: { ...settings, schedule: { ...defaultSchedule, delaysMillis: [] } },
          tell: () => (failures-- > 0 ? Effect.fail(stopped) : Effect.void)
        }
      )
      yield* TestClock.adjust("1 second")
      expect(stock.statusOf("a")).toBe("pending")
      yield* TestClock.adjust("20 seconds")
      expect(told.map(({ _tag }) => _tag)).toEqual(["RecordFailure"])
      expect(stock.statusOf("a")).toBe("failed")
    }).pipe(quiet)
  )
})

const paused = { paused: { reason: "gone", at: 1 } } as const

describe("a success after failures", () => {
  const failing: Endpoint = { ...endpoint, consecutiveFailures: 3, failedDeliveries: ["x", "y", "z"] }

  const succeeding = (more: Omit<Faults, "store"> = {}) =>
    Effect.gen(function* () {
      const stock = new Stock()
      stock.endpoint("we_1", failing)
      for (const name of ["a", "b", "c", "d", "e"]) stock.put(name)
      return { stock, ...(yield* stock.start({ settings, ...more })) }
    })

  it.effect("given several at once, then its endpoint is told of one of them", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<void>()
      const { stock, told } = yield* succeeding({ tell: () => Deferred.await(answer), told: () => endpoint })
      yield* TestClock.adjust("1 second")
      yield* Deferred.succeed(answer, undefined)
      yield* TestClock.adjust("1 second")
      expect(told).toEqual([{ _tag: "RecordSuccess" }])
      expect(stock.statuses).toEqual({ succeeded: 5 })
    })
  )

  it.effect("given a crash between the two, then it has been told: the outcome is recorded behind that", () =>
    Effect.gen(function* () {
      const { recordedIds, told } = yield* Effect.gen(function* () {
        const commands: Array<EndpointCommand> = []
        const ids: Array<string> = []
        const stock = new Stock()
        stock.endpoint("we_1", failing)
        stock.put("a")
        yield* stock.start(
          {
            settings,
            // The actor never answers: it was told all the same.
            tell: (command) =>
              Effect.andThen(
                Effect.sync(() => void commands.push(command)),
                Effect.never
              )
          },
          (store) => ({
            record: (outcomes, at) => {
              ids.push(...outcomes.map(({ delivery: { id } }) => id))
              return store.record(outcomes, at)
            }
          })
        )
        yield* TestClock.adjust("5 seconds")
        return { recordedIds: ids, told: commands }
      })
      expect(told).toEqual([{ _tag: "RecordSuccess" }])
      expect(recordedIds).toEqual([])
    })
  )
})

describe("attempts at a time", () => {
  /** Sends that end when they are told to. */
  const held = (count: number, more: Omit<Faults, "store"> = {}) =>
    Effect.gen(function* () {
      const stock = new Stock()
      stock.endpoint("we_1")
      for (let n = 0; n < count; n++) stock.put(`d${n}`)
      return { stock, ...(yield* stock.start({ settings, ...more })) }
    })

  it.effect("given answers at once or in a moment, then the next ones begin with them", () =>
    Effect.gen(function* () {
      const { sent } = yield* held(100)
      yield* TestClock.adjust(0)
      expect(sent).toHaveLength(100)
      const soon = yield* held(100, { send: () => Effect.delay(Effect.succeed(answered(200)), "2 millis") })
      // The pace grows by each answer: 4, 8, 16, 32 and 40.
      yield* Effect.repeat(TestClock.adjust(1), { times: 11 })
      expect(soon.sent).toHaveLength(100)
    })
  )

  it.effect("given answers within a second, then an endpoint has more at a time the longer it answers well", () =>
    Effect.gen(function* () {
      const { load } = yield* held(400, { send: () => Effect.delay(Effect.succeed(answered(200)), "500 millis") })
      yield* TestClock.adjust("100 millis")
      expect((yield* load).inFlight).toEqual({ main: 4, slow: 0, overdue: 0 })
      yield* Effect.repeat(TestClock.adjust("250 millis"), { times: 11 })
      const { inFlight } = yield* load
      expect(inFlight.main).toBeGreaterThan(32)
      expect(inFlight.slow).toBe(0)
    })
  )

  it.effect("given answers that take longer than a second, then its next attempts wait with the slow ones", () =>
    Effect.gen(function* () {
      const { load, sent } = yield* held(50, { send: () => Effect.delay(Effect.succeed(answered(200)), "1500 millis") })
      yield* Effect.repeat(TestClock.adjust("100 millis"), { times: 15 })
      expect(sent.length).toBeGreaterThan(4)
      // Those have only begun: it is the earlier answers that tell.
      expect((yield* load).inFlight.main).toBe(0)
    })
  )

  it.effect("given attempts without any answer, then one at a time is made", () =>
    Effect.gen(function* () {
      const { load, sent } = yield* held(20, {
        send: () => Effect.delay(Effect.succeed(unanswered), "100 millis"),
        settings: { ...retried, schedule: { ...defaultSchedule, delaysMillis: [60_000] } }
      })
      yield* Effect.repeat(TestClock.adjust("50 millis"), { times: 10 })
      expect((yield* load).inFlight).toEqual({ main: 0, slow: 1, overdue: 0 })
      expect(sent.length).toBeLessThan(10)
    })
  )

  it.effect("given deliveries that need no attempt, then the others do not wait for them", () =>
    Effect.gen(function* () {
      const now = 40 * 86_400_000
      yield* TestClock.setTime(now)
      const stock = new Stock()
      stock.endpoint("we_1")
      for (let n = 0; n < 20; n++) stock.put(`old${n}`, { expiresAt: now + 60_000, dueAt: n })
      stock.put("young", { createdAt: now, dueAt: 100 })
      const { sent } = yield* stock.start({ settings })
      yield* TestClock.adjust("100 millis")
      expect(sent).toEqual(["young"])
    })
  )

  it.effect("given attempts that break, then their places are free again, and nothing of them is kept", () =>
    Effect.gen(function* () {
      let breaks = 4
      const { load, sent } = yield* held(6, {
        secrets: (ids) => {
          if (breaks-- > 0) throw new Error("a defect")
          return new Map(ids.map((id) => [id, "whsec_1"]))
        }
      })
      yield* TestClock.adjust("1 second")
      expect(sent.toSorted()).toEqual(["d4", "d5"])
      expect(yield* load).toEqual({ held: 0, inFlight: { main: 0, slow: 0, overdue: 0 } })
    }).pipe(quiet)
  )
})

describe("secrets", () => {
  const rotated = (previous: { readonly secretId: string; readonly until: number } | null): Endpoint => ({
    ...endpoint,
    secretId: "new",
    previousSecret: previous
  })

  const signedWith = (secrets: ReadonlyArray<string>, seconds: number) => sign(secrets, seconds, "a")

  it.effect("given a rotation with an overlap, then both sign, the new one first, and after it the new one alone", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      stock.endpoint("we_1", rotated({ secretId: "old", until: 5_000 }))
      stock.put("a")
      const { signatures, wake } = yield* stock.start({ settings })
      yield* TestClock.adjust("1 second")
      expect(signatures).toEqual([signedWith(["whsec_new", "whsec_old"], 0)])
      yield* TestClock.setTime(5_000)
      yield* wake(0, "we_1")
      stock.data.retry("dlv_a", 0, 5_000, 1e12)
      yield* wake(0, "we_1")
      yield* TestClock.adjust("1 second")
      expect(signatures.slice(1)).toEqual([signedWith(["whsec_new"], 5)])
    })
  )

  it.effect("given a rotation without one, then the next attempt is signed with the new one", () =>
    Effect.gen(function* () {
      const started = yield* start({ settings })
      yield* started.hand("a")
      expect(started.signatures).toEqual([signedWith(["whsec_secret"], 0)])
      started.listener.committed({
        taken: [],
        queued: new Map(),
        endpoints: [{ endpointId: "we_1", organizationId: "org_1", partition: 0, sequence: 2, endpoint: rotated(null) }]
      })
      const { listener } = started
      listener.committed({
        taken: [
          {
            id: "dlv_b",
            partition: 0,
            organizationId: "org_1",
            endpointId: "we_1",
            lane: jobLanes.first,
            attempt: 1,
            leasedUntil: 60_000,
            origin: "event",
            eventId: "evt_a",
            eventCreatedAt: 0,
            body: "a"
          }
        ],
        queued: new Map(),
        endpoints: []
      })
      yield* TestClock.adjust("100 millis")
      expect(started.signatures.slice(1)).toEqual([signedWith(["whsec_new"], 0)])
    })
  )

  it.effect("given a current secret that is not there, then nothing is sent with the previous one alone", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      stock.endpoint("we_1", rotated({ secretId: "old", until: 5_000 }))
      stock.put("a")
      const { sent } = yield* stock.start({ settings, secrets: () => new Map([["old", "whsec_old"]]) })
      yield* TestClock.adjust("3 seconds")
      expect(sent).toEqual([])
      expect(stock.statusOf("a")).toBe("pending")
    }).pipe(quiet)
  )
})

describe("the dispatcher of the platform", () => {
  it.effect("serves the partitions that serve, and no others", () =>
    Effect.gen(function* () {
      const statuses = ["Serving", "Starting", "Stopped", "NotOwned", "ClockBehind", "Serving"] as const
      const status = Effect.succeed(
        statuses.map((_tag, partition) => ({ partition, status: _tag === "Serving" ? { _tag } : { _tag, reason: "" } }))
      )
      // Of the engine it uses nothing else here.
      const actors = actorsOf({ status } as unknown as Parameters<typeof actorsOf>[0])
      expect(yield* actors.partitions).toEqual([0, 5])
    })
  )

  it("takes deliveries for longer than an attempt and its recording last", () => {
    for (const timeoutMillis of [100, 2_000, 15_000])
      expect(leaseOf(timeoutMillis)).toBeGreaterThan(timeoutMillis + 2_000)
  })
})
