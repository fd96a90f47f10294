/** A simulation finds wrong programs around workers, and finds nothing in right ones. */
import "effect/schema/SchemaJITCompiler/enable"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { campaign, describeFailure, explain, fromJson } from "../../../src/simulation/index.ts"
import { rightPrograms, wrongPrograms } from "./workerRules.ts"

/** Seeds within which each is found. */
const seeds = 50

describe("a program with a worker that is wrong", () => {
  it.each(wrongPrograms.map((program) => [program.name, program] as const))("%s: is found", (_name, {
    checker,
    plan,
    says
  }) => {
    const { workload } = plan()
    const { failure } = campaign(workload, { seed: 0, seeds, isShrunk: false })
    expect(failure?.violation).toMatchObject({ checker, message: expect.stringContaining(says) })
  })
})

/** Seeds of each right program. With `SLUICE_TEST_SEEDS=all` 200. */
const rightSeeds = process.env.SLUICE_TEST_SEEDS === "all" ? 200 : 4

describe("a program with a worker that is right", () => {
  it.each(rightPrograms.map((program) => [program.name, program] as const))("%s: nothing is said of it", (_name, {
    plan
  }) => {
    const { reachOf, workload } = plan()
    const { failure, marks } = campaign(workload, { seed: 0, seeds: rightSeeds })
    if (failure !== undefined) expect.fail(describeFailure(failure))
    expect(reachOf(marks).warnings).toEqual([])
    expect([...marks.counts.keys()].some((mark) => mark.startsWith("worker, called again"))).toBe(true)
  })
})

/** Scenarios that have found faults, by the program that they play. */
const kept = [["reply-asked-behind-its-lease", "outcomes that count because their replies do"]] as const

describe("a scenario that has found a fault of workers", () => {
  it.each(kept)("%s: stays right", (file, name) => {
    const scenario = fromJson(readFileSync(new URL(`workers/${file}.json`, import.meta.url), "utf8"))
    const { workload } = rightPrograms.find((program) => program.name === name)!.plan()
    const failure = explain(workload, scenario)
    if (failure !== undefined) expect.fail(describeFailure(failure))
  })
})
