/** Work in turn: what waits is given up in time or taken back, and no connection is lost by it. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeInTurn } from "../../../../src/send/handoff/smtp/SmtpTransport.ts"

const wish = (account: string) => ({ account, domain: "one.test" })

describe("[handoff 2.1] work in an account's turn", () => {
  it.effect("is late after its wait, and not begun", () =>
    Effect.gen(function* () {
      const inTurn = makeInTurn({ connections: 1, ofDomain: 1 }, 1_000)
      const done = yield* Deferred.make<void>()
      const first = yield* Effect.forkChild(inTurn(wish("a"), Effect.as(Deferred.await(done), "done"), "late"))
      yield* TestClock.adjust(1)
      const begun: Array<string> = []
      const work = (account: string) =>
        inTurn(
          wish(account),
          Effect.sync(() => {
            begun.push(account)
            return "done"
          }),
          "late"
        )
      const second = yield* Effect.forkChild(work("b"))
      yield* TestClock.adjust(1_000)
      assert.strictEqual(yield* Fiber.join(second), "late")
      // The first one's time is not the turn's: it goes on.
      yield* Deferred.succeed(done, undefined)
      assert.strictEqual(yield* Fiber.join(first), "done")
      assert.deepStrictEqual(begun, [])
      assert.strictEqual(yield* work("b"), "done")
      assert.deepStrictEqual(begun, ["b"])
    })
  )

  it.effect("leaves its connection to the next, however it ends", () =>
    Effect.gen(function* () {
      const inTurn = makeInTurn({ connections: 1, ofDomain: 1 }, 1_000)
      const never = inTurn(wish("a"), Effect.never, "late")
      for (let round = 0; round < 3; round++) {
        const working = yield* Effect.forkChild(never)
        yield* TestClock.adjust(1)
        const waiting = yield* Effect.forkChild(never)
        const next = yield* Effect.forkChild(inTurn(wish("b"), Effect.succeed("done"), "late"))
        yield* TestClock.adjust(1)
        yield* Fiber.interrupt(waiting)
        yield* Fiber.interrupt(working)
        assert.strictEqual(yield* Fiber.join(next), "done")
        assert.strictEqual(yield* Effect.flip(inTurn(wish("a"), Effect.fail("failed"), "late")), "failed")
      }
    })
  )
})
