/** A wake that asks to be woken again: it costs no frame, comes at its time wherever its actor is, and is never lost. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import * as Actor from "../../src/engine/Actor.ts"
import type { Cell } from "../../src/engine/core/actors/Organization.ts"
import { Timers } from "../../src/engine/core/timers/Timers.ts"
import { WakeBrake } from "../../src/engine/core/timers/WakeBrake.ts"
import { PartitionUnavailable } from "../../src/engine/errors.ts"
import { maximumAgainTimers, maximumTimerPage } from "../../src/engine/limits.ts"
import { given } from "../../src/simulation/index.ts"
import { Newsletter } from "./example/newsletter.ts"
import { Counter, Reminder } from "./support/actors.ts"
import { type CoreDriver, servingCore } from "./support/core.ts"
import { failAllReads, runUnread } from "./support/coreSteps.ts"
import { add } from "./support/durability.ts"
import { loadedCell, makeMemory } from "./support/memory.ts"
import { boom, odd } from "./support/oddActor.ts"
import { makeWatcher, type Wakes } from "./support/watchers.ts"

const begin = 1_000_000
const full = new PartitionUnavailable({ partition: 0, reason: "its log is full", retryAfterMillis: 1_000 })

/** A core with a watcher that looks at 1 s, at 4 s, at 7 s, and sees at 10 s; times count from `begin`. */
const watching = (options: Parameters<typeof makeWatcher>[1] = {}) => {
  const wakes: Wakes = new Map()
  const Watcher = makeWatcher(wakes, options)
  const core = servingCore({ actors: [Counter, Reminder, Watcher], lanes: [] })
  const watch = (from: number, until: number, everyMillis = 3_000) =>
    core.ask(Watcher, "org_1", { watch: { from: begin + from, until: begin + until, everyMillis } })
  watch(1_000, 10_000)
  core.run()
  return { core, Watcher, watch, looks: () => (wakes.get("org_1") ?? []).map((at) => at - begin) }
}

/** Lets time pass in steps of half a second. */
const pass = (core: CoreDriver, seconds: number) => {
  for (let steps = 0; steps < seconds * 2; steps++) {
    core.pass(500)
    core.run()
  }
}

const evictAll = (core: CoreDriver) => {
  core.save()
  core.core.sweep(0, core.now)
  expect([...core.core.probe.actors()]).toEqual([])
}

