/** Rule 17 where nobody asked: a wake or a lane that breaks costs its own organization, and no other. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import * as Lane from "../../src/engine/Lane.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, partitionIn, serving } from "./support/deployment.ts"
import { bad, badValue, boom, inExile, type Options, odd } from "./support/oddActor.ts"

describe("rule 17, a wake that breaks", () => {
  const wakes: ReadonlyArray<readonly [string, Partial<Options>]> = [
    ["wake throws", { wake: boom }],
    ["wake answers nothing", { wake: () => undefined as never }],
    ["wake is async", { wake: (async () => Actor.decided({ reply: undefined })) as never }],
    ["wake answers a fact that its schema refuses", { wake: () => Actor.decided({ facts: ["no"] as never }) }],
    [
      "wake leads to a fact that evolve throws on",
      {
        wake: () => Actor.decided({ facts: [{ value: badValue, at: null }] }),
        evolve: (_, fact) => (fact.value === badValue ? boom() : { ...fact })
      }
    ],
    ["wakeTouches throws", { wakeTouches: boom }],
    ["wakeTouches answers nothing", { wakeTouches: () => undefined as never }],
    ["wakeTouches names a key with a zero byte", { wakeTouches: () => [Counter.at("\0")] }],
    ["wake is rejected", { wake: () => Actor.rejected("no") as never }],
    ["wake does nothing", { wake: () => Actor.decided({ reply: undefined }) }]
  ]

  it.effect.each(wakes)(
    "%s: the timers of others ring at their time, and it is tried again when its state changes",
    ([, options]) =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        let tried = 0
        const breaking = (options.wake ?? (() => Actor.decided({ reply: undefined }))) as NonNullable<Options["wake"]>
        const actor = odd({
          wakeAt: (state) => state.at ?? undefined,
          ...options,
          wake: (state, context) => {
            if (context.self.organization !== "odd")
              return Actor.decided({ facts: [{ value: 50, at: null }], reply: undefined })
            tried++
            return breaking(state, context)
          },
          ...(options.wakeTouches === undefined
            ? {}
            : {
                wakeTouches: (state, self) => {
                  if (self.organization !== "odd") return []
                  tried++
                  return options.wakeTouches!(state, self)
                }
              })
        })
        const { engine } = yield* serving(deployment, { actors: [actor, Counter] })
        yield* engine.ask(actor, inExile, "later")
        yield* engine.ask(actor, { organization: "innocent" }, "later")
        yield* TestClock.adjust("10 seconds")
        expect(tried).toBe(1)
        expect(yield* engine.state(actor, { organization: "innocent" })).toEqual({ value: 50, at: null })
        yield* engine.ask(actor, inExile, "later")
        yield* TestClock.adjust("10 seconds")
        expect(tried).toBe(2)
        expect(yield* engine.ask(actor, inExile, "good")).toBe(3)
        expect(partitionIn(engine).core.head.epoch).toBe(1)
      })
  )
})

describe("rule 17, a lane whose rule breaks", () => {
  type LaneOptions = Lane.LaneOptions<string, { used: number }, number>
  const lanes: ReadonlyArray<readonly [string, Partial<LaneOptions>]> = [
    ["initial throws", { initial: (key) => (key === bad ? boom() : { used: 0 }) }],
    ["decide throws", { decide: (state, command) => (command === bad ? boom() : ++state.used) }],
    ["touches throws", { touches: ({ key }) => (key === bad ? boom() : []) }],
    [
      "touches is async",
      { touches: (({ key }: { readonly key: string }) => (key === bad ? Promise.resolve([]) : [])) as never }
    ],
    [
      "touches names nobody",
      { touches: (({ key }: { readonly key: string }) => (key === bad ? [undefined] : [])) as never }
    ],
    ["touches names a key with a zero byte", { touches: ({ key }) => (key === bad ? [Counter.at("\0")] : []) }]
  ]

  it.effect.each(lanes)("%s: that ask fails alone", ([, options]) =>
    Effect.gen(function* () {
      const lane = Lane.make<string, { used: number }, number>({
        kind: "lane",
        initial: () => ({ used: 0 }),
        decide: (state) => ++state.used,
        keepUntil: () => Number.POSITIVE_INFINITY,
        ...options
      })
      const { engine } = yield* serving(makeDeployment(), { lanes: [lane] })
      expect(yield* engine.askLane(lane, inExile, "good")).toBe(1)
      for (let n = 0; n < 3; n++) {
        const error = yield* Effect.flip(engine.askLane(lane, { ...inExile, key: bad }, bad))
        expect(error).toMatchObject({ kind: "lane", retryable: false })
      }
      expect(yield* engine.askLane(lane, inExile, "good")).toBe(2)
      expect(yield* engine.askLane(lane, { organization: "innocent" }, "good")).toBe(1)
      expect(partitionIn(engine).core.head.epoch).toBe(1)
    })
  )

  const keeps: ReadonlyArray<readonly [string, () => unknown]> = [
    ["throws", boom],
    ["answers NaN", () => Number.NaN],
    ["answers nothing", () => undefined],
    ["is async", async () => 1e15]
  ]

  it.effect.each(keeps)("keepUntil %s: its state is dropped, those of others stay until their time", ([, keepUntil]) =>
    Effect.gen(function* () {
      const lane = Lane.make<string, { used: number; bad: boolean }, number>({
        kind: "lane",
        initial: () => ({ used: 0, bad: false }),
        decide: (state, command) => {
          state.bad = command === bad
          return ++state.used
        },
        keepUntil: (state) => (state.bad ? (keepUntil() as never) : 1e15)
      })
      const { engine } = yield* serving(makeDeployment(), { lanes: [lane], config: { idleMillis: 1_000 } })
      yield* engine.askLane(lane, inExile, bad)
      yield* engine.askLane(lane, { organization: "innocent" }, "good")
      yield* TestClock.adjust("10 seconds")
      expect(partitionIn(engine).core.probe.counts.laneActors).toBe(1)
      expect(yield* engine.askLane(lane, { organization: "innocent" }, "good")).toBe(2)
    })
  )
})
