/** The order of timers, against a plain sorted list. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Clock, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { compareAddresses } from "../../src/engine/address.ts"
import type { TimerRow } from "../../src/engine/Checkpoints.ts"
import { Timers } from "../../src/engine/timers.ts"
import { Reminder } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"

const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 }))
const Steps = Schema.Array(Schema.Struct({ at: Small, name: Small, advance: Schema.Boolean }))

const timer = (at: number, name: number): TimerRow => ({
  organization: `org_${name % 5}`,
  kind: "reminder",
  key: `k${name}`,
  wakeAt: at
})

const compare = (a: TimerRow, b: TimerRow) => a.wakeAt - b.wakeAt || compareAddresses(a, b)

describe("timers", () => {
  it.prop("come due in the order of time, then name", [Arbitrary.schema(Steps)], ([steps]) => {
    const timers = new Timers(false)
    const waiting: Array<TimerRow> = []
    let now = 0
    for (const { advance, at, name } of steps) {
      if (!advance) {
        timers.add(timer(now + 1 + at, name), now + 1 + at)
        waiting.push(timer(now + 1 + at, name))
        continue
      }
      now += at
      waiting.sort(compare)
      const expected = waiting.filter(({ wakeAt }) => wakeAt <= now)
      waiting.splice(0, expected.length)
      const due = timers.takeDue(now, 1_000)
      expect(due).toEqual(expected)
      timers.fired(due.length)
      expect(timers.nextAt()).toBe(waiting[0]?.wakeAt ?? Number.POSITIVE_INFINITY)
    }
    expect(timers.size).toBe(waiting.length)
  })

  it("ask for a page of evicted actors' timers before any that could be due with them", () => {
    const timers = new Timers(true)
    expect(timers.needsPage(0)).toBe(true)
    timers.addPage([timer(5, 1), timer(9, 2)], true)
    expect([timers.needsPage(8), timers.needsPage(9)]).toEqual([false, true])
    expect(timers.pageAfter).toEqual(timer(9, 2))
    expect(timers.nextAt()).toBe(5)
    timers.addPage([timer(12, 3)], false)
    expect(timers.needsPage(1_000)).toBe(false)
    expect(timers.takeDue(1_000, 10)).toEqual([timer(5, 1), timer(9, 2), timer(12, 3)])
  })

  it("take no more than asked for, and keep what was not fired", () => {
    const timers = new Timers(false)
    for (let n = 0; n < 10; n++) timers.add(timer(n, n), n)
    expect(timers.takeDue(100, 4).length).toBe(4)
    timers.fired(2)
    expect(timers.takeDue(100, 4).map(({ wakeAt }) => wakeAt)).toEqual([2, 3, 4, 5])
  })

  it("that were due by a clock which was set back wait for their time again", () => {
    const timers = new Timers(false)
    for (const at of [5, 20, 30]) timers.add(timer(at, at), at)
    expect(timers.takeDue(100, 10).length).toBe(3)
    timers.recede(10)
    expect(timers.takeDue(10, 10).map(({ wakeAt }) => wakeAt)).toEqual([5])
    timers.fired(1)
    expect(timers.nextAt()).toBe(20)
    expect(timers.takeDue(30, 10).map(({ wakeAt }) => wakeAt)).toEqual([20, 30])
  })
})

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
        // in one go, so that nobody asks anything meanwhile: a timer that was missed would ring late
        yield* TestClock.adjust("5 minutes")
        for (const [n, at] of ats.entries()) {
          expect(yield* engine.ask(Reminder, of(n), { _tag: "Rang" })).toEqual([begun + at])
        }
      })
  )
})
