import { expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { backoff, Pauses } from "../../src/common/backoff.ts"

it("pauses double up to the longest, and begin anew when told to", () => {
  const pauses = new Pauses(50, 300)
  const several = () => Array.from({ length: 5 }, () => pauses.afterFailure())
  expect(several()).toEqual([50, 100, 200, 300, 300])
  pauses.reset()
  expect(several()).toEqual([50, 100, 200, 300, 300])
})

it.effect("a retry waits for the same pauses", () =>
  Effect.gen(function* () {
    const attempts: Array<number> = []
    const attempt = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      attempts.push(now)
      return attempts.length === 6 ? Effect.void : Effect.fail("not yet")
    })
    yield* Effect.forkChild(Effect.retry(attempt, backoff(50, 300)))
    yield* TestClock.adjust("1 minute")
    expect(attempts.slice(1).map((at, index) => at - attempts[index]!)).toEqual([50, 100, 200, 300, 300])
  })
)
