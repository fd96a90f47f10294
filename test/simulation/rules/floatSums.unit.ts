/** Sums of fractions in states are found, other numbers are not, and the report says so once for each field. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import { describeReport, simulate } from "../../../src/simulation/index.ts"
import { floatSumIn, missedBy } from "../../../src/simulation/rules/floatSums.ts"

describe("a sum of fractions", () => {
  it.each([
    [0.1 + 0.2, 0.3],
    [1.1 + 2.2, 3.3],
    [0.7 + 0.1, 0.8],
    [-0.1 - 0.2, -0.3],
    [4.35 * 100, 435]
  ])("%d is one", (value, near) => {
    expect(missedBy(value)).toBe(near)
  })

  it.each([
    0.3,
    12.5,
    1 / 3,
    Math.PI,
    0.123456789012345,
    7,
    0,
    1e21,
    5e-324,
    Number.NaN,
    Number.POSITIVE_INFINITY
  ])("%d is none", (value) => {
    expect(missedBy(value)).toBeUndefined()
  })

  it("is found wherever it is in a state", () => {
    expect(floatSumIn({ name: "ann", days: [{ cents: 1 }, { cents: 1.1 + 2.2 }] })).toEqual({
      path: "days.cents",
      value: 1.1 + 2.2,
      near: 3.3
    })
    expect(floatSumIn({ name: "0.30000000000000004", cents: null })).toBeUndefined()
  })

  it.effect("is a hint of the report, once, and no finding", () =>
    Effect.gen(function* () {
      const purse = (step: number) =>
        Actor.make({
          kind: "purse",
          command: Schema.Struct({ coins: Schema.Literals([1, 2, 3]) }),
          fact: Schema.Struct({ coins: Schema.Int }),
          state: Schema.Struct({ euros: Schema.Finite }),
          initial: () => ({ euros: 0 }),
          evolve: ({ euros }, { coins }) => ({ euros: euros + coins * step }),
          decide: (_, { coins }) => Actor.decided({ facts: [{ coins }] })
        })
      const options = { seeds: 6, steps: 40, floods: false } as const
      const report = yield* simulate(purse(0.1), options)
      expect(report.reach.hints).toEqual([
        expect.stringMatching(/^purse: euros is \d+\.\d{12,}, which looks like a sum/)
      ])
      expect(report.reach.warnings).toEqual([])
      expect(describeReport(report)).toContain("  HINT: purse: euros is ")
      expect((yield* simulate(purse(0.5), options)).reach.hints).toEqual([])
    })
  )
})
