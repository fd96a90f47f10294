/**
 * `npm run test:send [-- --sends n] [--kills n] [--seed n]`: emails through the whole platform while it, its servers and its relay are killed again and again. The exit code tells
 * whether all of them were handed over, refused or held.
 */
import { longRun, numberedSeed, whole } from "../support/longRun.ts"
import { describeReport } from "./report.ts"
import { runSends } from "./run.ts"

await longRun({
  script: "test:send",
  options: {
    sends: whole("emails that are to be accepted", 20_000, 100, 100_000),
    kills: whole("how often something is killed", 12, 0, 100),
    seed: numberedSeed
  },
  run: runSends,
  describe: describeReport,
  failed: ({ violations }) => violations.length > 0
})
