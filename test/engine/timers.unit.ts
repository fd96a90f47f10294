/** Timers of a running engine. Their order and their bounds are specified in `timersModel.unit.ts`. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Clock, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Reminder } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"

describe("a serving partition", () => {
  const times = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200_000 }))).check(
    Schema.isMaxLength(6)
  )

  it.effect.prop(
    "wakes at each of its timers' times, whatever it slept towards before",
    [Arbitrary.schema(times)],
    ([ats]) =>
      Effect.gen(function* () {
        const { engine } = yield* serving(makeDeployment())
        const begun = yield* Clock.currentTimeMillis
        const of = (n: number) => ({ organization: `org_${n}` })
        for (const [n, at] of ats.entries()) {
          yield* engine.ask(Reminder, of(n), { _tag: "Set", at: begun + at })
          yield* TestClock.adjust(0)
        }
        // In one go, so that nobody asks anything meanwhile: a timer that was missed would ring late.
        yield* TestClock.adjust("5 minutes")
        for (const [n, at] of ats.entries()) {
          expect(yield* engine.ask(Reminder, of(n), { _tag: "Rang" })).toEqual([begun + at])
        }
      })
  )
})
