/** Idempotency keys as an embedder sees them (docs/architecture.md, "Idempotency keys"): replays, conflicts, what is not remembered, bounds, windows. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import { layerMemory } from "../../src/engine/Engine.ts"
import { decodeFrame } from "../../src/engine/frame.ts"
import { maximumReplyBytes } from "../../src/engine/limits.ts"
import { lastSequenceOf } from "../../src/engine/memory/JournalMemory.ts"
import * as RemoteMemory from "../../src/engine/memory/RemoteMemory.ts"
import { Once } from "../../src/engine/once.ts"
import { Placement } from "../../src/engine/ports/Placement.ts"
import type { LogRecord } from "../../src/engine/records.ts"
import { payTwice, Wallet } from "./example/payments.ts"
import { Account, Counter, Reminder } from "./support/actors.ts"
import { elapse, makeDeployment, partitionIn, serving, start } from "./support/deployment.ts"

const target = { organization: "org_1" }
const add = (amount: number) => ({ _tag: "Add" as const, amount })
const first = { key: "k1", digest: "d1" }

/** Replies with as many characters as asked. */
const Talker = Actor.make<number, number, number, string>({
  kind: "talker",
  command: Schema.Number,
  fact: Schema.Number,
  state: Schema.Number,
  reply: Schema.String,
  initial: () => 0,
  decide: (_, length) => Actor.decided({ facts: [length], reply: "x".repeat(length) }),
  evolve: (state) => state + 1
})

/** Cannot tell how its replies are written. */
const Mute = Actor.make<null, null, null, number>({
  kind: "mute",
  command: Schema.Null,
  fact: Schema.Null,
  state: Schema.Null,
  initial: () => null,
  decide: () => Actor.decided({ facts: [null], reply: 1 }),
  evolve: (state) => state
})

const deployed = Effect.gen(function* () {
  const deployment = makeDeployment()
  const { engine, stop } = yield* serving(deployment)
  return { deployment, engine, stop }
})

