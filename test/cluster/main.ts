/**
 * `npm run test:cluster [-- --rounds n] [--fault text]`: three machines as network namespaces, each with a NATS server and a node, under load and faults. Needs root. The
 * exit code tells whether nothing was lost and every partition came back in time.
 */
import { BadOptions, longRun, text, whole } from "../support/longRun.ts"
import { describeReport, faults, runCluster } from "./run.ts"

await longRun({
  script: "test:cluster",
  options: {
    rounds: whole("rounds of faults", 20, 1, 1_000),
    fault: text("only faults whose name has this in it; without it all, one after the other"),
    logs: text("a folder for what the nodes write")
  },
  run: async ({ fault = "", rounds, ...given }) => {
    const chosen = faults.filter(({ name }) => name.includes(fault))
    if (chosen.length === 0) throw new BadOptions(`no fault has "${fault}" in its name`)
    return runCluster({
      ...given,
      faults: Array.from({ length: rounds }, (_, round) => chosen[round % chosen.length]!)
    })
  },
  describe: describeReport,
  failed: ({ late, violations }) => violations.length + late.length > 0
})
