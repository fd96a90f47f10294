/** The engine under a fixed set of seeds and under every scenario that ever failed; each fault and each branch of recovery is reached. */
import "effect/schema/SchemaJITCompiler/enable"
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import {
  bank,
  campaign,
  describeFailure,
  explain,
  fromJson,
  generate,
  play,
  requiredMarks,
  toJson
} from "../../src/simulation/index.ts"

/** The fixed set: seeds from 0. */
const seeds = 500

const corpus = new URL("corpus/", import.meta.url)

describe("the engine", () => {
  it(`keeps its promises under ${seeds} seeds, and they reach every fault and every branch`, () => {
    const begun = performance.now()
    const { failure, marks, played } = campaign(bank, { seed: 0, seeds })
    if (failure !== undefined) expect.fail(describeFailure(failure))
    expect(requiredMarks.filter((mark) => !marks.counts.has(mark))).toEqual([])
    console.log(`${played} scenarios, ${((played / (performance.now() - begun)) * 1000).toFixed(0)} a second`)
  })

  it.each(readdirSync(corpus).filter((name) => name.endsWith(".json")))("keeps them in %s", (name) => {
    const scenario = fromJson(readFileSync(new URL(name, corpus), "utf8"))
    const failure = explain(bank, scenario)
    if (failure !== undefined) expect.fail(describeFailure(failure))
  })
})

describe("a scenario", () => {
  it("plays the same each time, line by line", () => {
    for (const seed of [1, 7, 50]) {
      const [first, second] = [1, 2].map(() => play(generate(bank, seed), bank, { isTraced: true }))
      expect(first!.trace.length).toBeGreaterThan(100)
      expect(second!.trace).toEqual(first!.trace)
      expect(second!.fingerprint).toBe(first!.fingerprint)
    }
  })

  it("is the same after it was saved", () => {
    const scenario = generate(bank, 3)
    const saved = fromJson(toJson(scenario))
    expect(saved).toEqual(scenario)
    expect(play(saved, bank).fingerprint).toBe(play(scenario, bank).fingerprint)
  })

  it("refuses a file that holds none", () => {
    expect(() => fromJson('{"seed":1}')).toThrow()
  })
})
