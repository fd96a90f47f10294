/** An account that sends under the engine's faults: seeds that reach every refusal, every hold and the end of a pause. */
import "effect/schema/SchemaJITCompiler/enable"
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { describeFailure, explain, fromJson } from "../../src/simulation/index.ts"
import { onEngine, playUntilReached } from "./playUntilReached.ts"
import { requiredSendMarks, sendAccounts } from "./send/sendAccounts.ts"

/** Steps of a seed: days go by in one. */
const steps = 60

/** Scenarios that once found something. */
const corpus = new URL("send/", import.meta.url)

describe("an account that sends", () => {
  it("keeps what its rules promise under seeds that reach all that matters", () => {
    const rare = [707, 710, 713, 723, 731, 737]
    const seeds = { rare, first: 600, least: 15, most: 150, required: requiredSendMarks }
    playUntilReached(seeds, onEngine(sendAccounts, steps))
  })
  it.each(readdirSync(corpus).filter((name) => name.endsWith(".json")))("keeps it in %s", (name) => {
    const failure = explain(sendAccounts, fromJson(readFileSync(new URL(name, corpus), "utf8")))
    if (failure !== undefined) expect.fail(describeFailure(failure))
  })
})
