/**
 * `npm run test:chaos [-- --rounds n] [--seed text] [--pause seconds] [--hang seconds]`: the engine in real processes on real servers,
 * which are killed and stopped in random order. The exit code tells whether all was well.
 */
import { Effect } from "effect"
import { longRun, namedSeed, seconds, whole } from "../support/longRun.ts"
import { describeReport } from "./report.ts"
import { runChaos } from "./run.ts"

await longRun({
  script: "test:chaos",
  options: {
    rounds: whole("rounds of faults", 20, 1, 1_000),
    seed: namedSeed,
    pause: seconds("seconds for which what is stopped stays so; more than every timeout", 12, 1, 600),
    hang: seconds("seconds for which PostgreSQL hangs, in the tenth round and every twentieth after it", 120, 1, 3_600)
  },
  run: ({ hang, pause, rounds, seed, signal, tell }) => {
    const times = { pauseMillis: pause * 1_000, hangMillis: hang * 1_000, checkpointMillis: 5_000 }
    return Effect.runPromise(runChaos({ rounds, seed, tell, ...times }), { signal })
  },
  describe: describeReport,
  failed: ({ violationCount }) => violationCount > 0
})
