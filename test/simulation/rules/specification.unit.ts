/** Specifications of rules: what passes, what fails, and with which sentence. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import { given, SpecificationFailed } from "../../../src/simulation/index.ts"
import { Account, Counter, Reminder } from "../../engine/support/actors.ts"

const added = (amount: number) => ({ _tag: "Added" as const, amount })
const wasSet = (at: number) => ({ _tag: "WasSet" as const, at })
const rung = (at: number) => ({ _tag: "Rung" as const, at })

describe("given, when, then", () => {
  it("passes when facts and reply are as they should be", () => {
    given(Counter, [added(2), added(3)])
      .when({ _tag: "Add", amount: 5 })
      .then({ facts: [added(5)], reply: 10 })
    given(Counter, [added(2)])
      .when({ _tag: "Add", amount: 5, event: true })
      .then({ events: ["counter.added"] })
  })

  it("takes a plain list for the facts, and shows the state after them", () => {
    const decided = given(Counter, [added(2)]).when({ _tag: "Add", amount: 5 })
    decided.then([added(5)])
    expect(decided.state.total).toBe(7)
  })

  it("refuses a state that its schema refuses, as a checkpoint does", () => {
    const half = Actor.make({
      kind: "half",
      command: Schema.Struct({ add: Schema.Int }),
      fact: Schema.Struct({ added: Schema.Int }),
      state: Schema.Int,
      initial: () => 0,
      evolve: (total, fact) => total + fact.added / 2,
      decide: (_, { add }) => Actor.decided({ facts: [{ added: add }] })
    })
    expect(() => given(half, [{ added: 1 }])).toThrow(
      "half has a state that its schema refuses, 0.5: Expected an integer"
    )
    expect(() => given(half, [{ added: 2 }]).when({ add: 1 })).toThrow(SpecificationFailed)
    given(half, [{ added: 2 }])
      .when({ add: 2 })
      .then([{ added: 2 }])
  })

  it("fails with what was wanted and what was found", () => {
    const decided = given(Counter).when({ _tag: "Add", amount: 5 })
    expect(() => decided.then({ reply: 6 })).toThrow("reply: wanted 6, found 5")
    expect(() => decided.then([added(6)])).toThrow(SpecificationFailed)
  })

  it("compares rejections, and does not take one for an answer", () => {
    const decided = given(Counter, [added(8)]).when({ _tag: "AddUpTo", amount: 5, maximum: 10 })
    decided.then({ rejection: { over: 8 } })
    expect(() => decided.then({ reply: 13 })).toThrow('it was rejected with {"over":8}')
  })

  it("compares facts for other actors, and leaves the given state alone although the rule changes its own in place", () => {
    const rich = given(Account, [{ change: 9 }])
    const decided = rich.when({ _tag: "Transfer", to: "b", amount: 4 })
    decided.then({ facts: [{ change: -4 }], others: [{ kind: "account", key: "b", facts: [{ change: 4 }] }], reply: 5 })
    expect(decided.state).toEqual({ balance: 5 })
    expect(rich.state).toEqual({ balance: 9 })
  })

  it("wakes an actor at its time, and says when it has none", () => {
    given(Reminder, [wasSet(1_000)])
      .whenWoken()
      .then([rung(1_000)])
    expect(() => given(Reminder).whenWoken()).toThrow("does not want to be woken")
  })
})
