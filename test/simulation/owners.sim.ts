/**
 * Several owners of the same partitions under seeds: the real engine, tenure and asks between nodes, over messages that are lost, late
 * and repeated, placement that is wrong for a while, and nodes that stand still.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { describe as describeScenario, fromJson, generate, play } from "./owners/index.ts"
import { oneByOne, playUntilReached } from "./playUntilReached.ts"

/** Branches and answers that matter, which the seeds reach. */
const required = [
  "moved, taken",
  "moved, split",
  "locks out of sight",
  "a node stood still",
  "engine, fenced",
  "a request reached two owners",
  "answer, OutcomeUnknown"
]

/** Scenarios that once failed, made small. */
const corpus = new URL("owners/", import.meta.url)

describe("several owners", () => {
  it("keep their promises under seeds in which what matters happens", () => {
    const seeds = { first: 0, least: 10, most: 50, required }
    playUntilReached(seeds, oneByOne(generate, play, describeScenario))
  })

  it.each(readdirSync(corpus).filter((name) => name.endsWith(".json")))("keep them in %s", (name) => {
    const scenario = fromJson(readFileSync(new URL(name, corpus), "utf8"))
    if (play(scenario).violation !== undefined) expect.fail(describeScenario(scenario))
  })

  it("go the same way each time", () => {
    for (const seed of [1, 8]) {
      const [first, second] = [1, 2].map(() => play(generate(seed), { isTraced: true }))
      expect(first!.trace.length).toBeGreaterThan(100)
      expect(second!.trace).toEqual(first!.trace)
      expect(second!.fingerprint).toBe(first!.fingerprint)
    }
  })
})
