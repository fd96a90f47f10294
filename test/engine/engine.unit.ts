/**
 * The engine as an embedder sees it: asks, lanes (docs/architecture.md, rule 15), states, inspection, refusals, asks
 * from other processes, metrics.
 */
import { describe, expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Metric, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import { Engine, layerMemory } from "../../src/engine/Engine.ts"
import { isRetryable } from "../../src/engine/errors.ts"
import { encodeClaim } from "../../src/engine/frame.ts"
import { publishTo } from "../../src/engine/memory/JournalMemory.ts"
import * as Operator from "../../src/engine/Operator.ts"
import { Account, Counter, Limiter, Reminder } from "./support/actors.ts"
import { makeDeployment, partitionIn, serving, start } from "./support/deployment.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

const target = { organization: "org_1" }
const add = (amount: number) => ({ _tag: "Add" as const, amount })
const get = { _tag: "Get" as const }

describe("the engine in memory", () => {
  it.effect("answers asks, with replies and rejections typed by the actor", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      expect(yield* engine.ask(Counter, target, add(2))).toBe(2)
      expect(yield* Effect.flip(engine.ask(Counter, target, { _tag: "AddUpTo", amount: 9, maximum: 5 }))).toEqual({
        over: 2
      })
      expect(yield* engine.state(Counter, target)).toEqual({ total: 2, notes: [] })
      expect(engine.partitionOf("org_1")).toBeLessThan(4)
    }).pipe(Effect.provide(layerMemory({ actors: [Counter], config: { partitions: 4 } })))
  )

  it.effect("two engines in one program know nothing of each other", () =>
    Effect.gen(function* () {
      const one = layerMemory({ actors: [Counter] })
      const two = layerMemory({ actors: [Counter] })
      const total = (layer: typeof one, amount: number) =>
        Effect.map(Layer.build(layer), (services) => Context.get(services, Engine)).pipe(
          Effect.flatMap((engine) =>
            Effect.as(Effect.repeat(engine.ask(Counter, target, add(amount)), { times: 2 }), engine)
          )
        )
      const [first, second] = [yield* total(one, 1), yield* total(two, 10)]
      expect(yield* first.state(Counter, target)).toMatchObject({ total: 3 })
      expect(yield* second.state(Counter, target)).toMatchObject({ total: 30 })
      expect(yield* first.ask(Counter, target, add(1))).toBe(4)
    })
  )

  it.effect("2,000 at once against a limit of 100 admit exactly 100", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const results = yield* Effect.forEach(
        Array.from({ length: 2_000 }),
        () => Effect.result(engine.ask(Counter, target, { _tag: "AddUpTo", amount: 1, maximum: 100 })),
        { concurrency: "unbounded" }
      )
      expect(results.filter(({ _tag }) => _tag === "Success").length).toBe(100)
    }).pipe(Effect.provide(layerMemory({ actors: [Counter] })))
  )

  it.effect("refuses a command that its schema refuses, before a rule sees it", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      for (const command of [{ _tag: "Nonsense" }, { _tag: "Add", amount: "1" }, undefined]) {
        const asks: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
          engine.ask(Counter, { organization: "org_1" }, command as never),
          engine.askOnce(Counter, { organization: "org_1" }, command as never, { key: "k", digest: "d" })
        ]
        for (const ask of asks)
          expect(yield* Effect.flip(ask)).toMatchObject({ _tag: "CommandInvalid", kind: "counter", retryable: false })
      }
      expect(partitionIn(engine).core.probe.counts.organizations).toBe(0)
    }).pipe(Effect.provide(layerMemory({ actors: [Counter] })))
  )

  it.effect.each([
    ["another engine's actor", Reminder, { organization: "org_1" }],
    ["an organization with a dot", Counter, { organization: "org.1" }],
    ["an organization without a name", Counter, { organization: "" }],
    ["a key that is too long", Counter, { organization: "org_1", key: "k".repeat(257) }]
  ] as const)("refuses %s for good", ([, actor, where]) =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const error = yield* Effect.flip(engine.ask(actor as typeof Counter, where, get))
      expect(error).toMatchObject({ _tag: "CommandInvalid", retryable: false })
      expect(isRetryable(error)).toBe(false)
      yield* Effect.yieldNow
      // Nothing of it stays in memory.
      expect(partitionIn(engine).core.probe.counts.organizations).toBe(0)
    }).pipe(Effect.provide(layerMemory({ actors: [Counter] })))
  )

  it.effect.each([
    ["two actors of a kind", { actors: [Counter, Counter] }],
    ["a part of a partition", { actors: [Counter], config: { partitions: 1.5 } }],
    ["no mailbox", { actors: [Counter], config: { mailboxCapacity: 0 } }],
    ["two reactors of a name", { actors: [Counter], reactors: [reactor("a"), reactor("a")] }]
  ] as const)("does not start with %s", ([, options]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(layerMemory(options))))
      expect(error).toMatchObject({ _tag: "EngineRefused" })
    })
  )

  it("refuses definitions that cannot work", () => {
    const valid = {
      kind: "a",
      command: Schema.Null,
      fact: Schema.Null,
      state: Schema.Null,
      initial: () => null,
      decide: () => Actor.decided({ reply: undefined }),
      evolve: () => null
    }
    expect(() => Actor.make({ ...valid, kind: "" })).toThrow("is not a kind")
    expect(() => Actor.make({ ...valid, version: 0 })).toThrow("version")
    // @ts-expect-error because it has no `wake`, which a caller without types learns when it runs
    expect(() => Actor.make({ ...valid, wakeAt: () => 1 })).toThrow("belong together")
    // @ts-expect-error because it cannot have a `wake` alone either
    expect(() => Actor.make({ ...valid, wake: () => Actor.decided({}) })).toThrow("belong together")
  })

  it.effect("the number of partitions cannot be changed under a deployment", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* serving(deployment)
      const error = yield* Effect.flip(start(deployment, { config: { partitions: 2 } }))
      expect(error).toMatchObject({ _tag: "EngineRefused", message: expect.stringContaining("fixed") })
    })
  )

  it.effect("is ready when all partitions serve at the same time", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const [first, second] = [partitionIn(engine, 0), partitionIn(engine, 1)]
      second.setStatus({ _tag: "Starting", reason: "it is recovering" })
      const ready = yield* Effect.forkChild(engine.ready, { startImmediately: true })
      first.setStatus({ _tag: "Starting", reason: "it was fenced" })
      second.setStatus({ _tag: "Serving" })
      yield* TestClock.adjust(0)
      expect(ready.pollUnsafe()).toBeUndefined()
      first.setStatus({ _tag: "Serving" })
      yield* Fiber.join(ready)
    }).pipe(Effect.provide(layerMemory({ actors: [Counter], config: { partitions: 2 } })))
  )

  it.effect("shows a partition and an actor to operators", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      yield* engine.ask(Account, { ...target, key: "a" }, { _tag: "Deposit", amount: 5 })
      yield* engine.ask(Counter, target, add(1))
      expect(yield* Operator.of(engine).inspectActor(Account, { ...target, key: "a" })).toMatchObject({
        partition: 0,
        state: { balance: 5 },
        sequence: 2,
        inMemory: true,
        lastRecords: [{ record: { change: 5 }, sequence: 2, kind: "account" }]
      })
      expect(yield* Operator.of(engine).inspectPartition(0)).toMatchObject({
        status: { _tag: "Serving" },
        head: { sequence: 3, epoch: 1 },
        log: { firstSequence: 1, lastSequence: 3 },
        actorsInMemory: 2,
        changedSinceCheckpoint: 2
      })
      expect(yield* Operator.of(engine).inspectActor(Counter, { organization: "nobody" })).toMatchObject({
        state: undefined
      })
      expect(yield* Effect.flip(Operator.of(engine).inspectPartition(7))).toMatchObject({ _tag: "EngineRefused" })
    }).pipe(Effect.provide(layerMemory({ actors: [Counter, Account] })))
  )

  it.effect("counts how appends were resolved", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
      faulty.publishes.push("none", { _tag: "stored, but", answer: { _tag: "WrongSequence", last: 3 } })
      yield* engine.ask(Counter, target, add(1))
      yield* engine.ask(Counter, target, add(1))
      const outcomes = (yield* Metric.snapshot)
        .filter(({ id }) => id === "sluice_append_outcomes_total")
        .map(({ attributes, state }) => [attributes?.branch, (state as { readonly count: number }).count])
      expect(Object.fromEntries(outcomes)).toMatchObject({ acked: 2, "read-back": 1 })
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})

