/** Rules 10 and 13 at their edges: what is exactly as large as it may be is taken, one byte more is not, and nobody else's place is lost with it. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import { maximumStateBytes, maximumTouchedActors, stateSlackBytes } from "../../src/engine/limits.ts"
import { Account, Counter } from "./support/actors.ts"
import { servingCore } from "./support/core.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { add, get, target } from "./support/durability.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

const quiet = Effect.provide(Logger.layer([]))

const tagOf = (result: Result.Result<unknown, unknown>): unknown =>
  Result.isSuccess(result) ? "Success" : (result.failure as { readonly _tag: string })._tag

/** Bytes of a counter's state with one note, besides the note. */
const besides = Buffer.byteLength(JSON.stringify({ total: 0, notes: [""] }))

/** Bytes of each part of a ring, and how many parts it keeps. */
const ringBytes = 100
const ringLength = Math.floor((maximumStateBytes - 2) / (ringBytes + 1))
const RingState = Schema.Array(Schema.String)

/** Keeps the last parts of a fixed size, and so stays just below the bound. */
const Ring = Actor.make<number, string, typeof RingState.Type>({
  kind: "ring",
  command: Schema.Number,
  fact: Schema.String,
  state: RingState,
  initial: () => [],
  decide: (_, n) => Actor.decided({ facts: [String(n).padStart(ringBytes - 2, "0")] }),
  evolve: (state, fact) => [...state, fact].slice(-ringLength)
})

describe("a state near its bound", () => {
  const texts: ReadonlyArray<readonly [string, string]> = [
    ["ASCII", "x"],
    ["two bytes a character", "ž"],
    ["four bytes a character", "🦊"],
    ["characters that JSON escapes", '"']
  ]

  it.effect.each(texts)(
    "given %s, then 64 KiB are taken, and what comes on top before it is measured again; after a restart it is refused",
    ([, unit]) =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const { engine, stop } = yield* serving(deployment)
        const each = Buffer.byteLength(JSON.stringify(unit)) - 2
        const room = maximumStateBytes - besides
        const text = unit.repeat(Math.floor(room / each)) + "x".repeat(room % each)
        const note = (of: string, organization: string) =>
          Effect.result(engine.ask(Counter, { organization }, { _tag: "Note", text: of }))
        expect(tagOf(yield* note(`${text}x`, "org_1"))).toBe("StateTooLarge")
        expect(yield* engine.state(Counter, target)).toMatchObject({ notes: [] })
        expect(tagOf(yield* note(text, "org_1"))).toBe("Success")
        const size = Effect.map(engine.state(Counter, target), (state) => Buffer.byteLength(JSON.stringify(state)))
        expect(yield* size).toBe(maximumStateBytes)
        let more = 0
        while (tagOf(yield* note(unit.repeat(100), "org_1")) === "Success") more++
        expect(more).toBeGreaterThan(0)
        const grown = yield* size
        expect(grown).toBeGreaterThan(maximumStateBytes)
        expect(grown).toBeLessThanOrEqual(maximumStateBytes + stateSlackBytes)
        yield* stop
        const again = yield* serving(deployment)
        const { notes } = yield* again.engine.state(Counter, target)
        expect([notes.length, notes[0] === text]).toEqual([1 + more, true])
        expect(tagOf(yield* Effect.result(again.engine.ask(Counter, target, add(1))))).toBe("StateTooLarge")
      })
  )

  it("given a ring that stays near its bound, then over many facts it is encoded a few times, not for each of them", () => {
    const core = servingCore({ actors: [Ring], lanes: [] })
    let encodings = 0
    Object.assign(Ring, {
      encodeState: (state: typeof RingState.Type) => {
        encodings++
        return [...state]
      }
    })
    const facts = 10_000
    for (let n = 0; n < facts; n++) {
      core.ask(Ring, "org_1", n)
      if (n % 500 === 499) core.run()
    }
    core.run()
    const bytes = Buffer.byteLength(JSON.stringify(core.peek(Ring, "org_1").value))
    expect(bytes).toBeGreaterThan(maximumStateBytes - 512)
    expect(bytes).toBeLessThanOrEqual(maximumStateBytes)
    expect(encodings).toBeGreaterThan(0)
    expect(encodings).toBeLessThanOrEqual(Math.ceil((facts * ringBytes) / stateSlackBytes))
  })

  it.effect("given one that was refused, then smaller ones of the same drain and later are decided", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment())
      const note = (text: string) => Effect.result(engine.ask(Counter, target, { _tag: "Note", text }))
      const results = yield* Effect.all([note("a"), note("x".repeat(70_000)), note("b")], { concurrency: "unbounded" })
      expect(results.map(tagOf)).toEqual(["Success", "StateTooLarge", "Success"])
      expect(tagOf(yield* note("c"))).toBe("Success")
      expect((yield* engine.state(Counter, target)).notes).toEqual(["a", "b", "c"])
    })
  )

  it.effect(
    "given one that grows by more than its facts, then it is measured at the next checkpoint, and grows no more",
    () =>
      Effect.gen(function* () {
        const Grower = Actor.make<number, number, { text: string }>({
          kind: "grower",
          command: Schema.Number,
          fact: Schema.Number,
          state: Schema.Struct({ text: Schema.String }),
          initial: () => ({ text: "" }),
          decide: (_, length) => Actor.decided({ facts: [length], reply: undefined }),
          evolve: (_, length) => ({ text: "x".repeat(length) })
        })
        const { engine } = yield* serving(makeDeployment(), { actors: [Grower], config: { checkpointMillis: 1_000 } })
        const grow = (length: number) => Effect.map(Effect.result(engine.ask(Grower, target, length)), tagOf)
        expect(yield* grow(100_000)).toBe("Success")
        yield* TestClock.adjust(2_000)
        yield* TestClock.adjust(2_000)
        expect(yield* grow(100_001)).toBe("StateTooLarge")
        expect(yield* grow(10)).toBe("Success")
      })
  )
})

