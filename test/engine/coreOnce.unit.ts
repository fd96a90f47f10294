/** Idempotency keys in a partition's core: what waits for a frame, for a load, or for a frame that is not stored. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ReadRequest } from "../../src/engine/core/protocol.ts"
import { OutcomeUnknown, PartitionUnavailable } from "../../src/engine/errors.ts"
import { FrameBuilder, identityOf } from "../../src/engine/frame.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import { Once } from "../../src/engine/once.ts"
import { Counter } from "./support/actors.ts"
import { type CoreDriver, servingCore } from "./support/core.ts"
import { cold, runUnread } from "./support/coreSteps.ts"

const add = (amount: number) => ({ _tag: "Add" as const, amount })
const first = { key: "k1", digest: "d1" }
const decided = { answers: 1, accepted: true, value: { reply: 1, isReplay: false } }
const replayed = { answers: 1, accepted: true, value: { reply: 1, isReplay: true } }

/** A core that serves, with its counters in memory and none of the keys that `prepare` has used. */
const loaded = (prepare: (core: CoreDriver) => void = () => {}): CoreDriver => {
  const core = cold((before) => {
    before.ask(Counter, "org", add(1))
    prepare(before)
  })
  core.ask(Counter, "org", { _tag: "Get" })
  runUnread(core)
  const read = core.takeRead()
  if (read?._tag !== "Actors") throw new Error("the counter is not asked for")
  core.answerRead(read)
  runUnread(core)
  return core
}

/** The kinds of the actors that the core wants to read. */
const keysRead = (core: CoreDriver): ReadonlyArray<string> => {
  const read = core.takeRead()
  if (read?._tag !== "Actors") return []
  core.answerRead(read)
  return read.batch.cells.map(({ actor }) => actor.kind)
}

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
    const core = loaded()
    const ask = core.askOnce(Counter, "org", add(10), first)
    const behind = core.ask(Counter, "org", add(100))
    core.stored(core.draft())
    expect([ask.answers, behind.value]).toEqual([0, 101])
    core.run()
    expect(ask.value).toEqual({ reply: 111, isReplay: false })
  })

  it("given all stored keys are known, then an unseen one needs no read, and a stored one is read", () => {
    const core = loaded((before) => void before.askOnce(Counter, "org", add(1), first))
    core.run()
    const unseen = core.askOnce(Counter, "org", add(10), { ...first, key: "k2" })
    core.stored(core.draft())
    expect(unseen.value).toEqual({ reply: 12, isReplay: false })
    const seen = core.askOnce(Counter, "org", add(1), first)
    expect(core.next()._tag).toBe("Wait")
    expect(keysRead(core)).toEqual(["sluice.once"])
    core.run()
    expect(seen.value).toEqual({ reply: 2, isReplay: true })
  })

  it("given keys that its own checkpoints have, then an unseen one needs no read, and a stored one is read", () => {
    const core = servingCore()
    core.askOnce(Counter, "org", add(1), first)
    core.run()
    core.save()
    const unseen = core.askOnce(Counter, "org", add(10), { ...first, key: "k2" })
    core.stored(core.draft())
    expect(unseen.value).toEqual({ reply: 11, isReplay: false })
    const seen = core.askOnce(Counter, "org", add(1), { ...first, digest: "d2" })
    core.run()
    expect(seen.value).toMatchObject({ _tag: "IdempotencyConflict" })
  })

  it("given stored keys that cannot be listed, then each is looked for alone", () => {
    const core = loaded((before) => void before.askOnce(Counter, "org", add(1), first))
    const asks = [
      core.askOnce(Counter, "org", add(1), first),
      core.askOnce(Counter, "org", add(10), { ...first, key: "k2" })
    ]
    runUnread(core)
    const reads: Array<ReadRequest> = []
    for (let read = core.takeRead(); read !== undefined; read = core.takeRead()) reads.push(read)
    expect(reads.map(({ _tag }) => _tag).sort()).toEqual(["Actors", "Keys", "Timers"])
    for (const read of reads) read._tag === "Keys" ? core.failRead(read) : core.answerRead(read)
    runUnread(core)
    expect(asks.map(({ value }) => value)).toEqual([
      { reply: 2, isReplay: true },
      { reply: 12, isReplay: false }
    ])
  })

  it("given a window that ends in memory, then the key is decided again from that instant on, and the last answer is stored", () => {
    const core = servingCore()
    const brief = { ...first, windowMillis: 10_000 }
    core.askOnce(Counter, "org", add(1), brief)
    core.run()
    core.pass(9_999)
    const within = core.askOnce(Counter, "org", add(1), brief)
    core.run()
    expect(within.value).toEqual({ reply: 1, isReplay: true })
    core.pass(1)
    const over = core.askOnce(Counter, "org", add(1), { ...brief, digest: "d2" })
    core.run()
    expect(over.value).toEqual({ reply: 2, isReplay: false })
    core.save()
    expect(core.core.probe.counts.changedActors).toBe(0)
    core.begin()
    const later = core.askOnce(Counter, "org", add(1), { ...brief, digest: "d2" })
    core.run()
    expect(later.value).toEqual({ reply: 2, isReplay: true })
  })

  it("given a key whose window was over in the checkpoints, then what is decided under it now counts", () => {
    const brief = { ...first, windowMillis: 10_000 }
    const core = loaded((before) => void before.askOnce(Counter, "org", add(1), brief))
    core.pass(10_000)
    for (const expected of [
      { reply: 3, isReplay: false },
      { reply: 3, isReplay: true }
    ]) {
      const ask = core.askOnce(Counter, "org", add(1), brief)
      core.run()
      expect(ask.value).toEqual(expected)
    }
  })

  it("given no room for another actor, then an unseen key is told so, and a known one is answered", () => {
    const core = servingCore({ maximumActors: 2 })
    core.askOnce(Counter, "org", add(1), first)
    core.run()
    const asks = [
      core.askOnce(Counter, "org", add(1), { ...first, key: "k2" }),
      core.askOnce(Counter, "org", add(1), first)
    ]
    core.run()
    expect(asks[0]).toMatchObject({ accepted: false, value: { _tag: "Overloaded" } })
    expect(asks[1]).toEqual(replayed)
  })

  it("given a checkpoint, then a remembered answer leaves memory with it, and whoever waits for a drain under way is told it", () => {
    const core = servingCore()
    core.askOnce(Counter, "org", add(1), first)
    core.run()
    const twin = core.askOnce(Counter, "org", add(1), first)
    core.ask(Counter, "org", add(1))
    const frame = core.draft()
    const inMemory = () => [...core.core.probe.actors()].filter(({ kind }) => kind === Once.kind).length
    expect(inMemory()).toBe(1)
    core.save()
    expect(inMemory()).toBe(0)
    core.stored(frame)
    expect(twin.answers).toBe(1)
    core.askOnce(Counter, "org", add(1), { ...first, key: "k2" })
    core.run()
    core.save()
    expect(inMemory()).toBe(0)
  })
})

