/** Rule 11: whatever the sizes of frames, a reactor sees every record once and in order; and what an operator does to parked records counts at once. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import { dismissParked, retryParked } from "../../src/engine/operator/parkedRecords.ts"
import { ReactorTransaction } from "../../src/engine/ports/Cursors.ts"
import { maximumBatchRecords, type Reactor } from "../../src/engine/Reactor.ts"
import type { LogRecord } from "../../src/engine/records.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { Burst } from "./support/loads.ts"

/** Lets all fibers finish what they can: each step of time gives them turns. */
const settle = Effect.repeat(TestClock.adjust("3 seconds"), { times: 19 })

const numbersOf = (records: ReadonlyArray<LogRecord>): ReadonlyArray<number> =>
  records.flatMap((record) => (record._tag === "Fact" ? [(record.fact as { readonly n: number }).n] : []))

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

const named = (name: string, handle: Reactor<never>["handle"], wants?: Reactor<never>["wants"]): Reactor<never> => ({
  name,
  handle,
  ...(wants === undefined ? {} : { wants })
})

describe("a reactor behind large frames", () => {
  const half = maximumBatchRecords / 2
  const sizes: ReadonlyArray<readonly [string, ReadonlyArray<number>]> = [
    ["two that fill a batch exactly", [half, half, half, half]],
    ["one more record than a batch takes", [half, half + 1, half, half + 1, 1]],
    ["frames that never fit beside each other", [1_500, 1_500, 1_500, 1_500, 1_500]],
    ["frames larger than a batch among small ones", [1, maximumBatchRecords + 500, 1, 1, maximumBatchRecords + 1, 3]],
    ["a large one last", [10, 10, 10, maximumBatchRecords]]
  ]

  it.effect.each(sizes)(
    "given %s, then it sees each record once and in order, from memory and from the log",
    ([, frames]) =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const begin = yield* Deferred.make<void>()
        const batches: Array<ReadonlyArray<number>> = []
        const seen = (into: Array<ReadonlyArray<number>>) => (records: ReadonlyArray<LogRecord>) =>
          Effect.flatMap(Effect.service(ReactorTransaction), ({ onCommit }) =>
            Effect.as(
              Deferred.await(begin),
              onCommit(() => void into.push(numbersOf(records)))
            )
          )
        const first = yield* serving(deployment, { actors: [Burst], reactors: [named("sizes", seen(batches))] })
        for (const facts of frames) {
          yield* first.engine.ask(Burst, { organization: "org_1" }, { facts })
          yield* TestClock.adjust(0)
        }
        yield* Deferred.succeed(begin, undefined)
        yield* settle
        const total = frames.reduce((sum, count) => sum + count, 0)
        expect(batches.flat()).toEqual(upTo(total))
        // Whole frames: a batch is larger than its bound only where one frame alone is.
        for (const batch of batches) if (batch.length > maximumBatchRecords) expect(frames).toContain(batch.length)
        yield* first.stop
        const again: Array<ReadonlyArray<number>> = []
        const cursors = CursorsMemory.makeStore()
        yield* serving({ ...deployment, cursors }, { actors: [Burst], reactors: [named("sizes", seen(again))] })
        yield* settle
        expect(again.flat()).toEqual(upTo(total))
        expect(cursors.cursors.get("0/sizes")?.sequence).toBe(frames.length + 2)
      })
  )

  it.effect("given records that it has no use for, then they take no room of a batch, and the others are seen", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const seen: Array<string> = []
      const reactor = named(
        "events",
        (records) =>
          Effect.map(Effect.service(ReactorTransaction), ({ onCommit }) =>
            onCommit(() => void seen.push(...records.map((record) => `${record._tag} ${record.sequence}`)))
          ),
        (record) => record._tag === "Event"
      )
      const { engine } = yield* serving(deployment, { actors: [Burst], reactors: [reactor] })
      for (let frame = 0; frame < 6; frame++) {
        yield* engine.ask(Burst, { organization: "org_1" }, { facts: 1_500, events: frame % 2 })
        yield* TestClock.adjust(0)
      }
      yield* settle
      expect(seen).toEqual(["Event 3", "Event 5", "Event 7"])
    })
  )
})

const add = (amount: number) => ({ _tag: "Add" as const, amount })

/** A reactor that cannot work on some amounts for now, and what it has done. */
const working = () => {
  const refused = new Set([13])
  const done: Array<string> = []
  const reactor = named("worker", (records) =>
    Effect.gen(function* () {
      const { onCommit } = yield* ReactorTransaction
      for (const record of records) {
        const { amount } = (record as { readonly fact: { readonly amount: number } }).fact
        if (refused.has(amount)) return yield* Effect.fail(new Error(`cannot work on ${amount}`))
        onCommit(() => void done.push(`${record.organization}:${amount}`))
      }
    })
  )
  return { refused, done, reactor }
}

