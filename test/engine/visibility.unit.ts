/** Rules 5, 6, 7 and 12: what is seen and answered when, and by which clock. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import { decodeFrame } from "../../src/engine/frame.ts"
import { layerOf as checkpointsLayer } from "../../src/engine/memory/CheckpointsMemory.ts"
import { layerOf as cursorsLayer } from "../../src/engine/memory/CursorsMemory.ts"
import { layerOf as journalLayer } from "../../src/engine/memory/JournalMemory.ts"
import { acceptClock } from "../../src/engine/operator/acceptLoss.ts"
import { Journal, JournalRefused } from "../../src/engine/ports/Journal.ts"
import { Account, Counter, Limiter } from "./support/actors.ts"
import { makeDeployment, partitionIn, serving, start } from "./support/deployment.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

/** Keeps strings of the asked size, in place. */
const Pile = Actor.make<number, string, Array<string>, number>({
  kind: "pile",
  command: Schema.Number,
  fact: Schema.String,
  state: Schema.mutable(Schema.Array(Schema.String)),
  initial: () => [],
  decide: (state, size) => Actor.decided({ facts: ["x".repeat(size)], reply: state.length + 1 }),
  copy: (state) => [...state],
  evolve: (state, fact) => {
    state.push(fact)
    return state
  }
})

const target = { organization: "org_1" }
const add = (amount: number) => ({ _tag: "Add" as const, amount })
const get = { _tag: "Get" as const }

/** An engine whose appends wait until `open` is called. */
const gated = Effect.gen(function* () {
  const deployment = makeDeployment()
  const faulty = makeFaultyLog(deployment.journal)
  const running = yield* serving(deployment, { journalLayer: faulty.layer })
  const close = Effect.gen(function* () {
    const gate = yield* Deferred.make<void>()
    faulty.gate = Deferred.await(gate)
    return Effect.andThen(
      Deferred.succeed(gate, undefined),
      Effect.sync(() => (faulty.gate = Effect.void))
    )
  })
  return { ...running, deployment, faulty, close }
})

describe("rule 5, visibility", () => {
  it.effect("given an append under way, then its facts are neither answered nor seen; after the ack both", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* gated
      yield* engine.ask(Counter, target, add(1))
      const open = yield* close
      const ask = yield* Effect.forkChild(engine.ask(Counter, target, add(10)))
      yield* TestClock.adjust(0)
      expect(ask.pollUnsafe()).toBeUndefined()
      expect(yield* engine.state(Counter, target)).toMatchObject({ total: 1 })
      yield* open
      expect(yield* Fiber.join(ask)).toBe(11)
      expect(yield* engine.state(Counter, target)).toMatchObject({ total: 11 })
    })
  )

  it.effect("given a rejection that rests on a fact of its own drain, then it waits for the frame", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* gated
      const open = yield* close
      const bounded = { _tag: "AddUpTo" as const, amount: 6, maximum: 10 }
      const [accepted, refused] = yield* Effect.all([
        Effect.forkChild(engine.ask(Counter, target, bounded)),
        Effect.forkChild(Effect.flip(engine.ask(Counter, target, bounded)))
      ])
      yield* TestClock.adjust(0)
      expect([accepted.pollUnsafe(), refused.pollUnsafe()]).toEqual([undefined, undefined])
      yield* open
      expect(yield* Fiber.join(accepted)).toBe(6)
      expect(yield* Fiber.join(refused)).toEqual({ over: 6 })
    })
  )

  it.effect(
    "given a drain whose frame is fenced, then a rejection that rested on its facts is not believed either",
    () =>
      Effect.gen(function* () {
        const { deployment, engine } = yield* gated
        yield* serving(deployment)
        const bounded = { _tag: "AddUpTo" as const, amount: 6, maximum: 10 }
        const asks = yield* Effect.all([
          Effect.forkChild(Effect.flip(engine.ask(Counter, target, bounded))),
          Effect.forkChild(Effect.flip(engine.ask(Counter, target, bounded)))
        ])
        for (const ask of asks) expect(yield* Fiber.join(ask)).toMatchObject({ _tag: "PartitionMoved" })
      })
  )

  it.effect("given actors changed in place, when their frame is not stored, then the old state is untouched", () =>
    Effect.gen(function* () {
      const { engine, faulty } = yield* gated
      yield* engine.ask(Account, { ...target, key: "a" }, { _tag: "Deposit", amount: 5 })
      faulty.publishes.push({ _tag: "answer", answer: { _tag: "Full" } })
      yield* Effect.flip(engine.ask(Account, { ...target, key: "a" }, { _tag: "Deposit", amount: 100 }))
      expect(yield* engine.state(Account, { ...target, key: "a" })).toEqual({ balance: 5 })
    })
  )

  it.effect("given a decision over two actors, then both sides are in one frame, or none is", () =>
    Effect.gen(function* () {
      const { deployment, engine, faulty } = yield* gated
      const from = { ...target, key: "a" }
      yield* engine.ask(Account, from, { _tag: "Deposit", amount: 5 })
      yield* engine.ask(Account, from, { _tag: "Transfer", to: "b", amount: 2 })
      const frames = deployment.journal.log(0).frames
      const last = decodeFrame(frames[frames.length - 1]!.bytes)
      expect(last.records.map(({ actor, fact }) => [actor.key, fact])).toEqual([
        ["a", { change: -2 }],
        ["b", { change: 2 }]
      ])
      faulty.publishes.push({ _tag: "answer", answer: { _tag: "Full" } })
      yield* Effect.flip(engine.ask(Account, from, { _tag: "Transfer", to: "b", amount: 3 }))
      expect(yield* engine.state(Account, from)).toEqual({ balance: 3 })
      expect(yield* engine.state(Account, { ...target, key: "b" })).toEqual({ balance: 2 })
      expect(yield* Effect.flip(engine.ask(Account, from, { _tag: "Transfer", to: "b", amount: 4 }))).toBe(
        "insufficient"
      )
    })
  )

  it.effect("given many callers at once, then their facts share frames", () =>
    Effect.gen(function* () {
      const { deployment, engine } = yield* gated
      yield* Effect.forEach(
        Array.from({ length: 300 }, (_, n) => n),
        (n) => engine.ask(Counter, { organization: `org_${n % 20}` }, add(1)),
        { concurrency: "unbounded" }
      )
      expect(deployment.journal.log(0).frames.length).toBeLessThan(10)
    })
  )
})

