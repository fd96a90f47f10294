/** Rule 17 on a running engine: what rules answer is checked before it is stored, and what is stored but cannot be read takes its organization alone out of service. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { add, get, target } from "./support/durability.ts"

const quiet = Effect.provide(Logger.layer([]))

const Fact = Schema.Union([
  Schema.TaggedStruct("Set", { at: Schema.Number, note: Schema.String }),
  Schema.TaggedStruct("Rung", { at: Schema.Number }),
  Schema.TaggedStruct("Mistaken", {})
])

const State = Schema.Struct({
  at: Schema.NullOr(Schema.Number),
  note: Schema.String,
  rings: Schema.Array(Schema.Number)
})

/** An alarm whose rules are wrong in some places: a state that is none, and one that counts as over before it has rung. */
const makeClerk = (canRead: boolean) =>
  Actor.make<
    | { readonly _tag: "Set"; readonly at: number; readonly note?: string }
    | { readonly _tag: "Mistake" }
    | { readonly _tag: "Rings" },
    typeof Fact.Type,
    typeof State.Type,
    ReadonlyArray<number>
  >({
    kind: "clerk",
    command: Schema.Union([
      Schema.TaggedStruct("Set", { at: Schema.Number, note: Schema.optionalKey(Schema.String) }),
      Schema.TaggedStruct("Mistake", {}),
      Schema.TaggedStruct("Rings", {})
    ]),
    fact: Fact,
    state: State,
    reply: Schema.Array(Schema.Number),
    initial: () => ({ at: null, note: "", rings: [] }),
    decide: ({ rings }, command) => {
      switch (command._tag) {
        case "Set":
          return Actor.decided({
            facts: [{ _tag: "Set" as const, at: command.at, note: command.note ?? "" }],
            reply: rings
          })
        case "Mistake":
          return Actor.decided({ facts: [{ _tag: "Mistaken" as const }], reply: rings })
        case "Rings":
          return Actor.decided({ reply: rings })
      }
    },
    evolve: (state, fact) => {
      if (!canRead) throw new Error("this program cannot read it")
      switch (fact._tag) {
        case "Set":
          return { ...state, at: fact.at, note: fact.note }
        case "Rung":
          return { at: null, note: "", rings: [...state.rings, fact.at] }
        case "Mistaken":
          return { ...state, rings: "many" as never }
      }
    },
    wakeAt: ({ at }) => at ?? undefined,
    wake: (_, { now }) => Actor.decided({ facts: [{ _tag: "Rung" as const, at: now }] }),
    isOver: ({ rings }) => rings.length === 0
  })

const Clerk = makeClerk(true)
const actors = [Clerk, Counter]
const set = (at: number, note?: string) => ({ _tag: "Set" as const, at, ...(note === undefined ? {} : { note }) })
const rings = { _tag: "Rings" as const }

describe("a rule that answers what cannot be stored", () => {
  it.effect("given a state that its schema refuses, then that command fails, and the actor goes on, also later", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine, stop } = yield* serving(deployment, { actors })
      yield* engine.ask(Clerk, target, set(5_000))
      const error = yield* Effect.flip(engine.ask(Clerk, target, { _tag: "Mistake" }))
      expect(error).toMatchObject({ _tag: "CommandFailed", retryable: false })
      yield* TestClock.adjust("5 seconds")
      expect(yield* engine.ask(Clerk, target, rings)).toEqual([5_000])
      yield* stop
      const again = yield* serving(deployment, { actors })
      expect(yield* again.engine.ask(Clerk, target, rings)).toEqual([5_000])
    }).pipe(quiet)
  )

  it.effect("given a time to wake that is no number, then that command fails, and the time before it counts", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment(), { actors })
      yield* engine.ask(Clerk, target, set(5_000))
      const error = yield* Effect.flip(engine.ask(Clerk, target, set(Number.NaN)))
      expect(error).toMatchObject({ _tag: "CommandFailed", retryable: false })
      yield* TestClock.adjust("5 seconds")
      expect(yield* engine.ask(Clerk, target, rings)).toEqual([5_000])
    }).pipe(quiet)
  )

  it.effect("given a state that is too large, then the alarm of the decision before it in the same drain rings", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment(), { actors })
      const results = yield* Effect.all(
        [set(5_000), set(60_000, "x".repeat(70_000))].map((command) =>
          Effect.result(engine.ask(Clerk, target, command))
        ),
        { concurrency: "unbounded" }
      )
      expect(results).toMatchObject([{ _tag: "Success" }, { _tag: "Failure", failure: { _tag: "StateTooLarge" } }])
      yield* TestClock.adjust("5 seconds")
      expect(yield* engine.ask(Clerk, target, rings)).toEqual([5_000])
    }).pipe(quiet)
  )
})

describe("an actor that is over and has an alarm", () => {
  it.effect("given a restart, then the alarm rings", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine, stop } = yield* serving(deployment, { actors })
      yield* engine.ask(Clerk, target, set(5_000))
      yield* stop
      const again = yield* serving(deployment, { actors })
      yield* TestClock.adjust("10 seconds")
      expect(yield* again.engine.ask(Clerk, target, rings)).toHaveLength(1)
    }).pipe(quiet)
  )
})

describe("facts that a program cannot read", () => {
  it.effect("given some of one actor, then nothing of its organization is decided, and others are served", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const first = yield* serving(deployment, { actors, config: { checkpointFrames: 1_000 } })
      yield* first.engine.ask(Counter, target, add(1))
      yield* first.engine.ask(Counter, { organization: "org_2" }, add(2))
      // Another owner comes while it runs, so that no checkpoint has it.
      yield* first.engine.ask(Clerk, target, set(5_000))
      const second = yield* serving(deployment, { actors: [makeClerk(false), Counter] })
      const frames = deployment.journal.log(0).frames.length
      for (const command of [get, add(1)])
        expect(yield* Effect.flip(second.engine.ask(Counter, target, command))).toMatchObject({ _tag: "Quarantined" })
      expect(deployment.journal.log(0).frames.length).toBe(frames)
      expect(yield* second.engine.ask(Counter, { organization: "org_2" }, add(1))).toBe(3)
      yield* second.stop
      // A program that can read it finds everything.
      const third = yield* serving(deployment, { actors })
      expect(yield* third.engine.ask(Counter, target, get)).toBe(1)
    }).pipe(quiet)
  )
})
