/** Rules 7, 9, 10 and 11 where something is in memory only: what no checkpoint holds stays there, and the log keeps what somebody still has to see. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Logger, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import { decodeFrame } from "../../src/engine/frame.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as Operator from "../../src/engine/Operator.ts"
import { type Checkpoints, CheckpointsUnavailable } from "../../src/engine/ports/Checkpoints.ts"
import { ReactorTransaction } from "../../src/engine/ports/Cursors.ts"
import type { Reactor } from "../../src/engine/Reactor.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { add, get, layerOf, target } from "./support/durability.ts"
import { Burst } from "./support/loads.ts"

const quiet = Effect.provide(Logger.layer([]))
const config = { idleMillis: 10_000, checkpointMillis: 5_000 }

describe("what has changed since the last checkpoint", () => {
  it.effect(
    "given checkpoints that cannot be written, then idle actors stay as they are, and are there when they can",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const port = CheckpointsMemory.make(deployment.checkpoints)
        let isAway = false
        const flaky: Checkpoints["Service"] = {
          ...port,
          save: (request) =>
            isAway ? Effect.fail(new CheckpointsUnavailable({ message: "away", cause: undefined })) : port.save(request)
        }
        const { engine } = yield* serving(deployment, { checkpointsLayer: layerOf(flaky), config })
        for (let n = 0; n < 5; n++) yield* engine.ask(Counter, { organization: `org_${n}` }, add(1))
        yield* TestClock.adjust("1 minute")
        isAway = true
        for (let n = 0; n < 5; n++) yield* engine.ask(Counter, { organization: `org_${n}` }, add(10))
        yield* TestClock.adjust("10 minutes")
        for (let n = 0; n < 5; n++) expect(yield* engine.ask(Counter, { organization: `org_${n}` }, get)).toBe(11)
        isAway = false
        yield* TestClock.adjust("1 minute")
        expect(yield* Operator.of(engine).inspectPartition(0)).toMatchObject({ actorsInMemory: 0 })
        for (let n = 0; n < 5; n++) expect(yield* engine.ask(Counter, { organization: `org_${n}` }, get)).toBe(11)
      }).pipe(quiet)
  )

  it.effect(
    "given a change while a checkpoint is being written, then the next one holds it, and eviction waits for that",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const port = CheckpointsMemory.make(deployment.checkpoints)
        const gate = yield* Deferred.make<void>()
        let saves = 0
        const slow: Checkpoints["Service"] = {
          ...port,
          save: (request) => {
            // What is read from memory is what it was when the checkpoint was taken.
            const rows = [...request.rows]
            saves++
            return Effect.andThen(saves === 2 ? Deferred.await(gate) : Effect.void, port.save({ ...request, rows }))
          }
        }
        const { engine, stop } = yield* serving(deployment, { checkpointsLayer: layerOf(slow), config })
        yield* TestClock.adjust("6 seconds")
        yield* engine.ask(Counter, target, add(1))
        yield* TestClock.adjust("6 seconds")
        expect(saves).toBe(2)
        yield* engine.ask(Counter, target, add(10))
        yield* Deferred.succeed(gate, undefined)
        yield* TestClock.adjust("2 minutes")
        expect(yield* Operator.of(engine).inspectPartition(0)).toMatchObject({ actorsInMemory: 0 })
        expect(yield* engine.ask(Counter, target, get)).toBe(11)
        yield* stop
        const again = yield* serving(deployment)
        expect(yield* again.engine.ask(Counter, target, get)).toBe(11)
      })
  )
})

describe("what is still in the log", () => {
  it.effect(
    "given a reactor that has stopped in the middle, then the log is purged up to it, and it goes on with the next record",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const seen: Array<number> = []
        let isStuck = false
        const reactor: Reactor<never> = {
          name: "follower",
          handle: (records) =>
            isStuck
              ? Effect.never
              : Effect.map(Effect.service(ReactorTransaction), ({ onCommit }) =>
                  onCommit(() => void seen.push(...records.map(({ sequence }) => sequence)))
                )
        }
        const options = { reactors: [reactor], config: { checkpointFrames: 5, feedFrames: 4 } }
        const first = yield* serving(deployment, options)
        const addOne = (engine: typeof first.engine) =>
          Effect.andThen(engine.ask(Counter, target, add(1)), TestClock.adjust("1 second"))
        for (let n = 0; n < 20; n++) yield* addOne(first.engine)
        isStuck = true
        for (let n = 0; n < 40; n++) yield* addOne(first.engine)
        const cursor = deployment.cursors.cursors.get("0/follower")!.sequence
        const { firstSequence } = deployment.journal.log(0)
        expect(firstSequence).toBeGreaterThan(1)
        expect(firstSequence).toBeLessThanOrEqual(cursor)
        yield* first.stop
        isStuck = false
        yield* serving(deployment, options)
        yield* TestClock.adjust("30 seconds")
        expect(seen).toEqual(Array.from({ length: 60 }, (_, n) => n + 2))
      }).pipe(quiet)
  )
})

describe("the partition's time", () => {
  it.effect(
    "given a clock that is behind the last frame at a start, then no decision is made before that frame's time",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        yield* TestClock.setTime(100_000)
        const first = yield* serving(deployment)
        expect(yield* first.engine.ask(Counter, target, { _tag: "Clock" })).toBe(100_000)
        yield* first.stop
        yield* TestClock.setTime(70_000)
        const second = yield* serving(deployment)
        expect(yield* second.engine.ask(Counter, target, { _tag: "Clock" })).toBe(100_000)
        yield* TestClock.setTime(100_500)
        expect(yield* second.engine.ask(Counter, target, { _tag: "Clock" })).toBe(100_500)
        // Nor does any frame say an earlier one, such as the claim of that start.
        const times = deployment.journal.log(0).frames.map(({ bytes }) => decodeFrame(bytes).now)
        expect(times).toEqual([100_000, 100_000, 100_000, 100_000, 100_500])
      })
  )
})

/** Gives facts to another actor and has none of its own. */
const Giver = Actor.make<{ readonly amount: number }, { readonly n: number }, null, string>({
  kind: "giver",
  command: Schema.Struct({ amount: Schema.Number }),
  fact: Schema.Struct({ n: Schema.Number }),
  state: Schema.Null,
  initial: () => null,
  touches: () => [Counter.at()],
  decide: (_, { amount }) =>
    Actor.decided({ others: [Counter.facts("", [{ _tag: "Added", amount }])], reply: "given" }),
  evolve: () => null
})

describe("a decision without facts of its own", () => {
  it.effect("given one with events alone, then they are stored before it is answered, and followers see them", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const seen: Array<string> = []
      const reactor: Reactor<never> = {
        name: "events",
        handle: (records) =>
          Effect.map(Effect.service(ReactorTransaction), ({ onCommit }) =>
            onCommit(() => void seen.push(...records.map((record) => record._tag)))
          )
      }
      const { engine } = yield* serving(deployment, { actors: [Burst], reactors: [reactor] })
      yield* engine.ask(Burst, target, { facts: 0, events: 2 })
      expect(deployment.journal.log(0).frames.length).toBe(2)
      yield* TestClock.adjust("10 seconds")
      expect(seen).toEqual(["Event", "Event"])
    })
  )

  it.effect("given one with facts for another actor alone, then they are stored before it is answered", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine, stop } = yield* serving(deployment, { actors: [Counter, Giver] })
      expect(yield* engine.ask(Giver, target, { amount: 3 })).toBe("given")
      expect(deployment.journal.log(0).frames.length).toBe(2)
      yield* stop
      const again = yield* serving(deployment, { actors: [Counter, Giver] })
      expect(yield* again.engine.ask(Counter, target, get)).toBe(3)
    })
  )
})
