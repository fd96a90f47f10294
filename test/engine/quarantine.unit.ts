/** Rule 17, what is stored: where an older fact or row cannot be read, its organization waits for a program that can, and the others go on. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import type { Reactor } from "../../src/engine/Reactor.ts"
import { Counter, Limiter } from "./support/actors.ts"
import { type Deployment, makeDeployment, partitionIn, serving, start } from "./support/deployment.ts"
import { follower } from "./support/durability.ts"

const State = Schema.Struct({ sum: Schema.Number, at: Schema.NullOr(Schema.Number) })
type State = typeof State.Type
type Options = Actor.ActorOptions<number, number, State, number, never>

/** Sums up; three generations of it are one definition with other options. */
const tally = (options: Partial<Options> = {}) =>
  Actor.make<number, number, State, number>({
    kind: "tally",
    command: Schema.Number,
    fact: Schema.Number,
    state: State,
    initial: () => ({ sum: 0, at: null }),
    decide: (state, amount) => Actor.decided({ facts: amount === 0 ? [] : [amount], reply: state.sum + amount }),
    evolve: (state, amount) => ({ ...state, sum: state.sum + amount }),
    ...options
  })

const boom: () => never = () => {
  throw new Error("boom")
}

const poisoned = 1_000
const config = { checkpointFrames: 2, checkpointMillis: 1_000_000_000 }

/** The organization `sick` gets facts among which is the poisoned one, `well` does its business. */
const prepare = (
  deployment: Deployment,
  { actor = tally(), isStored }: { readonly actor?: Actor.AnyActor; readonly isStored: boolean }
) =>
  Effect.gen(function* () {
    const { engine, stop } = yield* serving(deployment, {
      actors: [actor, Counter],
      config: isStored ? config : { checkpointFrames: 1_000_000 }
    })
    for (const amount of [1, poisoned, 2]) yield* engine.ask(actor, { organization: "sick" }, amount)
    yield* engine.ask(actor, { organization: "well" }, 5)
    yield* TestClock.adjust("1 second")
    yield* stop
    if (isStored) return
    // As after a kill: nothing but the log.
    deployment.checkpoints.of(0).records = []
    deployment.checkpoints.of(0).rows.clear()
  })

const facts: ReadonlyArray<readonly [string, Partial<Options>]> = [
  [
    "evolve throws on a fact",
    { evolve: (state, amount) => (amount === poisoned ? boom() : { ...state, sum: state.sum + amount }) }
  ],
  [
    "evolve answers nothing for a fact",
    { evolve: (state, amount) => (amount === poisoned ? (undefined as never) : { ...state, sum: state.sum + amount }) }
  ],
  ["a fact's schema is stricter", { fact: Schema.Number.check(Schema.isLessThan(poisoned)) }],
  [
    "a state's schema is stricter",
    {
      state: Schema.Struct({ sum: Schema.Number.check(Schema.isLessThan(poisoned)), at: Schema.NullOr(Schema.Number) })
    }
  ],
  [
    "an upcast is missing",
    { version: 2, upcastFact: { 1: (fact) => (fact === poisoned ? boom() : fact) }, upcastState: {} }
  ],
  [
    "evolve changes a state in place and throws",
    {
      copy: (state) => ({ ...state }),
      evolve: (state, amount) => {
        Object.assign(state, { sum: state.sum + amount })
        return amount === poisoned ? boom() : state
      }
    }
  ],
  ["initial throws", { initial: (key) => (key === "" ? boom() : { sum: 0, at: null }) }],
  [
    "wakeAt throws",
    { wakeAt: (state) => (state.sum >= poisoned ? boom() : undefined), wake: () => Actor.decided({ reply: undefined }) }
  ]
]

const quarantined = { _tag: "Quarantined", organization: "sick", retryable: false }

