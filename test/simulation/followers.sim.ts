/** Programs that follow actors while processes die, stop, stand still and replace each other: every fact once and in order, no state before another. */
import "effect/schema/SchemaJITCompiler/enable"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { describeFailure, explain, fromJson, generate, play } from "../../src/simulation/index.ts"
import { followed, requiredFollowerMarks } from "./followers/followed.ts"
import { onEngine, playUntilReached } from "./playUntilReached.ts"

const corpus = new URL("followers/", import.meta.url)

describe("followers", () => {
  it("miss nothing under seeds that reach all that can become of a stream", () => {
    playUntilReached(
      { rare: [60], first: 0, least: 15, most: 150, required: requiredFollowerMarks },
      onEngine(followed)
    )
  })

  it("play the same each time, line by line", () => {
    const [first, second] = [1, 2].map(() => play(generate(followed, 3), followed, { isTraced: true }))
    expect(first!.trace.some((line) => line.includes("is given"))).toBe(true)
    expect(second!.trace).toEqual(first!.trace)
  })

  for (const name of existsSync(corpus) ? readdirSync(corpus).filter((name) => name.endsWith(".json")) : [])
    it(`miss nothing in ${name}`, () => {
      const failure = explain(followed, fromJson(readFileSync(new URL(name, corpus), "utf8")))
      if (failure !== undefined) expect.fail(describeFailure(failure))
    })
})
