/** Actors that come into the core's memory beside its drains: what waits for them, in which order it goes on, and what a store that fails costs. */
import { describe, expect, it } from "@effect/vitest"
import { PartitionUnavailable } from "../../src/engine/errors.ts"
import { Account, Counter, Limiter } from "./support/actors.ts"
import { servingCore } from "./support/core.ts"
import { cold, counters, failAllReads, runUnread } from "./support/coreSteps.ts"
import { add, get } from "./support/durability.ts"

const full = new PartitionUnavailable({ partition: 0, reason: "its log is full", retryAfterMillis: 1_000 })

describe("commands for an actor that is not in memory", () => {
  it("given several, when it is loaded, then the loop is woken and they are decided in their order", () => {
    const core = cold(counters("org_1"))
    core.run()
    const notes = ["a", "b", "c"].map((text) => core.ask(Counter, "org_1", { _tag: "Note", text }))
    runUnread(core)
    const read = core.takeRead()!
    expect(core.takeRead()).toBeUndefined()
    const { wakes } = core
    core.answerRead(read)
    expect(core.wakes).toBeGreaterThan(wakes)
    core.run()
    expect(notes.map(({ value }) => value)).toEqual([1, 2, 3])
  })

  it("given a load that fails, then their callers are told, the loop is woken, and the next one is tried anew", () => {
    const core = cold(counters("org_1"))
    core.run()
    const asked = core.ask(Counter, "org_1", get)
    runUnread(core)
    const { wakes } = core
    expect(failAllReads(core)).toBe(1)
    expect(core.wakes).toBeGreaterThan(wakes)
    expect(asked).toMatchObject({ answers: 1, accepted: false, value: { _tag: "PartitionUnavailable" } })
    expect(core.core.probe.counts).toMatchObject({ actors: 0, stalledCommands: 0 })
    const again = core.ask(Counter, "org_1", get)
    core.run()
    expect(again).toMatchObject({ answers: 1, accepted: true, value: 1 })
  })

  it("given a command that names two of them, then both are asked for at once", () => {
    const core = cold((one) => {
      one.ask(Account, "org_1", { _tag: "Deposit", amount: 5 }, "a")
      one.ask(Account, "org_1", { _tag: "Deposit", amount: 5 }, "b")
    })
    const asked = core.ask(Account, "org_1", { _tag: "Transfer", to: "b", amount: 1 }, "a")
    runUnread(core)
    core.answerRead(core.takeRead()!)
    runUnread(core)
    expect(core.core.probe.counts.actors).toBe(2)
    core.run()
    expect(asked.value).toBe(4)
  })

  it("given a load of two of which one came otherwise meanwhile, when it is answered, then what was decided since stays", () => {
    const core = cold(counters("org_1", "org_2"))
    const asked = [core.ask(Counter, "org_1", add(10)), core.ask(Counter, "org_2", add(10))]
    core.run()
    expect(asked.map(({ value }) => value)).toEqual([11, 11])
    core.save()
    core.run()
    const later = core.ask(Counter, "org_1", get)
    core.run()
    expect(later.value).toBe(11)
  })

  it("given the store fails for some while the drain decides others, then who is in memory goes on", () => {
    const core = cold(counters("org_1", "org_2"))
    const warm = core.ask(Counter, "org_1", get)
    core.run()
    const asked = core.ask(Counter, "org_2", get)
    runUnread(core)
    const again = core.ask(Counter, "org_1", add(1))
    runUnread(core)
    expect([warm.value, again.value, asked.answers]).toEqual([1, 2, 0])
  })

  it("given one that waits while its organization's other actors leave memory, then it is decided over the true state", () => {
    const core = cold((one) => {
      one.ask(Counter, "org_1", add(1), "a")
      one.ask(Counter, "org_1", add(2), "b")
    })
    const a = core.ask(Counter, "org_1", get, "a")
    core.run()
    const b = core.ask(Counter, "org_1", add(5), "b")
    runUnread(core)
    core.pass(100)
    core.core.sweep(0, core.now)
    const meanwhile = core.ask(Counter, "org_1", get, "b")
    core.run()
    expect([a.value, b.value, meanwhile.value]).toEqual([1, 7, 7])
  })
})

