/** Findings of fresh seeds of the simulation, each as the smallest story about engines in memory. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import { emptyLogHash } from "../../src/engine/ports/Checkpoints.ts"
import { Cursors, ReactorTransaction } from "../../src/engine/ports/Cursors.ts"
import type { Reactor } from "../../src/engine/Reactor.ts"
import { Counter, Limiter, Reminder } from "./support/actors.ts"
import { type Deployment, makeDeployment, partitionIn, serving, start } from "./support/deployment.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

const target = { organization: "org_1" }
const add = (amount: number) => ({ _tag: "Add" as const, amount })

/** Lets all fibers finish what they can within a minute: each step of time gives them turns. */
const settle = Effect.repeat(TestClock.adjust("3 seconds"), { times: 19 })

/** A reactor that writes down the places of what it has dealt with, in the transaction. */
const recorder = (done: Array<string>): Reactor<never> => ({
  name: "recorder",
  handle: (records) =>
    Effect.map(Effect.service(ReactorTransaction), ({ onCommit }) => {
      for (const { index, sequence } of records) onCommit(() => done.push(`${sequence}/${index}`))
    })
})

const lastOf = (deployment: Deployment): number => {
  const log = deployment.journal.log(0)
  return log.firstSequence + log.frames.length - 1
}

describe("an idle owner", () => {
  it.effect(
    "given another owner that took over and ended, when nobody asks anything, then it sees to that one's records and timers all the same",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const done: Array<string> = []
        // The owner that is left has the only reactor, so that what is done was done by it.
        yield* serving(deployment, { reactors: [recorder(done)] })
        yield* TestClock.adjust("1 second")
        const other = yield* serving(deployment)
        yield* other.engine.ask(Reminder, target, { _tag: "Set", at: 30_000 })
        yield* other.stop
        const set = lastOf(deployment)
        yield* settle
        yield* settle
        expect(done).toContain(`${set}/0`)
        // Its own claim, and the ring.
        expect(lastOf(deployment)).toBe(set + 2)
      })
  )
})

describe("a reactor that begins", () => {
  it.effect(
    "given a cursor that was read before another owner's reactor moved it and the log was purged, then it is not set back, and nothing happens twice",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const done: Array<string> = []
        const inner = CursorsMemory.make(deployment.cursors)
        let isHeld = true
        // What it reads is old by the time it gets it.
        const late = Layer.succeed(
          Cursors,
          Cursors.of({
            ...inner,
            read: (partition, reactor) =>
              Effect.gen(function* () {
                const cursor = yield* inner.read(partition, reactor)
                while (isHeld) yield* Effect.sleep("100 millis")
                return cursor
              })
          })
        )
        yield* serving(deployment, { reactors: [recorder(done)], cursorsLayer: late })
        const config = { checkpointFrames: 2 }
        const owner = yield* serving(deployment, { reactors: [recorder(done)], config })
        for (let count = 0; count < 12; count++) {
          yield* owner.engine.ask(Counter, target, add(1))
          yield* TestClock.adjust("200 millis")
        }
        expect(deployment.journal.log(0).firstSequence).toBeGreaterThan(1)
        const before = deployment.cursors.cursors.get("0/recorder")!
        expect(before).not.toMatchObject({ sequence: 0, hash: emptyLogHash })
        isHeld = false
        yield* settle
        yield* Effect.exit(owner.engine.ask(Counter, target, add(1)))
        yield* settle
        expect([...new Set(done)]).toEqual(done)
        expect(deployment.cursors.cursors.get("0/recorder")!.sequence).toBeGreaterThanOrEqual(before.sequence)
      })
  )
})

describe("a reactor that waits", () => {
  it.effect(
    "given a claim that found the log full and then another owner's frames, when it is through, then the reactor deals with those without a further frame",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const first = yield* serving(deployment)
        yield* first.engine.ask(Counter, target, add(1))
        const done: Array<string> = []
        const faulty = makeFaultyLog(deployment.journal)
        // At once, and after a checkpoint; then there is a pause of a second.
        const full = { _tag: "answer", answer: { _tag: "Full" } } as const
        faulty.publishes.push(full, full)
        yield* start(deployment, { reactors: [recorder(done)], journalLayer: faulty.layer })
        yield* TestClock.adjust("500 millis")
        // It has read all there is, and the claim is tried again soon.
        expect(done).toContain(`${lastOf(deployment)}/0`)
        yield* first.engine.ask(Counter, target, add(1))
        const stored = lastOf(deployment)
        yield* first.stop
        yield* settle
        expect(lastOf(deployment)).toBe(stored + 1)
        expect(done).toContain(`${stored}/0`)
      })
  )
})

