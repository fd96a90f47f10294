/** Rule 21: actors without a state are never loaded, stay nowhere, and their facts are in the log like all others. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import { Registry } from "../../src/engine/core/actors/Organization.ts"
import { decodeFrame, FrameBuilder, identityOf } from "../../src/engine/frame.ts"
import { recordsOf } from "../../src/engine/records.ts"
import type { CoreDriver } from "./support/core.ts"
import { servingCore } from "./support/core.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { target } from "./support/durability.ts"
import { Bell, Letter } from "./support/letters.ts"
import { odd } from "./support/oddActor.ts"

const options = { actors: [Letter, Bell], lanes: [] }

/** A core with a checkpoint and nothing in memory. */
const cold = (): CoreDriver => {
  const core = servingCore(options)
  core.ask(Letter, "org_1", { _tag: "Write", text: "before" }, "a")
  core.run()
  core.save()
  return core.begin()
}

describe("an actor without a state", () => {
  it("given a checkpoint, when it is asked, then it is decided at once, and nothing of it stays in memory", () => {
    const core = cold()
    const asked = core.ask(Bell, "org_1", { times: 3 })
    const frame = core.draft()
    expect(core.takeRead()?._tag).not.toBe("Actors")
    const stored = core.stored(frame)
    expect(asked.value).toBe(3)
    expect([...core.core.probe.actors()]).toEqual([])
    expect(core.core.probe.counts).toMatchObject({ actors: 0, changedActors: 0 })
    expect(core.bounds.actors).toBe(0)
    core.next()
    expect(core.core.probe.counts.organizations).toBe(0)
    expect(stored.records).toMatchObject([
      { _tag: "Fact", kind: "bell", fact: { times: 3 } },
      { _tag: "Event", kind: "bell" }
    ])
  })

  it("given its facts, then followers read the same from the stored frame, and a replay and a checkpoint pass over them", () => {
    const core = cold()
    core.ask(Bell, "org_1", { times: 3 })
    const frame = core.draft()
    const stored = core.stored(frame)
    const registry = new Registry(options.actors, [])
    expect(recordsOf(registry, 0, stored.head.sequence, decodeFrame(frame.bytes))).toEqual(stored.records)
    core.begin()
    expect(core.core.probe.counts.actors).toBe(0)
    core.save()
    expect([...core.store.of(0).rows.keys()].filter((name) => name.includes("bell"))).toEqual([])
  })

  it("given a decision with facts for another actor, then both are in one frame, and it waits for that actor's state", () => {
    const core = cold()
    const asked = core.ask(Bell, "org_1", { times: 1, letter: "a" })
    core.run()
    expect(asked.value).toBe(1)
    expect(core.peek(Letter, "org_1", "a").value).toMatchObject({ texts: ["before", "1"] })
    expect(core.core.probe.counts.actors).toBe(1)
  })

  it("given a rule that throws, a frame that is not stored, a query, then nothing of it stays either", () => {
    const core = cold()
    const failed = core.ask(Bell, "org_1", { times: -1 })
    core.run()
    expect(failed.value).toMatchObject({ _tag: "CommandFailed" })
    core.ask(Bell, "org_1", { times: 1 })
    core.fencedOff(core.draft(), new Error("full"))
    core.pass(2_000)
    const looked = core.peek(Bell, "org_1")
    core.run()
    expect(looked).toMatchObject({ accepted: true, value: null })
    expect([...core.core.probe.actors()]).toEqual([])
    expect(core.core.probe.counts).toMatchObject({ actors: 0, timers: 0 })
  })

  it("given memory that is full of what no checkpoint has, then it is decided all the same", () => {
    const core = servingCore({ ...options, maximumActors: 1 })
    core.ask(Letter, "org_1", { _tag: "Write", text: "one" }, "a")
    core.run()
    const refused = core.ask(Letter, "org_1", { _tag: "Write", text: "two" }, "b")
    const asked = core.ask(Bell, "org_1", { times: 2 })
    core.run()
    expect(refused.value).toMatchObject({ _tag: "Overloaded" })
    expect(asked.value).toBe(2)
  })

  it("given a claim that it is fresh, then its frame does not say so", () => {
    const core = cold()
    core.ask(Bell, "org_1", { times: 2 }, "", true)
    const frame = core.draft()
    expect(decodeFrame(frame.bytes).records.every(({ actor }) => !actor.isFresh)).toBe(true)
    core.stored(frame)
  })

  it("given signals while loads are held, then they are decided", () => {
    const core = cold()
    core.ask(Letter, "org_1", { _tag: "Read" }, "a")
    core.next()
    core.failRead(core.takeRead()!)
    core.signal(1, Bell, "org_1", { times: 1 })
    core.stored(core.draft())
    expect(core.core.head.signalSequence).toBe(1)
  })

  it("given facts of an older version, then they pass, and facts of a newer one stop the start", () => {
    for (const [version, fact] of [
      [1, 7],
      [3, { times: 7 }]
    ] as const) {
      const core = servingCore(options)
      const { epoch, hash, now, number, sequence } = core.core.head
      const builder = new FrameBuilder()
      builder.addFact(builder.addActor("bell", version, "org_1", ""), JSON.stringify(fact), 1)
      const bytes = builder.encode({ epoch, number: number + 1, now, previousHash: hash, signalSequence: 0 })
      core.log.push({ sequence: sequence + 1, identity: identityOf(0, epoch, number + 1), bytes })
      if (version === 1) expect(core.begin().core.head.sequence).toBe(sequence + 2)
      else expect(() => core.begin()).toThrow("this program knows 2")
    }
  })

  it("needs no schema of facts where its decisions carry events alone", () => {
    const Gong = Actor.makeStateless({
      kind: "gong",
      command: odd({}).options.command,
      decide: () => Actor.decided({})
    })
    expect(Gong.encodeFact(null)).toBeNull()
    expect(() => Gong.decodeFact({}, 1)).toThrow()
    expect(() => Actor.makeStateless({ ...Gong.options, kind: "2" } as never)).toThrow("is not a kind")
  })
})