describe("what an earlier version has stored of keys", () => {
  const key = "arnx6499M4j0-dWG9m6Z_V"
  /** The digest of the request is a hash. */
  const fact = ["5N5c9hCFjXUWW5rbjkoGRO", "counter", 1_000_000, 1_000_000 + 86_400_000, 7]

  const expectKnown = (core: CoreDriver) => {
    const same = core.askOnce(Counter, "org", add(1), first)
    const other = core.askOnce(Counter, "org", add(1), { ...first, digest: "d2" })
    core.run()
    expect(same).toMatchObject({ accepted: true, value: { reply: 7, isReplay: true } })
    expect(other).toMatchObject({ accepted: false, value: { _tag: "IdempotencyConflict" } })
  }

  it("given the fact in the log, then it counts, before a checkpoint and behind it", () => {
    const core = servingCore()
    const builder = new FrameBuilder()
    const text = JSON.stringify(fact)
    builder.addFact(builder.addActor(Once.kind, 1, "org", key), text, text.length)
    const { epoch, hash, now, number, signalSequence } = core.core.head
    const bytes = builder.encode({ epoch, number: number + 1, now, previousHash: hash, signalSequence })
    core.log.push({ sequence: core.log.length + 1, identity: identityOf(0, epoch, number + 1), bytes })
    core.begin()
    expectKnown(core)
    core.save()
    core.begin()
    expectKnown(core)
  })

  it("given the row in a checkpoint, then it counts", () => {
    const core = servingCore()
    const { epoch, hash, now, number, sequence, signalSequence } = core.core.head
    const row = {
      organization: "org",
      kind: Once.kind,
      key,
      sequence,
      version: 1,
      state: JSON.stringify(fact),
      wakeAt: null,
      expiresAt: 1_000_000 + 86_400_000
    }
    const record = { partition: 0, sequence, hash, epoch, number, now, signalSequence }
    Effect.runSync(CheckpointsMemory.make(core.store).save({ record, previous: 0, rows: [row] }))
    core.begin()
    expectKnown(core)
  })
})
