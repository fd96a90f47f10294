/** The relay of a kill run, which is killed (-9) like everything else and comes back at the same port. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { setTimeout as pause } from "node:timers/promises"

/** How the local part begins of addresses that the relay refuses for good. */
export const nobody = "nobody"

/** How long a killed relay stays away: the platform is to notice. */
const awayMillis = 700

export class KilledRelay {
  port = 0
  private readonly environment: (port: number) => NodeJS.ProcessEnv
  private readonly children: Array<ChildProcess> = []

  constructor(environment: (port: number) => NodeJS.ProcessEnv) {
    this.environment = environment
  }

  async start(): Promise<void> {
    const child = fork(new URL("relayProcess.ts", import.meta.url), {
      env: { PATH: process.env.PATH, ...this.environment(this.port) },
      stdio: ["ignore", "ignore", "inherit", "ipc"]
    })
    this.children.push(child)
    const ended = once(child, "exit").then(() => {
      throw new Error("the relay has ended before it listened")
    })
    const [port] = await Promise.race([once(child, "message"), ended])
    ended.catch(() => {})
    this.port = port as number
  }

  /** Kills it; over once it is back. */
  async kill(): Promise<void> {
    await this.stop()
    await pause(awayMillis)
    await this.start()
  }

  async stop(): Promise<void> {
    const child = this.children.pop()
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGKILL")
    await ended
  }
}