const reactor = (name: string) => ({ name, handle: () => Effect.void })

describe("rule 15, lanes", () => {
  it.effect("given an append under way, then a lane answers at once", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
      const gate = yield* Deferred.make<void>()
      faulty.gate = Deferred.await(gate)
      const ask = yield* Effect.forkChild(engine.ask(Counter, target, add(1)))
      yield* TestClock.adjust(0)
      expect(yield* engine.askLane(Limiter, target, null)).toBe(true)
      expect(ask.pollUnsafe()).toBeUndefined()
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(ask)
    })
  )

  it.effect("given a lane that is asked steadily on an idle partition, then no ask waits for a confirmation", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
      const later = () => expect.fail("an ask had to wait")
      for (let second = 0; second < 60; second++) {
        expect(engine.askLaneNow(Limiter, target, null, later)).toEqual(Exit.succeed(true))
        yield* TestClock.adjust("1 second")
      }
      // One that comes after a pause has to wait, and is answered; after ten seconds the owner would have looked by itself.
      yield* TestClock.adjust("6 seconds")
      const answers: Array<unknown> = []
      expect(engine.askLaneNow(Limiter, target, null, (exit) => answers.push(exit))).toBeUndefined()
      yield* TestClock.adjust(0)
      expect(answers).toEqual([Exit.succeed(true)])
    })
  )

  it.effect("a limit changed by a fact holds at once, and only when it is stored; the count goes on", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
      const admitted = Effect.map(
        Effect.forEach(Array.from({ length: 30 }), () => engine.askLane(Limiter, target, null)),
        (answers) => answers.filter(Boolean).length
      )
      const limit = { ...target, key: "limit" }
      yield* engine.ask(Counter, limit, add(10))
      expect(yield* admitted).toBe(10)
      const gate = yield* Deferred.make<void>()
      faulty.gate = Deferred.await(gate)
      const raise = yield* Effect.forkChild(engine.ask(Counter, limit, add(5)))
      yield* TestClock.adjust(0)
      expect(yield* admitted).toBe(0)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(raise)
      expect(yield* admitted).toBe(5)
      yield* TestClock.adjust("1 minute")
      expect(yield* admitted).toBe(15)
    })
  )

  it.effect("a limit that left memory is loaded before the lane answers", () =>
    Effect.gen(function* () {
      const config = { idleMillis: 10_000, checkpointMillis: 5_000 }
      const { engine } = yield* serving(makeDeployment(), { config })
      yield* engine.ask(Counter, { ...target, key: "limit" }, add(3))
      yield* TestClock.adjust("5 minutes")
      expect(yield* Operator.of(engine).inspectPartition(0)).toMatchObject({ actorsInMemory: 0 })
      const answers = yield* Effect.forEach(Array.from({ length: 8 }), () => engine.askLane(Limiter, target, null), {
        concurrency: "unbounded"
      })
      expect(answers.filter(Boolean).length).toBe(3)
    })
  )

  it.effect("a state is kept until its window has ended, however idle, and then dropped", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(60_000)
      const config = { idleMillis: 1_000, checkpointMillis: 1_000 }
      const { engine } = yield* serving(makeDeployment(), { config })
      yield* engine.ask(Counter, { ...target, key: "limit" }, add(2))
      const ask = engine.askLane(Limiter, target, null)
      expect([yield* ask, yield* ask, yield* ask]).toEqual([true, true, false])
      yield* TestClock.adjust("50 seconds")
      expect(yield* ask).toBe(false)
      expect(partitionIn(engine).core.probe.counts.laneActors).toBe(1)
      yield* TestClock.adjust("20 seconds")
      expect(partitionIn(engine).core.probe.counts.laneActors).toBe(0)
      expect(yield* ask).toBe(true)
    })
  )

  it.effect("more lane actors than fit are Overloaded until others have ended", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment(), { config: { maximumLaneActors: 3 } })
      const ask = (n: number) => Effect.result(engine.askLane(Limiter, { organization: `org_${n}` }, null))
      const first = yield* Effect.forEach([1, 2, 3, 4], ask)
      expect(first.map(({ _tag }) => _tag)).toEqual(["Success", "Success", "Success", "Failure"])
      yield* TestClock.adjust("2 minutes")
      expect((yield* ask(4))._tag).toBe("Success")
    })
  )
})