describe("an ask under an idempotency key", () => {
  it.effect("given the same request again, then it has the same reply and no second effect", () =>
    Effect.gen(function* () {
      const { deployment, engine } = yield* deployed
      expect(yield* engine.askOnce(Counter, target, add(2), first)).toEqual({ reply: 2, isReplay: false })
      yield* engine.ask(Counter, target, add(5))
      const frames = lastSequenceOf(deployment.journal.log(0))
      expect(yield* engine.askOnce(Counter, target, add(2), first)).toEqual({ reply: 2, isReplay: true })
      expect(yield* engine.state(Counter, target)).toMatchObject({ total: 7 })
      expect(lastSequenceOf(deployment.journal.log(0))).toBe(frames)
    })
  )

  it.effect("given another digest, another actor or another kind under the key, then it is told of the conflict", () =>
    Effect.gen(function* () {
      const { engine } = yield* deployed
      yield* engine.askOnce(Counter, target, add(2), first)
      const conflict = { _tag: "IdempotencyConflict", retryable: false }
      const other = engine.askOnce(Counter, target, add(2), { ...first, digest: "d2" })
      expect(yield* Effect.flip(other)).toMatchObject(conflict)
      const elsewhere = engine.askOnce(Counter, { ...target, key: "other" }, add(2), first)
      expect(yield* Effect.flip(elsewhere)).toMatchObject(conflict)
      const deposit = { _tag: "Deposit", amount: 2 } as const
      expect(yield* Effect.flip(engine.askOnce(Account, target, deposit, first))).toMatchObject(conflict)
      expect(yield* engine.state(Counter, target)).toMatchObject({ total: 2 })
    })
  )

  it.effect(
    "given actors and digests that read alike one behind the other, or begin alike, then they are told apart",
    () =>
      Effect.gen(function* () {
        const { engine } = yield* deployed
        const long = "x".repeat(100)
        const requests = [
          ["1", "23"],
          ["12", "3"],
          ["", "123"],
          ["1", `${long}1`],
          ["1", `${long}2`],
          ["1", '2"3'],
          ["1", "2\\3"],
          ["1", "2ü3"]
        ] as const
        for (const [index, [key, digest]] of requests.entries()) {
          const once = { key: `k${index}`, digest }
          yield* engine.askOnce(Counter, { ...target, key }, add(1), once)
          for (const [otherKey, otherDigest] of requests) {
            const ask = engine.askOnce(Counter, { ...target, key: otherKey }, add(1), { ...once, digest: otherDigest })
            const exit = yield* Effect.exit(ask)
            expect(Exit.isSuccess(exit), `${otherKey} ${otherDigest}`).toBe(otherKey === key && otherDigest === digest)
          }
        }
      })
  )

  it.effect("given another key or another organization, then it is another request", () =>
    Effect.gen(function* () {
      const { engine } = yield* deployed
      yield* engine.askOnce(Counter, target, add(2), first)
      expect(yield* engine.askOnce(Counter, target, add(2), { ...first, key: "k2" })).toEqual({
        reply: 4,
        isReplay: false
      })
      expect(yield* engine.askOnce(Counter, { organization: "org_2" }, add(2), first)).toEqual({
        reply: 2,
        isReplay: false
      })
    })
  )

  it.effect("given a rejection or a rule that fails, then nothing is remembered", () =>
    Effect.gen(function* () {
      const { engine } = yield* deployed
      const upTo = { _tag: "AddUpTo", amount: 5, maximum: 5 } as const
      yield* engine.ask(Counter, target, add(1))
      expect(yield* Effect.flip(engine.askOnce(Counter, target, upTo, first))).toEqual({ over: 1 })
      expect(yield* Effect.flip(engine.askOnce(Counter, target, { _tag: "Throw" }, first))).toMatchObject({
        _tag: "CommandFailed"
      })
      yield* engine.ask(Counter, target, add(-1))
      expect(yield* engine.askOnce(Counter, target, upTo, first)).toEqual({ reply: 5, isReplay: false })
    })
  )

  it.effect("given a decision without facts, then its answer is remembered all the same", () =>
    Effect.gen(function* () {
      const { engine } = yield* deployed
      expect(yield* engine.askOnce(Counter, target, { _tag: "Get" }, first)).toEqual({ reply: 0, isReplay: false })
      yield* engine.ask(Counter, target, add(1))
      expect(yield* engine.askOnce(Counter, target, { _tag: "Get" }, first)).toEqual({ reply: 0, isReplay: true })
    })
  )

  it.effect("given many at once under one key, then one is decided and all have its reply", () =>
    Effect.gen(function* () {
      const { deployment, engine } = yield* deployed
      const asks = Array.from({ length: 50 }, () => engine.askOnce(Counter, target, add(1), first))
      const answers = yield* Effect.all(asks, { concurrency: "unbounded" })
      expect(answers.filter(({ isReplay }) => !isReplay)).toHaveLength(1)
      expect(new Set(answers.map(({ reply }) => reply))).toEqual(new Set([1]))
      expect(lastSequenceOf(deployment.journal.log(0))).toBe(2)
    })
  )

  it.effect(
    "given an actor without a schema of its reply, or a key, digest or window out of bounds, then it is refused",
    () =>
      Effect.gen(function* () {
        const { engine } = yield* serving(makeDeployment(), { actors: [Mute, Counter] })
        const invalid = { _tag: "CommandInvalid" }
        expect(yield* Effect.flip(engine.askOnce(Mute, target, null, first))).toMatchObject(invalid)
        const odd = [
          { ...first, key: "" },
          { ...first, key: "x".repeat(257) },
          { ...first, digest: "" },
          { ...first, windowMillis: 999 },
          { ...first, windowMillis: 30 * 24 * 3_600_000 + 1 },
          { ...first, windowMillis: 1000.5 }
        ]
        for (const once of odd)
          expect(yield* Effect.flip(engine.askOnce(Counter, target, add(1), once))).toMatchObject(invalid)
        expect(yield* engine.state(Counter, target)).toMatchObject({ total: 0 })
      })
  )

  it.effect("given a reply too large to be remembered, then nothing is decided", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment(), { actors: [Talker] })
      const fits = maximumReplyBytes - 2
      expect((yield* engine.askOnce(Talker, target, fits, first)).reply).toHaveLength(fits)
      expect(yield* Effect.flip(engine.askOnce(Talker, target, fits + 1, { ...first, key: "k2" }))).toMatchObject({
        _tag: "ReplyTooLarge",
        bytes: maximumReplyBytes + 1
      })
      expect(yield* engine.state(Talker, target)).toBe(1)
    })
  )
})