describe("an actor that had a state in an earlier program", () => {
  const Earlier = odd({ kind: "bell" })

  const withRows = (): CoreDriver => {
    const before = servingCore({ actors: [Letter, Earlier], lanes: [] })
    before.ask(Earlier, "org_1", "later")
    before.ask(Letter, "org_1", { _tag: "Write", text: "x" }, "a")
    before.run()
    before.save()
    const after = servingCore(options)
    after.log.length = 0
    after.log.push(...before.log)
    for (const [name, list] of before.store.of(0).rows) after.store.of(0).rows.set(name, list)
    after.store.of(0).records.push(...before.store.of(0).records)
    return after.begin()
  }

  it("given its row and its timer, then neither counts", () => {
    const core = withRows()
    core.pass(100_000)
    core.run()
    expect(core.core.probe.counts).toMatchObject({ actors: 0, timers: 0 })
    expect(core.poisoned).toEqual([])
    const asked = core.ask(Bell, "org_1", { times: 4 })
    core.run()
    expect(asked.value).toBe(4)
  })

  it.effect("given a running engine, then they are gone when two checkpoints have covered them", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const before = yield* serving(deployment, { actors: [Letter, Earlier] })
      yield* before.engine.ask(Earlier, target, "later")
      yield* before.stop
      const rows = () => [...deployment.checkpoints.of(0).rows.keys()].filter((name) => name.includes("bell"))
      expect(rows().length).toBe(1)
      const after = yield* serving(deployment, { actors: [Letter, Bell], config: { checkpointFrames: 1 } })
      while (rows().length > 0) {
        yield* after.engine.ask(Letter, { ...target, key: "a" }, { _tag: "Write", text: "x" })
        yield* TestClock.adjust(1)
      }
      expect(yield* after.engine.ask(Bell, target, { times: 1 })).toBe(1)
    })
  )
})