describe("a wake that asks to be woken again", () => {
  it("as a specification", () => {
    const Watcher = makeWatcher(new Map())
    const watched = [{ watch: { from: 1_000, until: 10_000, everyMillis: 3_000 } }]
    given(Watcher, watched).whenWoken().then({ wakeAgain: 4_000, facts: [] })
    given(Watcher, watched, { now: 10_000 })
      .whenWoken()
      .then([{ seenAt: 10_000 }])
    const decided = given(Watcher, watched).whenWoken()
    expect(() => decided.then([])).toThrow("wakeAgain: wanted undefined, found 4000")
    expect(() => given(Watcher, watched, { now: 10_000 }).whenWoken().then({ wakeAgain: 11_000 })).toThrow("wakeAgain")
  })

  it("is woken at that time and not before, and no frame is made until there are facts", () => {
    const { core, looks, Watcher } = watching()
    const frames = core.log.length
    pass(core, 9)
    expect(looks()).toEqual([1_000, 4_000, 7_000])
    expect(core.log.length).toBe(frames)
    pass(core, 5)
    expect(looks()).toEqual([1_000, 4_000, 7_000, 10_000])
    expect(core.log.length).toBe(frames + 1)
    expect(core.peek(Watcher, "org_1").value).toEqual({ watch: null, seen: [begin + 10_000] })
    pass(core, 60)
    expect(looks()).toHaveLength(4)
  })

  it("sleeps until that time", () => {
    const { core } = watching()
    core.pass(1_000)
    expect(core.run()).toMatchObject({ millis: 3_000 })
  })

  it("given a change of the state, then the state's own time counts again", () => {
    const { core, looks, watch } = watching()
    pass(core, 1)
    watch(1_500, 2_000)
    core.run()
    pass(core, 4)
    expect(looks()).toEqual([1_000, 1_500, 4_500])
  })

  it("given a command that changes nothing, then it keeps its time", () => {
    const { core, looks, Watcher } = watching()
    pass(core, 1)
    core.ask(Watcher, "org_1", { watch: null })
    pass(core, 3)
    expect(looks()).toEqual([1_000, 4_000])
  })

  it("given a restart, then it is woken at the state's time, which is at once, and asks again", () => {
    const { core, looks } = watching()
    pass(core, 2)
    core.save()
    core.begin()
    pass(core, 1)
    expect(looks()).toEqual([1_000, 2_500])
    pass(core, 3)
    expect(looks()).toEqual([1_000, 2_500, 5_500])
  })

  it.each([
    ["when idle", {}],
    ["after its checkpoint", { leavesMemory: "after its checkpoint" as const }]
  ])("given its actor has left memory %s, then it is woken at that time and not before", (_, options) => {
    const { core, looks } = watching(options)
    pass(core, 1)
    evictAll(core)
    pass(core, 2.5)
    expect([...core.core.probe.actors()]).toEqual([])
    pass(core, 0.5)
    expect(looks()).toEqual([1_000, 4_000])
    core.core.sweep(0, core.now)
    pass(core, 6)
    expect(looks()).toEqual([1_000, 4_000, 7_000, 10_000])
  })

  it("given its actor has left memory, when a command loads it, then it keeps its time", () => {
    const { core, looks, Watcher } = watching()
    pass(core, 1)
    evictAll(core)
    const asked = core.ask(Watcher, "org_1", { watch: null })
    pass(core, 2)
    expect([asked.value, looks()]).toEqual([[], [1_000]])
    pass(core, 1)
    expect(looks()).toEqual([1_000, 4_000])
  })

  it("given its actor has left memory, when a new watch is set, then the new one counts alone", () => {
    const { core, looks, watch } = watching()
    pass(core, 1)
    evictAll(core)
    watch(2_000, 2_000)
    core.run()
    pass(core, 8)
    expect(looks()).toEqual([1_000, 2_000])
  })

  it("given its actor cannot be loaded at that time, then it is woken when the store is back", () => {
    const { core, looks } = watching()
    pass(core, 1)
    evictAll(core)
    core.pass(3_000)
    runUnread(core)
    expect(failAllReads(core)).toBe(1)
    core.pass(500)
    core.run()
    expect(looks()).toEqual([1_000])
    pass(core, 2)
    expect(looks()).toEqual([1_000, 5_000])
  })

  it("given many timers in the checkpoints, when they are read in pages, then it is neither lost nor early", () => {
    const { core, looks } = watching()
    const late = Array.from({ length: 3 * maximumTimerPage }, (_, n) => `late_${n}`)
    for (const name of late) core.ask(Reminder, name, { _tag: "Set", at: begin + 3_500 + Number(name.slice(5)) })
    core.run()
    core.save()
    core.begin()
    pass(core, 1)
    evictAll(core)
    pass(core, 2.5)
    expect(looks()).toEqual([1_000])
    for (let n = 0; n < 4; n++) {
      pass(core, 0.5)
      core.save()
      core.core.sweep(0, core.now)
    }
    expect(looks()).toEqual([1_000, 4_000])
  })

  it("given the frame beside it is refused, then it is woken again, because it may have seen drafts", () => {
    const { core, looks } = watching()
    pass(core, 3.5)
    core.pass(500)
    core.ask(Counter, "org_1", add(1))
    core.fencedOff(core.draft(), full)
    expect(looks()).toEqual([1_000, 4_000])
    core.pass(2_000)
    core.run()
    expect(looks()).toEqual([1_000, 4_000, 6_000])
    pass(core, 3)
    expect(looks()).toEqual([1_000, 4_000, 6_000, 9_000])
  })

  it("given the frame beside it is refused and its actor leaves memory meanwhile, then it is woken again", () => {
    const { core, looks, Watcher } = watching({ leavesMemory: "after its checkpoint" })
    pass(core, 3.5)
    core.save()
    for (const asked of [core.ask(Watcher, "org_1", { watch: null }), core.ask(Counter, "org_1", add(1))]) {
      core.run()
      expect(asked.answers).toBe(1)
    }
    core.pass(500)
    core.ask(Counter, "org_1", add(1))
    const frame = core.draft()
    core.save()
    core.fencedOff(frame, full)
    expect([...core.core.probe.actors()].map(({ kind }) => kind)).not.toContain("watcher")
    core.confirm()
    pass(core, 3)
    expect(looks().slice(0, 2)).toEqual([1_000, 4_000])
    expect(looks()).toHaveLength(3)
  })

  const times: ReadonlyArray<readonly [string, unknown]> = [
    ["now", begin + 1_000],
    ["a time that is over", begin],
    ["half a millisecond", begin + 2_000.5],
    ["no number", Number.NaN],
    ["for ever", Number.POSITIVE_INFINITY],
    ["a text", "soon"],
    ["a symbol", Symbol.for("soon")],
    ["nothing", undefined]
  ]

  it.each(times)("given it names %s, then it counts as broken and waits for a change of its state", (_, time) => {
    let tried = 0
    const actor = odd({
      wakeAt: (state) => state.at ?? undefined,
      wake: () => {
        tried++
        return Actor.wakeAgain(time as number)
      }
    })
    const core = servingCore({ actors: [actor, Reminder], lanes: [] })
    core.ask(actor, "org_1", "later")
    core.ask(Reminder, "org_2", { _tag: "Set", at: begin + 2_000 })
    core.run()
    pass(core, 10)
    expect([tried, core.poisoned.length]).toEqual([1, 1])
    expect(core.peek(Reminder, "org_2").answers).toBe(0)
    core.ask(actor, "org_1", "later")
    core.run()
    pass(core, 10)
    expect(tried).toBe(2)
  })

  it("given a later wake breaks, then it waits for a change of its state", () => {
    let tried = 0
    const actor = odd({
      wakeAt: (state) => state.at ?? undefined,
      wake: (_, { now }) => (++tried === 1 ? Actor.wakeAgain(now + 100) : boom())
    })
    const core = servingCore({ actors: [actor], lanes: [] })
    core.ask(actor, "org_1", "later")
    core.run()
    pass(core, 10)
    expect([tried, core.poisoned.length]).toEqual([2, 1])
  })

  it("is no answer to a command", () => {
    const actor = odd({ decide: () => Actor.wakeAgain(begin + 1) as never })
    const core = servingCore({ actors: [actor], lanes: [] })
    const asked = core.ask(actor, "org_1", "good")
    core.run()
    expect(asked.value).toMatchObject({ _tag: "CommandFailed" })
  })
})

