/** The dispatcher over ports of the test's own: what it does when the store, the secrets or the endpoint's actor are away for a while. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { PartitionUnavailable } from "../../../src/engine/errors.ts"
import { type DeliveryOutcome, SecretsUnavailable } from "../../../src/webhooks/delivery/ports.ts"
import { answered, away, delivery, endpoint, folded, notTaken, resultsOf, start } from "./dispatcherSupport.ts"

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
      const partitionAway = new PartitionUnavailable({ partition: 0, reason: "recovering", retryAfterMillis: 100 })
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

  it.effect(
    "sends nothing without the endpoint's own headers: the delivery goes back as if it had not been taken",
    () =>
      Effect.gen(function* () {
        const started = yield* start({ secrets: () => new Map([["secret", "whsec_secret"]]) })
        const headers = { secretId: "headers", names: ["X-Key"] }
        started.listener.committed({
          taken: [delivery("1")],
          queued: new Map(),
          endpoints: [{ ...folded, endpoint: { ...endpoint, headers } }]
        })
        yield* TestClock.adjust(20)
        expect(started.sent).toEqual([])
        expect(started.recorded.map(({ result }) => result._tag)).toEqual(["Returned"])
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
