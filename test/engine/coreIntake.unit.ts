/** How commands, asks of lanes and signals come into the core: taken, refused or answered at once, and the loop woken for them. */
import { describe, expect, it } from "@effect/vitest"
import { PartitionMoved } from "../../src/engine/errors.ts"
import { Counter, Limiter } from "./support/actors.ts"
import { servingCore } from "./support/core.ts"
import { add, get } from "./support/durability.ts"

const moved = new PartitionMoved({ partition: 0 })

describe("a core that does not serve", () => {
  it("given a fresh proof and everything in memory, then commands, queries and lanes are refused all the same", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.run()
    core.askLane(Limiter, "org_1")
    core.run()
    core.core.intake.refuse(moved)
    for (const asked of [core.ask(Counter, "org_1", get), core.peek(Counter, "org_1"), core.askLane(Limiter, "org_1")])
      expect(asked).toMatchObject({ answers: 1, accepted: false, value: moved })
    core.core.intake.refuse(undefined)
    expect(core.peek(Counter, "org_1")).toMatchObject({ answers: 1, accepted: true })
  })

  it("given commands that wait for an actor, then it is not done before they are answered", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.run()
    core.save()
    core.begin().run()
    const asked = core.ask(Counter, "org_1", get)
    expect(core.core.intake.isDone).toBe(false)
    core.next()
    expect(core.core.intake.isDone).toBe(false)
    core.run()
    expect([core.core.intake.isDone, asked.value]).toEqual([true, 1])
  })

  it("given asks of lanes that wait for a proof, when lanes alone or all that waits is failed, then they are told", () => {
    const core = servingCore()
    core.pass(6_000)
    const first = core.askLane(Limiter, "org_1")
    core.core.intake.failLanes(moved)
    expect(first.answers).toBe(1)
    const second = core.askLane(Limiter, "org_1")
    core.core.intake.failWaiting(moved)
    for (const asked of [first, second]) expect(asked).toMatchObject({ answers: 1, accepted: false, value: moved })
  })
})

describe("commands and queries", () => {
  it("given a command larger than an organization's part of the bytes that may wait, then it is refused, and nothing stays", () => {
    const core = servingCore({ mailboxBytes: 4_000 })
    const asked = core.ask(Counter, "org_1", { _tag: "Note", text: "x".repeat(1_100) })
    expect(asked).toMatchObject({ answers: 1, accepted: false, value: { _tag: "Overloaded" } })
    core.run()
    expect(core.core.probe.counts.organizations).toBe(0)
    expect(core.bounds.commandBytes).toBe(0)
  })

  it("given an actor that is only queried, then it counts as used, and stays in memory", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.run()
    core.save()
    core.pass(4_000)
    expect(core.peek(Counter, "org_1").answers).toBe(1)
    core.pass(4_000)
    core.ask(Counter, "org_2", add(1))
    core.run()
    core.core.sweep(6_000, core.now)
    expect([...core.core.probe.actors()].map(({ organization }) => organization)).toEqual(["org_1", "org_2"])
  })
})

describe("asks of lanes", () => {
  it("given some every moment, then the proof is renewed before it is too old, and nobody waits", () => {
    const core = servingCore()
    core.run()
    core.askLane(Limiter, "org_1")
    core.run()
    for (let n = 0; n < 100; n++) {
      core.pass(100)
      const { wakes } = core
      expect(core.askLane(Limiter, "org_1").answers).toBe(1)
      if (core.wakes > wakes) core.run()
    }
  })

  it("given a minute that has just begun, then they are told its time, although nothing else has happened since", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1), "limit")
    core.run()
    const minute = Math.ceil(core.now.wall / 60_000) * 60_000
    core.pass(minute - core.now.wall - 10)
    core.run()
    expect([core.askLane(Limiter, "org_1").value, core.askLane(Limiter, "org_1").value]).toEqual([true, false])
    core.pass(20)
    expect(core.askLane(Limiter, "org_1").value).toBe(true)
  })

  it("given thousands that wait for a proof, then the next one is refused at once", () => {
    const core = servingCore()
    core.pass(6_000)
    for (let n = 0; n < 8_192; n++) core.askLane(Limiter, "org_1")
    expect(core.askLane(Limiter, "org_1")).toMatchObject({ answers: 1, value: { _tag: "Overloaded" } })
  })

  it("given an organization whose actor cannot be read, then they are told so", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1), "limit")
    core.run()
    core.save()
    core.begin().run()
    Object.assign([...core.store.of(0).rows.values()].flat()[0]!, { state: "no JSON" })
    const first = core.askLane(Limiter, "org_1")
    core.run()
    expect(first).toMatchObject({ accepted: false, value: { _tag: "Quarantined" } })
    expect(core.askLane(Limiter, "org_1")).toMatchObject({ accepted: false, value: { _tag: "Quarantined" } })
  })

  it("given a key that is none, then the ask fails, and nothing of it stays in memory", () => {
    const core = servingCore()
    expect(core.askLane(Limiter, "org_1", "a\0b").accepted).toBe(false)
    core.next()
    expect(core.core.probe.counts).toMatchObject({ laneActors: 0, organizations: 0 })
  })

  it("given as many as may be kept, when some have ended, then others find room; before that they are refused", () => {
    const core = servingCore({ maximumLaneActors: 2 })
    for (const organization of ["org_1", "org_2"]) core.askLane(Limiter, organization)
    core.run()
    expect(core.askLane(Limiter, "org_3")).toMatchObject({ answers: 1, value: { _tag: "Overloaded" } })
    core.pass(60_000)
    core.confirm()
    const asked = core.askLane(Limiter, "org_3")
    core.run()
    expect(asked.value).toBe(true)
  })
})

describe("signals", () => {
  it("given one, then the loop is woken; one of an unknown organization means nothing, and leaves nothing", () => {
    const core = servingCore()
    const { wakes } = core
    expect(core.signal(1, Counter, "org_1", add(1))).toBe(true)
    expect(core.wakes).toBeGreaterThan(wakes)
    expect(core.signal(2, Counter, "no organization", add(1))).toBe(false)
    core.run()
    expect(core.core.probe.counts.organizations).toBe(1)
  })
})

describe("a recovered state", () => {
  it("given an initial state that all actors share and a tail of facts, then no other actor sees them", () => {
    const core = servingCore()
    for (let n = 0; n < 3; n++) {
      core.ask(Counter, "org_1", add(1))
      core.run()
    }
    core.begin().run()
    const asked = [core.ask(Counter, "org_1", get), core.ask(Counter, "org_2", get)]
    core.run()
    expect(asked.map(({ value }) => value)).toEqual([3, 0])
  })

  it("given a checkpoint amid changes, when it is written, then what has changed since goes into the next one", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.run()
    core.begin().run()
    core.save()
    core.ask(Counter, "org_2", add(1))
    core.run()
    expect(core.core.checkpoints.snapshot()?.count).toBe(1)
    core.save()
    expect(core.core.checkpoints.snapshot()).toBeUndefined()
  })
})
