/** How soon a partition serves again when its log holds a million facts and no checkpoint covers any of them. */
import { atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import { ChildFailed } from "../runner/child.ts"
import { newDataFolder } from "../runner/platform.ts"
import type { Workbench } from "../runner/workbench.ts"
import type { RecoveryLoad, RecoverySample } from "../workloads/recovery.ts"
import type { Addresses } from "../workloads/servers.ts"
import { runWorkload, startWorkload } from "../workloads/workload.ts"

const log = { frames: 10_000, factsPerFrame: 100, organizations: 1_000 }
/** Frames that may have become two, and claims of the rounds' starts. */
const furtherFrames = 300

const filledLog = (workbench: Workbench): Promise<Addresses> =>
  workbench.once("log of a million facts", async () => {
    const { told: servers } = await startWorkload<Addresses>(workbench, "serversHost", {
      dataFolder: newDataFolder(workbench, "recovery")
    })
    const started = performance.now()
    const { child } = await startWorkload(workbench, "recovery", { ...log, task: "fill", servers })
    await child.stop()
    workbench.log(`  filled a log in ${((performance.now() - started) / 1000).toFixed(1)} s`)
    return servers
  })

export const engineRecoveryBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "engine/recovery",
    sides: {
      sluice: async (round: Round) => {
        const load: RecoveryLoad = { ...log, task: "recover", servers: await filledLog(round.workbench) }
        const sample = await runWorkload<RecoverySample>(round, "recovery", load)
        if (sample.lastSequence > log.frames + furtherFrames) {
          throw new ChildFailed(`the log has ${sample.lastSequence} frames, so they are smaller than they should be`)
        }
        return sample
      }
    },
    rows: [
      {
        name: "1,000,000-facts",
        unit: "s",
        figure: ({ sluice }) => sluice.readySeconds,
        goal: atMost(4),
        note: `${log.frames} frames of ${log.factsPerFrame} facts of ${log.organizations} organizations, one partition, from connecting until it serves`
      }
    ]
  })
]
