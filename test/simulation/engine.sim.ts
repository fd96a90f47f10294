/** The engine under seeds and under every scenario that ever failed; each fault and each branch of recovery is reached. */
import "effect/schema/SchemaJITCompiler/enable"
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import {
  describeFailure,
  explain,
  fromJson,
  generate,
  play,
  requiredMarks,
  toJson
} from "../../src/simulation/index.ts"
import { bank } from "./bank/bank.ts"
import { streamedBank } from "./bank/streamedBank.ts"
import { onEngine, playUntilReached } from "./playUntilReached.ts"

const corpus = new URL("corpus/", import.meta.url)

describe("the engine", () => {
  it("keeps its promises under seeds that reach every fault and every branch", () => {
    const rare = [78, 84, 86, 89, 97, 102, 104, 115, 122, 123, 129, 138, 145, 150, 163, 177, 181, 310, 324]
    playUntilReached({ rare, first: 0, least: 40, most: 500, required: requiredMarks }, onEngine(bank))
  })

  it.each(readdirSync(corpus).filter((name) => name.endsWith(".json")))("keeps them in %s", (name) => {
    const scenario = fromJson(readFileSync(new URL(name, corpus), "utf8"))
    const failure = explain(scenario.workload === streamedBank.name ? streamedBank : bank, scenario)
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
