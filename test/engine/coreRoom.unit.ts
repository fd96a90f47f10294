/** The core where its log or its memory has no room: what is refused, what waits and for how long, and what is asked for so that there is some. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Actor from "../../src/engine/Actor.ts"
import { PartitionUnavailable } from "../../src/engine/errors.ts"
import { maximumIdCommands } from "../../src/engine/ids.ts"
import { Counter, Reminder } from "./support/actors.ts"
import { servingCore } from "./support/core.ts"
import { add, get } from "./support/durability.ts"

const full = new PartitionUnavailable({ partition: 0, reason: "its log is full", retryAfterMillis: 1_000 })
const set = (at: number) => ({ _tag: "Set" as const, at })
const rang = { _tag: "Rang" as const }

/** Has no state. */
const Note = Actor.makeStateless({
  kind: "note",
  command: Schema.Null,
  fact: Schema.Null,
  reply: Schema.Null,
  decide: () => Actor.decided({ facts: [null], reply: null })
})

/** Tells an id, with a fact or as a rejection. */
const Named = Actor.make<"store" | "refuse", string, number, string, string>({
  kind: "named",
  command: Schema.Literals(["store", "refuse"]),
  fact: Schema.String,
  state: Schema.Number,
  reply: Schema.String,
  rejection: Schema.String,
  initial: () => 0,
  decide: (_, command, { id }) =>
    command === "store" ? Actor.decided({ facts: [id(0)], reply: id(0) }) : Actor.rejected(id(0)),
  evolve: (count) => count + 1
})

interface Read {
  /** How many counters it names, and how often each; and how many notes. */
  readonly names: number
  readonly times?: number
  readonly notes?: number
}

/** Names other actors, and replies how many counters. */
const Reader = Actor.make<Read, null, number, number>({
  kind: "reader",
  command: Schema.Struct({
    names: Schema.Number,
    times: Schema.optionalKey(Schema.Number),
    notes: Schema.optionalKey(Schema.Number)
  }),
  fact: Schema.Null,
  state: Schema.Number,
  reply: Schema.Number,
  initial: () => 0,
  touches: ({ names, notes = 0, times = 1 }) => [
    ...Array.from({ length: names * times }, (_, n) => Counter.at(`k${n % names}`)),
    ...Array.from({ length: notes }, (_, n) => Note.at(`n${n}`))
  ],
  decide: (_, { names }) => Actor.decided({ facts: [null], reply: names }),
  evolve: (state) => state + 1
})

