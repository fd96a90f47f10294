/**
 * `npm run test:deliveries [-- --events n] [--kills n] [--seed n]`: events through the whole platform while it is killed again and again. The exit
 * code tells whether all of them arrived.
 */
import { longRun, numberedSeed, whole } from "../support/longRun.ts"
import { describeReport } from "./report.ts"
import { runKills } from "./run.ts"

await longRun({
  script: "test:deliveries",
  options: {
    events: whole("look-ups that are to be answered", 10_000, 100, 1_000_000),
    kills: whole("how often the platform is killed", 5, 0, 100),
    seed: numberedSeed
  },
  run: runKills,
  describe: describeReport,
  failed: ({ violations }) => violations.length > 0
})
