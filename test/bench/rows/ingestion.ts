/**
 * The whole US file into a fresh platform that knows none of its codes, by the command line as an operator does it: time
 * of the command, and of the serving process the memory and the longest time its event loop was held, until the new
 * index answers. The file is the bundled snapshot.
 */
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import pg from "pg"
import type { ProbeReading } from "../peers/probe.ts"
import { atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import { ChildFailed, finished } from "../runner/child.ts"
import { peakMegabytesOf } from "../runner/cpu.ts"
import {
  filledDataFolder,
  keyHeaders,
  type Platform,
  platformSettings,
  program,
  root,
  startPlatform
} from "../runner/platform.ts"
import type { Workbench } from "../runner/workbench.ts"

const bundled = join(root, "src/directory/data")
const usFile = /^CoCodeAssignment_Utilized/

/** Removes the US codes as if their file had never been read, and leaves no dead rows behind. */
const forgetUsCodes = async (postgresUrl: string): Promise<void> => {
  const client = new pg.Client({ connectionString: postgresUrl })
  await client.connect()
  try {
    await client.query(`
      begin;
      create temporary table kept on commit drop as select * from directory_codes where country <> 'US';
      truncate directory_codes;
      insert into directory_codes select * from kept;
      update directory_generation set generation = generation + 1;
      commit`)
  } finally {
    await client.end()
  }
}

/** A data folder without the US codes. Rounds take copies of it, as each fills its own. */
const folderWithoutUsCodes = (workbench: Workbench): Promise<string> =>
  workbench.once("data folder without US codes", async () => {
    const dataFolder = await filledDataFolder(workbench, "ingestion")
    const platform = await startPlatform(workbench, { dataFolder })
    await forgetUsCodes(await platform.postgresUrl())
    await platform.stop()
    return dataFolder
  })

const copyOf = async (workbench: Workbench, folder: string): Promise<string> => {
  const copy = join(workbench.folder, `ingestion-${performance.now()}`)
  // The database's files belong to another user where this one is root.
  await finished(workbench.start("cp", ["-a", folder, copy]), "cp")
  return copy
}

/** How often the platform is asked which records it answers from. */
const pollMillis = 20
const swapTimeoutMillis = 30_000

/** Waits until the platform answers for a US area code with this status. */
const untilUsAnswers = async (platform: Platform, status: number): Promise<void> => {
  const deadline = performance.now() + swapTimeoutMillis
  while (performance.now() < deadline) {
    const response = await fetch(`${platform.url}/v1/npa/212`, { headers: keyHeaders })
    await response.arrayBuffer()
    if (response.status === status) return
    await new Promise((resolve) => setTimeout(resolve, pollMillis))
  }
  throw new ChildFailed(`/v1/npa/212 did not come to answer ${status}\n${platform.child.output()}`)
}

interface Summary {
  readonly read: number
  readonly added: number
  readonly durationMillis: number
}

const ingestUsFile = async ({ watched, workbench }: Round) => {
  const dataFolder = await copyOf(workbench, await folderWithoutUsCodes(workbench))
  const file = (await readdir(bundled)).find((name) => usFile.test(name))
  if (file === undefined) throw new ChildFailed(`no bundled US file in ${bundled}`)
  const probe = new URL("../peers/probe.ts", import.meta.url).href
  const platform = await startPlatform(workbench, { dataFolder, nodeArguments: ["--import", probe], channel: true })
  try {
    await untilUsAnswers(platform, 404)
    await platform.child.ask("reset")
    const startedMegabytes = peakMegabytesOf(platform.child.pid)
    const started = performance.now()
    let commandSeconds = Number.NaN
    const output = await watched(async () => {
      const command = workbench.start(process.execPath, [program, "ingest", join(bundled, file), "--json"], {
        env: platformSettings(dataFolder)
      })
      const printed = await finished(command, "sluice ingest")
      commandSeconds = (performance.now() - started) / 1000
      await untilUsAnswers(platform, 200)
      return printed
    })
    const servedSeconds = (performance.now() - started) / 1000
    const { longestDelayMillis } = (await platform.child.ask("read")) as ProbeReading
    const summary = JSON.parse(output.trim().split("\n").at(-1)!) as Summary
    if (summary.added !== summary.read) throw new ChildFailed(`not every record was new: ${output}`)
    return {
      rows: summary.read,
      ingestSeconds: summary.durationMillis / 1000,
      commandSeconds,
      servedSeconds,
      startedMegabytes,
      peakMegabytes: peakMegabytesOf(platform.child.pid),
      longestDelayMillis
    }
  } finally {
    await platform.stop()
    await rm(dataFolder, { recursive: true, force: true })
  }
}

export const ingestionBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "ingestion/us",
    sides: { sluice: ingestUsFile },
    unavailable: async () => (process.platform === "linux" ? undefined : "it reads /proc"),
    rows: [
      { name: "rate", unit: "rows/s", figure: ({ sluice }) => sluice.rows / sluice.ingestSeconds },
      {
        name: "time",
        unit: "s",
        figure: ({ sluice }) => sluice.commandSeconds,
        goal: atMost(6),
        over: "worst",
        note: "the whole command, its own start included"
      },
      {
        name: "peak-memory",
        unit: "MB",
        figure: ({ sluice }) => sluice.peakMegabytes,
        goal: atMost(300),
        over: "worst",
        note: "resident, the serving process with its worker thread"
      },
      {
        name: "event-loop",
        unit: "ms",
        figure: ({ sluice }) => sluice.longestDelayMillis,
        goal: atMost(50),
        over: "worst",
        note: "longest hold of the serving thread until the new index answers"
      }
    ]
  })
]
