/** The core asks its shell for work at the right time: proofs, looks at the log, checkpoints, and how long it may be left alone. */
import { describe, expect, it } from "@effect/vitest"
import { OutcomeUnknown, PartitionUnavailable } from "../../src/engine/errors.ts"
import { Account, Counter, Limiter, Reminder } from "./support/actors.ts"
import { type CoreDriver, servingCore } from "./support/core.ts"
import { add, get } from "./support/durability.ts"
import { Burst } from "./support/loads.ts"

const full = new PartitionUnavailable({ partition: 0, reason: "its log is full", retryAfterMillis: 1_000 })
const set = (at: number) => ({ _tag: "Set" as const, at })

/** The core was left alone for so long that its last proof is old. */
const stale = (core: CoreDriver): CoreDriver => {
  core.run()
  core.pass(6_000)
  return core
}

describe("the core at rest", () => {
  it("given nothing to do, then it wants to look at its log ten seconds after the last proof", () => {
    const core = servingCore()
    core.pass(4_000)
    expect(core.run().millis).toBe(6_000)
    core.pass(5_999)
    expect(core.next()).toEqual({ _tag: "Wait", millis: 1 })
    core.pass(1)
    expect(core.next()).toEqual({ _tag: "Confirm" })
    expect(core.confirm()).toBe(true)
    expect(core.next()).toEqual({ _tag: "Wait", millis: 10_000 })
  })

  it("given a leader that does not answer, then it is asked again after half a second", () => {
    const core = servingCore()
    core.pass(10_000)
    expect(core.next()).toEqual({ _tag: "Confirm" })
    expect(core.core.confirmed(undefined, core.now, core.now)).toBe(true)
    expect(core.next()).toEqual({ _tag: "Wait", millis: 500 })
    core.pass(500)
    expect(core.next()).toEqual({ _tag: "Confirm" })
  })

  it("given a timer, then it is woken at its very time, and the timer rings then", () => {
    const core = servingCore()
    core.ask(Reminder, "org_1", set(core.now.wall + 3_000))
    expect(core.run().millis).toBe(3_000)
    core.pass(2_999)
    expect(core.next()).toEqual({ _tag: "Wait", millis: 1 })
    core.pass(1)
    expect(core.next()._tag).toBe("Append")
  })

  it("given a turn whose time is over, then it lets others run before it goes on", () => {
    const core = servingCore()
    const asked = [core.ask(Counter, "org_1", get), core.ask(Counter, "org_2", get)]
    core.spent = () => 2
    expect(core.next()._tag).toBe("Yield")
    core.spent = () => 0
    core.run()
    expect(asked.map(({ value }) => value)).toEqual([0, 0])
  })
})

