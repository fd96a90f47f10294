/** Rules 2 and 6 as callers see them: nobody is told that nothing was stored while a copy of a frame may be under way, and answers that wait are given. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import type { Engine } from "../../src/engine/Engine.ts"
import { decodeFrame } from "../../src/engine/frame.ts"
import { Counter, Limiter } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { add, get, target } from "./support/durability.ts"
import { makeFaultyLog, type PublishFault } from "./support/faultyLog.ts"

/** An engine that serves over a log whose answers are scripted. */
const scripted = Effect.gen(function* () {
  const deployment = makeDeployment()
  const faulty = makeFaultyLog(deployment.journal)
  const { engine } = yield* serving(deployment, { journalLayer: faulty.layer })
  const ask = Effect.forkChild(Effect.result(engine.ask(Counter, target, add(1))))
  return { ask, deployment, engine, faulty }
})

const full: PublishFault = { _tag: "answer", answer: { _tag: "Full" } }
const tooLarge: PublishFault = { _tag: "answer", answer: { _tag: "TooLarge", maximumBytes: undefined } }
const refused: PublishFault = { _tag: "answer", answer: { _tag: "Refused", message: "disk" } }

/** What the caller was told, in a word. */
const told = (result: Result.Result<unknown, unknown>): unknown =>
  Result.isSuccess(result) ? "a reply" : (result.failure as { readonly _tag: string })._tag

/** The total, from a partition that has found out whether it still owns its log. */
const total = (engine: Engine["Service"]) =>
  Effect.ignore(engine.ask(Counter, target, get)).pipe(
    Effect.andThen(TestClock.adjust("20 seconds")),
    Effect.andThen(engine.ask(Counter, target, get))
  )

describe("a frame whose first copy may be under way", () => {
  it.effect("given later copies that cannot be sent, then its caller is not told that nothing was stored", () =>
    Effect.gen(function* () {
      const { ask, engine, faulty } = yield* scripted
      const notSent: PublishFault = { _tag: "answer", answer: { _tag: "NotSent" } }
      faulty.publishes.push("request late", ...Array.from({ length: 1_000 }, () => notSent))
      const asked = yield* ask
      yield* TestClock.adjust("20 seconds")
      expect(told(yield* Fiber.join(asked))).toBe("OutcomeUnknown")
      faulty.deliverLate()
      faulty.publishes.splice(0)
      expect(yield* total(engine)).toBe(1)
    })
  )

  it.effect("given a connection that is lost behind it, then its caller is not told that nothing was stored", () =>
    Effect.gen(function* () {
      const { ask, engine, faulty } = yield* scripted
      faulty.publishes.push("request late")
      const asked = yield* ask
      yield* TestClock.adjust("500 millis")
      faulty.disconnected = true
      yield* TestClock.adjust("20 seconds")
      expect(told(yield* Fiber.join(asked))).toBe("OutcomeUnknown")
      // And it is: the copy arrives, and the partition has its fact.
      faulty.deliverLate()
      faulty.disconnected = false
      yield* TestClock.adjust("20 seconds")
      expect(yield* engine.ask(Counter, target, get)).toBe(1)
    })
  )

  it.effect("given a log that refuses its second copy, then its caller is not told that nothing was stored", () =>
    Effect.gen(function* () {
      const { ask, engine, faulty } = yield* scripted
      faulty.publishes.push("request late", refused, refused, refused)
      const asked = yield* ask
      yield* TestClock.adjust("1100 millis")
      faulty.deliverLate()
      yield* TestClock.adjust("20 seconds")
      // It is stored; a reply says so, and OutcomeUnknown does not deny it.
      expect(yield* total(engine)).toBe(1)
      expect(["a reply", "OutcomeUnknown"]).toContain(told(yield* Fiber.join(asked)))
    })
  )

  it.effect("given two copies that both arrive, then it is stored once and its caller has the reply", () =>
    Effect.gen(function* () {
      const { ask, deployment, engine, faulty } = yield* scripted
      faulty.publishes.push("request late", "ack lost after commit")
      const asked = yield* ask
      yield* TestClock.adjust("1500 millis")
      faulty.deliverLate()
      yield* TestClock.adjust("20 seconds")
      expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "Success", success: 1 })
      expect(yield* engine.ask(Counter, target, add(1))).toBe(2)
      expect(deployment.journal.log(0).frames.length).toBe(3)
    })
  )
})

describe("a refusal of the only copy", () => {
  it.effect.each([
    ["full", full],
    ["too small for it", tooLarge]
  ] as const)("given a log that is %s, then its caller is told at once, and nothing of it is stored", ([, answer]) =>
    Effect.gen(function* () {
      const { ask, deployment, engine, faulty } = yield* scripted
      faulty.publishes.push(answer)
      const asked = yield* ask
      yield* TestClock.adjust(0)
      expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "Failure", failure: { _tag: "PartitionUnavailable" } })
      // What stands in its place is empty, so that no copy of it can be stored any more.
      const stored = deployment.journal.log(0).frames.map(({ bytes }) => decodeFrame(bytes))
      expect(stored.flatMap(({ records }) => records)).toEqual([])
      expect(yield* engine.state(Counter, target)).toMatchObject({ total: 0 })
      yield* TestClock.adjust("5 seconds")
      expect(yield* engine.ask(Counter, target, add(5))).toBe(5)
    })
  )
})

describe("answers of a lane that wait for the ownership", () => {
  /** Nothing has confirmed the ownership for longer than answers may rest on it, and an append is under way. */
  const stale = Effect.gen(function* () {
    const { deployment, engine, faulty } = yield* scripted
    yield* engine.askLane(Limiter, target, null)
    faulty.away = true
    // Before an idle owner looks by itself.
    yield* TestClock.adjust("6 seconds")
    const gate = yield* Deferred.make<void>()
    faulty.gate = Deferred.await(gate)
    faulty.away = false
    const stored = yield* Effect.forkChild(Effect.result(engine.ask(Counter, target, add(1))))
    yield* TestClock.adjust(0)
    const lane = yield* Effect.forkChild(Effect.exit(engine.askLane(Limiter, target, null)))
    yield* Effect.yieldNow
    return { deployment, engine, faulty, gate, lane, stored }
  })

  it.effect("given an append that confirms it, then they are given with it, without another look at the log", () =>
    Effect.gen(function* () {
      const { faulty, gate, lane, stored } = yield* stale
      expect(lane.pollUnsafe()).toBeUndefined()
      const looks = faulty.looks
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust(0)
      expect((yield* Fiber.join(stored))._tag).toBe("Success")
      expect(lane.pollUnsafe()).toBeDefined()
      expect(faulty.looks).toBe(looks)
      expect(Exit.isSuccess(yield* Fiber.join(lane))).toBe(true)
    })
  )
})
