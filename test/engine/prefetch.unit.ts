/** Rule 10: what a command touches can be loaded before the command comes, within the share of its organization. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { maximumPrefetchedActors, maximumTouchedActors } from "../../src/engine/limits.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as Operator from "../../src/engine/Operator.ts"
import { type Checkpoints, CheckpointsUnavailable } from "../../src/engine/ports/Checkpoints.ts"
import { type CoreDriver, servingCore } from "./support/core.ts"
import { failAllReads, runUnread } from "./support/coreSteps.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { layerOf, target } from "./support/durability.ts"
import { Bell, Letter, Post } from "./support/letters.ts"

const actors = [Letter, Post, Bell]
const options = { actors, lanes: [] }
const keys = (count: number) => Array.from({ length: count }, (_, n) => `l${n}`)
const send = (letters: ReadonlyArray<string>, text = "hello") => ({ letters, text, fresh: false })

/** A core with a checkpoint and nothing in memory. */
const cold = (): CoreDriver => {
  const core = servingCore(options)
  core.ask(Post, "org_1", send(["l0"], "before"))
  core.run()
  core.save()
  return core.begin()
}

const prefetch = (core: CoreDriver, letters: ReadonlyArray<string>, organization = "org_1") =>
  core.core.intake.prefetch(organization, 1, "", send(letters), false)

/** How many actors the next batch has. */
const nextBatch = (core: CoreDriver): number => {
  const read = core.takeRead()
  if (read?._tag !== "Actors") return 0
  core.answerRead(read)
  return read.batch.cells.length
}

describe("a prefetch", () => {
  it("given what is not in memory, then it comes in one batch, and the command is decided at once", () => {
    const core = cold()
    prefetch(core, keys(10))
    expect(nextBatch(core)).toBe(11)
    const asked = core.ask(Post, "org_1", send(keys(2)))
    core.stored(core.draft())
    expect(asked.value).toEqual([["before"], []])
    prefetch(core, keys(10))
    expect(nextBatch(core)).toBe(0)
  })

  it("given a command right behind it, then that one waits for the same batch", () => {
    const core = cold()
    prefetch(core, ["l0"])
    const asked = core.ask(Post, "org_1", send(["l0"]))
    runUnread(core)
    expect(nextBatch(core)).toBe(2)
    core.run()
    expect(asked.value).toEqual([["before"]])
  })

  it("given more than the share of an organization, then the rest is left out, and another organization has its own", () => {
    const core = cold()
    prefetch(core, keys(maximumPrefetchedActors + 50))
    prefetch(core, ["more"])
    prefetch(core, keys(3), "org_2")
    expect(core.core.probe.counts.actors).toBe(maximumPrefetchedActors + 4)
    expect(nextBatch(core)).toBe(maximumPrefetchedActors + 4)
    prefetch(core, ["more"])
    expect(nextBatch(core)).toBe(1)
  })

  it("given a store that is away, then nobody hears of it, nothing stays, and its share is free again", () => {
    const core = cold()
    for (let round = 0; round < 3; round++) {
      prefetch(core, keys(maximumPrefetchedActors))
      expect(failAllReads(core)).toBeGreaterThan(0)
      expect(core.core.probe.counts.actors).toBe(0)
      core.pass(2_000)
      core.next()
    }
    prefetch(core, ["l0"])
    core.begin()
    prefetch(core, keys(maximumPrefetchedActors - 1))
    expect(nextBatch(core)).toBe(maximumPrefetchedActors)
  })

  it("given nothing to load, a rule that throws, or a partition that does not serve, then it does nothing", () => {
    const core = cold()
    core.core.intake.prefetch("org_1", 1, "", null, false)
    core.core.intake.prefetch("not a name", 1, "", send(["a"]), false)
    core.core.intake.prefetch("org_2", 2, "", { times: 1 }, false)
    core.core.intake.prefetch("org_2", 0, "a", { _tag: "Read" }, true)
    core.core.intake.prefetch("org_2", 1, "", { ...send(["b"]), fresh: true }, true)
    core.core.intake.refuse(new Error("away"))
    prefetch(core, ["l0"])
    expect(nextBatch(core)).toBe(1)
    expect(core.poisoned).toEqual([])
    const young = servingCore(options)
    prefetch(young, ["l0"])
    expect(young.core.probe.counts.actors).toBe(0)
  })
})

