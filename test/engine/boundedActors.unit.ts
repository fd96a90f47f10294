/** Rule 10 on a running engine: eviction, loading, bounds of decisions and states, overdue timers. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { decodeFrame } from "../../src/engine/frame.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as Operator from "../../src/engine/Operator.ts"
import { type Checkpoints, CheckpointsUnavailable } from "../../src/engine/ports/Checkpoints.ts"
import { Counter, Reminder } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { add, addEach, get, layerOf, target } from "./support/durability.ts"

describe("rule 10, bounded actors", () => {
  it.effect("given idle actors, then they leave memory after a checkpoint and come back with their state", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment, { config: { idleMillis: 10_000, checkpointMillis: 5_000 } })
      for (let n = 0; n < 20; n++) yield* engine.ask(Counter, { organization: `org_${n}` }, add(n))
      yield* TestClock.adjust("1 minute")
      expect(yield* Operator.of(engine).inspectPartition(0)).toMatchObject({ actorsInMemory: 0 })
      expect(yield* engine.ask(Counter, { organization: "org_7" }, add(1))).toBe(8)
      expect(yield* engine.state(Counter, { organization: "org_19" })).toMatchObject({ total: 19 })
    })
  )

  it.effect("given an actor that is being loaded, then other organizations are answered meanwhile", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 10, { config: { checkpointFrames: 2 } }, 2)
      const port = CheckpointsMemory.make(deployment.checkpoints)
      const slow: Checkpoints["Service"] = {
        ...port,
        load: (partition, addresses, through) =>
          addresses.some(({ organization }) => organization === "org_1")
            ? Effect.delay(port.load(partition, addresses, through), "3 seconds")
            : port.load(partition, addresses, through)
      }
      const { engine } = yield* serving(deployment, { checkpointsLayer: layerOf(slow) })
      const waiting = yield* Effect.forkChild(
        Effect.all([engine.ask(Counter, target, get), engine.ask(Counter, target, add(1))], {
          concurrency: "unbounded"
        })
      )
      yield* TestClock.adjust(0)
      // Asked for too, and in another batch; no time passes meanwhile.
      expect(yield* engine.ask(Counter, { organization: "org_3" }, get)).toBe(0)
      expect(waiting.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("3 seconds")
      expect(yield* Fiber.join(waiting)).toEqual([5, 6])
    })
  )

  it.effect("given checkpoints that are away, then who waits for an actor is told, and it is there when they are", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 10, { config: { checkpointFrames: 2 } }, 2)
      const port = CheckpointsMemory.make(deployment.checkpoints)
      let isAway = true
      const failing: Checkpoints["Service"] = {
        ...port,
        load: (partition, addresses, through) =>
          isAway
            ? Effect.fail(new CheckpointsUnavailable({ message: "away" }))
            : port.load(partition, addresses, through)
      }
      const { engine } = yield* serving(deployment, { checkpointsLayer: layerOf(failing) })
      const waiting = yield* Effect.forkChild(Effect.result(engine.ask(Counter, target, get)))
      yield* TestClock.adjust("30 seconds")
      expect(waiting.pollUnsafe()).toBeDefined()
      expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "Failure", failure: { _tag: "PartitionUnavailable" } })
      isAway = false
      expect(yield* engine.ask(Counter, target, get)).toBe(5)
    })
  )

  it.effect(
    "given a state that would pass 64 KiB, then that command is refused for good, and the others of its drain are decided",
    () =>
      Effect.gen(function* () {
        const { engine } = yield* serving(makeDeployment())
        const text = "x".repeat(9_000)
        const note = () => Effect.result(engine.ask(Counter, target, { _tag: "Note", text }))
        const results = yield* Effect.all(
          [...Array.from({ length: 9 }, note), Effect.result(engine.ask(Counter, { organization: "org_2" }, add(1)))],
          { concurrency: "unbounded" }
        )
        const failures = results.filter((result) => result._tag === "Failure").map((result) => result.failure)
        expect(failures).toMatchObject([
          { _tag: "StateTooLarge", retryable: false },
          { _tag: "StateTooLarge", retryable: false }
        ])
        expect((yield* engine.state(Counter, target)).notes.length).toBe(7)
        expect(yield* engine.state(Counter, { organization: "org_2" })).toMatchObject({ total: 1 })
      })
  )

  it.effect("given facts that no frame can hold, then the command is refused for good", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment)
      const error = yield* Effect.flip(engine.ask(Counter, target, { _tag: "Note", text: "x".repeat(600_000) }))
      expect(error).toMatchObject({ _tag: "DecisionTooLarge", retryable: false })
    })
  )

  it.effect(
    "given timers, then they fire at their time with the true now, also for actors that left memory or slept through a restart",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const options = { config: { idleMillis: 10_000, checkpointMillis: 5_000 } }
        const first = yield* serving(deployment, options)
        yield* first.engine.ask(Reminder, { organization: "soon" }, { _tag: "Set", at: 3_000 })
        yield* first.engine.ask(Reminder, { organization: "evicted" }, { _tag: "Set", at: 600_000 })
        yield* first.engine.ask(Reminder, { organization: "asleep" }, { _tag: "Set", at: 900_000 })
        yield* TestClock.adjust("3 seconds")
        expect(yield* first.engine.ask(Reminder, { organization: "soon" }, { _tag: "Rang" })).toEqual([3_000])
        yield* TestClock.adjust("5 minutes")
        expect(yield* Operator.of(first.engine).inspectPartition(0)).toMatchObject({ actorsInMemory: 0 })
        yield* TestClock.setTime(600_000)
        expect(yield* first.engine.ask(Reminder, { organization: "evicted" }, { _tag: "Rang" })).toEqual([600_000])
        yield* first.stop
        yield* TestClock.setTime(2_000_000)
        const second = yield* serving(deployment, options)
        yield* TestClock.adjust(0)
        expect(yield* second.engine.ask(Reminder, { organization: "asleep" }, { _tag: "Rang" })).toEqual([2_000_000])
      })
  )

  it.effect("given many overdue timers, then they fire in the order of time and name, at most 256 a frame", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const first = yield* serving(deployment)
      yield* Effect.forEach(
        Array.from({ length: 600 }, (_, n) => n),
        (n) =>
          first.engine.ask(
            Reminder,
            { organization: `org_${String(n).padStart(3, "0")}` },
            { _tag: "Set", at: 1_000 + (n % 7) }
          ),
        { concurrency: "unbounded", discard: true }
      )
      yield* first.stop
      yield* TestClock.setTime(1_000_000)
      const from = deployment.journal.log(0).frames.length
      yield* serving(deployment)
      // Nobody is asked: an actor that is in memory does not wait for others that have to be loaded.
      const framesSince = () =>
        deployment.journal
          .log(0)
          .frames.slice(from)
          .map(({ bytes }) => decodeFrame(bytes))
      while (framesSince().flatMap(({ records }) => records).length < 600) yield* TestClock.adjust(1)
      const frames = framesSince()
      for (const frame of frames) expect(frame.records.length).toBeLessThanOrEqual(256)
      const fired = frames.flatMap((frame) => frame.records.map(({ actor }) => actor.organization))
      const expected = Array.from({ length: 600 }, (_, n) => n)
        .sort((a, b) => (a % 7) - (b % 7) || a - b)
        .map((n) => `org_${String(n).padStart(3, "0")}`)
      expect(fired).toEqual(expected)
    })
  )
})
