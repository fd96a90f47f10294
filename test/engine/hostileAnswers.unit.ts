/** Rule 17: whatever a rule answers, its command fails alone with an error that names the rule, and nothing of it is in the way later. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import type { Engine } from "../../src/engine/Engine.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, partitionIn, serving } from "./support/deployment.ts"
import { bad, badValue, boom, inExile, type Options, odd, type State } from "./support/oddActor.ts"

const onBad =
  (answer: (state: State, context: Actor.DecideContext) => unknown): Options["decide"] =>
  (state, command, context) =>
    command === bad
      ? (answer(state, context) as never)
      : Actor.decided({ facts: [{ value: state.value + 1, at: null }], reply: state.value + 1 })

/** The command leads to a fact on which `answer` is given. */
const evolving = (answer: (state: State) => unknown, options: Partial<Options> = {}): Partial<Options> => ({
  decide: (state, command) => {
    const value = command === bad ? badValue : state.value + 1
    return Actor.decided({ facts: [{ value, at: null }], reply: value })
  },
  evolve: (state, fact) => (fact.value === badValue ? (answer(state) as never) : { ...fact }),
  ...options
})

const waking = (wakeAt: (state: State) => unknown): Partial<Options> =>
  evolving(() => ({ value: badValue, at: null }), {
    wakeAt: (state) => (state.value === badValue ? (wakeAt(state) as never) : undefined),
    wake: () => Actor.decided({ reply: undefined })
  })

const touching = (answer: () => unknown): Partial<Options> => ({
  touches: (command) => (command === bad ? (answer() as never) : [])
})

const failed = (reason: string) => ({ _tag: "CommandFailed", kind: "odd", reason: expect.stringContaining(reason) })
const invalid = (reason: string) => ({ _tag: "CommandInvalid", kind: "odd", reason: expect.stringContaining(reason) })

/** Throws even where it is looked at. */
const unspeakable = { toString: boom }
const unspeakableError = Object.defineProperty(new Error("x"), "message", { get: boom })

const circular: { self?: unknown } = {}
circular.self = circular

const cases: ReadonlyArray<readonly [string, Partial<Options>, object]> = [
  ["decide throws", { decide: onBad(boom) }, failed("boom")],
  [
    "decide throws undefined",
    {
      decide: onBad(() => {
        throw undefined
      })
    },
    failed("undefined")
  ],
  [
    "decide throws what has no text",
    {
      decide: onBad(() => {
        throw unspeakable
      })
    },
    failed("")
  ],
  [
    "decide throws an error without a message",
    {
      decide: onBad(() => {
        throw unspeakableError
      })
    },
    failed("")
  ],
  ["decide answers nothing", { decide: onBad(() => undefined) }, failed("decide of odd answered nothing")],
  ["decide answers null", { decide: onBad(() => null) }, failed("decide of odd answered")],
  ["decide is async", { decide: onBad(async () => Actor.decided({ reply: 1 })) }, failed("Promise")],
  [
    "decide answers an object of its own",
    { decide: onBad(() => ({ accepted: true, facts: [] })) },
    failed("decide of odd answered")
  ],
  [
    "decide answers facts that are no list",
    { decide: onBad(() => Actor.decided({ facts: "ab" as never })) },
    failed("decide of odd: facts, others, events and messages are arrays")
  ],
  [
    "decide answers a fact that its schema refuses",
    { decide: onBad(() => Actor.decided({ facts: [{ value: "one" }] as never })) },
    failed("")
  ],
  [
    "decide answers a fact that is undefined",
    { decide: onBad(() => Actor.decided({ facts: [undefined] as never })) },
    failed("")
  ],
  [
    "decide answers others that are none",
    { decide: onBad(() => Actor.decided({ others: [undefined] as never })) },
    failed("")
  ],
  [
    "decide answers facts for an actor that it does not touch",
    { decide: onBad(() => Actor.decided({ others: [Counter.facts("", [])] })) },
    failed("does not name counter")
  ],
  [
    "decide answers facts for a key with a zero byte",
    { decide: onBad(() => Actor.decided({ others: [Counter.facts("a\0", [])] })) },
    { kind: "odd" }
  ],
  [
    "decide answers an event that is no JSON",
    { decide: onBad(() => Actor.decided({ events: [{ type: "a", service: "b", livemode: true, data: circular }] })) },
    failed("")
  ],
  [
    "decide answers an event without a type",
    { decide: onBad(() => Actor.decided({ events: [{ data: 1 }] as never })) },
    failed("an event needs type")
  ],
  [
    "decide reads what it does not touch",
    { decide: onBad((_, context) => context.read(Counter, "x")) },
    failed("does not name counter")
  ],
  ["decide asks for an id that there is not", { decide: onBad((_, context) => context.id(1e9)) }, failed("")],
  ["evolve throws", evolving(boom), failed("boom")],
  ["evolve answers nothing", evolving(() => undefined), failed("evolve of odd")],
  ["evolve is async", evolving(async () => ({ value: 1, at: null })), failed("evolve of odd")],
  [
    "evolve answers NaN where its schema wants a number",
    evolving(() => ({ value: Number.NaN, at: null })),
    failed("evolve of odd")
  ],
  [
    "evolve throws after it has changed a state in place",
    evolving(
      (state) => {
        Object.assign(state, { value: 99 })
        return boom()
      },
      { copy: (state) => ({ ...state }) }
    ),
    failed("boom")
  ],
  ["wakeAt throws", waking(boom), failed("boom")],
  ["wakeAt answers NaN", waking(() => Number.NaN), failed("wakeAt of odd answered NaN")],
  ["wakeAt answers minus infinity", waking(() => Number.NEGATIVE_INFINITY), failed("wakeAt of odd answered -Infinity")],
  ["wakeAt answers a text", waking(() => "tomorrow"), failed("wakeAt of odd answered string")],
  ["wakeAt answers null", waking(() => null), failed("wakeAt of odd answered")],
  ["wakeAt is async", waking(async () => 1_000), failed("Promise")],
  ["touches throws", touching(boom), failed("boom")],
  ["touches answers nothing", touching(() => undefined), failed("touches of odd answered nothing")],
  ["touches is async", touching(async () => []), failed("Promise")],
  ["touches names nobody", touching(() => [undefined]), failed("")],
  [
    "touches names an actor of another engine",
    touching(() => [Stranger.at("")]),
    failed("stranger is not an actor of this engine")
  ],
  ["touches names a key that is none", touching(() => [Counter.at(7 as never)]), invalid("key")],
  ["touches names a key with a zero byte", touching(() => [Counter.at("a\0b")]), invalid("zero byte")],
  ["touches names a key with half a surrogate pair", touching(() => [Counter.at("a\ud800")]), invalid("surrogate")],
  [
    "touches names too many",
    touching(() => Array.from({ length: 1_025 }, (_, n) => Counter.at(`k${n}`))),
    failed("1025 actors")
  ]
]

