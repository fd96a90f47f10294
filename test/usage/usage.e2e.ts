/** Two kills of the platform while it counts (`npm run test:usage` makes ten). */
import { expect, it } from "vitest"
import { playBriefly } from "../support/longRun.ts"
import { describeUsage, runUsage } from "./run.ts"

/** For a machine that does much else. */
const runMillis = 300_000

it(
  "[platform 11.8] the figures are those of the log's facts though the platform is killed -9 twice, and no report counts twice",
  async () => {
    const report = await playBriefly(
      (means) => runUsage({ ...means, kills: 2, requests: 400, seed: 18 }),
      describeUsage
    )
    expect(report.violations).toEqual([])
    // What was to be seen through has happened.
    expect(report.lookups[2]).toBeGreaterThan(0)
    expect(report.reads[2]).toBeGreaterThan(0)
    expect(report.reported).toBeGreaterThan(0)
    expect(report.sent).toBeGreaterThan(0)
  },
  runMillis
)
