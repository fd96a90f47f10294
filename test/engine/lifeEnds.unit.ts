/** Waiting commands of a partition are answered when its life ends and no next one comes soon: the owner was replaced, its log or its clock is away. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import { Checkpoints } from "../../src/engine/ports/Checkpoints.ts"
import { layerLocal, Placement } from "../../src/engine/ports/Placement.ts"
import { Counter, Limiter } from "./support/actors.ts"
import { makeDeployment, partitionIn, serving } from "./support/deployment.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

const target = { organization: "org_1" }
const add = (amount: number) => ({ _tag: "Add" as const, amount })

/** Serves everything at first, and is not the owner any more when it asks. */
const replaced = Layer.effect(
  Placement,
  Effect.map(Placement, ({ place }) => Placement.of({ place, owns: () => Effect.succeed(false) }))
).pipe(Layer.provide(layerLocal))

describe("an owner that was replaced", () => {
  it.effect(
    "given a command that waits for an actor of a superseded checkpoint, when the partition is not owned any more, then its caller is told",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const predecessor = yield* serving(deployment)
        yield* predecessor.engine.ask(Counter, target, add(1))
        yield* predecessor.stop
        const first = yield* serving(deployment, { placementLayer: replaced })
        // Two later checkpoints, so that the one that the first rests on goes.
        for (const amount of [10, 100]) {
          const successor = yield* serving(deployment)
          yield* successor.engine.ask(Counter, target, add(amount))
          yield* successor.stop
        }

        const asks = yield* Effect.forEach([target, { organization: "org_2" }], (asked) =>
          Effect.forkChild(Effect.flip(first.engine.ask(Counter, asked, { _tag: "Get" })), { startImmediately: true })
        )
        const isServing = Effect.map(first.engine.status, ([one]) => one?.status._tag === "Serving")
        while (yield* isServing) yield* TestClock.adjust("100 millis")
        yield* TestClock.adjust("10 seconds")
        const [status] = yield* first.engine.status
        expect(status).toMatchObject({ status: { _tag: "NotOwned" } })
        for (const ask of asks) {
          expect(ask.pollUnsafe()).toBeDefined()
          expect(yield* Fiber.join(ask)).toMatchObject({ retryable: true })
        }
      })
  )
})

describe("an owner that takes checkpoints while it loads", () => {
  it.effect(
    "given its own checkpoint between the look for the base and its answer, then it does not take it for another's",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const predecessor = yield* serving(deployment)
        yield* predecessor.engine.ask(Counter, target, add(1))
        yield* predecessor.stop

        let gates: ReadonlyArray<Deferred.Deferred<void>> = []
        let held = 0
        const slow = Layer.effect(
          Checkpoints,
          Effect.map(Checkpoints, (checkpoints) =>
            Checkpoints.of({
              ...checkpoints,
              list: (partition) =>
                Effect.tap(checkpoints.list(partition), () => {
                  const gate = gates[held]
                  if (gate === undefined) return Effect.void
                  held++
                  return Deferred.await(gate)
                })
            })
          )
        ).pipe(Layer.provide(CheckpointsMemory.layerOf(deployment.checkpoints)))
        const { engine } = yield* serving(deployment, { checkpointsLayer: slow, config: { checkpointActors: 1 } })
        const gate = yield* Deferred.make<void>()
        gates = [gate]
        const loading = yield* Effect.forkChild(engine.ask(Counter, { organization: "org_2" }, { _tag: "Get" }), {
          startImmediately: true
        })
        while (held === 0) yield* Effect.yieldNow
        yield* engine.ask(Counter, target, add(1))
        const partition = partitionIn(engine)
        while (partition.core.newestCheckpoint!.sequence < partition.core.head.sequence) yield* Effect.yieldNow
        yield* Deferred.succeed(gate, undefined)
        yield* TestClock.adjust("10 seconds")
        expect(yield* Fiber.join(loading)).toBe(0)
        expect(partition.core.head.epoch).toBe(2)
        expect(partition.status).toEqual({ _tag: "Serving" })
      })
  )
})