describe("rule 6, freshness", () => {
  it.effect(
    "given an owner that slept for six seconds and was replaced, then it does not answer from its old state",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const sleeper = yield* serving(deployment)
        yield* sleeper.engine.ask(Counter, target, add(1))
        const other = yield* serving(deployment)
        yield* other.engine.ask(Counter, target, add(1))
        yield* TestClock.adjust("6 seconds")
        expect(yield* Effect.flip(sleeper.engine.ask(Counter, target, get))).toMatchObject({ _tag: "PartitionMoved" })
        // The sleeper has claimed anew: now the other one is fenced.
        yield* sleeper.engine.ready
        expect(yield* sleeper.engine.ask(Counter, target, get)).toBe(2)
      })
  )

  it.effect("given a log that cannot be reached, then fact-free answers go on for five seconds and no longer", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
      yield* engine.ask(Counter, target, add(1))
      faulty.away = true
      yield* TestClock.adjust("2 seconds")
      expect(yield* engine.ask(Counter, target, get)).toBe(1)
      yield* TestClock.adjust("4 seconds")
      const late = yield* Effect.forkChild(Effect.flip(engine.ask(Counter, target, get)))
      yield* TestClock.adjust("2 seconds")
      expect(yield* Fiber.join(late)).toMatchObject({ _tag: "PartitionUnavailable" })
      faulty.away = false
    })
  )

  it.effect("given an idle partition, then one look at the log's end makes its answers fresh again", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment)
      yield* engine.ask(Counter, target, add(1))
      yield* TestClock.adjust("1 hour")
      expect(yield* engine.ask(Counter, target, get)).toBe(1)
      expect(yield* engine.askLane(Limiter, target, null)).toBe(true)
    })
  )
})

describe("rule 7, time", () => {
  it.effect("given a clock that steps back by less than a minute, then the partition's time stands still", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000_000)
      const { engine } = yield* serving(makeDeployment())
      expect(yield* engine.ask(Counter, target, { _tag: "Clock" })).toBe(1_000_000)
      yield* TestClock.setTime(950_000)
      expect(yield* engine.ask(Counter, target, { _tag: "Clock" })).toBe(1_000_000)
      yield* TestClock.setTime(1_000_500)
      expect(yield* engine.ask(Counter, target, { _tag: "Clock" })).toBe(1_000_500)
    })
  )

  it.effect(
    "given a clock more than a minute behind, then the partition does not serve, says why, and goes on when it has caught up",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(1_000_000)
        const { engine } = yield* serving(makeDeployment())
        yield* engine.ask(Counter, target, add(1))
        yield* TestClock.setTime(900_000)
        const error = yield* Effect.flip(engine.ask(Counter, target, add(1)))
        expect(error).toMatchObject({ _tag: "PartitionUnavailable" })
        expect(error).toHaveProperty("message", expect.stringContaining("--accept-clock"))
        expect(yield* engine.status).toMatchObject([{ status: { _tag: "ClockBehind" } }])
        yield* TestClock.setTime(1_000_001)
        yield* TestClock.adjust("1 second")
        expect(yield* engine.ask(Counter, target, add(1))).toBe(2)
      })
  )

  it.effect(
    "given a last frame from the future, when an operator accepts the clock, then the partition serves with it",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(9_000_000)
        const deployment = makeDeployment()
        const before = yield* serving(deployment)
        yield* before.engine.ask(Counter, target, add(1))
        yield* before.stop
        yield* TestClock.setTime(1_000_000)
        const waiting = yield* start(deployment)
        yield* TestClock.adjust("1 second")
        expect(yield* waiting.engine.status).toMatchObject([{ status: { _tag: "ClockBehind" } }])
        yield* waiting.stop
        const accepted = yield* acceptClock(0).pipe(
          Effect.provide(journalLayer(deployment.journal)),
          Effect.provide(checkpointsLayer(deployment.checkpoints)),
          Effect.provide(cursorsLayer(deployment.cursors))
        )
        expect(accepted.lastFrame).toBe(9_000_000)
        const after = yield* serving(deployment)
        expect(yield* after.engine.ask(Counter, target, { _tag: "Clock" })).toBe(accepted.accepted)
        expect(yield* after.engine.ask(Counter, target, get)).toBe(1)
      })
  )
})