describe("a log without room", () => {
  it("given a refused frame, then its facts are void, and the next ones are refused unsent for a second", () => {
    const core = servingCore()
    const first = core.ask(Counter, "org_1", add(1))
    core.draft()
    core.core.notAppended({ _tag: "Refused" }, full, core.now)
    expect(first.value).toBe(full)
    expect(core.next()._tag).toBe("Confirm")
    core.confirm()
    const second = core.ask(Counter, "org_1", add(1))
    expect(core.next()._tag).not.toBe("Append")
    expect(second.value).toMatchObject({ _tag: "PartitionUnavailable", reason: "its log is full" })
    core.pass(1_000)
    const third = core.ask(Counter, "org_1", add(1))
    core.run()
    expect(third.value).toBe(1)
  })

  it("given a refused frame and a leader that does not answer, then it is not asked without end", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.draft()
    core.core.notAppended({ _tag: "Refused" }, full, core.now)
    expect(core.next()._tag).toBe("Confirm")
    core.core.confirmed(undefined, core.now, core.now)
    expect(core.next()._tag).toBe("Wait")
  })

  it("given a refused frame, then a checkpoint is wanted, which may make room", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.draft()
    core.core.notAppended({ _tag: "Refused" }, full, core.now)
    core.run()
    expect(core.checkpointsWanted).toBe(1)
  })

  it("given a frame that was never sent, then the log is not taken for full: the next one goes out at once", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.draft()
    core.core.notAppended({ _tag: "Not sent" }, full, core.now)
    const asked = core.ask(Counter, "org_1", add(1))
    core.stored(core.draft())
    expect(asked.value).toBe(1)
    expect(core.checkpointsWanted).toBe(0)
  })

  it("given a timer and a signal in a refused frame, then they come again after a second, once each", () => {
    const core = servingCore()
    core.ask(Reminder, "org_1", set(core.now.wall + 1_000))
    core.run()
    core.pass(1_000)
    core.signal(1, Counter, "org_1", add(5))
    core.fencedOff(core.draft(), full)
    expect(core.core.head.signalSequence).toBe(0)
    expect(core.run().millis).toBeLessThanOrEqual(1_000)
    const early = core.ask(Reminder, "org_1", rang)
    core.run()
    expect(early.value).toEqual([])
    core.pass(1_000)
    core.run()
    const late = [core.ask(Reminder, "org_1", rang), core.ask(Counter, "org_1", get)]
    core.run()
    expect(late.map(({ value }) => value)).toEqual([[1_002_000], 5])
    expect(core.core.head.signalSequence).toBe(1)
  })

  it("given a signal in a refused frame and a next life, then the log says that it is still to be decided", () => {
    const core = servingCore()
    core.signal(1, Counter, "org_1", add(5))
    core.fencedOff(core.draft(), full)
    core.begin()
    expect(core.core.head.signalSequence).toBe(0)
  })

  it("given more decisions with ids than a frame has, then the log is to blame for each, not the rule", () => {
    const core = servingCore({ actors: [Named], maximumActors: 10 })
    core.ask(Named, "org_1", "store")
    core.draft()
    core.core.notAppended({ _tag: "Refused" }, full, core.now)
    const reasons = new Set<unknown>()
    const ask = (command: "store" | "refuse") => {
      const asked = core.ask(Named, "org_1", command)
      while (asked.answers === 0) {
        const { _tag } = core.next()
        if (_tag === "Confirm") core.core.confirmed(undefined, core.now, core.now)
        if (_tag === "Append") core.core.notAppended({ _tag: "Refused" }, full, core.now)
      }
      return asked
    }
    for (let n = 0; n < maximumIdCommands + 100; n++) {
      const { value } = ask("store")
      reasons.add((value as PartitionUnavailable).reason)
    }
    expect([...reasons]).toEqual(["its log is full"])
    // A rejection tells its id, so it uses one up.
    const told = Array.from({ length: maximumIdCommands + 10 }, () => ask("refuse").value)
    const ids = told.filter((value) => typeof value === "string")
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.length).toBeLessThan(told.length)
    // Refused decisions have used up none.
    expect(ids.length).toBeGreaterThan(maximumIdCommands / 2)
    expect(told.at(-1)).toMatchObject({ _tag: "PartitionUnavailable", reason: "its log is full" })
    core.pass(1_000)
    const late = core.ask(Named, "org_1", "store")
    core.run()
    expect(late.accepted).toBe(true)
  })

  it("given room that a checkpoint has made, then the loop is woken for what waits", () => {
    const core = servingCore()
    const before = core.wakes
    core.core.noteFill({ bytes: 0, maximumBytes: core.logBytes })
    expect(core.wakes).toBeGreaterThan(before)
  })
})

