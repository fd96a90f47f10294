/** The platform of a run in which it is killed (-9) again and again, alone or with its servers, always at the same address. */
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import type { ProcessInfo } from "../../src/embedded/processes.ts"
import type { Prng } from "../../src/simulation/kernel/Prng.ts"
import { seedFiles } from "../cli/files.ts"
import { descendants } from "../cli/support.ts"
import { type Platform, start, startPlatform } from "./platform.ts"
import type { AtEnd } from "./runFolder.ts"

/** What is killed: the platform alone, it and its servers, or one of these under it. */
export const victims = ["platform", "everything", "nats", "postgres"] as const
export type Victim = (typeof victims)[number]

const programOf = ({ command }: ProcessInfo): string => command[0]!.split("/").at(-1)!

const killNow = (processes: ReadonlyArray<ProcessInfo>): void => {
  for (const { pid } of processes) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // One process of PostgreSQL ends with another.
    }
  }
}

export interface KilledOptions {
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  /** What is started in place of `sluice`. */
  readonly program?: string
}

/** What a start has written down; each start has other addresses. */
const addressesOf = (text: string) => {
  const { adminUrl, natsUrl, postgresUrl } = JSON.parse(text) as Readonly<
    Record<"adminUrl" | "natsUrl" | "postgresUrl", string>
  >
  return { adminUrl, natsUrl, postgresUrl }
}

/** One kill in each of so many equal parts of the work, anywhere in it; from 0 to 1. */
export const momentOf = (index: number, kills: number, random: Prng): number =>
  (index + 0.02 + 0.96 * random.next()) / kills

/** Makes a data folder with a few codes of the directory. */
export const makeSeededData = async (folder: string, atEnd: AtEnd): Promise<string> => {
  const data = join(folder, "data")
  const ingestion = start(["ingest", ...(await seedFiles(folder))], { SLUICE_DATA_DIR: data })
  atEnd(() => {
    ingestion.process.kill("SIGTERM")
    return ingestion.finished
  })
  const { code, stderr } = await ingestion.finished
  if (code !== 0) throw new Error(stderr)
  return data
}

export class KilledPlatform {
  /** Set while the platform itself is away. */
  away: Promise<void> | undefined
  /** Set while something is away. */
  recovering: Promise<void> | undefined
  /** When the last kill happened, in Unix milliseconds: what is to be killed has to be found first. */
  killedAt = 0
  url = ""
  adminUrl = ""
  natsUrl = ""
  postgresUrl = ""
  private platform: Platform | undefined
  private starting: Promise<Platform> | undefined
  private isStopped = false
  private readonly options: KilledOptions

  constructor(options: KilledOptions) {
    this.options = options
  }

  /** What the present platform has written to its log. */
  get stderr(): () => string {
    return this.platform!.stderr
  }

  get pid(): number {
    return this.platform!.pid
  }

  async start(): Promise<void> {
    if (this.isStopped) throw new Error("the run is over")
    const { environment, folder, program } = this.options
    const port = this.url === "" ? "0" : new URL(this.url).port
    this.starting = startPlatform({ SLUICE_PORT: port, ...environment }, folder, program)
    this.platform = await this.starting
    this.url = this.platform.url
    Object.assign(this, addressesOf(await readFile(join(folder, "run.json"), "utf8")))
  }

  /** Kills it; `recovering` is over once everything is back. */
  kill(victim: Victim): void {
    const done =
      victim === "platform" || victim === "everything"
        ? this.killPlatform(victim === "everything")
        : this.killServer(victim)
    this.recovering = done.finally(() => {
      this.recovering = undefined
    })
    // Whoever waits for it fails; the others need not.
    this.recovering.catch(() => {})
  }

  private killPlatform(withServers: boolean): Promise<void> {
    const gone = (async () => {
      const { pid, process: child } = this.platform!
      const servers = withServers ? await descendants(pid) : []
      const ended = once(child, "exit")
      child.kill("SIGKILL")
      this.killedAt = Date.now()
      killNow(servers)
      await ended
      await this.start()
      this.away = undefined
    })()
    this.away = gone
    return gone
  }

  private async killServer(victim: "nats" | "postgres"): Promise<void> {
    const name = victim === "nats" ? "nats-server" : "postgres"
    const servers = (await descendants(this.platform!.pid)).filter((one) => programOf(one).startsWith(name))
    if (servers.length === 0) throw new Error(`the platform has no ${name}`)
    killNow(servers)
    this.killedAt = Date.now()
    // It may be ready still, because nobody has missed the server yet.
    for (let readyAfter = false; ; ) {
      const response = await fetch(`${this.url}/readyz`).catch(() => undefined)
      const checks = (await response?.json().catch(() => undefined)) as
        | { readonly checks: Readonly<Record<string, { readonly ok: boolean }>> }
        | undefined
      const isWell = checks !== undefined && Object.values(checks.checks).every(({ ok }) => ok)
      const running = new Set(
        (await descendants(this.platform!.pid)).filter((one) => programOf(one).startsWith(name)).map(({ pid }) => pid)
      )
      const isNew = running.size > 0 && servers.every(({ pid }) => !running.has(pid))
      if (isWell && isNew && readyAfter) return
      readyAfter = isWell && isNew
      await pause(50)
    }
  }

  async stop(): Promise<void> {
    this.isStopped = true
    await this.recovering?.catch(() => {})
    // At an interruption it may be starting still.
    const platform = await this.starting?.catch(() => undefined)
    await platform?.stop()
  }
}
