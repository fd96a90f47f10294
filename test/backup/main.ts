/**
 * `npm run test:backup [-- --seconds n] [--backups n] [--kills n] [--seed n]`: a platform under load is backed up again and again, also by backups
 * that are killed, lost, restored and audited. The exit code tells whether everything that was answered is there.
 */
import { longRun, numberedSeed, seconds, whole } from "../support/longRun.ts"
import { describeBackups, runBackups } from "./run.ts"

await longRun({
  script: "test:backup",
  options: {
    seconds: seconds("how long the load goes on", 60, 5, 36_000),
    backups: whole("backups that are taken meanwhile", 4, 2, 100),
    kills: whole("backups that are killed (-9) in the middle", 4, 0, 100),
    callers: whole("requests at the same time", 16, 1, 256),
    seed: numberedSeed
  },
  run: runBackups,
  describe: describeBackups,
  failed: ({ violations }) => violations.length > 0
})
