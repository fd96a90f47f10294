/** A simulation finds wrong rules soon and makes the finding small, and finds nothing in right ones. */
import "effect/schema/SchemaJITCompiler/enable"
import { describe, expect, it } from "@effect/vitest"
import { campaign, describeFailure } from "../../../src/simulation/index.ts"
import { rightRules, wrongRules } from "./wrongRules.ts"

/** Seeds within which each is found. Nearly all are by the first few. */
const seeds = 500

/** Steps that are left of it at most. */
const maximumSteps = 10

describe("a rule that is wrong", () => {
  it.each(wrongRules.map((rule) => [rule.name, rule] as const))("%s: is found and made small", (_name, {
    plan,
    says,
    seed = 0
  }) => {
    const { problem, workload } = plan()
    const failure = problem ?? campaign(workload, { seed, seeds }).failure
    expect(failure?.violation.message).toContain(says)
    expect(failure!.scenario.steps.length).toBeLessThanOrEqual(maximumSteps)
    expect(failure!.isSmall).toBe(true)
  })
})

describe("a rule that is right", () => {
  it.each(rightRules.map((rule) => [rule.name, rule] as const))("%s: nothing is said of it", (_name, { plan }) => {
    const { problem, reachOf, workload } = plan()
    expect(problem).toBeUndefined()
    const { failure, marks } = campaign(workload, { seed: 0, seeds: 15 })
    if (failure !== undefined) expect.fail(describeFailure(failure))
    const reach = reachOf(marks)
    expect(reach.warnings).toEqual([])
    expect(reach.jumps).toBeGreaterThan(0)
    expect(reach.restarts).toBeGreaterThan(15)
  })
})
