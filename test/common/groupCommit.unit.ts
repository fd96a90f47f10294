/** Group commit: few writes for many fibers, and an answer for each. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as GroupCommit from "../../src/common/groupCommit.ts"

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

/** A writer that remembers its batches and waits at a gate before each. */
const recorded = (gate: Effect.Effect<void> = Effect.void) => {
  const batches: Array<ReadonlyArray<number>> = []
  const write = (items: ReadonlyArray<number>) =>
    Effect.andThen(
      Effect.sync(() => batches.push(items)),
      Effect.as(
        gate,
        items.map((item) => item * 2)
      )
    )
  return { batches, write }
}

describe("group commit", () => {
  it.effect("what comes in while one batch is written is the next one, in order, each with its own answer", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { batches, write } = recorded(Deferred.await(gate))
      const commit = yield* GroupCommit.make({ write, maximumBatch: 40, maximumWaiting: 1_000 })
      const fibers = yield* Effect.forEach(numbers(100), (item) => Effect.forkChild(commit.submit(item)))
      while (batches.length === 0) yield* Effect.yieldNow
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(
        yield* Fiber.joinAll(fibers),
        numbers(100).map((item) => item * 2)
      )
      assert.deepStrictEqual(batches.flat(), numbers(100))
      assert.isAtMost(Math.max(...batches.map((batch) => batch.length)), 40)
      assert.isAtMost(batches.length, 4)
    })
  )

  it.effect("a single item is written at once", () =>
    Effect.gen(function* () {
      const { batches, write } = recorded()
      const commit = yield* GroupCommit.make({ write, maximumBatch: 40, maximumWaiting: 10 })
      assert.strictEqual(yield* commit.submit(21), 42)
      assert.deepStrictEqual(batches, [[21]])
    })
  )

  it.effect("with a linger, a batch waits so long for more, unless as many wait as it holds or it is to hurry", () =>
    Effect.gen(function* () {
      const { batches, write } = recorded()
      const options = { write, maximumBatch: 3, maximumWaiting: 10, writers: 2, lingerMillis: 10 }
      const commit = yield* GroupCommit.make(options)
      const submit = (item: number) => Effect.andThen(Effect.forkChild(commit.submit(item)), TestClock.adjust(4))
      yield* submit(1)
      yield* submit(2)
      assert.deepStrictEqual(batches, [])
      yield* TestClock.adjust(2)
      assert.deepStrictEqual(batches, [[1, 2]])
      const fibers = yield* Effect.forEach([3, 4, 5, 6, 7, 8, 9], (item) => Effect.forkChild(commit.submit(item)))
      yield* TestClock.adjust(9)
      assert.deepStrictEqual(batches.slice(1), [
        [3, 4, 5],
        [6, 7, 8]
      ])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(batches.at(-1), [9])
      assert.deepStrictEqual(yield* Fiber.joinAll(fibers), [6, 8, 10, 12, 14, 16, 18])
      yield* submit(10)
      assert.deepStrictEqual(batches.at(-1), [9])
      yield* commit.hurry
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(batches.at(-1), [10])
      assert.strictEqual(yield* commit.submit(11), 22)
    })
  )

  it.effect("a failure is its batch's, a defect too, and the next batch is written", () =>
    Effect.gen(function* () {
      const commit = yield* GroupCommit.make({
        write: (items: ReadonlyArray<number>) =>
          items.includes(1)
            ? Effect.fail("refused" as const)
            : items.includes(2)
              ? Effect.die(new Error("defect"))
              : Effect.succeed(items),
        maximumBatch: 1,
        maximumWaiting: 10
      })
      assert.strictEqual(yield* Effect.flip(commit.submit(1)), "refused")
      const died = yield* Effect.exit(commit.submit(2))
      assert.isTrue(Exit.isFailure(died) && Exit.hasDies(died))
      assert.strictEqual(yield* commit.submit(3), 3)
    })
  )

  it.effect("beyond what may wait, who submits is held up, and everything is written in the end", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { batches, write } = recorded(Deferred.await(gate))
      const commit = yield* GroupCommit.make({ write, maximumBatch: 2, maximumWaiting: 3 })
      const fibers = yield* Effect.forEach(numbers(20), (item) => Effect.forkChild(commit.submit(item)))
      while (batches.length === 0) yield* Effect.yieldNow
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.joinAll(fibers)
      assert.deepStrictEqual(
        [...batches.flat()].sort((left, right) => left - right),
        numbers(20)
      )
    })
  )

  it.effect("an item that was taken in is written although its fiber is interrupted", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { batches, write } = recorded(Deferred.await(gate))
      const commit = yield* GroupCommit.make({ write, maximumBatch: 1, maximumWaiting: 10 })
      const first = yield* Effect.forkChild(commit.submit(1))
      const second = yield* Effect.forkChild(commit.submit(2))
      while (batches.length === 0) yield* Effect.yieldNow
      yield* Fiber.interrupt(second)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(first)
      assert.strictEqual(yield* commit.submit(3), 6)
      assert.deepStrictEqual(batches, [[1], [2], [3]])
    })
  )

  it.effect("at its end nobody is left waiting", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { write } = recorded(Effect.never)
      const commit = yield* Scope.provide(GroupCommit.make({ write, maximumBatch: 1, maximumWaiting: 2 }), scope)
      const fibers = yield* Effect.forEach(numbers(10), (item) => Effect.forkChild(commit.submit(item)))
      yield* Effect.yieldNow
      yield* Scope.close(scope, Exit.void)
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      assert.isTrue(exits.every(Exit.isFailure))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(commit.submit(11))))
    })
  )
})
