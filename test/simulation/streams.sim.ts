/** The engine with streams of a program under seeds: each message counts once, each record is published, whatever fails. */
import "effect/schema/SchemaJITCompiler/enable"
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { describeFailure, explain, fromJson, requiredStreamMarks } from "../../src/simulation/index.ts"
import { streamedBank } from "./bank/streamedBank.ts"
import { onEngine, playUntilReached } from "./playUntilReached.ts"

const corpus = new URL("streams/", import.meta.url)

describe("the engine with streams", () => {
  it("keeps its promises under seeds that reach every fault of a stream", () => {
    playUntilReached(
      { rare: [], first: 0, least: 20, most: 500, required: requiredStreamMarks },
      onEngine(streamedBank)
    )
  })

  it.each(readdirSync(corpus).filter((name) => name.endsWith(".json")))("keeps them in %s", (name) => {
    const scenario = fromJson(readFileSync(new URL(name, corpus), "utf8"))
    const failure = explain(streamedBank, scenario)
    if (failure !== undefined) expect.fail(describeFailure(failure))
  })
})
