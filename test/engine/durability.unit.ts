/** Rules 4, 8 and 9 on a running engine: recovery, checkpoints and purges. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import type { Checkpoints } from "../../src/engine/ports/Checkpoints.ts"
import { purge } from "../../src/engine/shell/stores/purge.ts"
import { Counter } from "./support/actors.ts"
import { type Deployment, makeDeployment, serving } from "./support/deployment.ts"
import { add, addEach, get, layerOf, recordsOf, stuck, target } from "./support/durability.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

describe("rules 4 and 8, recovery", () => {
  it.effect("given a stopped engine, when another starts on its stores, then it has every acknowledged fact", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 25, {}, 4)
      const { engine } = yield* serving(deployment)
      expect(yield* engine.ask(Counter, { organization: "org_1" }, get)).toBe(7)
      expect(yield* engine.ask(Counter, { organization: "org_4" }, get)).toBe(6)
    })
  )

  it.effect("given the same log, then replay alone and checkpoint plus tail give the same state", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      // The reactor that never finishes keeps the whole log.
      const reactors = [stuck]
      yield* addEach(deployment, 30, { reactors, config: { checkpointFrames: 10 } }, 3)
      yield* addEach(deployment, 7, { reactors, config: { checkpointFrames: 1_000 } }, 3)
      const states = (of: Deployment) =>
        Effect.scoped(
          Effect.gen(function* () {
            const { engine } = yield* serving(of)
            return yield* Effect.forEach(["org_1", "org_2", "org_3"], (organization) =>
              engine.state(Counter, { organization })
            )
          })
        )
      const replayOnly = { ...deployment, checkpoints: CheckpointsMemory.makeStore() }
      const replayed = yield* states(replayOnly)
      expect(yield* states(deployment)).toEqual(replayed)
      expect(replayed.map(({ total }) => total)).toEqual([13, 12, 12])
    })
  )

  it.effect("ids of decisions are derived from their place: different each, and the same fact after a restart", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment)
      const ids = yield* Effect.forEach([1, 2, 3, 4, 5, 6], (n) =>
        engine.ask(Counter, { organization: `org_${n % 3}` }, { _tag: "Identify" })
      )
      expect(new Set(ids).size).toBe(6)
      for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    })
  )

  it.effect("given facts of an older version, then they are upcast, and states of older checkpoints too", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const build = (version: number) =>
        Actor.make<number, { readonly value: number }, { readonly sum: number }, number>({
          kind: "tally",
          version,
          command: Schema.Number,
          fact: Schema.Struct({ value: Schema.Number }),
          state: Schema.Struct({ sum: Schema.Number }),
          initial: () => ({ sum: 0 }),
          decide: (state, command) => Actor.decided({ facts: [{ value: command }], reply: state.sum + command }),
          evolve: (state, fact) => ({ sum: state.sum + fact.value }),
          ...(version === 1
            ? {}
            : {
                // Version 2 counts in hundreds.
                upcastFact: { 1: (fact) => ({ value: (fact as { value: number }).value * 100 }) },
                upcastState: { 1: (state) => ({ sum: (state as { sum: number }).sum * 100 }) }
              })
        })
      const [one, two] = [build(1), build(2)]
      const first = yield* serving(deployment, { actors: [one], lanes: [], config: { checkpointFrames: 4 } })
      for (let n = 0; n < 5; n++) yield* first.engine.ask(one, target, 1)
      yield* TestClock.adjust(0)
      const cut = recordsOf(deployment)
      yield* first.stop
      // Only the first checkpoint is kept, so that a tail of old facts is left.
      deployment.checkpoints.of(0).records = deployment.checkpoints.of(0).records.filter((r) => r.sequence === cut[0])
      const second = yield* serving(deployment, { actors: [two], lanes: [] })
      expect(yield* second.engine.ask(two, target, 7)).toBe(507)
    })
  )
})

describe("rule 9, checkpoints and purge", () => {
  it.effect("given many frames, then two checkpoints stay, and the log begins at the second-newest", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 50, { config: { checkpointFrames: 10 } }, 3)
      const records = recordsOf(deployment)
      expect(records.length).toBe(2)
      expect(deployment.journal.log(0).firstSequence).toBe(records[0])
      for (const rows of deployment.checkpoints.of(0).rows.values()) expect(rows.length).toBeLessThanOrEqual(3)
      const { engine } = yield* serving(deployment)
      expect(yield* engine.ask(Counter, { organization: "org_1" }, get)).toBe(17)
    })
  )

  it.effect("given a reactor that lags, then nothing it has not seen is purged", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 50, { config: { checkpointFrames: 10 }, reactors: [stuck] })
      expect(deployment.journal.log(0).firstSequence).toBe(1)
    })
  )

  it.effect("given an append under way, then a checkpoint holds the state of the frame it names", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 40, { config: { checkpointFrames: 3 } })
      for (const rows of deployment.checkpoints.of(0).rows.values()) {
        for (const row of rows) {
          // Frame 1 is the claim, each later one adds one.
          expect(JSON.parse(row.state ?? "null").total).toBe(row.sequence - 1)
        }
      }
    })
  )

  it.effect(
    "given a decision that is on its way to the log, then a checkpoint that is taken meanwhile has it not",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const faulty = makeFaultyLog(deployment.journal)
        const { engine } = yield* serving(deployment, { journalLayer: faulty.layer, config: { checkpointFrames: 1 } })
        faulty.publishes.push({ _tag: "slow", waitMillis: 500 }, { _tag: "slow", waitMillis: 500 })
        const first = yield* Effect.forkChild(engine.ask(Counter, target, add(1)))
        yield* TestClock.adjust("100 millis")
        const second = yield* Effect.forkChild(engine.ask(Counter, target, add(10)))
        yield* TestClock.adjust("500 millis")
        expect(yield* Fiber.join(first)).toBe(1)
        expect(second.pollUnsafe()).toBeUndefined()
        const rows = [...deployment.checkpoints.of(0).rows.values()].flat()
        expect(rows.map((row) => [row.sequence, JSON.parse(row.state ?? "null").total])).toEqual([[2, 1]])
        yield* TestClock.adjust("1 second")
        expect(yield* Fiber.join(second)).toBe(11)
      })
  )

  it.effect.each([-1, 0, 1, 1.5, 12, 1_000, Number.NaN])("the purge wrapper does nothing for sequence %s", (sequence) =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 10)
      expect(yield* purge(JournalMemory.openLog(deployment.journal, 0), sequence)).toBe(false)
      expect(deployment.journal.log(0).frames.length).toBe(11)
    })
  )

  it.effect("given a log that is small, then checkpoints come often enough to purge it before it is full", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment({ maximumBytes: 40_000 })
      yield* addEach(deployment, 400)
      const { engine } = yield* serving(deployment)
      expect(yield* engine.ask(Counter, target, get)).toBe(400)
      expect(deployment.journal.log(0).bytes).toBeLessThan(20_000)
    })
  )

  it.effect("given a checkpoint whose answer was lost after the commit, then the next one builds on it", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const port = CheckpointsMemory.make(deployment.checkpoints)
      let lose = 1
      const flaky: Checkpoints["Service"] = {
        ...port,
        save: (write) =>
          Effect.flatMap(port.save(write), () =>
            lose-- > 0 ? Effect.fail({ _tag: "CheckpointsUnavailable", message: "answer lost" } as never) : Effect.void
          )
      }
      yield* addEach(deployment, 30, {
        config: { checkpointFrames: 10 },
        checkpointsLayer: layerOf(flaky)
      })
      const { engine } = yield* serving(deployment)
      expect(yield* engine.ask(Counter, target, get)).toBe(30)
      expect(recordsOf(deployment).length).toBe(2)
    })
  )
})
