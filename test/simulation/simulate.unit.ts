/** Simulating a user's actor: oracles, invariants, repeats, and what a report shows. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import * as Actor from "../../src/engine/Actor.ts"
import { describeReport, simulate } from "../../src/simulation/index.ts"

const Command = Schema.TaggedStruct("Add", { amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })) })

const tally = (reply: (total: number) => number) =>
  Actor.make<typeof Command.Type, { readonly amount: number }, { readonly total: number }, number, string>({
    kind: "tally",
    command: Command,
    fact: Schema.Struct({ amount: Schema.Int }),
    state: Schema.Struct({ total: Schema.Int }),
    initial: () => ({ total: 0 }),
    decide: (state, { amount }) =>
      state.total + amount > 50
        ? Actor.rejected("full")
        : Actor.decided({ facts: [{ amount }], reply: reply(state.total + amount) }),
    evolve: (state, fact) => ({ total: state.total + fact.amount })
  })

const oracle = {
  initial: () => 0,
  step: (total: number, { amount }: typeof Command.Type) =>
    total + amount > 50 ? { rejection: "full" } : { model: total + amount, reply: total + amount }
}

describe("simulate", () => {
  it.effect("given a rule that is what its oracle says, then it reports scenarios and marks", () =>
    Effect.gen(function* () {
      const report = yield* simulate(
        tally((total) => total),
        { oracle, seeds: 20, steps: 60 }
      )
      expect(report.scenarios).toBe(20)
      expect(report.marks.get("append, acked")).toBeGreaterThan(0)
      expect(describeReport(report)).toContain("20 scenarios, nothing found")
    })
  )

  it.effect(
    "given a rule that replies something else from 20 on, then the oracle's sentence and few steps are left",
    () =>
      Effect.gen(function* () {
        const wrong = tally((total) => (total >= 20 ? total + 1 : total))
        const { failure } = yield* Effect.flip(simulate(wrong, { oracle, seeds: 20 }))
        expect(failure.violation.checker).toBe("model oracle")
        expect(failure.violation.message).toContain("the oracle says")
        expect(failure.scenario.steps.length).toBeLessThan(10)
      })
  )

  it.effect("given commands of one's own, then only those are asked", () =>
    Effect.gen(function* () {
      const commands = Arbitrary.Constant({ _tag: "Add" as const, amount: 7 })
      const sevens = { "only sevens": ({ total }: { readonly total: number }) => total % 7 === 0 }
      const report = yield* simulate(
        tally((total) => total),
        { commands, invariants: sevens, seeds: 10 }
      )
      expect(report.scenarios).toBe(10)
    })
  )
})