const Stranger = Actor.make<null, null, null>({
  kind: "stranger",
  command: Schema.Null,
  fact: Schema.Null,
  state: Schema.Null,
  initial: () => null,
  decide: () => Actor.decided({ reply: undefined }),
  evolve: () => null
})

const add = (engine: Engine["Service"], amount = 1) =>
  engine.ask(Counter, { organization: "innocent" }, { _tag: "Add", amount })

describe("rule 17, a command whose rule breaks", () => {
  it.effect.each(cases)("%s: it fails alone, now and after a restart", ([, options, error]) =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const actor = odd(options)
      const engineOptions = { actors: [actor, Counter] }
      const { engine, stop } = yield* serving(deployment, engineOptions)
      const { core } = partitionIn(engine)
      expect(yield* engine.ask(actor, inExile, "good")).toBe(1)
      // In one drain with others, before and behind it, also of its own organization and actor.
      const before = yield* Effect.forkChild(add(engine))
      const same = yield* Effect.forkChild(engine.ask(actor, inExile, "good"))
      const broken = yield* Effect.forkChild(Effect.flip(engine.ask(actor, inExile, bad)))
      const behind = yield* Effect.forkChild(add(engine))
      const sameBehind = yield* Effect.forkChild(engine.ask(actor, inExile, "good"))
      expect(yield* Fiber.join(before)).toBe(1)
      expect(yield* Fiber.join(same)).toBe(2)
      expect(yield* Fiber.join(broken)).toMatchObject({ ...error, retryable: false })
      expect(yield* Fiber.join(behind)).toBe(2)
      expect(yield* Fiber.join(sameBehind)).toBe(3)
      expect(yield* engine.state(actor, inExile)).toEqual({ value: 3, at: null })
      expect([core.head.epoch, partitionIn(engine).status]).toEqual([1, { _tag: "Serving" }])
      // Its checkpoint is written with the others'.
      yield* stop
      expect(deployment.checkpoints.of(0).records.map(({ sequence }) => sequence)).toContain(core.head.sequence)

      const again = yield* serving(deployment, engineOptions)
      expect(yield* add(again.engine)).toBe(3)
      // In this life its rows come from the checkpoints.
      expect(yield* Effect.flip(again.engine.ask(actor, inExile, bad))).toMatchObject(error)
      expect(yield* again.engine.ask(actor, inExile, "good")).toBe(4)
      expect(partitionIn(again.engine).core.head.epoch).toBe(2)
    })
  )

  const copies: ReadonlyArray<readonly [string, () => unknown]> = [
    ["throws", boom],
    ["answers nothing", () => undefined],
    ["is async", async () => ({ value: 0, at: null })]
  ]

  it.effect.each(copies)("copy %s: that organization's commands fail, and those of others do not", ([, copy]) =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const actor = odd({
        copy: (state) => (state.value === badValue ? (copy() as never) : { ...state }),
        evolve: (state) => ({ value: state.value + 1, at: null })
      })
      const options = { actors: [actor, Counter] }
      const first = yield* serving(deployment, options)
      for (let n = 0; n < badValue; n++) yield* first.engine.ask(actor, inExile, "good")
      yield* first.stop
      const { engine } = yield* serving(deployment, options)
      for (let n = 1; n <= 3; n++) {
        const [broken, well] = yield* Effect.all([Effect.flip(engine.ask(actor, inExile, "good")), add(engine)], {
          concurrency: "unbounded"
        })
        expect(broken).toMatchObject(failed(""))
        expect(well).toBe(n)
      }
      expect(yield* engine.state(actor, inExile)).toEqual({ value: badValue, at: null })
      expect(partitionIn(engine).core.head.epoch).toBe(2)
    })
  )

  it.effect("initial throws: the others of its organization are served, from memory and from checkpoints", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const actor = odd({ initial: (key) => (key === bad ? boom() : { value: 0, at: null }) })
      const badKey = { ...inExile, key: bad }
      for (const life of [1, 2]) {
        const { engine, stop } = yield* serving(deployment, { actors: [actor, Counter] })
        expect(yield* Effect.flip(engine.ask(actor, badKey, "good"))).toMatchObject(failed("boom"))
        expect(yield* engine.ask(actor, inExile, "good")).toBe(2 * life - 1)
        expect(yield* engine.ask(Counter, inExile, { _tag: "Add", amount: 1 })).toBe(life)
        expect(yield* Effect.flip(engine.ask(actor, badKey, "good"))).toMatchObject(failed("boom"))
        expect(yield* engine.ask(actor, inExile, "good")).toBe(2 * life)
        expect(yield* engine.ask(Counter, inExile, { _tag: "Add", amount: 0 })).toBe(life)
        expect(partitionIn(engine).core.head.epoch).toBe(life)
        yield* stop
      }
    })
  )

  const overs: ReadonlyArray<readonly [string, () => unknown]> = [
    ["throws", boom],
    ["answers nothing", () => undefined],
    ["is async", async () => true]
  ]

  it.effect.each(overs)("isOver %s: the row stays, and checkpoints are written", ([, isOver]) =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const actor = odd({ isOver: isOver as never })
      const { engine, stop } = yield* serving(deployment, { actors: [actor, Counter] })
      yield* engine.ask(actor, inExile, "good")
      yield* add(engine)
      yield* stop
      const again = yield* serving(deployment, { actors: [actor, Counter] })
      expect(yield* again.engine.ask(actor, inExile, "good")).toBe(2)
      expect(deployment.checkpoints.of(0).records.length).toBeGreaterThan(0)
    })
  )

  it.effect.each([
    ["far away", 1e300],
    ["never", Number.POSITIVE_INFINITY],
    ["long ago", -1e300],
    ["a part of a millisecond", 1_000.5]
  ] as const)("a time to wake that is %s is one, and no other timer is late for it", ([, at]) =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const rung: Array<number> = []
      const actor = odd({
        decide: (_, command) => Actor.decided({ facts: [{ value: 1, at: command === bad ? at : 2_000 }], reply: 1 }),
        state: Schema.Struct({ value: Schema.Number, at: Schema.NullOr(Schema.Number) }),
        wakeAt: (state) => state.at ?? undefined,
        wake: (_, { now }) => {
          rung.push(now)
          return Actor.decided({ facts: [{ value: 2, at: null }], reply: undefined })
        }
      })
      const options = { actors: [actor, Counter] }
      const first = yield* serving(deployment, options)
      yield* first.engine.ask(actor, inExile, bad)
      yield* first.engine.ask(actor, { organization: "innocent" }, "good")
      yield* first.stop
      const { engine } = yield* serving(deployment, options)
      yield* Effect.repeat(TestClock.adjust("1 second"), { times: 2 })
      expect(rung).toContain(2_000)
      expect(rung.length).toBe(at > 1e6 ? 1 : 2)
      expect(yield* engine.state(actor, { organization: "innocent" })).toEqual({ value: 2, at: null })
    })
  )
})
