/** The bounds of a backup's reads: their rate, and how long nothing may move. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makePace, unlessStalled } from "../../../src/app/backup/copyPace.ts"

describe("the rate of reads", () => {
  it.effect("is that of all reads together", () =>
    Effect.gen(function* () {
      const pace = makePace(1_000)
      const read = Effect.forEach(Array.from({ length: 10 }), () => pace(500), { discard: true })
      const fiber = yield* Effect.forkChild(Effect.andThen(read, Clock.currentTimeMillis))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(fiber), 5_000)
    })
  )

  it.effect("does not hold up reads that are slower, nor save up their time", () =>
    Effect.gen(function* () {
      const pace = makePace(1_000)
      yield* TestClock.adjust("1 minute")
      const fiber = yield* Effect.forkChild(Effect.andThen(pace(2_000), Clock.currentTimeMillis))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* Fiber.join(fiber), 62_000)
    })
  )
})

describe("a copy", () => {
  it.effect("that moves may take as long as it likes", () =>
    Effect.gen(function* () {
      let moved = 0
      const copy = Effect.forEach(
        Array.from({ length: 100 }),
        () =>
          Effect.andThen(
            Effect.sleep("50 seconds"),
            Effect.sync(() => moved++)
          ),
        { discard: true }
      )
      const fiber = yield* Effect.forkChild(unlessStalled(() => moved, "The table was not copied", copy))
      yield* TestClock.adjust("2 hours")
      yield* Fiber.join(fiber)
      assert.strictEqual(moved, 100)
    })
  )

  it.effect("that stands still for a minute is given up with a sentence", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(
        Effect.flip(unlessStalled(() => 7, "The table was not copied", Effect.never))
      )
      yield* TestClock.adjust("62 seconds")
      const { message } = yield* Fiber.join(fiber)
      assert.match(message, /^The table was not copied: nothing has moved for 60000 ms/)
    })
  )
})