describe("an owner without a connection to its log", () => {
  const awayReason = "there is no connection to its log"

  it.effect(
    "given nothing under way, then commands are refused soon, later ones at once, and it goes on where it was",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const faulty = makeFaultyLog(deployment.journal)
        const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
        expect(yield* engine.ask(Counter, target, add(1))).toBe(1)
        const partition = partitionIn(engine)
        const { epoch } = partition.core.head
        faulty.disconnected = true
        const asks = yield* Effect.forEach([10, 100], (amount) =>
          Effect.forkChild(Effect.flip(engine.ask(Counter, target, add(amount))), { startImmediately: true })
        )
        yield* TestClock.adjust("2 seconds")
        for (const ask of asks) {
          expect(ask.pollUnsafe()).toBeDefined()
          expect(yield* Fiber.join(ask)).toMatchObject({ _tag: "PartitionUnavailable", reason: awayReason })
        }
        expect(partition.status).toEqual({ _tag: "Starting", reason: awayReason })
        const away = { _tag: "PartitionUnavailable", reason: awayReason }
        expect(yield* Effect.flip(engine.ask(Counter, target, add(1_000)))).toMatchObject(away)
        expect(yield* Effect.flip(engine.askLane(Limiter, target, null))).toMatchObject(away)
        yield* TestClock.adjust("1 minute")
        expect(partition.status).toEqual({ _tag: "Starting", reason: awayReason })
        faulty.disconnected = false
        yield* TestClock.adjust("2 seconds")
        // The same life: nothing was read again, and no claim was needed.
        expect(partition.status).toEqual({ _tag: "Serving" })
        expect(partition.core.head.epoch).toBe(epoch)
        expect(yield* engine.ask(Counter, target, add(5))).toBe(6)
        expect(yield* engine.askLane(Limiter, target, null)).toBeDefined()
      })
  )

  it.effect("given a connection that is back in time, then nobody notices", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
      faulty.disconnected = true
      const ask = yield* Effect.forkChild(engine.ask(Counter, target, add(1)), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      faulty.disconnected = false
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(ask)).toBe(1)
    })
  )

  it.effect("given a frame that may have arrived, then its outcome stays unknown, and it is found", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
      faulty.publishes.push("ack lost after commit")
      const ask = yield* Effect.forkChild(Effect.flip(engine.ask(Counter, target, add(1))), { startImmediately: true })
      yield* TestClock.adjust(0)
      faulty.disconnected = true
      yield* TestClock.adjust("9 seconds")
      expect(ask.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("2 seconds")
      expect(yield* Fiber.join(ask)).toMatchObject({ _tag: "OutcomeUnknown" })
      faulty.disconnected = false
      yield* TestClock.adjust("20 seconds")
      expect(yield* engine.ask(Counter, target, add(1))).toBe(2)
    })
  )

  it.effect("given another owner meanwhile, then it does not serve from its old state", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
      faulty.disconnected = true
      const ask = yield* Effect.forkChild(Effect.flip(engine.ask(Counter, target, add(1))), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      expect(yield* Fiber.join(ask)).toMatchObject({ _tag: "PartitionUnavailable" })
      const successor = yield* serving(deployment)
      yield* successor.engine.ask(Counter, target, add(7))
      yield* successor.stop
      faulty.disconnected = false
      yield* TestClock.adjust("5 seconds")
      expect(yield* engine.ask(Counter, target, { _tag: "Get" })).toBe(7)
    })
  )

  it.effect("given a stop meanwhile, then it ends", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine, stop } = yield* serving(deployment, { journalLayer: faulty.layer })
      faulty.disconnected = true
      const ask = yield* Effect.forkChild(Effect.flip(engine.ask(Counter, target, add(1))), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(ask)
      const partition = partitionIn(engine)
      const stopping = yield* Effect.forkChild(stop, { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      expect(stopping.pollUnsafe()).toBeDefined()
      expect(partition.status).toEqual({ _tag: "Closed" })
    })
  )
})

describe("a life that ends because the outcome of an append is not known", () => {
  it.effect("given asks of a lane that wait for a confirmation, when the life ends, then their callers are told", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
      faulty.away = true
      const append = yield* Effect.forkChild(Effect.flip(engine.ask(Counter, target, add(1))), {
        startImmediately: true
      })
      // The last confirmation counts for five seconds; the append is given up after ten.
      yield* TestClock.adjust("6 seconds")
      const lane = yield* Effect.forkChild(Effect.flip(engine.askLane(Limiter, target, null)), {
        startImmediately: true
      })
      yield* TestClock.adjust("1 second")
      expect(lane.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("20 seconds")
      expect(yield* Fiber.join(append)).toMatchObject({ _tag: "OutcomeUnknown" })
      expect(lane.pollUnsafe()).toBeDefined()
      expect(yield* Fiber.join(lane)).toMatchObject({ retryable: true })
      // An engine whose log is away would wait for the clock when it is closed.
      faulty.away = false
      yield* TestClock.adjust("30 seconds")
      yield* engine.ready
    })
  )

  it.effect(
    "given commands that wait and a clock that was set back, when the life ends, then their callers are told",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const faulty = makeFaultyLog(deployment.journal)
        yield* TestClock.setTime(3_600_000)
        const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
        yield* engine.ask(Counter, target, add(1))
        faulty.away = true
        const asks = yield* Effect.forEach([1, 2], (amount) =>
          Effect.forkChild(Effect.flip(engine.ask(Counter, target, add(amount))), { startImmediately: true })
        )
        yield* TestClock.adjust("9 seconds")
        const waiting = yield* Effect.forkChild(Effect.flip(engine.ask(Counter, target, add(3))), {
          startImmediately: true
        })
        const partition = partitionIn(engine)
        // The clock of the partition alone, as a test's cannot go back.
        const { clock } = partition.context
        const setBack = 600_000
        Object.assign(partition.context, {
          clock: Object.create(clock, {
            currentTimeMillisUnsafe: { value: () => clock.currentTimeMillisUnsafe() - setBack }
          })
        })
        faulty.away = false
        faulty.publishes.push(...Array.from({ length: 20 }, () => "request lost" as const))
        yield* TestClock.adjust("5 seconds")
        faulty.publishes.length = 0
        yield* TestClock.adjust("20 seconds")
        expect(partition.status).toMatchObject({ _tag: "ClockBehind" })
        for (const ask of [...asks, waiting]) expect(ask.pollUnsafe()).toBeDefined()
        for (const ask of asks) expect(yield* Fiber.join(ask)).toMatchObject({ _tag: "OutcomeUnknown" })
        expect(yield* Fiber.join(waiting)).toMatchObject({ retryable: true })
      })
  )
})
