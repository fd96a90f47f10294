/** The brake: an actor that is woken without end is held for a second at a time, and the others go on. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import { WakeBrake } from "../../src/engine/core/timers/WakeBrake.ts"
import { brakeHoldMillis, brakeWarningMillis, maximumWakes, wakesWindowMillis } from "../../src/engine/limits.ts"
import { BrakeWarnings } from "../../src/engine/shell/partition/Partition.ts"
import { Counter, Reminder } from "./support/actors.ts"
import { type CoreDriver, servingCore } from "./support/core.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { add } from "./support/durability.ts"
import { makeWatcher, Spinner, type Wakes } from "./support/watchers.ts"

const begin = 1_000_000

/** Lets the clocks go, a millisecond between two looks, or as `stepMillis` says. */
const pass = (core: CoreDriver, millis: number, stepMillis = 1) => {
  for (let gone = 0; gone < millis; gone += stepMillis) {
    core.pass(stepMillis)
    core.run()
  }
}

describe("a brake", () => {
  it("admits so many wakes within a second, then none until it has held the actor for one", () => {
    const brake = new WakeBrake()
    const admitted = (now: number) => brake.admits(now, now)
    for (let n = 0; n < maximumWakes; n++) expect(admitted(n)).toBe(true)
    expect(brake.dueAt(50)).toBe(50)
    expect(admitted(500)).toBe(false)
    expect([brake.dueAt(50), brake.dueAnew(70), brake.dueAt(9_000)]).toEqual([1_500, 1_500, 9_000])
    expect(brake.dueAt(Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY)
    for (let n = 0; n < maximumWakes; n++) expect(admitted(1_500 + n)).toBe(true)
    expect(admitted(1_999)).toBe(false)
  })

  it("never holds an actor that is woken as often as that and no more", () => {
    const brake = new WakeBrake()
    const step = wakesWindowMillis / maximumWakes
    for (let n = 0; n < 1_000; n++) expect(brake.admits(n * step, n * step)).toBe(true)
  })

  it("counts the process's own time, so that a clock that is set does not help or hurt", () => {
    const brake = new WakeBrake()
    for (let n = 0; n < maximumWakes; n++) expect(brake.admits(n * 10_000, 0)).toBe(true)
    expect(brake.admits(10_000_000, 0)).toBe(false)
    const slow = new WakeBrake()
    for (let n = 0; n < 1_000; n++) expect(slow.admits(5, n * 20)).toBe(true)
  })
})

describe("an actor whose wakes never end", () => {
  it("is woken so often within a second and held for one; timers and commands of others go on", () => {
    const core = servingCore({ actors: [Counter, Reminder, Spinner], lanes: [] })
    core.ask(Spinner, "spins", begin)
    core.ask(Reminder, "rings", { _tag: "Set", at: begin + 700 })
    core.run()
    const frames = core.log.length
    expect(core.braked).toEqual(["spins"])
    for (let n = 1; n <= 9; n++) {
      pass(core, 99)
      const asked = core.ask(Counter, "counts", add(1))
      core.run()
      expect(asked.value).toBe(n)
    }
    expect(core.peek(Reminder, "rings").value).toMatchObject({ rings: [begin + 700] })
    expect(core.braked).toHaveLength(1)
    expect(core.peek(Spinner, "spins").value).toMatchObject({ turns: maximumWakes })
    pass(core, 200)
    expect(core.braked).toHaveLength(2)
    expect(core.peek(Spinner, "spins").value).toMatchObject({ turns: 2 * maximumWakes })
    pass(core, 10_000, 10)
    expect(core.log.length - frames).toBeLessThan(13 * maximumWakes)
    expect(core.log.length - frames).toBeGreaterThan(9 * maximumWakes)
  })

  it("sleeps while it is held", () => {
    const core = servingCore({ actors: [Spinner], lanes: [] })
    core.ask(Spinner, "spins", begin)
    core.run()
    expect(core.run()).toMatchObject({ millis: brakeHoldMillis })
  })

  it("is held although its state changes meanwhile", () => {
    const core = servingCore({ actors: [Spinner], lanes: [] })
    core.ask(Spinner, "spins", begin)
    core.run()
    for (let n = 0; n < 9; n++) {
      pass(core, 100, 100)
      core.ask(Spinner, "spins", begin + n)
      core.run()
    }
    expect(core.peek(Spinner, "spins").value).toMatchObject({ turns: maximumWakes })
    pass(core, 100, 100)
    expect(core.peek(Spinner, "spins").value).toMatchObject({ turns: 2 * maximumWakes })
  })

  it("is held although it leaves memory meanwhile, and comes back then", () => {
    const core = servingCore({ actors: [Spinner], lanes: [] })
    core.ask(Spinner, "spins", begin)
    core.run()
    core.save()
    core.core.sweep(0, core.now)
    expect([...core.core.probe.actors()]).toEqual([])
    pass(core, 999)
    expect([...core.core.probe.actors()]).toEqual([])
    pass(core, 1)
    expect(core.peek(Spinner, "spins").value).toMatchObject({ turns: 2 * maximumWakes })
  })

  it("is held although it asks to be woken a millisecond later each time, without any fact", () => {
    const wakes: Wakes = new Map()
    const core = servingCore({ actors: [makeWatcher(wakes)], lanes: [] })
    core.ask(makeWatcher(wakes), "spins", { watch: { from: begin, until: begin + 60_000, everyMillis: 1 } })
    core.run()
    const frames = core.log.length
    pass(core, 5_000)
    const at = wakes.get("spins")!
    expect(at.length).toBeLessThanOrEqual(5 * maximumWakes)
    expect(at.length).toBeGreaterThan(4 * maximumWakes)
    expect(at[maximumWakes]! - at[maximumWakes - 1]!).toBeGreaterThanOrEqual(brakeHoldMillis)
    expect([core.log.length, core.braked.length]).toEqual([frames, 5])
    pass(core, 60_000, 20)
    expect(core.log.length).toBe(frames + 1)
  })
})

describe("operators", () => {
  it("are told of one held actor of each kind in a minute", () => {
    const warnings = new BrakeWarnings()
    const note = (kind: string, key: string, at: number) => warnings.note({ organization: "org_1", kind, key }, at)
    note("spinner", "a", 0)
    note("spinner", "b", 1)
    note("watcher", "c", 2)
    const told = warnings.take()
    expect(told).toHaveLength(2)
    expect(told[0]).toContain("spinner")
    expect(told[0]).toContain("org_1")
    expect(told[0]).toContain("a")
    expect(warnings.take()).toEqual([])
    note("spinner", "d", brakeWarningMillis - 1)
    expect(warnings.take()).toEqual([])
    note("spinner", "e", brakeWarningMillis)
    expect(warnings.take()).toHaveLength(1)
  })

  it.effect("see it in a warning and in a metric", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment(), { actors: [Spinner, Counter] })
      yield* engine.ask(Spinner, { organization: "spins", key: "top" }, 1)
      for (let n = 1; n <= 5; n++) {
        yield* TestClock.adjust(brakeHoldMillis)
        expect(yield* engine.ask(Counter, { organization: "counts" }, add(1))).toBe(n)
      }
      const held = (yield* Metric.snapshot).find(({ id }) => id === "sluice_braked_actors_total")
      expect((held?.state as { readonly count: number }).count).toBeGreaterThanOrEqual(5)
      const warnings = lines.filter((line) => line.includes("is held for a second"))
      expect(warnings).toHaveLength(1)
      for (const part of ["partition 0", "spinner", "spins", "top"]) expect(warnings[0]).toContain(part)
    }).pipe(
      Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])),
      Effect.provideService(Metric.MetricRegistry, new Map())
    )
  })
})
