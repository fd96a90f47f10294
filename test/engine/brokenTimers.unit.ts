/** Rules 10 and 12 at timers: one that breaks is tried again when its actor's state has changed, holds up nobody else, and rings at its time alone. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as Operator from "../../src/engine/Operator.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, type StartOptions, serving } from "./support/deployment.ts"
import { Alarm } from "./support/loads.ts"

const quiet = Effect.provide(Logger.layer([]))
const of = (organization: string) => ({ organization })

const alarms = (options: StartOptions = {}) => {
  const deployment = makeDeployment()
  return Effect.map(serving(deployment, { actors: [Alarm, Counter], ...options }), ({ engine, stop }) => ({
    deployment,
    engine,
    stop,
    set: (
      organization: string,
      at: number | null,
      ending?: "throws" | "breaks its actor" | "is rejected" | "does nothing" | "has no next time"
    ) => engine.ask(Alarm, of(organization), { _tag: "Set", at, ...(ending === undefined ? {} : { ending }) }),
    rings: (organization: string) => engine.ask(Alarm, of(organization), { _tag: "Rang" })
  }))
}

describe("an alarm that breaks when its time has come", () => {
  const endings = ["throws", "is rejected", "does nothing", "breaks its actor", "has no next time"] as const

  it.effect.each(endings)("given one that %s, then it rings at the next time that it is set to", (ending) =>
    Effect.gen(function* () {
      const { rings, set } = yield* alarms()
      yield* set("org_1", 1_000, ending)
      yield* TestClock.adjust("10 seconds")
      expect(yield* rings("org_1")).toEqual([])
      yield* set("org_1", 20_000)
      yield* TestClock.adjust("20 seconds")
      expect(yield* rings("org_1")).toEqual([20_000])
      yield* set("org_1", 40_000)
      yield* TestClock.adjust("20 seconds")
      expect(yield* rings("org_1")).toEqual([20_000, 40_000])
    }).pipe(quiet)
  )

  it.effect.each(endings)("given one that %s, then others ring at their time, and commands are answered", (ending) =>
    Effect.gen(function* () {
      const { engine, rings, set } = yield* alarms()
      // In the order of time and name: before, at the same moment, and behind.
      for (const [organization, at] of [
        ["a", 1_000],
        ["z", 1_000],
        ["later", 5_000]
      ] as const)
        yield* set(organization, at)
      yield* set("broken", 1_000, ending)
      yield* TestClock.adjust("4 seconds")
      expect(yield* engine.ask(Counter, of("broken"), { _tag: "Add", amount: 2 })).toBe(2)
      yield* TestClock.adjust("30 seconds")
      for (const organization of ["a", "z"]) {
        const [rang, ...more] = yield* rings(organization)
        expect(more).toEqual([])
        expect(rang).toBeGreaterThanOrEqual(1_000)
        expect(rang).toBeLessThan(4_000)
      }
      expect(yield* rings("later")).toHaveLength(1)
      expect(yield* rings("broken")).toEqual([])
    }).pipe(quiet)
  )

  it.effect("given one that throws, then it costs nothing until its state changes: no frame is written for it", () =>
    Effect.gen(function* () {
      const { deployment, set } = yield* alarms()
      yield* set("org_1", 1_000, "throws")
      yield* TestClock.adjust("5 seconds")
      const { length } = deployment.journal.log(0).frames
      yield* TestClock.adjust("5 minutes")
      expect(deployment.journal.log(0).frames.length).toBe(length)
    }).pipe(quiet)
  )
})

describe("an alarm that is set anew", () => {
  it.effect("given the time at which it was rejected, then it rings at once: its state has changed", () =>
    Effect.gen(function* () {
      const { rings, set } = yield* alarms()
      yield* set("org_1", 1_000, "is rejected")
      yield* TestClock.adjust("10 seconds")
      yield* set("org_1", 1_000)
      yield* TestClock.adjust("1 second")
      expect(yield* rings("org_1")).toHaveLength(1)
    }).pipe(quiet)
  )

  it.effect("given a later time, then it does not ring at the earlier one, whether it stays in memory or not", () =>
    Effect.gen(function* () {
      const { engine, rings, set } = yield* alarms({ config: { idleMillis: 10_000, checkpointMillis: 5_000 } })
      yield* set("kept", 8_000)
      yield* set("kept", 100_000)
      yield* set("left", 70_000)
      yield* TestClock.adjust("60 seconds")
      expect(yield* Operator.of(engine).inspectPartition(0)).toMatchObject({ actorsInMemory: 0 })
      yield* set("left", 110_000)
      yield* TestClock.setTime(90_000)
      expect(yield* rings("left")).toEqual([])
      expect(yield* rings("kept")).toEqual([])
      yield* TestClock.setTime(120_000)
      expect(yield* rings("kept")).toEqual([100_000])
      expect(yield* rings("left")).toEqual([110_000])
    })
  )

  it.effect("given an earlier time, then it rings then, and once", () =>
    Effect.gen(function* () {
      const { rings, set } = yield* alarms()
      yield* set("org_1", 600_000)
      yield* TestClock.adjust("1 second")
      yield* set("org_1", 30_000)
      yield* TestClock.adjust("20 minutes")
      expect(yield* rings("org_1")).toEqual([30_000])
    })
  )

  it.effect("given no time, then it does not ring, also after a restart", () =>
    Effect.gen(function* () {
      const { deployment, set, stop } = yield* alarms()
      yield* set("org_1", 5_000)
      yield* set("org_1", null)
      yield* stop
      const { engine } = yield* serving(deployment, { actors: [Alarm, Counter] })
      yield* TestClock.adjust("1 minute")
      expect(yield* engine.ask(Alarm, of("org_1"), { _tag: "Rang" })).toEqual([])
    })
  )

  it.effect("given a time that has passed, then it rings at once", () =>
    Effect.gen(function* () {
      const { rings, set } = yield* alarms()
      yield* TestClock.adjust("10 seconds")
      yield* set("org_1", 3_000)
      yield* TestClock.adjust(0)
      expect(yield* rings("org_1")).toEqual([10_000])
    })
  )

  it.effect("given a crash before any checkpoint has it, then it rings after the restart", () =>
    Effect.gen(function* () {
      const { deployment, set, stop } = yield* alarms()
      yield* set("org_1", 5_000)
      yield* stop
      deployment.checkpoints.of(0).records = []
      const again = yield* serving(deployment, { actors: [Alarm, Counter] })
      yield* TestClock.adjust("10 seconds")
      expect(yield* again.engine.ask(Alarm, of("org_1"), { _tag: "Rang" })).toHaveLength(1)
    }).pipe(quiet)
  )
})