describe("rule 17, facts that a program cannot fold", () => {
  it.effect.each(facts)(
    "%s: its organization waits, the others, checkpoints and the purge go on, and a program that can folds all of it",
    ([name, options]) =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        yield* prepare(deployment, { isStored: false })
        const broken = tally(options)
        // `initial` breaks all actors of its kind: there the counter is the other one.
        const well = name === "initial throws" ? undefined : broken
        for (const life of [1, 2]) {
          const reactors: ReadonlyArray<Reactor<never>> = [follower]
          const { engine, stop } = yield* serving(deployment, { actors: [broken, Counter], config, reactors })
          const sick = { organization: "sick" }
          expect(yield* Effect.flip(engine.ask(broken, sick, 1))).toMatchObject(quarantined)
          // Nothing else of the organization either: one decision may touch all of its actors.
          expect(yield* Effect.flip(engine.ask(Counter, sick, { _tag: "Get" }))).toMatchObject(quarantined)
          expect(yield* Effect.flip(engine.askLane(Limiter, sick, null))).toMatchObject(quarantined)
          for (let n = 1; n <= 8; n++) {
            const amount = n + (life - 1) * 8
            const ask = engine.ask(Counter, { organization: "other" }, { _tag: "Add", amount: 1 })
            expect(yield* ask).toBe(amount)
            if (well !== undefined) expect(yield* engine.ask(well, { organization: "well" }, 1)).toBe(5 + amount)
            yield* TestClock.adjust("1 second")
          }
          expect(partitionIn(engine).core.head.epoch).toBe(life + 1)
          yield* stop
        }
        // The facts themselves are gone from the log by now.
        expect(deployment.journal.log(0).firstSequence).toBeGreaterThan(6)
        const mended = tally(
          options.version === undefined
            ? {}
            : { version: 2, upcastFact: { 1: (fact) => fact }, upcastState: { 1: (state) => state } }
        )
        const { engine } = yield* serving(deployment, { actors: [mended, Counter] })
        expect(yield* engine.ask(mended, { organization: "sick" }, 0)).toBe(1_003)
        expect(yield* engine.ask(mended, { organization: "sick" }, 4)).toBe(1_007)
        if (well !== undefined) expect(yield* engine.ask(mended, { organization: "well" }, 0)).toBe(21)
        expect(yield* engine.ask(Counter, { organization: "sick" }, { _tag: "Get" })).toBe(0)
      })
  )

  it.effect("facts of one decision that are sound only together are no reason, whenever they are folded", () =>
    Effect.gen(function* () {
      const Balanced = Schema.Struct({ debit: Schema.Number, credit: Schema.Number }).check(
        Schema.makeFilter(({ credit, debit }) => debit === credit)
      )
      const Ledger = Actor.make<number, { debit: number; credit: number }, typeof Balanced.Type, number>({
        kind: "ledger",
        command: Schema.Number,
        fact: Schema.Struct({ debit: Schema.Number, credit: Schema.Number }),
        state: Balanced,
        initial: () => ({ debit: 0, credit: 0 }),
        decide: (state, amount) =>
          Actor.decided({
            facts: [
              { debit: amount, credit: 0 },
              { debit: 0, credit: amount }
            ],
            reply: state.debit + amount
          }),
        evolve: (state, { credit, debit }) => ({ debit: state.debit + debit, credit: state.credit + credit })
      })
      const deployment = makeDeployment()
      const fine = tally()
      const broken = tally({ evolve: (_, amount) => (amount === poisoned ? boom() : { sum: amount, at: null }) })
      const first = yield* serving(deployment, { actors: [Ledger, fine], config: { checkpointFrames: 1_000_000 } })
      expect(yield* first.engine.ask(Ledger, { organization: "well" }, 5)).toBe(5)
      // Where something else of the organization is broken, it is folded once more with care.
      expect(yield* first.engine.ask(Ledger, { organization: "sick" }, 5)).toBe(5)
      yield* first.engine.ask(fine, { organization: "sick" }, poisoned)
      expect(yield* first.engine.ask(Ledger, { organization: "sick" }, 2)).toBe(7)
      yield* first.stop
      deployment.checkpoints.of(0).records = []
      deployment.checkpoints.of(0).rows.clear()
      const second = yield* serving(deployment, { actors: [Ledger, broken] })
      expect(yield* second.engine.ask(Ledger, { organization: "well" }, 1)).toBe(6)
      expect(yield* Effect.flip(second.engine.ask(Ledger, { organization: "sick" }, 1))).toMatchObject({
        reason: expect.stringContaining("tally")
      })
      yield* second.stop
      const third = yield* serving(deployment, { actors: [Ledger, fine] })
      expect(yield* third.engine.ask(Ledger, { organization: "sick" }, 1)).toBe(8)
    })
  )

  it.effect("of many organizations cost one more reading of the log, not one for each of them", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const names = Array.from({ length: 60 }, (_, n) => `sick_${n}`)
      const recorder = tally()
      const first = yield* serving(deployment, { actors: [recorder], config: { checkpointFrames: 1_000_000 } })
      yield* first.engine.ask(recorder, { organization: "well" }, 7)
      yield* Effect.forEach(names, (organization) => first.engine.ask(recorder, { organization }, poisoned), {
        concurrency: "unbounded"
      })
      yield* first.stop
      deployment.checkpoints.of(0).records = []
      deployment.checkpoints.of(0).rows.clear()
      let folded = 0
      const broken = tally({
        evolve: (state, amount) => {
          if (amount === 7) folded++
          return amount === poisoned ? boom() : { ...state, sum: state.sum + amount }
        }
      })
      const { engine } = yield* serving(deployment, { actors: [broken] })
      expect(yield* engine.ask(broken, { organization: "well" }, 0)).toBe(7)
      for (const organization of names)
        expect(yield* Effect.flip(engine.ask(broken, { organization }, 1))).toMatchObject({ _tag: "Quarantined" })
      expect(folded).toBe(2)
    })
  )
})

