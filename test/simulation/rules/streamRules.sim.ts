/** A simulation finds wrong programs around streams and tables, and finds nothing in right ones. */
import "effect/schema/SchemaJITCompiler/enable"
import { describe, expect, it } from "@effect/vitest"
import { campaign, describeFailure, makeSmall } from "../../../src/simulation/index.ts"
import { rightPrograms, wrongPrograms } from "./streamRules.ts"

/** Seeds within which each is found. */
const seeds = 50

describe("a program that is wrong", () => {
  it.each(wrongPrograms.map((program) => [program.name, program] as const))("%s: is found", (_name, {
    checker,
    plan,
    says
  }) => {
    const { workload } = plan()
    const { failure } = campaign(workload, { seed: 0, seeds, isShrunk: false })
    expect(failure?.violation).toMatchObject({ checker, message: expect.stringContaining(says) })
  })

  it("is made small, and its finding shows the course of events", () => {
    const { plan } = wrongPrograms.find(({ name }) => name === "a projection that sees one sale of a batch")!
    const { workload } = plan()
    const { failure } = campaign(workload, { seed: 0, seeds, isShrunk: false })
    const small = makeSmall(workload, failure!)
    expect(failure!.scenario.steps.length).toBe(failure!.drawnSteps)
    expect(small.scenario.steps.length).toBeLessThan(6)
    expect(describeFailure(small)).toContain("makes of the same records")
  })
})

/** Seeds of each right program. With `SLUICE_TEST_SEEDS=all` 200. */
const rightSeeds = process.env.SLUICE_TEST_SEEDS === "all" ? 200 : 12

describe("a program that is right", () => {
  it.each(rightPrograms.map((program) => [program.name, program] as const))("%s: nothing is said of it", (_name, {
    plan
  }) => {
    const { reachOf, workload } = plan()
    const { failure, marks } = campaign(workload, { seed: 0, seeds: rightSeeds })
    if (failure !== undefined) expect.fail(describeFailure(failure))
    const { rebuilds, warnings } = reachOf(marks)
    expect(warnings).toEqual([])
    // Those with a projection are built anew, often.
    if (workload.projections !== undefined) expect(rebuilds).toBeGreaterThan(0)
  })
})