describe("a command that was refused for want of room", () => {
  it.effect("given a later command of the same drain whose evolve throws, then all are answered", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const options = { journalLayer: faulty.layer, config: { maximumActors: 1 } }
      const { engine, stop } = yield* serving(deployment, options)
      yield* engine.ask(Counter, { organization: "org_1" }, add(1))
      // One append under way, so that what follows is decided in one drain.
      faulty.publishes.push({ _tag: "slow", waitMillis: 500 })
      const asks = yield* Effect.forEach(
        [
          ["org_1", add(2)],
          ["org_1", add(3)],
          ["org_2", add(4)],
          ["org_1", { _tag: "BreakEvolve" as const }]
        ] as const,
        ([organization, command]) => Effect.forkChild(Effect.exit(engine.ask(Counter, { organization }, command)))
      )
      yield* settle
      const answers = asks.map((ask) => ask.pollUnsafe()?._tag)
      // Where one is left its shutdown waits for it.
      yield* Effect.raceFirst(stop, Effect.forever(TestClock.adjust("1 second")))
      expect(answers).toEqual(["Success", "Success", "Success", "Success"])
    })
  )
})

describe("a refusal of the log", () => {
  const refusal = (tag: "Full" | "TooLarge") =>
    ({ _tag: "answer", answer: tag === "Full" ? { _tag: tag } : { _tag: tag, maximumBytes: undefined } }) as const

  it.effect.each(["Full", "TooLarge"] as const)(
    "given an attempt without an answer before it, when it says %s, then callers are told that nothing is stored only behind a fence",
    (tag) =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const faulty = makeFaultyLog(deployment.journal)
        const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
        faulty.publishes.push("request late", refusal(tag))
        const ask = yield* Effect.forkChild(Effect.flip(engine.ask(Counter, target, add(1))))
        yield* TestClock.adjust("5 seconds")
        expect(yield* Fiber.join(ask)).toMatchObject({ _tag: "PartitionUnavailable" })
        const stored = lastOf(deployment)
        faulty.deliverLate()
        yield* settle
        expect(lastOf(deployment)).toBe(stored)
        expect(yield* engine.state(Counter, target)).toMatchObject({ total: 0 })
      })
  )

  it.effect.each(["Full", "TooLarge"] as const)(
    "given an attempt without an answer before it, when it says %s to the fence too, then callers are not told that nothing is stored",
    (tag) =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const faulty = makeFaultyLog(deployment.journal)
        const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
        faulty.publishes.push("request late", refusal(tag), refusal(tag))
        const ask = yield* Effect.forkChild(Effect.flip(engine.ask(Counter, target, add(1))))
        yield* TestClock.adjust("5 seconds")
        expect(yield* Fiber.join(ask)).toMatchObject({ _tag: "OutcomeUnknown" })
        faulty.deliverLate()
        yield* settle
        // Who asks may be the first to find out that the frame is there.
        const look = Effect.andThen(engine.ready, engine.state(Counter, target))
        expect(yield* Effect.catchTag(look, "PartitionMoved", () => look)).toMatchObject({ total: 1 })
      })
  )
})

describe("a frame that is read back", () => {
  it.effect(
    "given another owner's claim behind it, then its caller is answered, and nothing is told from memory any more",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const faulty = makeFaultyLog(deployment.journal)
        const first = yield* serving(deployment, { journalLayer: faulty.layer })
        faulty.publishes.push("ack lost after commit")
        const ask = yield* Effect.forkChild(first.engine.ask(Counter, target, add(1)))
        yield* TestClock.adjust("100 millis")
        const second = yield* serving(deployment)
        expect(yield* second.engine.ask(Counter, target, add(10))).toBe(11)
        // The publish gets no answer for a second; then the frame is found.
        yield* TestClock.adjust("1 second")
        expect(yield* Fiber.join(ask)).toBe(1)
        const state = yield* Effect.exit(first.engine.state(Counter, target))
        if (Exit.isSuccess(state)) expect(state.value).toMatchObject({ total: 11 })
      })
  )
})

describe("a lane's time", () => {
  it.effect("given a clock that was an hour ahead for a moment, then no window of the same life is used twice", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment)
      yield* engine.ask(Counter, { organization: "org_1", key: "limit" }, add(2))
      const epochOf = () => partitionIn(engine).core.head.epoch
      const epoch = epochOf()
      const ask = engine.askLane(Limiter, target, null)
      expect([yield* ask, yield* ask]).toEqual([true, true])
      yield* TestClock.setTime(3_600_000)
      yield* ask
      yield* TestClock.setTime(0)
      const again = yield* Effect.exit(ask)
      const isAdmitted = Exit.isSuccess(again) && again.value === true
      expect(isAdmitted && epochOf() === epoch).toBe(false)
    })
  )
})

describe("a log that is full", () => {
  it.effect(
    "given only one checkpoint that covers all of it, when the partition starts, then it makes room by itself and stores",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment({ maximumBytes: 20_000 })
        const first = yield* serving(deployment, { reactors: [recorder([])] })
        const note = { _tag: "Note" as const, text: "x".repeat(500) }
        let isFull = false
        while (!isFull) {
          const exit = yield* Effect.exit(first.engine.ask(Counter, { organization: "org_2" }, note))
          isFull = Exit.isFailure(exit)
        }
        yield* first.stop
        const second = yield* start(deployment, { reactors: [recorder([])] })
        yield* settle
        const ask = yield* Effect.forkChild(Effect.exit(second.engine.ask(Counter, target, add(1))))
        yield* settle
        expect(yield* Fiber.join(ask)).toEqual(Exit.succeed(1))
      })
  )
})
