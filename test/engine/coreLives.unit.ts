/** A life of the core leaves nothing wrong to the next one: the log and the checkpoints decide. */
import { describe, expect, it } from "@effect/vitest"
import { OutcomeUnknown, PartitionMoved, PartitionUnavailable } from "../../src/engine/errors.ts"
import { Counter, Limiter, Reminder } from "./support/actors.ts"
import { servingCore } from "./support/core.ts"
import { add, get } from "./support/durability.ts"

const moved = new PartitionMoved({ partition: 0 })
const set = (at: number) => ({ _tag: "Set" as const, at })

describe("a new life of the core", () => {
  it("given signals that were read and not decided, when they are read again, then each counts once", () => {
    const core = servingCore()
    for (const sequence of [1, 2, 3]) core.signal(sequence, Counter, "org_1", add(1))
    core.begin()
    for (const sequence of [1, 2, 3]) core.signal(sequence, Counter, "org_1", add(1))
    core.run()
    const total = core.ask(Counter, "org_1", get)
    core.run()
    expect(total.value).toBe(3)
    expect(core.core.head.signalSequence).toBe(3)
  })

  it("given a page of timers that never came, when the time of one has come, then it rings", () => {
    const core = servingCore()
    core.ask(Reminder, "org_1", set(1_020_000))
    core.run()
    core.save()
    core.begin()
    expect(core.takeRead()).toMatchObject({ _tag: "Timers" })
    core.begin()
    core.pass(20_000)
    core.run()
    core.pass(5_000)
    const rang = core.ask(Reminder, "org_1", { _tag: "Rang" })
    core.run()
    expect(rang.value).toEqual([1_020_000])
  })

  it("given reads of the life before, when they are answered, then nothing of them counts", () => {
    const core = servingCore({ maximumActors: 4 })
    core.ask(Counter, "org_1", add(7))
    core.ask(Reminder, "org_1", set(1_010_000))
    core.run()
    core.save()
    core.begin()
    const page = core.takeRead()!
    const waiting = core.ask(Counter, "org_1", get)
    core.next()
    const load = core.takeRead()!
    expect([page._tag, load._tag]).toEqual(["Timers", "Actors"])
    core.begin()
    core.failRead(load)
    core.failRead(page)
    expect(waiting.answers).toBe(0)
    core.run()
    expect(waiting).toMatchObject({ answers: 1, accepted: true, value: 7 })
    core.pass(10_000)
    core.run()
    const rang = core.ask(Reminder, "org_1", { _tag: "Rang" })
    core.run()
    expect(rang.value).toEqual([1_010_000])
  })

  it("given an empty page of timers that was asked for by the life before, then those stored since still ring", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.run()
    core.save()
    core.begin()
    const page = core.takeRead()!
    core.ask(Reminder, "org_1", set(1_010_000))
    core.next()
    core.readAll()
    core.run()
    core.save()
    core.begin()
    core.answerRead(page)
    core.pass(10_000)
    core.run()
    core.pass(5_000)
    const rang = core.ask(Reminder, "org_1", { _tag: "Rang" })
    core.run()
    expect(rang.value).toEqual([1_010_000])
  })

  it("given four reads that never ended, when the next life wants actors, then they are read", () => {
    const core = servingCore()
    for (let n = 0; n < 4; n++) core.ask(Counter, `org_${n}`, add(n))
    core.run()
    core.save()
    core.begin()
    const asked = [0, 1, 2, 3].map((n) => {
      const one = core.ask(Counter, `org_${n}`, get)
      core.next()
      for (let read = core.takeRead(); read !== undefined; read = core.takeRead());
      return one
    })
    core.begin()
    core.run()
    expect(asked.map(({ value }) => value)).toEqual([0, 1, 2, 3])
  })

  it("given a clock that was set back by nine minutes behind what was told, then it serves by what the clock says now", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.run()
    const late = core.now.wall
    core.pass(600_000)
    core.ask(Counter, "org_1", get)
    core.run()
    core.now = { ...core.now, wall: late + 60_000 }
    expect(core.next()).toMatchObject({ _tag: "Restart" })
    core.begin()
    const clock = core.ask(Counter, "org_1", { _tag: "Clock" })
    core.run()
    expect(clock.value).toBe(late + 60_000)
  })

  it("given loads that have just failed, then the next life asks for the actors of signals at once", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.run()
    core.save()
    core.begin()
    core.ask(Counter, "org_1", get)
    core.next()
    for (let read = core.takeRead(); read !== undefined; read = core.takeRead()) core.failRead(read)
    core.begin()
    core.signal(1, Counter, "org_1", add(1))
    core.run()
    expect(core.core.head.signalSequence).toBe(1)
  })

  it("given an actor that could not be read, then it is looked at again, and nothing of the old verdict stays", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.run()
    core.save()
    core.begin()
    const rows = [...core.store.of(0).rows.values()].flat()
    const [row] = rows
    const whole = { ...row! }
    Object.assign(row!, { state: "no JSON" })
    const refused = core.ask(Counter, "org_1", get)
    core.run()
    expect(refused).toMatchObject({ accepted: false, value: { _tag: "Quarantined" } })
    expect(core.quarantined).toEqual(["org_1"])
    Object.assign(row!, whole)
    core.begin()
    const answered = core.ask(Counter, "org_1", get)
    core.run()
    expect(answered).toMatchObject({ accepted: true, value: 1 })
  })

  it("given many actors and lanes in memory, then their places are free for others of the process", () => {
    const core = servingCore()
    for (let n = 0; n < 10; n++) {
      core.ask(Counter, `org_${n}`, add(1))
      core.run()
      core.askLane(Limiter, `org_${n}`)
    }
    core.run()
    core.save()
    expect(core.bounds).toMatchObject({ actors: 20, laneActors: 10 })
    core.begin()
    expect(core.bounds).toMatchObject({ actors: 0, laneActors: 0, commandBytes: 0 })
    expect(core.core.probe.counts).toMatchObject({ actors: 0, laneActors: 0, timers: 0 })
    core.run()
    expect(core.core.probe.counts.organizations).toBe(0)
  })

  it("given a tail of nine frames, when checkpoints are due after ten, then the next frame brings one", () => {
    const core = servingCore({ checkpointFrames: 10 })
    for (let n = 0; n < 7; n++) {
      core.ask(Counter, "org_1", add(1))
      core.run()
    }
    expect(core.checkpointsWanted).toBe(0)
    core.begin()
    core.run()
    expect(core.checkpointsWanted).toBe(0)
    core.ask(Counter, "org_1", add(1))
    core.run()
    expect(core.checkpointsWanted).toBe(1)
    // Once for each reason.
    core.next()
    core.next()
    expect(core.checkpointsWanted).toBe(1)
  })

  it("given a tail of many bytes, when checkpoints are due by bytes, then a small frame brings one", () => {
    const core = servingCore({ checkpointBytes: 10_000 })
    core.ask(Counter, "org_1", { _tag: "Note", text: "x".repeat(9_500) })
    core.run()
    core.begin()
    core.run()
    expect(core.checkpointsWanted).toBe(0)
    for (const organization of ["org_2", "org_3"]) {
      core.ask(Counter, organization, add(1))
      core.run()
    }
    expect(core.checkpointsWanted).toBeGreaterThan(0)
    const { bytes } = core.core.checkpoints.snapshot()!
    expect(bytes).toBe(core.log.reduce((sum, frame) => sum + frame.bytes.length, 0))
  })
})

