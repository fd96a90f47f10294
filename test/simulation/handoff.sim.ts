/**
 * The hand-off of mail under seeds: the real workers, tasks of acknowledged frames and account rules over stores and a
 * relay that fail. Every fault is reached, and the same seed gives the same run.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { describe as describeScenario, fromJson, generate, play, requiredMarks } from "./handoff/index.ts"
import { oneByOne, playUntilReached } from "./playUntilReached.ts"

/** Scenarios that once failed, made small. */
const corpus = new URL("handoff/", import.meta.url)

describe("accepted mail", () => {
  it("is lost under no seed, and comes twice for a reason only", () => {
    const seeds = { first: 0, least: 40, most: 120, required: requiredMarks }
    playUntilReached(seeds, oneByOne(generate, play, describeScenario))
  })

  it.each(readdirSync(corpus).filter((name) => name.endsWith(".json")))("keeps its promises in %s", (name) => {
    const scenario = fromJson(readFileSync(new URL(name, corpus), "utf8"))
    if (play(scenario).violation !== undefined) expect.fail(describeScenario(scenario))
  })

  it("goes the same way each time", () => {
    for (const seed of [1, 8]) {
      const [first, second] = [1, 2].map(() => play(generate(seed), { isTraced: true }).trace)
      expect(first!.length).toBeGreaterThan(40)
      expect(second).toEqual(first)
    }
  })
})
