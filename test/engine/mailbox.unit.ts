/** Rule 13: what callers see of a mailbox's bounds and of a drain's. Its parts are specified in `mailboxModel.unit.ts`. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { decodeFrame } from "../../src/engine/frame.ts"
import { maximumDrainBytes, maximumDrainCommands, maximumFrameBytes } from "../../src/engine/limits.ts"
import * as Operator from "../../src/engine/Operator.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

describe("rule 13, a partition under pressure", () => {
  /** An engine whose log answers when `open` is done. */
  const blocked = (mailboxCapacity: number) =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer, config: { mailboxCapacity } })
      const gate = yield* Deferred.make<void>()
      faulty.gate = Deferred.await(gate)
      const ask = (organization: string, amount = 1) =>
        Effect.forkChild(Effect.result(engine.ask(Counter, { organization }, { _tag: "Add", amount })))
      // The first one is taken into a drain and blocks the log.
      const first = yield* ask("first")
      yield* TestClock.adjust(0)
      return { ask, deployment, engine, first, open: Deferred.succeed(gate, undefined) }
    })

  it.effect("given a full share, then that organization is Overloaded at once, others are not", () =>
    Effect.gen(function* () {
      const { ask, open } = yield* blocked(40)
      const loud = yield* Effect.forEach(Array.from({ length: 15 }), () => ask("loud"))
      const quiet = yield* ask("quiet")
      yield* TestClock.adjust(0)
      const done = loud.filter((fiber) => fiber.pollUnsafe() !== undefined)
      expect(done.length).toBe(5)
      for (const fiber of done)
        expect(yield* Fiber.join(fiber)).toMatchObject({
          failure: { _tag: "Overloaded", retryable: true, retryAfterMillis: 1_000 }
        })
      expect(quiet.pollUnsafe()).toBeUndefined()
      yield* open
      expect((yield* Fiber.join(quiet))._tag).toBe("Success")
      expect((yield* Effect.forEach(loud, Fiber.join)).filter(({ _tag }) => _tag === "Success").length).toBe(10)
    })
  )

  it.effect("given a full mailbox, then every organization is Overloaded at once, and what was taken is done", () =>
    Effect.gen(function* () {
      const { ask, engine, open } = yield* blocked(40)
      const asks = yield* Effect.forEach(Array.from({ length: 60 }), (_, n) => ask(`org_${n % 20}`))
      yield* TestClock.adjust(0)
      expect(asks.filter((fiber) => fiber.pollUnsafe() !== undefined).length).toBe(20)
      expect(yield* Operator.of(engine).inspectPartition(0)).toMatchObject({ mailboxDepth: 40 })
      yield* open
      expect((yield* Effect.forEach(asks, Fiber.join)).filter(({ _tag }) => _tag === "Success").length).toBe(40)
    })
  )

  it.effect("given very many commands, then no frame holds more than a drain may", () =>
    Effect.gen(function* () {
      const { ask, deployment, open } = yield* blocked(8_000)
      const asks = yield* Effect.forEach(Array.from({ length: 1_500 }), (_, n) => ask(`org_${n % 30}`))
      yield* TestClock.adjust(0)
      yield* open
      yield* Effect.forEach(asks, Fiber.join)
      const sizes = deployment.journal.log(0).frames.map((frame) => decodeFrame(frame.bytes).records.length)
      expect(Math.max(...sizes)).toBe(maximumDrainCommands)
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(1_501)
    })
  )

  it.effect("given large facts, then frames stay below their bounds", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment)
      const text = "ü".repeat(20_000)
      yield* Effect.forEach(
        Array.from({ length: 40 }, (_, n) => n),
        (n) => engine.ask(Counter, { organization: `org_${n}` }, { _tag: "Note", text }),
        { concurrency: "unbounded", discard: true }
      )
      const sizes = deployment.journal.log(0).frames.map((frame) => frame.bytes.length)
      expect(Math.max(...sizes)).toBeLessThan(maximumDrainBytes + 50_000)
      expect(Math.max(...sizes)).toBeLessThan(maximumFrameBytes)
      expect(sizes.length).toBeGreaterThan(5)
    })
  )

  it.effect("given a shutdown, then what was accepted is answered, and what comes later is told to come again", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine, stop } = yield* serving(deployment, { journalLayer: faulty.layer })
      const gate = yield* Deferred.make<void>()
      faulty.gate = Deferred.await(gate)
      const asks = yield* Effect.forEach([1, 2, 3], (n) =>
        Effect.forkChild(engine.ask(Counter, { organization: `org_${n}` }, { _tag: "Add", amount: n }))
      )
      yield* TestClock.adjust(0)
      const stopping = yield* Effect.forkChild(stop)
      yield* TestClock.adjust(0)
      const late = yield* Effect.flip(engine.ask(Counter, { organization: "org_9" }, { _tag: "Get" }))
      expect(late).toMatchObject({ _tag: "PartitionUnavailable", reason: "it is shutting down" })
      yield* Deferred.succeed(gate, undefined)
      expect(yield* Effect.forEach(asks, Fiber.join)).toEqual([1, 2, 3])
      yield* Fiber.join(stopping)
      const newest = Math.max(...deployment.checkpoints.of(0).records.map(({ sequence }) => sequence))
      expect(newest).toBe(deployment.journal.log(0).frames.at(-1)?.sequence)
    })
  )
})