describe("commands that wait for actors", () => {
  it("given many of one organization that touch another actor each, then all are loaded together and decided in one frame", () => {
    const core = cold()
    const asked = keys(300).map((key) => core.ask(Post, "org_1", send([key])))
    runUnread(core)
    expect(nextBatch(core)).toBe(301)
    core.stored(core.draft())
    expect(asked.every(({ accepted }) => accepted === true)).toBe(true)
    expect(nextBatch(core)).toBe(0)
  })

  it("given one that touches as many as it may, then they come in two batches with its own actor, and all get their facts", () => {
    const core = cold()
    const letters = keys(maximumTouchedActors)
    const asked = core.ask(Post, "org_1", send(letters))
    const refused = core.ask(Post, "org_1", send([...letters, "one more"]))
    runUnread(core)
    expect([nextBatch(core), nextBatch(core), nextBatch(core)]).toEqual([maximumTouchedActors, 1, 0])
    core.run()
    expect(asked.value).toMatchObject({ length: maximumTouchedActors, 0: ["before"] })
    expect(refused.value).toMatchObject({ _tag: "CommandFailed" })
    core.begin()
    const last = core.ask(Letter, "org_1", { _tag: "Read" }, letters.at(-1))
    core.run()
    expect(last.value).toEqual(["hello"])
  })

  it("given commands that touch many, then a drain looks at its time after each of them", () => {
    const core = cold()
    core.ask(Post, "org_1", send(keys(500)))
    core.run()
    let looks = 0
    core.spent = () => {
      looks++
      return looks > 2 ? 2 : 0
    }
    for (let n = 0; n < 10; n++) core.ask(Post, "org_1", send(keys(500), `${n}`))
    expect(core.draft().decided).toBeLessThan(5)
  })
})

describe("prefetch of an engine", () => {
  const slowOf = (
    port: Checkpoints["Service"],
    loads: Array<number>,
    isAway = () => false
  ): Checkpoints["Service"] => ({
    ...port,
    load: (partition, addresses, through) => {
      loads.push(addresses.length)
      if (isAway()) return Effect.fail(new CheckpointsUnavailable({ message: "away" }))
      return Effect.delay(port.load(partition, addresses, through), "1 second")
    }
  })

  it.effect(
    "given time before the ask, then the ask need not wait; a store that is away, or a foreign actor, changes nothing",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const first = yield* serving(deployment, { actors })
        yield* first.engine.ask(Post, target, send(keys(3), "before"))
        yield* first.stop
        const loads: Array<number> = []
        let isAway = false
        const port = slowOf(CheckpointsMemory.make(deployment.checkpoints), loads, () => isAway)
        const { engine } = yield* serving(deployment, { actors: [Letter, Post], checkpointsLayer: layerOf(port) })
        yield* engine.prefetch(Post, target, send(keys(3)))
        yield* engine.prefetch(Bell, target, { times: 1 })
        yield* TestClock.adjust("1 second")
        // No time passes any more.
        expect(yield* engine.ask(Post, target, send(keys(3)))).toEqual([["before"], ["before"], ["before"]])
        expect(loads).toEqual([4])
        isAway = true
        yield* engine.prefetch(Post, target, send(["other"]))
        yield* TestClock.adjust("1 minute")
        isAway = false
        expect((yield* Operator.of(engine).inspectPartition(0)).actorsInMemory).toBe(4)
      })
  )
})