describe("the example of the document", () => {
  it("does what it says", () => {
    const night = Date.UTC(2026, 0, 2, 3, 30)
    const morning = Date.UTC(2026, 0, 2, 8)
    given(Newsletter, [{ sendAt: night }])
      .whenWoken()
      .then({ wakeAgain: morning })
    given(Newsletter, [{ sendAt: night }], { now: morning })
      .whenWoken()
      .then([{ sentAt: morning }])
  })

  it("is the program that runs here", () => {
    const read = (file: string) => readFileSync(new URL(file, import.meta.url), "utf8")
    const [, shown] = /```ts\n\/\/ newsletter\.ts\n([\s\S]*?)```/.exec(read("../../docs/architecture.md"))!
    expect(shown).toBe(read("example/newsletter.ts").replace('"../../../src/index.ts"', '"sluice"'))
  })
})

describe("timers that no checkpoint has", () => {
  const againIn = (cell: Cell, at: number): Cell => {
    cell.wakeAt = 10
    cell.brake = new WakeBrake()
    cell.brake.againAt = at
    return cell
  }

  it("are kept when the actors that left are many, up to a bound from which on actors stay", () => {
    const timers = new Timers(true)
    const memory = makeMemory()
    for (let n = 0; n < maximumAgainTimers; n++) {
      const cell = againIn(loadedCell(memory, "org_1", `k${n}`), 100 + n)
      timers.set(cell, cell.dueAt)
      expect(timers.mayLeave(cell)).toBe(true)
      memory.remove(cell)
      timers.evicted(cell)
    }
    expect(timers.size).toBe(maximumAgainTimers)
    const more = againIn(loadedCell(memory, "org_1", "more"), 5_000)
    timers.set(more, more.dueAt)
    expect(timers.mayLeave(more)).toBe(false)
    const usual = loadedCell(memory, "org_1", "usual")
    usual.wakeAt = 20
    timers.set(usual, 20)
    expect(timers.mayLeave(usual)).toBe(true)
    // They take no room from pages, and an actor that comes back makes some.
    expect(timers.needsPage(0)).toBe(true)
    expect(timers.loaded(loadedCell(memory, "org_1", "k7"))).toBe(107)
    expect(timers.mayLeave(more)).toBe(true)
  })

  it("stay when an older timer of their actor, which was put off, is tried again", () => {
    const timers = new Timers(false)
    const memory = makeMemory()
    const cell = againIn(loadedCell(memory, "org_1", "again"), 500)
    timers.set(cell, cell.dueAt)
    memory.remove(cell)
    timers.evicted(cell)
    const putOff = (key: string) => ({ organization: "org_1", kind: "counter", key, wakeAt: 10, isAgain: false })
    timers.addPutOff(putOff("again"))
    expect(timers.first).toMatchObject({ key: "again", wakeAt: 500, isAgain: true })
    // Of an actor that has no other timer it comes back.
    timers.addPutOff(putOff("other"))
    expect(timers.first).toMatchObject({ key: "other", wakeAt: 10, isAgain: false })
  })

  it("outlast the pages' timers, and a page does not bring the time before them back", () => {
    const timers = new Timers(true)
    const memory = makeMemory()
    const cell = againIn(loadedCell(memory, "org_1", "again"), 1_000_000)
    timers.set(cell, cell.dueAt)
    memory.remove(cell)
    timers.evicted(cell)
    const row = (key: string, wakeAt: number) => ({ organization: "org_1", kind: "counter", key, wakeAt })
    timers.addPage([row("again", 10), row("other", 20)], false, () => false)
    for (let n = 0; n < 6 * maximumTimerPage; n++) {
      const other = loadedCell(memory, "org_2", `k${n}`)
      other.wakeAt = 100 + n
      timers.set(other, other.wakeAt)
      memory.remove(other)
      timers.evicted(other)
    }
    expect(timers.first).toMatchObject({ key: "other" })
    expect(timers.loaded(loadedCell(memory, "org_1", "again"))).toBe(1_000_000)
  })
})
