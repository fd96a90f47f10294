/**
 * `npm run test:send [-- --sends n] [--kills n] [--seed n]`: emails through the whole platform while it, its servers and its relay are killed again and again. The exit code tells
 * whether all of them were handed over, refused or held.
 */
import { killRun } from "../support/killRun.ts"
import { describeReport } from "./report.ts"
import { runSends } from "./run.ts"

const usage = `Usage: npm run test:send [-- options]

  --sends n    emails that are to be accepted, 100 to 100,000; default 20000
  --kills n    how often something is killed, 0 to 100; default 12
  --seed n     repeats the moments of an earlier run's kills; default: random`

await killRun({
  usage,
  options: { sends: [20_000, 100, 100_000], kills: [12, 0, 100] },
  run: runSends,
  describe: describeReport
})
