import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Numbers } from "../../src/common/numbers.ts"
import * as Actor from "../../src/engine/Actor.ts"

const actorOf = <State>(state: Actor.JsonCodec<State>, initial: State) =>
  Actor.make({
    kind: "kept",
    command: Schema.Null,
    fact: Schema.Null,
    state,
    initial: () => initial,
    evolve: (kept) => kept,
    decide: () => Actor.decided({})
  })

describe("a state with lists of numbers", () => {
  const actor = actorOf(Schema.Struct({ times: Numbers, pages: Schema.Array(Numbers) }), { times: [], pages: [] })

  it("is written as it is, and read again", () => {
    const state = { times: [1, 2.5, -3, Number.MAX_SAFE_INTEGER], pages: [[], [0]] }
    assert.strictEqual(JSON.stringify(actor.encodeState(state)), JSON.stringify(state))
    assert.deepStrictEqual(actor.decodeState(JSON.parse(JSON.stringify(state)), 1), state)
    assert.isUndefined(actor.stateProblem(state))
  })

  for (const wrong of [[Number.NaN], [Number.POSITIVE_INFINITY], ["1"], [null], "1", { 0: 1 }])
    it(`is refused with ${JSON.stringify(wrong)}`, () => {
      const state = { times: wrong as never, pages: [] }
      assert.include(actor.stateProblem(state), "a list of finite numbers")
      assert.throws(() => actor.encodeState(state), /a list of finite numbers/)
      assert.throws(() => actor.decodeState(state, 1), /a list of finite numbers/)
    })
})

describe("a state with a declared type that is not its own JSON", () => {
  it("is checked by writing it", () => {
    const actor = actorOf(Schema.Struct({ since: Schema.Date }), { since: new Date(0) })
    assert.deepStrictEqual(actor.encodeState({ since: new Date(0) }), { since: "1970-01-01T00:00:00.000Z" })
    assert.isUndefined(actor.stateProblem({ since: new Date(0) }))
    assert.isDefined(actor.stateProblem({ since: "yesterday" as never }))
  })

  it("is checked by writing it too where the type has parameters, whose link looks at them", () => {
    const Boxed = Schema.declareConstructor<{ readonly boxed: number }>()(
      [Schema.Finite],
      () => (value) => Effect.succeed(value as { readonly boxed: number }),
      {
        toCodecJson: ([inner]: ReadonlyArray<Schema.Constraint>) => {
          assert.isDefined(inner)
          return undefined
        }
      }
    )
    const actor = actorOf(Boxed as never, { boxed: 1 })
    assert.isUndefined(actor.stateProblem({ boxed: 1 }))
  })
})
