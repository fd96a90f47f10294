/**
 * Measures the memory and the start of the number directory's index of the full data: a process with the
 * platform's stores and the directory beside one with the stores alone (`peers/indexHost.ts`), on a database that runs.
 */
import type { IndexHostReading, IndexHostSettings } from "../peers/indexHost.ts"
import { atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import { filledDataFolder, startPlatform } from "../runner/platform.ts"

const measure =
  (withIndex: boolean) =>
  async ({ watched, workbench }: Round): Promise<IndexHostReading> => {
    const platform = await workbench.once("platform for the index", async () =>
      startPlatform(workbench, { dataFolder: await filledDataFolder(workbench, "index") })
    )
    const postgresUrl = await platform.postgresUrl()
    const script = new URL("../peers/indexHost.ts", import.meta.url).pathname
    return watched(async () => {
      const child = workbench.start(process.execPath, ["--expose-gc", script], { channel: true })
      try {
        return (await child.ask({ postgresUrl, withIndex } satisfies IndexHostSettings)) as IndexHostReading
      } finally {
        await child.stop()
      }
    })
  }

export const directoryIndexBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "index",
    sides: { indexed: measure(true), bare: measure(false) },
    rows: [
      {
        name: "memory",
        unit: "MB",
        figure: ({ bare, indexed }) => indexed.residentMegabytes - bare.residentMegabytes,
        goal: atMost(30),
        note: "resident, above the process without it"
      },
      {
        name: "live-memory",
        unit: "MB",
        figure: ({ bare, indexed }) => indexed.liveMegabytes - bare.liveMegabytes,
        goal: atMost(30),
        note: "heap and buffers, above the process without it"
      },
      {
        name: "ready",
        unit: "s",
        figure: ({ indexed }) => indexed.readySeconds,
        goal: atMost(2),
        over: "worst",
        note: "from the start of the process, its database running"
      }
    ]
  })
]
