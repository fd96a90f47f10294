/** A shutdown under load: every caller gets a true answer, nothing that was acknowledged is lost, and it ends in time. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger, Result } from "effect"
import { TestClock } from "effect/testing"
import * as Operator from "../../src/engine/Operator.ts"
import { ReactorTransaction } from "../../src/engine/ports/Cursors.ts"
import { Counter, Limiter, Reminder } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { add, get } from "./support/durability.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"
import { Burst } from "./support/loads.ts"

const quiet = Effect.provide(Logger.layer([]))
const of = (organization: string) => ({ organization })

const tagOf = (result: Result.Result<unknown, unknown>): unknown =>
  Result.isSuccess(result) ? "Success" : (result.failure as { readonly _tag: string })._tag

/** An engine whose log holds what is appended until `open`. */
const loaded = (organizations: number) =>
  Effect.gen(function* () {
    const deployment = makeDeployment()
    const faulty = makeFaultyLog(deployment.journal)
    const { engine, stop } = yield* serving(deployment, { journalLayer: faulty.layer })
    const gate = yield* Deferred.make<void>()
    faulty.gate = Deferred.await(gate)
    const asks = yield* Effect.forEach(Array.from({ length: organizations }), (_, n) =>
      Effect.forkChild(Effect.result(engine.ask(Counter, of(`org_${n % 7}`), add(1))))
    )
    yield* TestClock.adjust(0)
    const total = Effect.gen(function* () {
      const again = yield* serving(deployment)
      let sum = 0
      for (let n = 0; n < 7; n++) sum += yield* again.engine.ask(Counter, of(`org_${n}`), get) as Effect.Effect<number>
      return sum
    })
    return { asks, deployment, engine, faulty, open: Deferred.succeed(gate, undefined), stop, total }
  })

describe("a shutdown under load", () => {
  it.effect(
    "given a log that answers, then all that was accepted is stored and answered, and what comes later is told to come again",
    () =>
      Effect.gen(function* () {
        const { asks, engine, open, stop, total } = yield* loaded(100)
        const stopping = yield* Effect.forkChild(stop)
        yield* TestClock.adjust("1 second")
        const late = yield* Effect.forkChild(Effect.result(engine.ask(Counter, of("org_0"), add(1_000))))
        const lane = yield* Effect.forkChild(Effect.result(engine.askLane(Limiter, of("org_0"), null)))
        yield* open
        yield* TestClock.adjust("20 seconds")
        yield* Fiber.join(stopping)
        const results = yield* Effect.forEach(asks, Fiber.join)
        expect(new Set(results.map(tagOf))).toEqual(new Set(["Success"]))
        expect(tagOf(yield* Fiber.join(late))).toBe("PartitionUnavailable")
        expect(["Success", "PartitionUnavailable"]).toContain(tagOf(yield* Fiber.join(lane)))
        expect(yield* total).toBe(100)
      }).pipe(quiet)
  )

  it.effect("given a log that does not answer, then it ends in time, and nobody is told that nothing was stored", () =>
    Effect.gen(function* () {
      const { asks, faulty, open, stop, total } = yield* loaded(20)
      faulty.away = true
      const stopping = yield* Effect.forkChild(stop)
      yield* open
      yield* TestClock.adjust("60 seconds")
      yield* Fiber.join(stopping)
      const told = (yield* Effect.forEach(asks, Fiber.await)).map((exit) =>
        exit._tag === "Success" ? tagOf(exit.value) : "interrupted"
      )
      expect(told).not.toContain("Success")
      faulty.away = false
      // Whatever the callers were told is true of what is stored: nothing is, and a frame that was under way leaves it open.
      expect(yield* total).toBe(0)
    }).pipe(quiet)
  )

  it.effect("given timers that are due, then they are not rung half: each has rung once after the next start", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine, stop } = yield* serving(deployment)
      for (let n = 0; n < 600; n++) yield* engine.ask(Reminder, of(`org_${n}`), { _tag: "Set", at: 5_000 })
      yield* TestClock.adjust(4_999)
      const stopping = yield* Effect.forkChild(stop)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(stopping)
      const again = yield* serving(deployment)
      yield* TestClock.adjust("10 seconds")
      for (let n = 0; n < 600; n++)
        expect(yield* again.engine.ask(Reminder, of(`org_${n}`), { _tag: "Rang" })).toHaveLength(1)
    })
  )

  it.effect(
    "given a reactor in the middle of a batch, then its effects happen once, before or after the next start",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const done: Array<number> = []
        const gate = yield* Deferred.make<void>()
        const reactors = [
          {
            name: "slow",
            handle: (records: ReadonlyArray<{ readonly sequence: number }>) =>
              Effect.flatMap(Effect.service(ReactorTransaction), ({ onCommit }) =>
                Effect.as(
                  Deferred.await(gate),
                  onCommit(() => done.push(...records.map(({ sequence }) => sequence)))
                )
              )
          }
        ]
        const { engine, stop } = yield* serving(deployment, { actors: [Burst], reactors })
        for (let n = 0; n < 5; n++) yield* engine.ask(Burst, of("org_1"), { facts: 1 })
        const stopping = yield* Effect.forkChild(stop)
        yield* TestClock.adjust("1 second")
        yield* Deferred.succeed(gate, undefined)
        yield* TestClock.adjust("30 seconds")
        yield* Fiber.join(stopping)
        yield* serving(deployment, { actors: [Burst], reactors })
        yield* TestClock.adjust("10 seconds")
        expect(done).toEqual([2, 3, 4, 5, 6])
      }).pipe(quiet)
  )

  it.effect(
    "given one behind the other, many times, then every acknowledged fact is there, and each life has its own epoch",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        let acknowledged = 0
        for (let life = 0; life < 12; life++) {
          const { engine, stop } = yield* serving(deployment, { config: { checkpointFrames: 3 } })
          for (let n = 0; n <= life % 4; n++) {
            yield* engine.ask(Counter, of("org_1"), add(1))
            acknowledged++
            yield* Effect.yieldNow
          }
          expect(yield* Operator.of(engine).inspectPartition(0)).toMatchObject({ head: { epoch: life + 1 } })
          yield* stop
        }
        const { engine } = yield* serving(deployment)
        expect(yield* engine.ask(Counter, of("org_1"), get)).toBe(acknowledged)
      })
  )
})
