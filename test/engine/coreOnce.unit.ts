/** Idempotency keys in a partition's core: what waits for a frame, for a load, or for a frame that is not stored. */
import { describe, expect, it } from "@effect/vitest"
import { OutcomeUnknown, PartitionUnavailable } from "../../src/engine/errors.ts"
import { Once } from "../../src/engine/once.ts"
import { Counter } from "./support/actors.ts"
import { servingCore } from "./support/core.ts"
import { cold } from "./support/coreSteps.ts"

const add = (amount: number) => ({ _tag: "Add" as const, amount })
const first = { key: "k1", digest: "d1" }
const decided = { answers: 1, accepted: true, value: { reply: 1, isReplay: false } }
const replayed = { answers: 1, accepted: true, value: { reply: 1, isReplay: true } }

describe("an ask under a key", () => {
  it("given the same one in the same drain, then both wait for the frame", () => {
    const core = servingCore()
    const asks = [core.askOnce(Counter, "org", add(1), first), core.askOnce(Counter, "org", add(1), first)]
    const frame = core.draft()
    expect(asks.map(({ answers }) => answers)).toEqual([0, 0])
    core.stored(frame)
    expect(asks).toEqual([decided, replayed])
  })

  it("given a frame that is not stored, then nobody is told a reply, and the next ask is decided", () => {
    const core = servingCore()
    const asks = [core.askOnce(Counter, "org", add(1), first), core.askOnce(Counter, "org", add(1), first)]
    const error = new PartitionUnavailable({ partition: 0, reason: "full", retryAfterMillis: 1 })
    core.fencedOff(core.draft(), error)
    for (const ask of asks) expect(ask).toMatchObject({ accepted: false, value: error })
    core.pass(2_000)
    const again = core.askOnce(Counter, "org", add(1), first)
    core.run()
    expect(again).toEqual(decided)
  })

  it("given a frame of which it is not known whether it is stored, then the next life knows", () => {
    for (const isStored of [false, true]) {
      const core = servingCore()
      const ask = core.askOnce(Counter, "org", add(1), first)
      const frame = core.draft()
      if (isStored) core.log.push({ sequence: core.log.length + 1, identity: "0/1/2", bytes: frame.bytes })
      core.core.failDrain(new OutcomeUnknown({ partition: 0 }))
      expect(ask).toMatchObject({ accepted: false, value: { _tag: "OutcomeUnknown" } })
      core.begin()
      const again = core.askOnce(Counter, "org", add(1), first)
      core.run()
      expect(again).toEqual(isStored ? replayed : decided)
    }
  })

  it("given a key and an actor that must both be loaded, then they are read together, and others go on meanwhile", () => {
    const core = cold((before) => void before.ask(Counter, "org", add(1)))
    const ask = core.askOnce(Counter, "org", add(10), first)
    const twin = core.askOnce(Counter, "org", add(10), first)
    const other = core.ask(Counter, "org", add(100), "new")
    core.next()
    const read = core.takeRead()
    expect(read?._tag === "Actors" && read.batch.cells.map(({ actor }) => actor.kind)).toEqual([
      "counter",
      "sluice.once",
      "counter"
    ])
    const later = core.ask(Counter, "org_2", add(1))
    core.answerRead(read!)
    core.run()
    expect(ask.value).toEqual({ reply: 11, isReplay: false })
    expect(twin.value).toEqual({ reply: 11, isReplay: true })
    expect([other.value, later.value]).toEqual([100, 1])
  })

  it("given an unseen key alone to be loaded, then commands of the organization behind it are not held up", () => {
    const core = servingCore()
    core.ask(Counter, "org", add(1))
    core.run()
    core.save()
    const ask = core.askOnce(Counter, "org", add(10), first)
    const behind = core.ask(Counter, "org", add(100))
    core.stored(core.draft())
    expect([ask.answers, behind.value]).toEqual([0, 101])
    core.run()
    expect(ask.value).toEqual({ reply: 111, isReplay: false })
  })

  it("given a checkpoint, then a remembered answer leaves memory with it, unless a drain under way has used it", () => {
    const core = servingCore()
    core.askOnce(Counter, "org", add(1), first)
    core.run()
    const twin = core.askOnce(Counter, "org", add(1), first)
    core.ask(Counter, "org", add(1))
    const frame = core.draft()
    core.save()
    const inMemory = () => [...core.core.probe.actors()].filter(({ kind }) => kind === Once.kind).length
    expect(inMemory()).toBe(1)
    core.stored(frame)
    expect(twin.answers).toBe(1)
    core.askOnce(Counter, "org", add(1), { ...first, key: "k2" })
    core.run()
    core.save()
    expect(inMemory()).toBe(0)
  })
})
