/** Five kills among some hundred sends (`npm run test:send` makes twelve among 20,000). */
import { expect, it } from "vitest"
import { playBriefly } from "../support/longRun.ts"
import { describeReport } from "./report.ts"
import { runSends } from "./run.ts"

/** For a machine that does much else. */
const runMillis = 400_000

const sends = 600

it(
  "hands over, reports or holds every answered email, once under each key and within every cap, though the platform, its servers and its relay are killed -9",
  async () => {
    const seed = Number(process.env.SLUICE_SENDING_SEED ?? 3)
    const report = await playBriefly((means) => runSends({ ...means, sends, kills: 3, seed }), describeReport)
    expect(report.violations).toEqual([])
    // The caps were met: of the account, and of a sender.
    expect(report.refused).toBeGreaterThan(0)
    expect(report.held).toBeGreaterThan(0)
    expect(report.sent).toBeGreaterThan(sends / 2)
    expect(report.bounced).toBeGreaterThan(0)
  },
  runMillis
)