describe("memory without room", () => {
  it("given timers of actors that find none, then it asks for a checkpoint, looks again within a tenth of a second, and they ring", () => {
    const core = servingCore({ maximumActors: 2 })
    for (const organization of ["org_1", "org_2", "org_3"]) {
      core.ask(Reminder, organization, set(core.now.wall + 5_000))
      core.run()
      core.save()
    }
    core.begin()
    // Two that have changed fill the memory.
    for (const organization of ["a", "b"]) core.ask(Counter, organization, add(1))
    core.run()
    const wanted = core.checkpointsWanted
    core.pass(5_000)
    expect(core.run().millis).toBeLessThanOrEqual(100)
    core.pass(100)
    expect(core.run().millis).toBeLessThanOrEqual(100)
    expect(core.checkpointsWanted).toBeGreaterThan(wanted)
    for (let n = 0; n < 10; n++) {
      core.save()
      core.pass(100)
      core.run()
    }
    for (const organization of ["org_1", "org_2", "org_3"]) {
      const asked = core.ask(Reminder, organization, rang)
      core.run()
      expect(asked.value).toHaveLength(1)
      core.save()
    }
  })

  it("given a signal whose actor finds none, then no other one is tried before a tenth of a second is over", () => {
    const core = servingCore({ maximumActors: 1 })
    core.ask(Counter, "a", add(1))
    core.run()
    core.signal(1, Counter, "org_1", add(1))
    expect(core.run().millis).toBeLessThanOrEqual(100)
    const drains = core.core.probe.counts.signals
    expect(drains).toBe(1)
    core.save()
    core.pass(100)
    core.run()
    expect(core.core.head.signalSequence).toBe(1)
  })

  it("given a command whose actor finds none, then it is told at once, and a checkpoint is wanted", () => {
    const core = servingCore({ maximumActors: 1 })
    core.ask(Counter, "a", add(1))
    core.run()
    const asked = core.ask(Counter, "org_1", add(1))
    core.run()
    expect(asked.value).toMatchObject({ _tag: "Overloaded" })
    expect(core.checkpointsWanted).toBe(1)
    core.save()
    const again = core.ask(Counter, "org_1", add(1))
    core.run()
    expect(again.value).toBe(1)
  })

  it("given a command that needs more actors than are ever held, then it is refused for good, and one that fits waits for room", () => {
    const core = servingCore({ actors: [Counter, Reader], maximumActors: 5 })
    core.ask(Counter, "a", add(1))
    core.run()
    const tooMany = core.ask(Reader, "org_1", { names: 5 })
    core.run()
    const underKey = core.askOnce(Reader, "org_2", { names: 4 }, { key: "k", digest: "d" })
    core.run()
    for (const asked of [tooMany, underKey])
      expect(asked.value).toMatchObject({ _tag: "CommandInvalid", retryable: false })
    expect(String((tooMany.value as Error).message)).toContain("it needs 6 actors in memory at once")
    const most = core.ask(Reader, "org_1", { names: 4 })
    core.run()
    expect(most.value).toMatchObject({ _tag: "Overloaded" })
    core.save()
    for (const [organization, names] of [
      ["org_1", 4],
      ["org_2", 3]
    ] as const) {
      const again = core.askOnce(Reader, organization, { names }, { key: "k", digest: "d" })
      core.run()
      expect(again.value).toMatchObject(organization === "org_1" ? { _tag: "CommandInvalid" } : { reply: 3 })
    }
    const again = core.ask(Reader, "org_1", { names: 4 })
    core.run()
    expect(again.value).toMatchObject({ _tag: "Overloaded" })
    core.save()
    const last = core.ask(Reader, "org_1", { names: 4 })
    core.run()
    expect(last.value).toBe(4)
  })

  it("given a command that names the same actor many times, or actors without a state, then these need one place, or none", () => {
    const core = servingCore({ actors: [Counter, Reader, Note], maximumActors: 2 })
    for (const command of [
      { names: 1, times: 100 },
      { names: 1, notes: 100 }
    ]) {
      const asked = core.ask(Reader, "org_1", command)
      core.run()
      expect(asked.value).toBe(1)
    }
  })

  it("given a checkpoint that is asked for, then the loop is woken to take it, where there is anything new", () => {
    const core = servingCore()
    const before = core.wakes
    core.core.wantCheckpoint()
    expect(core.wakes).toBeGreaterThan(before)
    core.run()
    expect(core.checkpointsWanted).toBe(1)
    core.save()
    core.core.wantCheckpoint()
    core.run()
    expect(core.checkpointsWanted).toBe(1)
  })
})
