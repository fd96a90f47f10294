/** Rules 3 and 4: a fenced owner stops, a new one claims before it serves, and two owners do not fence each other for ever. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { decodeFrame } from "../../src/engine/frame.ts"
import { layerLocal, Placement } from "../../src/engine/ports/Placement.ts"
import { Counter } from "./support/actors.ts"
import { type Deployment, elapse, makeDeployment, type Running, serving, start } from "./support/deployment.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

const target = { organization: "org_1" }
const add = (amount: number) => ({ _tag: "Add" as const, amount })
const framesOf = (deployment: Deployment) => deployment.journal.log(0).frames.map((frame) => decodeFrame(frame.bytes))

/** Adds one, once more when the partition had to be taken back first. */
const askUntilServed = ({ engine }: Running) => {
  const ask = Effect.andThen(engine.ready, engine.ask(Counter, target, add(1)))
  return Effect.catchTag(ask, "PartitionMoved", () => ask)
}

const shared = Layer.effect(
  Placement,
  Effect.map(Placement, (local) => Placement.of({ ...local, isShared: true }))
).pipe(Layer.provide(layerLocal))

describe("rules 3 and 4", () => {
  it.effect("given an empty log, when a partition starts, then a claim of epoch 1 precedes everything", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment)
      yield* engine.ask(Counter, target, add(2))
      const frames = framesOf(deployment)
      expect(frames.map((frame) => [frame.epoch, frame.number, frame.claim !== undefined])).toEqual([
        [1, 1, true],
        [1, 2, false]
      ])
    })
  )

  it.effect(
    "given a running owner, when a second one starts, then the first is fenced at its next append and its caller may ask again",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const first = yield* serving(deployment)
        yield* first.engine.ask(Counter, target, add(1))
        const second = yield* serving(deployment)
        yield* second.engine.ask(Counter, target, add(10))

        const error = yield* Effect.flip(first.engine.ask(Counter, target, add(100)))
        expect(error).toMatchObject({ _tag: "PartitionMoved", retryable: true })
        expect(yield* second.engine.state(Counter, target)).toMatchObject({ total: 11 })
      })
  )

  it.effect("given a fenced owner, when it recovers, then it has the other's facts and a higher epoch", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const first = yield* serving(deployment)
      const second = yield* serving(deployment)
      yield* second.engine.ask(Counter, target, add(10))
      yield* Effect.flip(first.engine.ask(Counter, target, add(100)))
      yield* first.engine.ready
      expect(yield* first.engine.ask(Counter, target, add(1))).toBe(11)
      expect(framesOf(deployment).map((frame) => frame.epoch)).toEqual([1, 2, 2, 3, 3])
    })
  )

  it.effect(
    "given callers that wait while another owner appends, when the fence is found, then all of them get PartitionMoved",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const { engine } = yield* serving(deployment)
        const other = yield* serving(deployment)
        const asks = yield* Effect.forEach([1, 2, 3], (n) =>
          Effect.forkChild(Effect.flip(engine.ask(Counter, { organization: `org_${n}` }, add(n))))
        )
        for (const fiber of asks) expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "PartitionMoved" })
        expect(yield* other.engine.state(Counter, { organization: "org_1" })).toMatchObject({ total: 0 })
      })
  )

  it.effect("given a claim that another owner's frame refuses, then it reads on and claims the next epoch", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const earlier = yield* serving(deployment)
      yield* earlier.engine.ask(Counter, target, add(5))
      // The newcomer sees the log as it was before the earlier owner's last frame.
      const truth = yield* faulty.log.state
      faulty.states.push({ ...truth, lastSequence: truth.lastSequence - 1 })
      const newcomer = yield* start(deployment, { journalLayer: faulty.layer })
      yield* TestClock.adjust("1 second")
      yield* newcomer.engine.ready
      expect(yield* newcomer.engine.ask(Counter, target, add(1))).toBe(6)
      expect(framesOf(deployment).map((frame) => frame.epoch)).toEqual([1, 1, 2, 2])
    })
  )

  it.effect(
    "given two owners of the same log and moment, then their claims differ, so that only one believes to be committed",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const one = makeFaultyLog(deployment.journal)
        const two = makeFaultyLog(deployment.journal)
        one.publishes.push("ack lost after commit")
        two.publishes.push({ _tag: "answer", answer: { _tag: "NoAnswer", reason: "timeout" } })
        const first = yield* start(deployment, { journalLayer: one.layer })
        const second = yield* start(deployment, { journalLayer: two.layer })
        yield* TestClock.adjust("3 seconds")
        const claims = framesOf(deployment).filter((frame) => frame.claim !== undefined)
        expect(new Set(claims.map((frame) => frame.epoch)).size).toBe(claims.length)
        expect(yield* askUntilServed(first)).toBe(1)
        expect(yield* askUntilServed(second)).toBe(2)
      })
  )

  it.effect(
    "given three fences within a minute, then the partition stops and says so, and asking again is of no use",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const first = yield* serving(deployment)
        const second = yield* serving(deployment)
        for (let fence = 1; fence <= 3; fence++) {
          yield* askUntilServed(second)
          yield* Effect.flip(first.engine.ask(Counter, target, add(1)))
          yield* TestClock.adjust("1 second")
        }
        const error = yield* Effect.flip(first.engine.ask(Counter, target, add(1)))
        expect(error).toMatchObject({ _tag: "PartitionStopped", retryable: false })
        expect(error).toHaveProperty("message", expect.stringContaining("two processes own it"))
        expect(yield* Effect.flip(first.engine.ready)).toMatchObject({ _tag: "PartitionStopped" })
      })
  )

  it.effect(
    "given three fences within a minute where nodes share the partitions, then it rests for 15 seconds and goes on",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const first = yield* serving(deployment, { placementLayer: shared })
        const second = yield* serving(deployment, { placementLayer: shared })
        for (let fence = 1; fence <= 3; fence++) {
          yield* askUntilServed(second)
          yield* Effect.flip(first.engine.ask(Counter, target, add(1)))
          yield* TestClock.adjust("1 second")
        }
        yield* second.stop
        const resting = yield* first.engine.status
        expect(resting).toMatchObject([
          { status: { _tag: "NotOwned", reason: expect.stringContaining("rests for 15 s") } }
        ])
        expect(yield* Effect.flip(first.engine.ask(Counter, target, add(1)))).toMatchObject({ retryable: true })
        yield* elapse(15)
        expect(yield* first.engine.ask(Counter, target, add(1))).toBe(4)
      })
  )

  it.effect("given three fences that fit a minute just so, then the partition stops", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const first = yield* serving(deployment)
      const second = yield* serving(deployment)
      for (let fence = 1; fence <= 3; fence++) {
        yield* askUntilServed(second)
        yield* Effect.flip(first.engine.ask(Counter, target, add(1)))
        yield* TestClock.adjust("29 seconds")
      }
      expect(yield* Effect.flip(first.engine.ask(Counter, target, add(1)))).toMatchObject({ _tag: "PartitionStopped" })
    })
  )

  it.effect("given three fences spread over more than a minute, then the partition goes on", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const first = yield* serving(deployment)
      for (let fence = 1; fence <= 4; fence++) {
        // It ends again: two that stay find each other out every ten seconds.
        const other = yield* serving(deployment)
        yield* askUntilServed(other)
        yield* other.stop
        expect(yield* Effect.flip(first.engine.ask(Counter, target, add(1)))).toMatchObject({ _tag: "PartitionMoved" })
        yield* TestClock.adjust("31 seconds")
      }
      expect(yield* askUntilServed(first)).toBe(5)
    })
  )

  it.effect(
    "given a fence, when placement says afresh that another process owns the partition, then it does not claim until it is ours",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        let owned = true
        const placementLayer = Layer.succeed(
          Placement,
          Placement.of({
            place: (_partitions, serve) => Effect.asVoid(Effect.forkScoped(serve(0), { startImmediately: true })),
            owns: () => Effect.sync(() => owned)
          })
        )
        const first = yield* serving(deployment, { placementLayer })
        const second = yield* serving(deployment)
        owned = false
        yield* Effect.flip(first.engine.ask(Counter, target, add(1)))
        yield* TestClock.adjust("5 seconds")
        expect(yield* Effect.flip(first.engine.ask(Counter, target, add(1)))).toMatchObject({
          _tag: "PartitionUnavailable"
        })
        expect(yield* second.engine.ask(Counter, target, add(1))).toBe(1)
        owned = true
        yield* TestClock.adjust("5 seconds")
        expect(yield* first.engine.ask(Counter, target, add(1))).toBe(2)
      })
  )

  it.effect(
    "given an append whose outcome stays unknown, then callers get OutcomeUnknown after ten seconds and the partition recovers the truth",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const faulty = makeFaultyLog(deployment.journal)
        const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
        faulty.publishes.push("ack lost after commit")
        const ask = yield* Effect.forkChild(Effect.flip(engine.ask(Counter, target, add(7))))
        yield* TestClock.adjust(0)
        faulty.away = true
        yield* TestClock.adjust("10 seconds")
        expect(yield* Fiber.join(ask)).toMatchObject({ _tag: "OutcomeUnknown", retryable: false })
        expect(yield* Effect.flip(engine.ask(Counter, target, add(1)))).toMatchObject({ _tag: "PartitionUnavailable" })
        faulty.away = false
        yield* TestClock.adjust("30 seconds")
        expect(yield* engine.ask(Counter, target, { _tag: "Get" })).toBe(7)
      })
  )

  it.effect("given a full log, then nothing is stored, callers are told, and it goes on when there is room", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
      faulty.publishes.push({ _tag: "answer", answer: { _tag: "Full" } })
      expect(yield* Effect.flip(engine.ask(Counter, target, add(1)))).toMatchObject({
        _tag: "PartitionUnavailable",
        reason: "its log is full"
      })
      expect(yield* engine.ask(Counter, target, { _tag: "Get" })).toBe(0)
      // For a second nothing is sent to it, then it is asked how full it is.
      expect(yield* Effect.flip(engine.ask(Counter, target, add(1)))).toMatchObject({ reason: "its log is full" })
      expect(faulty.attempts.length).toBe(3)
      yield* TestClock.adjust("1 second")
      expect(yield* engine.ask(Counter, target, add(1))).toBe(1)
      const facts = deployment.journal.log(0).frames.flatMap(({ bytes }) => decodeFrame(bytes).records)
      expect(facts.length).toBe(1)
    })
  )
})
