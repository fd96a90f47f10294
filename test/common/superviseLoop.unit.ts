/** Background work that goes on whatever fails, and the waits between tries. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { backoff } from "../../src/common/backoff.ts"
import { superviseLoop } from "../../src/common/superviseLoop.ts"

describe("steady work", () => {
  it.effect("goes on after a failure and after a defect, each time behind the pause", () =>
    Effect.gen(function* () {
      let rounds = 0
      const work = Effect.suspend(() => {
        rounds++
        if (rounds === 1) return Effect.fail("away")
        return rounds === 2 ? Effect.die(new Error("a fault")) : Effect.never
      })
      const fiber = yield* Effect.forkChild(superviseLoop(work, { failed: "it failed", retryMillis: 1_000 }))
      yield* TestClock.adjust(Duration.millis(999))
      assert.strictEqual(rounds, 1)
      yield* TestClock.adjust(Duration.millis(1))
      assert.strictEqual(rounds, 2)
      yield* TestClock.adjust(Duration.millis(1_000))
      assert.strictEqual(rounds, 3)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
    })
  )
})

describe("backoff", () => {
  it.effect("waits twice as long after each failure, up to its bound", () =>
    Effect.gen(function* () {
      let tries = 0
      const failing = Effect.suspend(() => Effect.fail(++tries))
      yield* Effect.forkChild(Effect.retry(failing, { schedule: backoff(100, 400), times: 5 }))
      const seen: Array<number> = []
      for (const millis of [0, 100, 200, 400, 400]) {
        yield* TestClock.adjust(Duration.millis(millis))
        seen.push(tries)
      }
      assert.deepStrictEqual(seen, [1, 2, 3, 4, 5])
    })
  )
})
