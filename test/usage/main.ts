/**
 * `npm run test:usage [-- --kills n] [--requests n] [--seed n]`: usage of a platform that is killed again and again, recounted from its log. The exit code tells whether the figures
 * are the same.
 */
import { killRun } from "../support/killRun.ts"
import { describeUsage, runUsage } from "./run.ts"

const usage = `Usage: npm run test:usage [-- options]

  --kills n      how often the platform is killed, 0 to 100; default 10
  --requests n   requests between two kills, 50 to 100,000; default 2000
  --seed n       repeats the moments of an earlier run's kills; default: random`

await killRun({
  usage,
  options: { kills: [10, 0, 100], requests: [2_000, 50, 100_000] },
  run: runUsage,
  describe: describeUsage
})
