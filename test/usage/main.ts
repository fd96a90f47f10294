/**
 * `npm run test:usage [-- --kills n] [--requests n] [--seed n]`: usage of a platform that is killed again and again, recounted from its log. The exit code tells whether the figures
 * are the same.
 */
import { longRun, numberedSeed, whole } from "../support/longRun.ts"
import { describeUsage, runUsage } from "./run.ts"

await longRun({
  script: "test:usage",
  options: {
    kills: whole("how often the platform is killed", 10, 0, 100),
    requests: whole("requests between two kills", 2_000, 50, 100_000),
    seed: numberedSeed
  },
  run: runUsage,
  describe: describeUsage,
  failed: ({ violations }) => violations.length > 0
})
