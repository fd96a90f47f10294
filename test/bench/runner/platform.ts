/**
 * The platform as a benchmark runs it: `node src/main.ts serve` on a data folder of its own with a fixed demo key,
 * ready when `/readyz` says so and the key works. A folder is filled by a first start once and then used by the fresh process of each
 * round.
 */
import { mkdirSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { type Child, ChildFailed, finished, freePort, untilReady } from "./child.ts"
import type { Workbench } from "./workbench.ts"

/** The repository. */
export const root = new URL("../../..", import.meta.url).pathname
/** The command line's program. */
export const program = join(root, "src/main.ts")
/** Key of the organization `demo` in every folder made here. It opens nothing else. */
export const demoKey = "sk_live_benchmarkBenchmark000001"
/** What a request with that key carries. */
export const keyHeaders = { authorization: `Bearer ${demoKey}` }

export interface Platform {
  readonly child: Child
  readonly url: string
  /** From the start of the process until `/readyz` is good and the demo key opens the directory. */
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
  /** What is started in place of the platform's own program. */
  readonly program?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Settings of the platform and of the commands that speak to it. */
export const platformSettings = (dataFolder: string): Readonly<Record<string, string>> => ({
  SLUICE_DATA_DIR: dataFolder,
  SLUICE_DEVELOPMENT: "on",
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

/** Where a running platform listens; the API and the admin API. */
export const addressesOf = async (dataFolder: string): Promise<{ readonly url: string; readonly adminUrl: string }> => {
  const { adminUrl, apiUrl } = JSON.parse(await readFile(join(dataFolder, "run.json"), "utf8")) as {
    readonly adminUrl: string
    readonly apiUrl: string
  }
  return { url: apiUrl, adminUrl }
}

/** Starts the platform and waits until it is ready. */
export const startPlatform = async (workbench: Workbench, options: PlatformOptions): Promise<Platform> => {
  const port = await freePort()
  const started = performance.now()
  const child = workbench.start(
    process.execPath,
    [...(options.nodeArguments ?? []), options.program ?? program, "serve"],
    {
      env: { ...platformSettings(options.dataFolder), SLUICE_PORT: `${port}`, ...options.env },
      channel: options.channel ?? false
    }
  )
  const url = `http://127.0.0.1:${port}`
  await untilReady(child, `${url}/readyz`)
  // On a first start the demo organization is made after that.
  await untilReady(child, `${url}/v1/carriers?limit=1`, keyHeaders)
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

/** What the demo organization may ask for in a minute: so much that no load reaches it, and still counted. */
export const requestsPerMinute = 999_999_999

const command = async (workbench: Workbench, dataFolder: string, ...args: ReadonlyArray<string>): Promise<string> =>
  finished(workbench.start(process.execPath, [program, ...args], { env: platformSettings(dataFolder) }), args[0]!)

const raiseLimit = async (workbench: Workbench, dataFolder: string): Promise<void> => {
  const organizations = JSON.parse(await command(workbench, dataFolder, "orgs", "list", "--json")) as ReadonlyArray<{
    readonly id: string
    readonly name: string
  }>
  const { id } = organizations.find(({ name }) => name === "demo")!
  await command(workbench, dataFolder, "orgs", "set-limits", id, "--requests-per-minute", `${requestsPerMinute}`)
}

/**
 * A data folder that a first start has filled with the bundled data, the same one for every use of a name. Its demo
 * organization has a limit that no load reaches.
 */
export const filledDataFolder = (workbench: Workbench, name = "data"): Promise<string> =>
  workbench.once(`data folder ${name}`, async () => {
    const dataFolder = newDataFolder(workbench, name)
    const platform = await startPlatform(workbench, { dataFolder })
    await raiseLimit(workbench, dataFolder)
    await platform.stop()
    workbench.log(`  filled a data folder in ${platform.readySeconds.toFixed(1)} s`)
    return dataFolder
  })