describe("rule 10, room in memory", () => {
  it.effect("given more actors than fit, then idle ones make room; while none can, new ones are Overloaded", () =>
    Effect.gen(function* () {
      const config = { maximumActors: 10, checkpointMillis: 5_000, idleMillis: 60_000 }
      const { engine } = yield* serving(makeDeployment(), { config })
      const ask = (n: number) => Effect.result(engine.ask(Counter, { organization: `org_${n}` }, add(1)))
      const results = yield* Effect.forEach(Array.from({ length: 12 }), (_, n) => ask(n))
      expect(results.slice(10)).toMatchObject([
        { failure: { _tag: "Overloaded" } },
        { failure: { _tag: "Overloaded" } }
      ])
      expect((yield* ask(3))._tag).toBe("Success")
      expect(partitionIn(engine).core.probe.counts.organizations).toBe(10)
      yield* Effect.repeat(TestClock.adjust("3 seconds"), { times: 5 })
      expect((yield* ask(11))._tag).toBe("Success")
      expect((yield* Operator.of(engine).inspectPartition(0)).actorsInMemory).toBeLessThanOrEqual(10)
      expect(yield* engine.state(Counter, { organization: "org_3" })).toMatchObject({ total: 2 })
    })
  )
})

describe("a log that something else wrote to", () => {
  it.effect("given a frame that no owner of ours claimed, then the partition reads it, and recovers from it", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment)
      const { head } = partitionIn(engine).core
      const bytes = encodeClaim(
        { epoch: head.epoch + 1, number: head.number + 1, now: head.now, previousHash: head.hash, signalSequence: 0 },
        "somebody"
      )
      publishTo(
        deployment.journal.log(0),
        { bytes, identity: "0/2/2", expectedLast: head.sequence, timeoutMillis: 1 },
        1e9
      )
      expect(yield* Effect.flip(engine.ask(Counter, target, add(1)))).toMatchObject({ _tag: "PartitionMoved" })
      yield* engine.ready
      expect(yield* engine.ask(Counter, target, add(1))).toBe(1)
      expect(partitionIn(engine).core.head.epoch).toBe(3)
    })
  )
})