describe("answers that need a proof", () => {
  it("given an answer without facts and an old proof, then the leader is asked first, and its word is enough", () => {
    const core = stale(servingCore())
    const asked = core.ask(Counter, "org_1", get)
    expect(core.next()._tag).toBe("Confirm")
    expect(asked.answers).toBe(0)
    core.confirm()
    expect(asked).toMatchObject({ answers: 1, value: 0 })
  })

  it("given a leader that does not answer, then callers and lanes are told so, each once", () => {
    const core = stale(servingCore())
    const asked = [core.ask(Counter, "org_1", get)]
    core.next()
    asked.push(core.askLane(Limiter, "org_1"))
    expect(core.next()._tag).toBe("Confirm")
    expect(core.core.confirmed(undefined, core.now, core.now)).toBe(true)
    for (const one of asked)
      expect(one).toMatchObject({ answers: 1, accepted: false, value: { reason: "its log does not answer" } })
    expect(core.next()._tag).toBe("Wait")
  })

  it("given a lane that asks while the leader may not be asked again yet, then it is asked as soon as it may be", () => {
    const core = stale(servingCore())
    core.askLane(Limiter, "org_1")
    expect(core.next()._tag).toBe("Confirm")
    core.core.confirmed(undefined, core.now, core.now)
    core.pass(100)
    const asked = core.askLane(Limiter, "org_1")
    expect(core.next()).toEqual({ _tag: "Wait", millis: 400 })
    core.pass(400)
    core.run()
    expect(asked).toMatchObject({ answers: 1, accepted: true, value: true })
  })

  it("given a frame that is stored, then it is the proof for answers and lanes that wait", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    const frame = core.draft()
    core.pass(5_000)
    const lane = core.askLane(Limiter, "org_2")
    expect(lane.answers).toBe(0)
    core.stored(frame)
    core.run()
    expect(lane).toMatchObject({ answers: 1, accepted: true, value: true })
  })

  it("given an answer without facts beside a frame, when the proof is old, then it waits for the frame", () => {
    const core = stale(servingCore())
    const without = core.ask(Counter, "org_1", get)
    core.ask(Counter, "org_2", add(1))
    const frame = core.draft()
    expect(without.answers).toBe(0)
    core.stored(frame)
    expect(without).toMatchObject({ answers: 1, value: 0 })
  })

  it("given a frame that proves nothing because the log has gone on, then what has no facts is not answered by it", () => {
    const core = stale(servingCore())
    const without = core.ask(Counter, "org_1", get)
    const fact = core.ask(Counter, "org_2", add(1))
    const frame = core.draft()
    core.log.push({ sequence: 2, identity: "0/1/2", bytes: frame.bytes })
    core.core.appended(undefined, core.now)
    expect(fact.value).toBe(1)
    expect(without.answers).toBe(0)
  })

  it("given a frame that is refused when the proof is old, then what has no facts is told the refusal and not a state", () => {
    const core = stale(servingCore())
    const without = core.ask(Counter, "org_1", get)
    const fact = core.ask(Counter, "org_2", add(1))
    core.draft()
    core.core.notAppended({ _tag: "Refused" }, full, core.now)
    expect(fact.value).toBe(full)
    expect(without).toMatchObject({ accepted: false, value: full })
  })

  it("given a log that ends elsewhere, then the core says that it is not ours, and answers nobody", () => {
    const core = stale(servingCore())
    const asked = core.ask(Counter, "org_1", get)
    core.next()
    const { fill, now } = core
    expect(core.core.confirmed({ ...fill, lastSequence: fill.lastSequence + 1 }, now, now)).toBe(false)
    expect(core.core.confirmed({ ...fill, lastSequence: fill.lastSequence - 1 }, now, now)).toBe(false)
    expect(asked.answers).toBe(0)
  })
})

describe("where a deposed leader may still answer", () => {
  it("given an old proof, then an empty frame is stored, and the leader's word alone proves nothing", () => {
    const core = stale(servingCore({ leaderMayBeDeposed: true }))
    const asked = core.ask(Counter, "org_1", get)
    const frame = core.draft()
    expect(frame.records).toBe(0)
    core.stored(frame)
    expect(asked.value).toBe(0)
    core.pass(6_000)
    core.confirm()
    expect(core.peek(Counter, "org_1").answers).toBe(0)
  })

  it("given a leader that lacks our last frames, then that ends no life; one that has later ones does", () => {
    const core = servingCore({ leaderMayBeDeposed: true })
    core.ask(Counter, "org_1", add(1))
    core.run()
    const { fill, now } = core
    expect(core.core.confirmed({ ...fill, lastSequence: fill.lastSequence - 1 }, now, now)).toBe(true)
    expect(core.core.confirmed({ ...fill, lastSequence: fill.lastSequence + 1 }, now, now)).toBe(false)
  })

  it("given a log so full that no empty frame goes in, then the leader's word has to do", () => {
    const core = servingCore({ leaderMayBeDeposed: true, logBytes: 2_400 })
    for (let n = 0; n < 8 && !isFull(core); n++) {
      core.ask(Counter, "org_1", add(1))
      const demand = core.next()
      if (demand._tag !== "Append") break
      core.stored(demand.frame)
    }
    expect(isFull(core)).toBe(true)
    stale(core)
    const asked = core.peek(Counter, "org_1")
    const length = core.log.length
    core.run()
    expect(asked).toMatchObject({ answers: 1, accepted: true })
    expect(core.log.length).toBe(length)
  })
})

const isFull = ({ fill }: CoreDriver): boolean => fill.bytes > fill.maximumBytes - 2 * 1_024

