/** The process under test of a kill test, and its deaths. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"

export class Victim {
  private child: ChildProcess | undefined
  private readonly program: URL
  private readonly addresses: ReadonlyArray<string>

  constructor(program: URL, addresses: ReadonlyArray<string>) {
    this.program = program
    this.addresses = addresses
  }

  readonly start = Effect.sync(() => {
    this.child = spawn(process.execPath, [fileURLToPath(this.program), ...this.addresses], {
      stdio: ["ignore", "ignore", "inherit"]
    })
  })

  readonly kill = Effect.promise(async () => {
    const child = this.child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGKILL")
    await ended
  })
}