describe("a record that cannot be worked on", () => {
  it.effect(
    "given several of its organization in one frame, then those before it are done once, and it and the later ones wait",
    () =>
      Effect.gen(function* () {
        const done: Array<number> = []
        let isBroken = true
        const reactor = named("worker", (records) =>
          Effect.gen(function* () {
            const { onCommit } = yield* ReactorTransaction
            for (const n of numbersOf(records)) {
              if (n === 2 && isBroken) return yield* Effect.fail(new Error("cannot work on 2"))
              onCommit(() => void done.push(n))
            }
          })
        )
        const { engine } = yield* serving(makeDeployment(), { actors: [Burst], reactors: [reactor] })
        yield* engine.ask(Burst, { organization: "bad" }, { facts: 5 })
        yield* settle
        expect(done).toEqual([0, 1])
        isBroken = false
        expect(yield* retryParked(engine, 0, "worker", "bad")).toEqual({ retried: 3, left: 0 })
        expect(done).toEqual([0, 1, 2, 3, 4])
      })
  )
})

describe("an operator's acts on parked records", () => {
  /** `bad` has a record that cannot be worked on and one behind it; `good` goes on. */
  const parked = Effect.gen(function* () {
    const { done, reactor, refused } = working()
    const { engine } = yield* serving(makeDeployment(), { reactors: [reactor] })
    const ask = (organization: string, amount: number) =>
      Effect.andThen(engine.ask(Counter, { organization }, add(amount)), settle)
    yield* ask("bad", 1)
    yield* ask("bad", 13)
    yield* ask("bad", 2)
    yield* ask("good", 3)
    expect(done).toEqual(["bad:1", "good:3"])
    return { ask, done, engine, refused }
  })

  it.effect(
    "given a retry that succeeds, then the records are done in order, and the organization's next ones at once",
    () =>
      Effect.gen(function* () {
        const { ask, done, engine, refused } = yield* parked
        refused.clear()
        expect(yield* retryParked(engine, 0, "worker", "bad")).toEqual({ retried: 2, left: 0 })
        expect(done.slice(2)).toEqual(["bad:13", "bad:2"])
        yield* ask("bad", 4)
        expect(done.slice(4)).toEqual(["bad:4"])
        expect(yield* retryParked(engine, 0, "worker", "bad")).toEqual({ retried: 0, left: 0 })
      })
  )

  it.effect("given a retry that fails again, then nothing of the organization is done out of turn", () =>
    Effect.gen(function* () {
      const { ask, done, engine, refused } = yield* parked
      expect(yield* retryParked(engine, 0, "worker", "bad")).toMatchObject({ retried: 0, left: 2 })
      yield* ask("bad", 4)
      expect(done).toEqual(["bad:1", "good:3"])
      refused.clear()
      expect(yield* retryParked(engine, 0, "worker", "bad")).toEqual({ retried: 3, left: 0 })
      expect(done.slice(2)).toEqual(["bad:13", "bad:2", "bad:4"])
    })
  )

  it.effect("given a dismissal, then the first record goes without its effects, and the others can be retried", () =>
    Effect.gen(function* () {
      const { ask, done, engine } = yield* parked
      expect(yield* dismissParked(engine, 0, "worker", "bad")).toBe(true)
      expect(yield* retryParked(engine, 0, "worker", "bad")).toEqual({ retried: 1, left: 0 })
      yield* ask("bad", 5)
      expect(done.slice(2)).toEqual(["bad:2", "bad:5"])
      expect(yield* dismissParked(engine, 0, "worker", "bad")).toBe(false)
    })
  )

  it.effect("given an organization without parked records, then its neighbours' acts change nothing of it", () =>
    Effect.gen(function* () {
      const { ask, done, engine } = yield* parked
      yield* dismissParked(engine, 0, "worker", "good")
      expect(yield* retryParked(engine, 0, "worker", "good")).toEqual({ retried: 0, left: 0 })
      yield* ask("bad", 6)
      yield* ask("good", 7)
      expect(done.slice(2)).toEqual(["good:7"])
    })
  )

  it.effect("given a retry that is under way, then a record that comes meanwhile is done behind it", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { done, reactor, refused } = working()
      let isRetrying = false
      const slow = named("worker", (records) =>
        isRetrying ? Effect.andThen(Deferred.await(gate), reactor.handle(records)) : reactor.handle(records)
      )
      const { engine } = yield* serving(makeDeployment(), { reactors: [slow] })
      yield* engine.ask(Counter, { organization: "bad" }, add(13))
      yield* settle
      refused.clear()
      isRetrying = true
      const retrying = yield* Effect.forkChild(Effect.exit(retryParked(engine, 0, "worker", "bad")))
      yield* engine.ask(Counter, { organization: "bad" }, add(4))
      yield* settle
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      expect(Exit.isSuccess(yield* Fiber.join(retrying))).toBe(true)
      // It may have been parked behind the other meanwhile, which is done by another retry.
      yield* retryParked(engine, 0, "worker", "bad")
      expect(done).toEqual(["bad:13", "bad:4"])
    })
  )
})
