/**
 * `npm run test:console [-- --events n] [--emails n] [--requests n]`: searches of the console's lists in a large organization. The exit code tells whether
 * each is as fast as it should be.
 */
import { longRun, whole } from "../support/longRun.ts"
import { describeSearches, isSlow, runSearches } from "./searches.ts"

await longRun({
  script: "test:console",
  options: {
    events: whole("events in the log", 1_000_000, 10_000, 10_000_000),
    emails: whole("emails", 200_000, 1_000, 10_000_000),
    requests: whole("requests of each search", 100, 10, 10_000)
  },
  run: runSearches,
  describe: describeSearches,
  failed: ({ rows }) => rows.some(isSlow)
})
