/** A simulation finds rules that wait for ever by a sentence about time, and says nothing of those that are in time. */
import "effect/schema/SchemaJITCompiler/enable"
import { describe, expect, it } from "@effect/vitest"
import { campaign, describeFailure } from "../../../src/simulation/index.ts"
import { punctualRules, starvingRules } from "./timeRules.ts"

/** Seeds within which each is found. */
const seeds = 500

/** Steps of a rule that is kept from its end: commands must come again and again. */
const maximumChain = 20

describe("a rule that starves", () => {
  it.each(starvingRules.map((rule) => [rule.name, rule] as const))("%s: is found by its sentence", (_name, {
    plan,
    says,
    seed = 0
  }) => {
    const { failure } = campaign(plan().workload, { seed, seeds })
    expect(failure?.violation).toMatchObject({ checker: "eventually", message: expect.stringContaining(says) })
    expect(failure!.violation.message).toMatch(/since 20\d\d-.*Z, for \d+ ms, .* Its state was \{.*\} then/)
    expect(failure!.scenario.steps.length).toBeLessThanOrEqual(maximumChain)
  })
})

/** Seeds of each right rule. With `SLUICE_TEST_SEEDS=all` 200. */
const rightSeeds = process.env.SLUICE_TEST_SEEDS === "all" ? 200 : 5

describe("a rule that is in time", () => {
  it.each(punctualRules.map((rule) => [rule.name, rule] as const))("%s: nothing is said of it", (_name, { plan }) => {
    const { reachOf, workload } = plan()
    const { failure, marks } = campaign(workload, { seed: 0, seeds: rightSeeds })
    if (failure !== undefined) expect.fail(describeFailure(failure))
    const { eventually, warnings } = reachOf(marks)
    expect(warnings).toEqual([])
    // Each time that began came to its end.
    for (const { begun, kept } of eventually) expect([begun, kept]).toEqual([expect.any(Number), begun])
  })
})
