/** An account that sends under the engine's faults: a fixed set of seeds, which reach every refusal, every hold and the end of a pause. */
import "effect/schema/SchemaJITCompiler/enable"
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import {
  campaign,
  describeFailure,
  explain,
  fromJson,
  requiredSendMarks,
  sendAccounts
} from "../../src/simulation/index.ts"

/** Seeds that reach all marks between them, and steps of each: days go by in one. */
const seed = 600
const seeds = 150
const steps = 60

/** Scenarios that once found something. */
const corpus = new URL("send/", import.meta.url)

describe("an account that sends", () => {
  it(`keeps what its rules promise under ${seeds} seeds`, () => {
    const { failure, marks } = campaign(sendAccounts, { seed, seeds, steps })
    if (failure !== undefined) expect.fail(describeFailure(failure))
    expect(requiredSendMarks.filter((mark) => !marks.counts.has(mark))).toEqual([])
  })
  it.each(readdirSync(corpus))("keeps it in %s", (name) => {
    const failure = explain(sendAccounts, fromJson(readFileSync(new URL(name, corpus), "utf8")))
    if (failure !== undefined) expect.fail(describeFailure(failure))
  })
})