describe("signals for actors that are not in memory", () => {
  it("given many, then their actors are asked for together before their turn, and they are decided in order", () => {
    const core = cold(counters("org_1", "org_2", "org_3"))
    for (const [index, organization] of ["org_1", "org_2", "org_3"].entries())
      core.signal(index + 1, Counter, organization, add(10))
    const read = core.takeRead()
    expect(read).toMatchObject({ _tag: "Actors" })
    expect(read?._tag === "Actors" && read.batch.cells.length).toBe(3)
    core.answerRead(read!)
    const frame = core.draft()
    expect(frame).toMatchObject({ records: 3, header: { signalSequence: 3 } })
  })

  it("given a store that is away, then none of them is decided out of turn, and all are when it is back", () => {
    const core = cold(counters("org_1", "org_2"))
    const warm = core.ask(Counter, "org_2", get)
    core.run()
    core.signal(1, Counter, "org_1", add(10))
    core.signal(2, Counter, "org_2", add(10))
    failAllReads(core)
    runUnread(core)
    expect(core.core.head.signalSequence).toBe(0)
    expect(core.takeRead()).toBeUndefined()
    core.pass(1_000)
    core.run()
    const totals = [core.ask(Counter, "org_1", get), core.ask(Counter, "org_2", get)]
    core.run()
    expect(warm.value).toBe(1)
    expect(totals.map(({ value }) => value)).toEqual([11, 11])
  })

  it("given a load for one that fails after its turn had come, then it is decided later, and nothing else comes of it", () => {
    const core = cold(counters("org_1", "org_2"))
    core.run()
    core.ask(Counter, "org_2", get)
    runUnread(core)
    failAllReads(core)
    core.signal(1, Counter, "org_1", add(10))
    core.pass(1_000)
    runUnread(core)
    expect(failAllReads(core)).toBe(1)
    core.pass(1_000)
    core.run()
    expect(core.core.head.signalSequence).toBe(1)
    core.pass(1_000)
    expect(core.run().millis).toBe(9_000)
    expect(core.core.probe.counts).toMatchObject({ timers: 0, signals: 0 })
  })

  it("given its organization was forgotten meanwhile, then it is decided over the state that commands see", () => {
    const core = servingCore()
    core.signal(1, Counter, "org_1", add(1))
    const asked = core.ask(Counter, "org_1", add(10))
    core.run()
    core.save()
    core.pass(1_000)
    core.core.sweep(0, core.now)
    core.signal(2, Counter, "org_1", add(100))
    core.core.sweep(0, core.now)
    const later = core.ask(Counter, "org_1", get)
    core.run()
    const total = core.ask(Counter, "org_1", get)
    core.run()
    expect(asked.accepted).toBe(true)
    expect(later.accepted).toBe(true)
    expect(total.value).toBe(111)
  })

  it("given so many that no more may be read, then who feeds them is called when half of them are done", () => {
    const core = servingCore()
    let room = 0
    for (let sequence = 1; sequence <= 256; sequence++) core.signal(sequence, Counter, "org_1", add(1))
    expect(core.core.intake.admitsSignals(() => room++)).toBe(false)
    const frame = core.draft()
    expect(room).toBeGreaterThan(0)
    core.stored(frame)
    expect(core.core.intake.admitsSignals(() => {})).toBe(true)
  })
})

describe("asks of lanes whose actors are not in memory", () => {
  it("given some, when these are loaded, then each is answered, and thousands more may wait after that", () => {
    const core = cold((one) => void one.ask(Counter, "org_1", add(2), "limit"))
    const asked = [1, 2, 3].map(() => core.askLane(Limiter, "org_1"))
    expect(asked.map(({ answers }) => answers)).toEqual([0, 0, 0])
    core.run()
    expect(asked.map(({ value }) => value)).toEqual([true, true, false])
  })

  it("given more than may wait, then the next one is refused at once; when all were answered, as many may wait again", () => {
    const core = cold(counters("org_1"))
    const wait = () => {
      for (let n = 0; n < 8_192; n++) core.askLane(Limiter, "org_1")
      return core.askLane(Limiter, "org_1")
    }
    expect(wait()).toMatchObject({ answers: 1, accepted: false, value: { _tag: "Overloaded" } })
    failAllReads(core)
    core.pass(1_000)
    expect(wait()).toMatchObject({ answers: 1, accepted: false, value: { _tag: "Overloaded" } })
    core.core.intake.failLanes(full)
    const last = core.askLane(Limiter, "org_1")
    expect(last.answers).toBe(0)
    core.run()
    expect(last).toMatchObject({ answers: 1, accepted: true, value: true })
  })
})

describe("what idle actors leave behind", () => {
  it("given an actor that a checkpoint has, when it leaves and is asked for again, then its state is what it was", () => {
    const core = servingCore({ maximumActors: 2 })
    for (let round = 1; round <= 3; round++) {
      for (const organization of ["a", "b", "c", "d"]) {
        const asked = core.ask(Counter, organization, add(1))
        core.run()
        expect(asked.value).toBe(round)
        core.save()
        expect(core.bounds.actors).toBeLessThanOrEqual(2)
      }
    }
    expect(core.core.probe.counts.organizations).toBeLessThanOrEqual(2)
  })

  it("given a lane of an organization whose actors have left, then its window goes on", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1), "limit")
    core.run()
    expect(core.askLane(Limiter, "org_1").value).toBe(true)
    core.save()
    // A drain after the ask, which keeps what it has read until then.
    core.ask(Counter, "org_2", get)
    core.run()
    core.pass(10)
    core.core.sweep(0, core.now)
    expect(core.core.probe.counts.actors).toBe(0)
    const asked = core.askLane(Limiter, "org_1")
    core.run()
    expect(asked.value).toBe(false)
  })

  it("given a query that broke because its actor cannot be made, then nothing of it stays in memory", () => {
    const core = servingCore()
    const asked = core.ask(Counter, "org_1", get, "a\0b")
    core.run()
    expect(asked.value).toMatchObject({ _tag: "CommandInvalid" })
    expect(core.core.probe.counts).toMatchObject({ actors: 0, organizations: 0 })
    expect(core.bounds.actors).toBe(0)
  })
})