describe("what was answered under a key", () => {
  it.effect("given a crash before any checkpoint, or one behind a checkpoint, then it is known still", () =>
    Effect.gen(function* () {
      const { deployment, engine } = yield* deployed
      yield* engine.askOnce(Counter, target, add(1), first)
      // A next owner takes over; the first one writes nothing any more.
      const second = yield* serving(deployment)
      expect(yield* second.engine.askOnce(Counter, target, add(1), first)).toEqual({ reply: 1, isReplay: true })
      yield* second.engine.askOnce(Counter, target, add(1), { ...first, key: "k2" })
      yield* second.stop
      const third = yield* serving(deployment)
      expect(yield* third.engine.askOnce(Counter, target, add(1), { ...first, key: "k2" })).toEqual({
        reply: 2,
        isReplay: true
      })
      expect(yield* third.engine.askOnce(Counter, target, add(1), { ...first, key: "k3" })).toEqual({
        reply: 3,
        isReplay: false
      })
    })
  )

  it.effect("given the end of its window, then the key counts as never seen, whether its row is there or not", () =>
    Effect.gen(function* () {
      const { deployment, engine, stop } = yield* deployed
      const once = { ...first, windowMillis: 10_000 }
      yield* engine.askOnce(Counter, target, add(1), once)
      yield* stop
      const next = yield* serving(deployment)
      yield* TestClock.adjust("9999 millis")
      expect(yield* next.engine.askOnce(Counter, target, add(1), once)).toEqual({ reply: 1, isReplay: true })
      yield* TestClock.adjust("1 millis")
      expect(deployment.checkpoints.of(0).rows.size).toBe(2)
      expect(yield* next.engine.askOnce(Counter, target, add(1), { ...once, digest: "d2" })).toEqual({
        reply: 2,
        isReplay: false
      })
    })
  )

  it.effect(
    "given keys that are over, then a checkpoint behind their time removes their rows, and they leave no timer",
    () =>
      Effect.gen(function* () {
        const { deployment, engine } = yield* deployed
        for (let index = 0; index < 20; index++)
          yield* engine.askOnce(Counter, target, add(1), { key: `k${index}`, digest: "d", windowMillis: 200_000 })
        yield* elapse(70, 5_000)
        const rowsOf = () =>
          [...deployment.checkpoints.of(0).rows.values()].flat().filter(({ kind }) => kind === Once.kind)
        expect(rowsOf()).toHaveLength(20)
        expect([...partitionIn(engine).core.probe.actors()].filter(({ kind }) => kind === Once.kind)).toEqual([])
        expect(partitionIn(engine).core.probe.counts.timers).toBe(0)
        yield* elapse(140, 5_000)
        yield* engine.ask(Counter, target, add(1))
        yield* elapse(70, 5_000)
        expect(rowsOf()).toEqual([])
      })
  )

  it.effect("is one fact of the engine's own in the frame of the decision, and reactors do not see it", () =>
    Effect.gen(function* () {
      const seen: Array<LogRecord> = []
      const deployment = makeDeployment()
      const watching = {
        name: "watching",
        handle: (records: ReadonlyArray<LogRecord>) => Effect.sync(() => void seen.push(...records))
      }
      const { engine } = yield* serving(deployment, { reactors: [watching] })
      yield* engine.askOnce(Counter, target, add(1), first)
      yield* engine.askOnce(Counter, target, { _tag: "Get" }, { ...first, key: "k2" })
      yield* engine.ask(Counter, target, add(1))
      yield* elapse(1)
      expect(seen.map(({ index, kind, sequence }) => [sequence, index, kind])).toEqual([
        [2, 0, "counter"],
        [4, 0, "counter"]
      ])
      const frames = deployment.journal.log(0).frames.map(({ bytes }) => decodeFrame(bytes).records)
      expect(frames[1]?.map(({ actor }) => actor.kind)).toEqual(["counter", "sluice.once"])
      expect(frames[2]?.map(({ actor }) => actor.kind)).toEqual(["sluice.once"])

      // And the same from the log.
      const again: Array<LogRecord> = []
      const late = {
        name: "late",
        handle: (records: ReadonlyArray<LogRecord>) => Effect.sync(() => void again.push(...records))
      }
      yield* serving(deployment, { reactors: [late] })
      yield* elapse(1)
      expect(again).toEqual(seen)
    })
  )
})

describe("an ask under a key from another process", () => {
  it.effect("is decided once by the owner, and both processes are told the same", () =>
    Effect.gen(function* () {
      const remoteLayer = RemoteMemory.layerOf(RemoteMemory.makeStore())
      const placementLayer = Layer.succeed(
        Placement,
        Placement.of({ place: () => Effect.void, owns: () => Effect.succeed(false) })
      )
      const deployment = makeDeployment()
      const { engine: far } = yield* start(deployment, { placementLayer, remoteLayer })
      const { engine } = yield* serving(deployment, { remoteLayer })
      yield* elapse(0.1, 100)
      expect(yield* far.askOnce(Reminder, target, { _tag: "Rang" }, first)).toEqual({ reply: [], isReplay: false })
      expect(yield* far.askOnce(Reminder, target, { _tag: "Rang" }, first)).toEqual({ reply: [], isReplay: true })
      expect(yield* engine.askOnce(Reminder, target, { _tag: "Rang" }, first)).toEqual({ reply: [], isReplay: true })
      expect(
        yield* Effect.flip(far.askOnce(Reminder, target, { _tag: "Rang" }, { ...first, digest: "d2" }))
      ).toMatchObject({
        _tag: "IdempotencyConflict"
      })
      expect(
        yield* Effect.flip(
          far.askOnce(Counter, target, { _tag: "AddUpTo", amount: 9, maximum: 5 }, { ...first, key: "k2" })
        )
      ).toEqual({
        over: 0
      })
    })
  )
})

describe("the example of the document", () => {
  it.effect("does what it says", () =>
    Effect.gen(function* () {
      expect(yield* payTwice).toEqual([
        { reply: 30, isReplay: false },
        { reply: 30, isReplay: true }
      ])
    }).pipe(Effect.provide(layerMemory({ actors: [Wallet] })))
  )

  it("is the program that runs here", () => {
    const read = (file: string) => readFileSync(new URL(file, import.meta.url), "utf8")
    const [, shown] = /```ts\n\/\/ payments\.ts\n([\s\S]*?)```/.exec(read("../../docs/architecture.md"))!
    expect(shown).toBe(read("example/payments.ts").replace('"../../../src/index.ts"', '"sluice"'))
  })
})

describe("the kinds of the engine's own actors", () => {
  it("cannot be a user's", () => {
    expect(() => Actor.make({ ...Counter.options, kind: Once.kind })).toThrow("is not a kind")
  })
})
