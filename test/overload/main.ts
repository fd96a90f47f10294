/**
 * `npm run test:overload [-- --seconds n] [--factor n] [--connections n] [--slow n] [--behind n]`: a platform that is asked for several times of what it can do. The exit code tells whether it
 * stayed within its bounds.
 */
import { longRun, whole } from "../support/longRun.ts"
import { describeOverload, runOverload } from "./run.ts"

await longRun({
  script: "test:overload",
  options: {
    seconds: whole("how long it is overloaded", 20, 2, 600),
    factor: whole("how many times its capacity is sent", 5, 1, 20),
    connections: whole("connections of the flood", 1_000, 8, 10_000),
    slow: whole("clients that are slow to send or to read", 100, 0, 1_000),
    behind: whole("requests that may wait on one connection", 1, 1, 64)
  },
  run: runOverload,
  describe: describeOverload,
  failed: ({ violations }) => violations.length > 0
})
