/** An account that sends under the engine's faults: a fixed set of seeds, which reach every refusal, every hold and the end of a pause. */
import "effect/schema/SchemaJITCompiler/enable"
import { describe, expect, it } from "@effect/vitest"
import { campaign, describeFailure, requiredSendMarks, sendAccounts } from "../../src/simulation/index.ts"

/** Seeds from 0, and steps of each: days go by in one. */
const seeds = 150
const steps = 60

describe("an account that sends", () => {
  it(`keeps what its rules promise under ${seeds} seeds`, () => {
    const { failure, marks } = campaign(sendAccounts, { seed: 0, seeds, steps })
    if (failure !== undefined) expect.fail(describeFailure(failure))
    expect(requiredSendMarks.filter((mark) => !marks.counts.has(mark))).toEqual([])
  })
})
