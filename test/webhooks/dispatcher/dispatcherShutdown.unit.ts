/** A dispatcher leaves its deliveries to the store when it stops: another may take the unattempted ones immediately, and a possibly recorded one stays as it is. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { answered, away, type Faults, resultsOf, start } from "./dispatcherSupport.ts"

/** How long a shutdown waits for answers, and then for the store. */
const drainMillis = 5_000
const wholeMillis = 20_000

/** A dispatcher, and its end. */
const stoppable = (faults: Faults) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const started = yield* Scope.provide(start({ ...faults, settings: { drainMillis, ...faults.settings } }), scope)
    const stop = Effect.gen(function* () {
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(wholeMillis)
      yield* Fiber.join(closing)
    })
    return { ...started, stop, scope }
  })

describe("a dispatcher that stops", () => {
  it.effect(
    "given deliveries in flight without an answer and behind them, then all go back, due at once, with no attempt made",
    () =>
      Effect.gen(function* () {
        const { hand, recorded, sent, stop } = yield* stoppable({ send: () => Effect.never })
        yield* hand("a", "b", "c", "d", "e", "f")
        expect(sent).toEqual(["a", "b", "c", "d"])
        yield* stop
        const dueAt = 20 + drainMillis
        expect(recorded.map(({ delivery, made, result }) => [delivery.id, delivery.attempt, made, result])).toEqual(
          ["a", "b", "c", "d", "e", "f"].map((name) => [`dlv_${name}`, 1, null, { _tag: "Returned", dueAt }])
        )
      })
  )

  it.effect("given answers that come while it waits, then they are recorded and only the others go back", () =>
    Effect.gen(function* () {
      const answers = yield* Deferred.make<void>()
      const { hand, scope, ...started } = yield* stoppable({
        send: (body) => (body === "a" ? Effect.as(Deferred.await(answers), answered(200)) : Effect.never)
      })
      yield* hand("a", "b", "c", "d", "e")
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(drainMillis / 2)
      yield* Deferred.succeed(answers, undefined)
      yield* TestClock.adjust(wholeMillis)
      yield* Fiber.join(closing)
      expect(started.sent).toEqual(["a", "b", "c", "d"])
      expect(resultsOf(started)).toEqual([
        ["dlv_a", "succeeded", ""],
        ...["b", "c", "d", "e"].map((name) => [`dlv_${name}`, "Returned", null])
      ])
    })
  )

  it.effect(
    "given an outcome that was told and not answered, then it is not given back: that would undo it and its wait",
    () =>
      Effect.gen(function* () {
        const told: Array<string> = []
        const { hand, recorded, stop } = yield* stoppable({
          answer: () => answered(500),
          record: (outcomes) => {
            const [{ result }] = outcomes as [(typeof outcomes)[number]]
            told.push(...outcomes.map(({ delivery: { id } }) => `${id} ${result._tag}`))
            // Taken, but nobody hears of it.
            return result._tag === "Again" ? Effect.never : Effect.void
          },
          settings: { schedule: { delaysMillis: [60_000], jitter: 0, maximumRetryAfterMillis: 0 } },
          send: (body) => (body === "a" ? Effect.succeed(answered(500)) : Effect.never)
        })
        yield* hand("a", "b")
        expect(told).toEqual(["dlv_a Again"])
        yield* stop
        expect(recorded.map(({ delivery: { id }, result }) => `${id} ${result._tag}`)).toEqual(["dlv_b Returned"])
        expect(told).toEqual(["dlv_a Again", "dlv_b Returned"])
      })
  )

  it.effect("given a store that is away, then it ends all the same, and says what it could not give back", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
      yield* Effect.gen(function* () {
        const { hand, recorded, stop } = yield* stoppable({ send: () => Effect.never, record: () => Effect.fail(away) })
        yield* hand("a", "b")
        yield* stop
        expect(recorded).toEqual([])
      }).pipe(Effect.provide(Logger.layer([logger])))
      expect(lines.join()).toContain("2 deliveries could not be given back")
    })
  )

  it.effect("given a store that hangs, then it ends all the same", () =>
    Effect.gen(function* () {
      const { hand, recorded, stop } = yield* stoppable({ send: () => Effect.never, record: () => Effect.never })
      yield* hand("a")
      yield* stop
      expect(recorded).toEqual([])
    })
  )

  it.effect("begins nothing new, also when something ends meanwhile", () =>
    Effect.gen(function* () {
      const answers = yield* Deferred.make<void>()
      const { hand, listener, scope, sent } = yield* stoppable({
        send: () => Effect.as(Deferred.await(answers), answered(200))
      })
      yield* hand("a", "b", "c", "d", "e")
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(100)
      expect(listener.room()).toEqual({ deliveries: 0, characters: 0 })
      yield* Deferred.succeed(answers, undefined)
      yield* TestClock.adjust(wholeMillis)
      yield* Fiber.join(closing)
      expect(sent).toEqual(["a", "b", "c", "d"])
    })
  )

  it.effect("given an answer that comes while what is left is given back, then it counts for nothing", () =>
    Effect.gen(function* () {
      const { hand, recorded, stop } = yield* stoppable({
        send: () => Effect.delay(Effect.succeed(answered(200)), drainMillis + 500),
        record: ([outcome]) => (outcome?.result._tag === "Returned" ? Effect.sleep("1 second") : Effect.void)
      })
      yield* hand("a")
      yield* stop
      expect(recorded.map(({ result }) => result._tag)).toEqual(["Returned"])
    })
  )
})
