/** Starts the platform for a capacity run, with servers of its own on a folder that is removed behind it. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { measurePlatform, type PlatformCosts } from "./platform.ts"

const main = new URL("../../src/main.ts", import.meta.url).pathname

/** How long a first start may take. */
const startMillis = 120_000

export const runPlatform = async (of: { readonly events: number; readonly sends: number }): Promise<PlatformCosts> => {
  const dataFolder = await mkdtemp(join(tmpdir(), "sluice-capacity-"))
  let stop = async () => {}
  const start = async (environment: Readonly<Record<string, string>>): Promise<number> => {
    const child = spawn(process.execPath, [main, "serve"], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        SLUICE_DATA_DIR: dataFolder,
        SLUICE_PORT: "0",
        SLUICE_ADMIN_PORT: "0",
        SLUICE_LOG_LEVEL: "error",
        ...environment
      },
      stdio: ["ignore", "ignore", "inherit"]
    })
    stop = async () => {
      if (child.exitCode !== null) return
      child.kill("SIGTERM")
      await once(child, "exit")
    }
    for (const end = Date.now() + startMillis; Date.now() < end; await pause(200)) {
      if (child.exitCode !== null) throw new Error("the platform did not start")
      const run = JSON.parse(await readFile(join(dataFolder, "run.json"), "utf8").catch(() => "{}")) as {
        readonly apiUrl?: string
      }
      if (run.apiUrl === undefined) continue
      const answer = await fetch(`${run.apiUrl}/readyz`).catch(() => undefined)
      if (answer?.status === 200) return child.pid!
    }
    throw new Error("the platform is not ready")
  }
  try {
    return await measurePlatform({ dataFolder, start, ...of })
  } finally {
    await stop()
    await rm(dataFolder, { recursive: true, force: true })
  }
}