describe("a recovery", () => {
  it("given frames that another owner writes before the claim, then the checkpoint after it covers the bytes of all", () => {
    const core = servingCore()
    for (const organization of ["org_1", "org_2", "org_3"]) {
      core.ask(Counter, organization, add(1))
      core.run()
    }
    const [first, ...later] = core.log.splice(0)
    core.log.push(first!)
    core.recover()
    core.log.push(...later)
    core.readOn()
    const { bytes, count } = core.core.checkpoints.snapshot()!
    expect(count).toBe(3)
    expect(bytes).toBe([first!, ...later].reduce((sum, frame) => sum + frame.bytes.length, 0))
  })
})

describe("the end of a life of the core", () => {
  it("given a frame on its way, then its callers are told that it may be stored, and those behind it the reason", () => {
    const core = servingCore()
    const inFrame = core.ask(Counter, "org_1", add(1))
    core.draft()
    const behind = core.ask(Counter, "org_1", add(1))
    core.core.failAll(moved)
    expect(inFrame.value).toBeInstanceOf(OutcomeUnknown)
    expect(behind.value).toBe(moved)
    expect([inFrame.answers, behind.answers]).toEqual([1, 1])
  })

  it("given an answer that waits for a proof, then its caller is told the reason", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.run()
    core.pass(5_000)
    const asked = core.ask(Counter, "org_1", get)
    expect(core.next()._tag).toBe("Confirm")
    expect(asked.answers).toBe(0)
    core.core.failDrain(moved)
    expect(asked).toMatchObject({ answers: 1, accepted: false, value: moved })
  })

  it("given commands that wait for an actor and asks of lanes, when all fail, then each is told once", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.ask(Counter, "org_1", add(1), "limit")
    core.run()
    core.save()
    core.begin()
    const lanes = [core.askLane(Limiter, "org_1"), core.askLane(Limiter, "org_1")]
    const asks = [core.ask(Counter, "org_1", get), core.ask(Counter, "org_1", add(1))]
    core.next()
    const queued = core.ask(Counter, "org_1", get)
    core.core.failAll(moved)
    for (const one of [...asks, ...lanes, queued])
      expect(one).toMatchObject({ answers: 1, accepted: false, value: moved })
    expect(core.core.probe.counts).toMatchObject({ commands: 0, stalledCommands: 0 })
    expect(core.bounds.commandBytes).toBe(0)
    expect(core.core.intake.isDone).toBe(true)
    core.begin().run()
    const again = core.ask(Counter, "org_1", get)
    core.run()
    expect(again.value).toBe(1)
    expect(lanes.map(({ answers }) => answers)).toEqual([1, 1])
  })

  it("given commands that wait for an actor, when a new life begins, then they are decided in their order", () => {
    const core = servingCore()
    core.ask(Counter, "org_1", add(1))
    core.run()
    core.save()
    core.begin()
    const notes = ["a", "b", "c"].map((text) => core.ask(Counter, "org_1", { _tag: "Note", text }))
    core.next()
    expect(core.core.probe.counts.stalledCommands).toBe(3)
    core.begin()
    expect(core.core.probe.counts.stalledCommands).toBe(0)
    core.run()
    expect(notes.map(({ value }) => value)).toEqual([1, 2, 3])
  })

  it("given a lane's clock that was set back, then the loop is woken to end the life", () => {
    const core = servingCore()
    core.run()
    const first = core.askLane(Limiter, "org_1")
    expect(first.accepted).toBe(true)
    const { wakes } = core
    core.now = { wall: core.now.wall - 61_000, monotonic: core.now.monotonic }
    core.core.confirmed(core.fill, core.now, core.now)
    const before = core.wakes
    const asked = core.askLane(Limiter, "org_1")
    expect(asked.value).toBeInstanceOf(PartitionUnavailable)
    expect(core.wakes).toBeGreaterThan(before)
    expect(before).toBeGreaterThanOrEqual(wakes)
  })

  it("given the partition leaves its process, then what it held is free for the others", () => {
    const core = servingCore()
    for (let n = 0; n < 3; n++) core.ask(Counter, `org_${n}`, add(1))
    core.run()
    core.core.leave()
    expect(core.bounds.actors).toBe(0)
  })
})
