/** Rule 10: kinds that are rarely needed again leave memory as soon as a checkpoint has them and nothing uses them. */
import { describe, expect, it } from "@effect/vitest"
import * as Actor from "../../src/engine/Actor.ts"
import { Counter } from "./support/actors.ts"
import { type CoreDriver, servingCore } from "./support/core.ts"
import { add, get } from "./support/durability.ts"
import { Letter } from "./support/letters.ts"

const Rare = Actor.make({ ...Letter.options, kind: "rare", leavesMemory: "after its checkpoint" })
const options = { actors: [Counter, Rare], lanes: [] }

const write = (remindAt?: number) => ({ _tag: "Write", text: "x", ...(remindAt === undefined ? {} : { remindAt }) })
const kindsOf = (core: CoreDriver) => [...core.core.probe.actors()].map(({ kind }) => kind)

describe("an actor that leaves memory after its checkpoint", () => {
  it("given a checkpoint, then it is gone and others stay; it comes back with its state", () => {
    const core = servingCore(options)
    core.ask(Rare, "org_1", write(), "a")
    core.ask(Counter, "org_1", add(1))
    core.run()
    expect(kindsOf(core).toSorted()).toEqual(["counter", "rare"])
    core.save()
    expect(kindsOf(core)).toEqual(["counter"])
    const asked = core.ask(Rare, "org_1", write(), "a")
    core.run()
    expect(asked.value).toEqual(["x", "x"])
  })

  it("given facts since the checkpoint was taken, then it stays until the next one", () => {
    const core = servingCore(options)
    core.ask(Rare, "org_1", write(), "a")
    core.run()
    const taken = core.core.checkpoints.snapshot()!
    core.ask(Rare, "org_1", write(), "a")
    core.run()
    core.store.of(0).records.push(taken.record)
    core.core.checkpoints.saved(taken.record, taken.count, taken.bytes)
    expect(kindsOf(core)).toEqual(["rare"])
    core.save()
    expect(kindsOf(core)).toEqual([])
  })

  it("given a drain that uses it while the checkpoint is written, then it leaves when that drain is over", () => {
    const core = servingCore(options)
    core.ask(Rare, "org_1", write(), "a")
    core.run()
    core.ask(Rare, "org_1", { _tag: "Read" }, "a")
    core.ask(Counter, "org_1", add(1))
    const frame = core.draft()
    core.save()
    expect(kindsOf(core).toSorted()).toEqual(["counter", "rare"])
    core.stored(frame)
    expect(kindsOf(core)).toEqual(["counter"])
  })

  it("given it was loaded since and not changed, then it leaves with the next checkpoint", () => {
    const core = servingCore(options)
    core.ask(Rare, "org_1", write(), "a")
    core.run()
    core.save()
    core.ask(Rare, "org_1", { _tag: "Read" }, "a")
    core.run()
    expect(kindsOf(core)).toEqual(["rare"])
    core.ask(Counter, "org_1", add(1))
    core.run()
    core.save()
    expect(kindsOf(core)).toEqual(["counter"])
  })

  it("given a time to wake, then it is woken at that time", () => {
    const core = servingCore(options)
    core.ask(Rare, "org_1", write(core.now.wall + 1_000), "a")
    core.run()
    core.save()
    expect(kindsOf(core)).toEqual([])
    core.pass(1_000)
    core.run()
    expect(core.peek(Rare, "org_1", "a").value).toMatchObject({ remindAt: null })
  })

  it("given a new life, then nothing of the last one leaves the new one", () => {
    const core = servingCore(options)
    core.ask(Rare, "org_1", write(), "a")
    core.run()
    core.begin()
    const asked = core.ask(Counter, "org_1", get)
    core.run()
    core.save()
    expect([asked.value, ...kindsOf(core)]).toEqual([0, "counter"])
  })
})