describe("rule 12, poison", () => {
  it.effect("given a command whose decide throws, then it fails alone and for good", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment())
      const [bad, good] = yield* Effect.all(
        [Effect.flip(engine.ask(Counter, target, { _tag: "Throw" })), engine.ask(Counter, target, add(1))],
        { concurrency: "unbounded" }
      )
      expect(bad).toMatchObject({ _tag: "CommandFailed", retryable: false })
      expect(good).toBe(1)
    })
  )

  it.effect(
    "given a throwing evolve, then that command fails alone, those beside it are decided, and nothing restarts",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const { engine } = yield* serving(deployment)
        yield* engine.ask(Counter, target, add(1))
        const asks = yield* Effect.all([
          Effect.forkChild(Effect.exit(engine.ask(Counter, target, add(10)))),
          Effect.forkChild(Effect.flip(engine.ask(Counter, target, { _tag: "BreakEvolve" }))),
          Effect.forkChild(Effect.exit(engine.ask(Counter, { organization: "org_2" }, add(100))))
        ])
        yield* TestClock.adjust("1 second")
        expect(yield* Fiber.join(asks[1])).toMatchObject({ _tag: "CommandFailed", retryable: false })
        expect(yield* Fiber.join(asks[0])).toEqual(Exit.succeed(11))
        expect(yield* Fiber.join(asks[2])).toEqual(Exit.succeed(100))
        const { frames } = deployment.journal.log(0)
        expect(frames.filter(({ bytes }) => decodeFrame(bytes).claim !== undefined).length).toBe(1)
      })
  )

  it.effect("given answers decided before a throwing evolve, then they are given", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment())
      const asks = yield* Effect.all([
        Effect.forkChild(engine.ask(Counter, { organization: "org_1" }, get)),
        Effect.forkChild(Effect.flip(engine.ask(Counter, { organization: "org_2" }, { _tag: "BreakEvolve" })))
      ])
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(asks[0])).toBe(0)
      expect(yield* Fiber.join(asks[1])).toMatchObject({ _tag: "CommandFailed" })
    })
  )

  it.effect(
    "given a state changed in place that would pass its bound, then its drain is decided again without that command",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const { engine } = yield* serving(deployment, { actors: [Counter, Pile] })
        const pile = (size: number) => Effect.result(engine.ask(Pile, target, size))
        const results = yield* Effect.all([pile(30_000), pile(20_000), pile(20_000), pile(10_000)], {
          concurrency: "unbounded"
        })
        expect(results).toMatchObject([
          { success: 1 },
          { success: 2 },
          { failure: { _tag: "StateTooLarge", retryable: false } },
          { success: 3 }
        ])
        expect((yield* engine.state(Pile, target)).length).toBe(3)
        expect(decodeFrame(deployment.journal.log(0).frames.at(-1)!.bytes).records.length).toBe(3)
      })
  )

  it.effect("given checkpoints that die in their fiber, then the partition restarts and goes on", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment)
      yield* engine.ask(Counter, target, add(1))
      const partition = partitionIn(engine)
      partition.restart("a fiber around it has died")
      yield* Effect.repeat(TestClock.adjust("1 second"), { times: 5 })
      expect(yield* engine.ask(Counter, target, add(1))).toBe(2)
      expect(partition.core.head.epoch).toBe(2)
    })
  )

  it.effect("given a log that an operator has to see to, then the partition stops with that sentence", () =>
    Effect.gen(function* () {
      const refused = Layer.succeed(
        Journal,
        Journal.of({
          maximumMessageBytes: 1024 * 1024,
          survey: () => Effect.succeed([]),
          open: () => Effect.fail(new JournalRefused({ message: "sync_interval is not always" }))
        })
      )
      const { engine } = yield* start(makeDeployment(), { journalLayer: refused })
      expect(yield* Effect.flip(engine.ready)).toMatchObject({
        _tag: "PartitionStopped",
        reason: "sync_interval is not always"
      })
    })
  )
})