const rows: ReadonlyArray<readonly [string, Partial<Options>]> = [
  [
    "a state's schema is stricter",
    {
      state: Schema.Struct({ sum: Schema.Number.check(Schema.isLessThan(poisoned)), at: Schema.NullOr(Schema.Number) })
    }
  ],
  [
    "a state's schema has a field more",
    {
      state: Schema.Struct({ sum: Schema.Number, at: Schema.NullOr(Schema.Number), name: Schema.String }) as never,
      initial: (() => ({ sum: 0, at: null, name: "" })) as never
    }
  ],
  [
    "an upcast throws",
    {
      version: 2,
      upcastState: { 1: (state) => ((state as State).sum >= poisoned ? boom() : state) },
      upcastFact: { 1: (fact) => fact }
    }
  ],
  ["an upcast is missing", { version: 2 }]
]

describe("rule 17, rows that a program cannot read", () => {
  it.effect.each(rows)("%s: its organization waits, and a program that can goes on from the row", ([name, options]) =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* prepare(deployment, { isStored: true })
      const broken = tally(options)
      const isWellReadable = name === "a state's schema is stricter" || name === "an upcast throws"
      const { engine, stop } = yield* serving(deployment, { actors: [broken, Counter], config })
      for (let n = 1; n <= 6; n++) {
        expect(yield* Effect.flip(engine.ask(broken, { organization: "sick" }, 1))).toMatchObject(quarantined)
        expect(yield* engine.ask(Counter, { organization: "other" }, { _tag: "Add", amount: 1 })).toBe(n)
        if (isWellReadable) expect(yield* engine.ask(broken, { organization: "well" }, 1)).toBe(5 + n)
        yield* TestClock.adjust("1 second")
      }
      yield* stop
      const version =
        options.version === undefined
          ? {}
          : { version: 2, upcastState: { 1: (state: unknown) => state }, upcastFact: { 1: (fact: unknown) => fact } }
      const mended = tally(version)
      const again = yield* serving(deployment, { actors: [mended, Counter] })
      expect(yield* again.engine.ask(mended, { organization: "sick" }, 4)).toBe(1_007)
      expect(yield* again.engine.ask(mended, { organization: "well" }, 0)).toBe(isWellReadable ? 11 : 5)
    })
  )

  it.effect("a row with facts behind it that are fine: both are kept together", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* prepare(deployment, { isStored: true })
      // A healthy program adds to it in the log alone.
      const healthy = tally()
      const first = yield* serving(deployment, { actors: [healthy, Counter], config: { checkpointFrames: 1_000_000 } })
      yield* first.engine.ask(healthy, { organization: "sick" }, 100)
      const records = [...deployment.checkpoints.of(0).records]
      const kept = new Map(deployment.checkpoints.of(0).rows)
      yield* first.stop
      deployment.checkpoints.of(0).records = records
      deployment.checkpoints.of(0).rows.clear()
      for (const [name, row] of kept)
        deployment.checkpoints.of(0).rows.set(
          name,
          row.filter(({ sequence }) => records.some((record) => sequence <= record.sequence))
        )

      const broken = tally(rows[0]![1])
      const second = yield* serving(deployment, { actors: [broken, Counter], config })
      expect(yield* Effect.flip(second.engine.ask(broken, { organization: "sick" }, 1))).toMatchObject(quarantined)
      for (let n = 0; n < 8; n++) {
        yield* second.engine.ask(Counter, { organization: "other" }, { _tag: "Add", amount: 1 })
        yield* TestClock.adjust("1 second")
      }
      yield* second.stop
      const third = yield* serving(deployment, { actors: [healthy, Counter] })
      expect(yield* third.engine.ask(healthy, { organization: "sick" }, 0)).toBe(1_103)
    })
  )

  it.effect("a timer of such an actor keeps no other waiting, and rings when it can be read", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const alarm = (options: Partial<Options> = {}) =>
        tally({
          evolve: (state, amount) => (amount < 0 ? { ...state, at: null } : { sum: amount, at: 5_000 }),
          wakeAt: (state) => state.at ?? undefined,
          wake: () => Actor.decided({ facts: [-1], reply: undefined }),
          ...options
        })
      yield* prepare(deployment, { actor: alarm(), isStored: true })
      const broken = alarm({
        version: 2,
        upcastState: { 1: (state) => ((state as State).sum === 2 ? boom() : state) },
        upcastFact: { 1: (fact) => fact }
      })
      const { engine, stop } = yield* serving(deployment, { actors: [broken, Counter] })
      yield* Effect.repeat(TestClock.adjust("1 second"), { times: 6 })
      expect(yield* engine.state(broken, { organization: "well" })).toEqual({ sum: 5, at: null })
      expect(yield* Effect.flip(engine.state(broken, { organization: "sick" }))).toMatchObject(quarantined)
      yield* stop
      const mended = alarm({ version: 2, upcastState: { 1: (state) => state }, upcastFact: { 1: (fact) => fact } })
      const again = yield* serving(deployment, { actors: [mended, Counter] })
      yield* Effect.repeat(TestClock.adjust("1 second"), { times: 2 })
      expect(yield* again.engine.state(mended, { organization: "sick" })).toEqual({ sum: 2, at: null })
    })
  )
})

describe("rule 17, what a program does not know at all", () => {
  it.effect("a kind that it does not have: the partition says so, rather than to forget it", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* prepare(deployment, { isStored: false })
      const { engine } = yield* start(deployment, { actors: [Counter] })
      yield* Effect.repeat(TestClock.adjust("1 second"), { times: 10 })
      expect(yield* Effect.flip(engine.ready)).toMatchObject({
        _tag: "PartitionStopped",
        reason: expect.stringContaining("tally")
      })
    })
  )
})
