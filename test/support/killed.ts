/** The platform of a run in which it is killed (-9) again and again, alone or with its servers, always at the same address. */
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import type { ProcessInfo } from "../../src/embedded/processes.ts"
import { descendants } from "../cli/support.ts"
import { type Platform, startPlatform } from "./platform.ts"

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

export class KilledPlatform {
  /** Set while the platform itself is away. */
  away: Promise<void> | undefined
  /** Set while something is away. */
  recovering: Promise<void> | undefined
  /** When the last kill happened, in Unix milliseconds: what is to be killed has to be found first. */
  killedAt = 0
  url = ""
  adminUrl = ""
  private platform: Platform | undefined
  private readonly options: KilledOptions

  constructor(options: KilledOptions) {
    this.options = options
  }

  async start(): Promise<void> {
    const { environment, folder, program } = this.options
    const port = this.url === "" ? "0" : new URL(this.url).port
    this.platform = await startPlatform({ SLUICE_PORT: port, ...environment }, folder, program)
    this.url = this.platform.url
    const run = JSON.parse(await readFile(join(folder, "run.json"), "utf8")) as { readonly adminUrl: string }
    this.adminUrl = run.adminUrl
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
    await this.recovering?.catch(() => {})
    await this.platform?.stop()
  }
}