/** Names as many others as it is told, and those it reads. */
const Reader = Actor.make<
  { readonly names: number; readonly reads: number },
  { readonly read: number },
  { readonly sum: number },
  number
>({
  kind: "reader",
  command: Schema.Struct({ names: Schema.Number, reads: Schema.Number }),
  fact: Schema.Struct({ read: Schema.Number }),
  state: Schema.Struct({ sum: Schema.Number }),
  initial: () => ({ sum: 0 }),
  touches: ({ names }) => Array.from({ length: names }, (_, n) => Counter.at(`k${n}`)),
  decide: (_, { reads }, { read }) => {
    let sum = 0
    for (let n = 0; n < reads; n++) sum += read(Counter, `k${n}`).total
    return Actor.decided({ facts: [{ read: sum }], reply: sum })
  },
  evolve: ({ sum }, fact) => ({ sum: sum + fact.read })
})

describe("a decision over other actors", () => {
  const actors = [Counter, Reader, Account]
  const most = maximumTouchedActors

  it.effect(
    "given as many as it may name, then it reads what they are at that moment; one more is refused, and so is one that it did not name",
    () =>
      Effect.gen(function* () {
        const { engine } = yield* serving(makeDeployment(), { actors })
        for (let n = 0; n <= most; n++) yield* engine.ask(Counter, { organization: "org_1", key: `k${n}` }, add(1))
        const ask = (names: number, reads: number) => Effect.result(engine.ask(Reader, target, { names, reads }))
        expect(yield* ask(most, most)).toMatchObject({ success: most })
        expect(["CommandInvalid", "CommandFailed"]).toContain(tagOf(yield* ask(most + 1, 0)))
        expect(tagOf(yield* ask(1, 2))).toBe("CommandFailed")
        expect(yield* engine.state(Reader, target)).toEqual({ sum: most })
      }).pipe(quiet)
  )

  it.effect(
    "given facts of an earlier decision of the same drain, then it reads them; given one that failed, then nothing of it",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const { engine } = yield* serving(deployment, { actors })
        const of = { organization: "org_1", key: "k0" }
        const [, , sum] = yield* Effect.all(
          [
            engine.ask(Counter, of, add(5)),
            Effect.result(engine.ask(Counter, of, { _tag: "Throw" })),
            engine.ask(Reader, target, { names: 1, reads: 1 })
          ],
          { concurrency: "unbounded" }
        )
        expect(sum).toBe(5)
        // One claim, one frame.
        expect(deployment.journal.log(0).frames.length).toBe(2)
      }).pipe(quiet)
  )

  it.effect("given a rejection behind a change of both, then neither of them has changed", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment(), { actors })
      yield* engine.ask(Account, { organization: "org_1", key: "a" }, { _tag: "Deposit", amount: 10 })
      const transfer = (amount: number) =>
        Effect.result(engine.ask(Account, { organization: "org_1", key: "a" }, { _tag: "Transfer", to: "b", amount }))
      const results = yield* Effect.all([transfer(4), transfer(7), transfer(6), transfer(1)], {
        concurrency: "unbounded"
      })
      expect(results.map(({ _tag }) => _tag)).toEqual(["Success", "Failure", "Success", "Failure"])
      expect(yield* engine.state(Account, { organization: "org_1", key: "a" })).toEqual({ balance: 0 })
      expect(yield* engine.state(Account, { organization: "org_1", key: "b" })).toEqual({ balance: 10 })
      // Another organization's actor of the same name is another one.
      expect(yield* engine.state(Account, { organization: "org_2", key: "b" })).toEqual({ balance: 0 })
    })
  )
})

describe("places in the mailbox", () => {
  it.effect("given very many commands that fail in every way, then the organization's share is as free as before", () =>
    Effect.gen(function* () {
      const config = { mailboxCapacity: 16 }
      const { engine } = yield* serving(makeDeployment(), { config })
      for (let round = 0; round < 60; round++) {
        const results = yield* Effect.all(
          [
            Effect.result(engine.ask(Counter, target, { _tag: "Throw" })),
            Effect.result(engine.ask(Counter, target, { _tag: "AddUpTo", amount: 5, maximum: 1 })),
            Effect.result(engine.ask(Counter, target, { _tag: "Note", text: "x".repeat(70_000) })),
            Effect.result(engine.ask(Counter, target, get))
          ],
          { concurrency: "unbounded" }
        )
        expect(results.map(({ _tag }) => _tag)).toEqual(["Failure", "Failure", "Failure", "Success"])
        expect(results.map(tagOf)).not.toContain("Overloaded")
      }
    }).pipe(quiet)
  )

  it.effect("given callers that gave up, then what they asked is done, and their places are free", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer, config: { mailboxCapacity: 16 } })
      for (let round = 0; round < 10; round++) {
        const gate = yield* Deferred.make<void>()
        faulty.gate = Deferred.await(gate)
        const asking = yield* Effect.forEach([1, 2, 3, 4], (amount) =>
          Effect.forkChild(Effect.result(engine.ask(Counter, target, add(amount))))
        )
        yield* TestClock.adjust(0)
        yield* Effect.forEach(asking, Fiber.interrupt)
        yield* Deferred.succeed(gate, undefined)
        faulty.gate = Effect.void
        yield* TestClock.adjust(0)
      }
      expect(yield* engine.ask(Counter, target, get)).toBe(100)
    })
  )
})
