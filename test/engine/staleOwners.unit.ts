/** Rules 2, 6 and 9 where an owner knows less than it thinks: a look at the log that takes long, a place that is purged, an end that is lost. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Result } from "effect"
import { TestClock } from "effect/testing"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import { Journal } from "../../src/engine/ports/Journal.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { add, get, target, truncate } from "./support/durability.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

const quiet = Effect.provide(Logger.layer([]))

const told = (result: Result.Result<unknown, unknown>): unknown =>
  Result.isSuccess(result) ? result.success : (result.failure as { readonly _tag: string })._tag

/** The log of a deployment, whose end is told this much later than it was looked at. */
const slowState = (store: JournalMemory.JournalStore, delay: { millis: number }): Layer.Layer<Journal> =>
  Layer.succeed(
    Journal,
    Journal.of({
      maximumMessageBytes: 1024 * 1024,
      survey: () => Effect.succeed([]),
      open: (partition) => {
        const log = JournalMemory.openLog(store, partition)
        return Effect.succeed({
          ...log,
          get state() {
            return Effect.tap(log.state, () => (delay.millis === 0 ? Effect.void : Effect.sleep(delay.millis)))
          }
        })
      }
    })
  )

describe("an owner whose look at the log takes long", () => {
  it.effect("given another owner meanwhile, then its answers rest on when it looked, not on when it was told", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const delay = { millis: 0 }
      const first = yield* serving(deployment, { journalLayer: slowState(deployment.journal, delay) })
      expect(yield* first.engine.ask(Counter, target, add(1))).toBe(1)
      // Too old to answer from, and before an idle owner looks by itself.
      yield* TestClock.adjust("6 seconds")
      delay.millis = 4_000
      const looking = yield* Effect.forkChild(Effect.result(first.engine.ask(Counter, target, get)))
      yield* TestClock.adjust(0)
      yield* TestClock.adjust("1 second")
      const second = yield* serving(deployment)
      expect(yield* second.engine.ask(Counter, target, add(1))).toBe(2)
      yield* TestClock.adjust("3 seconds")
      // Of 4 seconds ago, when it was the owner.
      expect(told(yield* Fiber.join(looking))).toBe(1)
      yield* TestClock.adjust("2 seconds")
      // Of 6 seconds ago: it has to look again, and then it finds the other one.
      const late = yield* Effect.forkChild(Effect.result(first.engine.ask(Counter, target, get)))
      yield* TestClock.adjust("10 seconds")
      const answer = told(yield* Fiber.join(late))
      delay.millis = 0
      yield* TestClock.adjust("20 seconds")
      expect(answer).not.toBe(1)
    }).pipe(quiet)
  )
})

describe("an append whose place is gone", () => {
  it.effect(
    "given a log that has moved on and is purged there, then its caller is not told that nothing was stored",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const faulty = makeFaultyLog(deployment.journal)
        const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
        faulty.publishes.push("request lost")
        const asked = yield* Effect.forkChild(Effect.result(engine.ask(Counter, target, add(1))))
        yield* TestClock.adjust(0)
        // As a later owner leaves it: two checkpoints on, and purged up to the older one.
        faulty.states.push({ firstSequence: 7, lastSequence: 9, bytes: 1_000, maximumBytes: 1_000_000 })
        yield* TestClock.adjust("2 seconds")
        expect(told(yield* Fiber.join(asked))).toBe("OutcomeUnknown")
      }).pipe(quiet)
  )
})

describe("a log that loses its end under a running owner", () => {
  it.effect.each([1, 2, 3])(
    "given %s of the frames that only this process has seen, then it does not go on without them, and says what was lost",
    (frames) =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const { engine } = yield* serving(deployment)
        for (let n = 0; n < 3; n++) yield* engine.ask(Counter, target, add(1))
        truncate(deployment, frames)
        const asked = yield* Effect.forkChild(Effect.result(engine.ask(Counter, target, add(1))))
        yield* TestClock.adjust("1 minute")
        expect(["OutcomeUnknown", "PartitionMoved", "PartitionUnavailable", "PartitionStopped"]).toContain(
          told(yield* Fiber.join(asked))
        )
        const [found] = yield* engine.status
        expect(found?.status._tag).toBe("Stopped")
        const late = yield* Effect.result(engine.ask(Counter, target, get))
        expect(told(late)).toBe("PartitionStopped")
        // Nothing was written into what is left.
        expect(deployment.journal.log(0).frames.length).toBe(4 - frames)
      }).pipe(quiet)
  )
})
