/**
 * The platform as a benchmark runs it: `node src/main.ts serve` on a data folder of its own with a fixed demo key,
 * ready when `/readyz` says so. A folder is filled by a first start once and then used by the fresh process of each
 * round.
 */
import { mkdirSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { type Child, ChildFailed, freePort, untilReady } from "./child.ts"
import type { Workbench } from "./workbench.ts"

/** The repository. */
export const root = new URL("../../..", import.meta.url).pathname
/** The command line's program. */
export const program = join(root, "src/main.ts")
/** Key of the organization `demo` in every folder made here. It opens nothing else. */
export const demoKey = "sk_live_benchmarkBenchmark000001"

export interface Platform {
  readonly child: Child
  readonly url: string
  /** From the start of the process to the first good answer of `/readyz`. */
  readonly readySeconds: number
  /** Address of its database, with the credential. */
  readonly postgresUrl: () => Promise<string>
  readonly stop: () => Promise<void>
}

export interface PlatformOptions {
  readonly dataFolder: string
  /** Arguments for Node, before the program. */
  readonly nodeArguments?: ReadonlyArray<string>
  /** Opens a channel to a module that was loaded by `nodeArguments`. */
  readonly channel?: boolean
}

/** Settings of the platform and of the commands that speak to it. */
export const platformSettings = (dataFolder: string): Readonly<Record<string, string>> => ({
  SLUICE_DATA_DIR: dataFolder,
  SLUICE_DEMO_KEY: demoKey,
  SLUICE_LOG_LEVEL: "warn"
})

/** How long a ready platform may take to say where its database is, and how often it is asked. */
const publishTimeoutMillis = 10_000
const publishPollMillis = 20

/** The platform says where its database is only after it has begun to listen. */
const findPostgresUrl = async (child: Child, dataFolder: string): Promise<string> => {
  for (const deadline = performance.now() + publishTimeoutMillis; performance.now() < deadline; ) {
    const text = await readFile(join(dataFolder, "run.json"), "utf8").catch(() => "{}")
    const run = JSON.parse(text) as { readonly pid?: number; readonly postgresUrl?: string }
    if (run.pid === child.pid && run.postgresUrl !== undefined) return run.postgresUrl
    await new Promise((resolve) => setTimeout(resolve, publishPollMillis))
  }
  throw new ChildFailed(`the platform did not say where its database is\n${child.output()}`)
}

/** Starts the platform and waits until it is ready. */
export const startPlatform = async (workbench: Workbench, options: PlatformOptions): Promise<Platform> => {
  const port = await freePort()
  const started = performance.now()
  const child = workbench.start(process.execPath, [...(options.nodeArguments ?? []), program, "serve"], {
    env: { ...platformSettings(options.dataFolder), SLUICE_PORT: `${port}` },
    channel: options.channel ?? false
  })
  const url = `http://127.0.0.1:${port}`
  await untilReady(child, `${url}/readyz`)
  return {
    child,
    url,
    readySeconds: (performance.now() - started) / 1000,
    postgresUrl: () => findPostgresUrl(child, options.dataFolder),
    stop: () => child.stop()
  }
}

/** A new empty data folder's path. */
export const newDataFolder = (workbench: Workbench, name: string): string => {
  const folder = join(workbench.folder, name)
  mkdirSync(folder, { mode: 0o700 })
  return folder
}

/** A data folder that a first start has filled with the bundled data, the same one for every use of a name. */
export const filledDataFolder = (workbench: Workbench, name = "data"): Promise<string> =>
  workbench.once(`data folder ${name}`, async () => {
    const dataFolder = newDataFolder(workbench, name)
    const platform = await startPlatform(workbench, { dataFolder })
    await platform.stop()
    workbench.log(`  filled a data folder in ${platform.readySeconds.toFixed(1)} s`)
    return dataFolder
  })
