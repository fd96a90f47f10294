/** The simulator bites: with any one rule of the engine switched off, a checker complains within a fixed number of seeds. */
import "effect/schema/SchemaJITCompiler/enable"
import { describe, expect, it } from "@effect/vitest"
import { sabotages } from "../../src/engine/sabotage.ts"
import { bank, generate, play } from "../../src/simulation/index.ts"

/** Seeds after which a sabotage counts as not noticed. */
const patience = 300

describe("with a rule switched off", () => {
  it.each(sabotages)("%s is noticed", (sabotage) => {
    for (let seed = 0; seed < patience; seed++) {
      const { violation } = play(generate(bank, seed), bank, { sabotage: new Set([sabotage]) })
      if (violation === undefined) continue
      console.log(`${sabotage}: noticed after ${seed + 1} seeds by "${violation.checker}"`)
      return
    }
    expect.fail(`not noticed in ${patience} seeds`)
  })
})
