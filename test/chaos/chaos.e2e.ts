/**
 * Three rounds of the chaos test (`npm run test:chaos` runs twenty): each kind of fault of the owning process and of a server once, in
 * the seed's order. The pause is longer than a publish attempt waits and than a confirmation of ownership counts.
 */
import { Effect } from "effect"
import { expect, it } from "vitest"
import { freshnessMillis } from "../../src/engine/limits.ts"
import { playBriefly } from "../support/longRun.ts"
import { describeReport } from "./report.ts"
import { runChaos } from "./run.ts"

/** For a machine that does much else. */
const runMillis = 600_000

it(
  "kept every acknowledged decision, once and whole, through kills and pauses of the engine, its log and its database",
  async () => {
    const seed = process.env.SLUICE_CHAOS_SEED ?? "three rounds"
    // No round of so few has a PostgreSQL that hangs.
    const times = { pauseMillis: freshnessMillis + 1_000, hangMillis: 1_000, checkpointMillis: 1_500 }
    const report = await playBriefly(
      (means) => Effect.runPromise(runChaos({ ...means, ...times, rounds: 3, seed })),
      describeReport
    )
    expect(report.violations).toEqual([])
    expect(report.decisions.acknowledged).toBeGreaterThan(3_000)
    // What was to be seen through has happened.
    expect(report.errors.ProcessGone?.count).toBeGreaterThan(0)
    expect(report.restarts).toBeGreaterThan(0)
    expect(report.log.purgedFrames).toBeGreaterThan(0)
    expect(report.decisions.lost).toBeGreaterThan(0)
    expect(report.messages).toBeGreaterThan(100)
  },
  runMillis
)