describe("a sweep", () => {
  it("given actors used at different times, then those of long ago leave, and the others stay", () => {
    const core = servingCore()
    for (const organization of ["old", "young"]) core.ask(Counter, organization, add(1))
    core.run()
    core.save()
    core.pass(50_000)
    core.ask(Counter, "young", get)
    core.run()
    core.pass(20_000)
    core.core.sweep(60_000, core.now)
    expect([...core.core.probe.actors()].map(({ organization }) => organization)).toEqual(["young"])
    expect(core.core.probe.counts.organizations).toBe(1)
  })

  it("given windows of lanes that have ended, then they leave, and those that run stay", () => {
    const core = servingCore()
    core.askLane(Limiter, "org_1")
    core.run()
    core.askLane(Limiter, "org_1")
    core.core.sweep(1e9, core.now)
    expect(core.core.probe.counts.laneActors).toBe(1)
    core.pass(60_000)
    core.core.sweep(1e9, core.now)
    expect(core.core.probe.counts.laneActors).toBe(0)
  })

  it("given a sweep by a clock that is then set back a little, then no window begins a second time", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1), "limit")
    core.run()
    const minute = Math.ceil(core.now.wall / 60_000) * 60_000
    core.pass(minute - core.now.wall - 10)
    core.run()
    expect(core.askLane(Limiter, "org_1").value).toBe(true)
    core.now = { ...core.now, wall: minute + 10 }
    core.core.sweep(1e9, core.now)
    core.now = { ...core.now, wall: minute - 5 }
    // By the time that was told this is in the next minute, and so is the one after it.
    expect(core.askLane(Limiter, "org_1").value).toBe(true)
    core.now = { ...core.now, wall: minute + 20 }
    expect(core.askLane(Limiter, "org_1").value).toBe(false)
  })
})

describe("the core's share of a drain", () => {
  it("given states near their bound, which cost much to measure, then it looks at the time after each of them", () => {
    const core = servingCore()
    const keys = Array.from({ length: 12 }, (_, n) => `k${n}`)
    for (const key of keys) core.ask(Counter, "org_1", { _tag: "Note", text: "x".repeat(65_200) }, key)
    core.run()
    // After a replay their sizes are not known.
    core.begin()
    const asked = keys.map((key) => core.ask(Counter, "org_1", { _tag: "Note", text: "z" }, key))
    let looks = 0
    core.spent = () => (++looks > 2 ? 2 : 0)
    core.stored(core.draft())
    expect(asked.filter(({ answers }) => answers > 0).length).toBeLessThan(12)
  })

  it("given hundreds of signals and a command, then one frame holds at most half its room of signals", () => {
    const core = servingCore({ actors: [Counter, Burst] })
    core.ask(Burst, "org_1", { facts: 0 })
    core.run()
    for (let sequence = 1; sequence <= 200; sequence++) core.signal(sequence, Counter, `org_${sequence}`, add(1))
    const frame = core.draft()
    expect(frame.header.signalSequence).toBe(128)
    core.stored(frame)
    expect(core.draft().header.signalSequence).toBe(200)
  })

  it("given hundreds of timers, then a frame fires 256 of them, and those of one time in the order of their names", () => {
    const core = servingCore()
    const names = Array.from({ length: 300 }, (_, n) => `org_${String(n).padStart(3, "0")}`)
    for (const name of names.toReversed()) core.ask(Reminder, name, set(core.now.wall + 1_000))
    core.run()
    core.pass(1_000)
    const frame = core.draft()
    const { records } = core.stored(frame)
    expect(records.map(({ organization }) => organization)).toEqual(names.slice(0, 256))
  })

  it("given a rejection that rests on a fact of the frame before it is stored, then it is told what became of the frame", () => {
    const core = servingCore()
    const asked = [
      core.ask(Account, "org_1", { _tag: "Deposit", amount: 5 }),
      core.ask(Account, "org_1", { _tag: "Transfer", to: "b", amount: 9 })
    ]
    core.draft()
    core.core.failDrain(full)
    for (const one of asked) expect(one.value).toBeInstanceOf(OutcomeUnknown)
  })
})
