/** Some hundred requests with an odd field to a whole platform (`npm run test:fuzz` makes 20,000). */
import { expect, it } from "vitest"
import { playBriefly } from "../support/longRun.ts"
import { describeFuzz, runFuzz } from "./run.ts"

/** For a machine that does much else. */
const runMillis = 500_000

it(
  "[platform 1.2] one odd field in a valid request is never the platform's fault, and leaves no complaint in its log",
  async () => {
    const report = await playBriefly((means) => runFuzz({ ...means, requests: 300, seed: 8 }), describeFuzz)
    expect(report.violations).toEqual([])
    expect(report.requests).toBeGreaterThan(250)
    // Both have happened.
    expect(report.statuses.get(400)).toBeGreaterThan(0)
    expect(report.statuses.get(200)).toBeGreaterThan(0)
  },
  runMillis
)
