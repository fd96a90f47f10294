/** How long `sluice serve` takes until it is ready, its servers' programs present on this machine. */
import { rm } from "node:fs/promises"
import { atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import { filledDataFolder, newDataFolder, startPlatform } from "../runner/platform.ts"

const start = async ({ watched, workbench }: Round, dataFolder: string) => {
  const platform = await watched(() => startPlatform(workbench, { dataFolder }))
  await platform.stop()
  return { readySeconds: platform.readySeconds }
}

export const startupBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "startup/first",
    sides: {
      sluice: async (round: Round) => {
        const dataFolder = newDataFolder(round.workbench, `first-${performance.now()}`)
        try {
          return await start(round, dataFolder)
        } finally {
          await rm(dataFolder, { recursive: true, force: true })
        }
      }
    },
    rows: [
      {
        name: "ready",
        unit: "s",
        figure: ({ sluice }) => sluice.readySeconds,
        goal: atMost(15),
        over: "worst",
        note: "empty folder: servers initialized, bundled data loaded"
      }
    ]
  }),
  benchmark({
    name: "startup/later",
    sides: { sluice: async (round: Round) => start(round, await filledDataFolder(round.workbench)) },
    rows: [{ name: "ready", unit: "s", figure: ({ sluice }) => sluice.readySeconds, goal: atMost(4), over: "worst" }]
  })
]
