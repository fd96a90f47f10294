/** Three kills of the whole platform among some thousand events (`npm run test:deliveries` makes five among 10,000). */
import { expect, it } from "vitest"
import { playBriefly } from "../support/longRun.ts"
import { describeReport } from "./report.ts"
import { runKills } from "./run.ts"

/** For a machine that does much else. */
const runMillis = 400_000

const events = 600

it(
  "[platform 4.2, 7.6] delivers every answered event at least once, signed, though the platform is killed -9 three times",
  async () => {
    const seed = Number(process.env.SLUICE_DELIVERIES_SEED ?? 3)
    const report = await playBriefly((means) => runKills({ ...means, events, kills: 3, seed }), describeReport)
    expect(report.violations).toEqual([])
    expect(report.kills).toBe(3)
    expect(report.answered).toBeGreaterThanOrEqual(events)
    // What was to be seen through has happened.
    expect(report.refused).toBeGreaterThan(0)
    expect(report.lost + report.loggedUnanswered + report.duplicates).toBeGreaterThan(0)
  },
  runMillis
)
