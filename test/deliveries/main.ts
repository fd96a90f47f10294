/**
 * `npm run test:deliveries [-- --events n] [--kills n] [--seed n]`: events through the whole platform while it is killed again and again. The exit
 * code tells whether all of them arrived.
 */
import { killRun } from "../support/killRun.ts"
import { describeReport } from "./report.ts"
import { runKills } from "./run.ts"

const usage = `Usage: npm run test:deliveries [-- options]

  --events n   lookups that are to be answered, 100 to 1,000,000; default 10000
  --kills n    how often the platform is killed, 0 to 100; default 5
  --seed n     repeats the moments of an earlier run's kills; default: random`

await killRun({
  usage,
  options: { events: [10_000, 100, 1_000_000], kills: [5, 0, 100] },
  run: runKills,
  describe: describeReport
})
