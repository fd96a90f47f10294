/**
 * `npm run test:fuzz [-- --requests n] [--seed n] [--only text]`: valid requests with one odd field, to every endpoint of both APIs of a whole platform. The exit code tells whether none was
 * answered with 5xx, a third succeeded, and the logs came to rest without a complaint.
 */
import { longRun, numberedSeed, text, whole } from "../support/longRun.ts"
import { describeFuzz, runFuzz } from "./run.ts"

await longRun({
  script: "test:fuzz",
  options: {
    requests: whole("requests with an odd field", 20_000, 100, 10_000_000),
    seed: numberedSeed,
    only: text("only endpoints whose method and path have one of these in them, with commas between; without it all")
  },
  run: runFuzz,
  describe: describeFuzz,
  failed: ({ violations }) => violations.length > 0
})
