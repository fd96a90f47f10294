/**
 * Runs the shell blocks of documents as they are written: `npx --no-install sluice` and `sluice` are the program of this
 * run, and addresses of the documents are those of the platform.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

/** Parts of a command, and the parts that stand for them here. */
export type Replacements = Readonly<Record<string, string>>

/** A shell with a folder of its own. */
export class DocumentShell {
  readonly folder = mkdtempSync(join(tmpdir(), "sluice-documents-"))
  private readonly children: Array<ChildProcess> = []
  private readonly environment: Readonly<Record<string, string>>
  private readonly replacements: Replacements

  constructor(program: string, environment: Readonly<Record<string, string>>, replacements: Replacements) {
    this.replacements = replacements
    const run = `exec ${process.execPath} ${program} "$@"\n`
    writeFileSync(join(this.folder, "sluice"), `#!/bin/sh\n${run}`, { mode: 0o755 })
    writeFileSync(join(this.folder, "npx"), `#!/bin/sh\nshift 2\n${run}`, { mode: 0o755 })
    this.environment = { ...environment, PATH: `${this.folder}:${process.env.PATH ?? ""}` }
  }

  /** A command as this run has to say it. */
  here(command: string): string {
    let text = command
    for (const [written, own] of Object.entries(this.replacements)) text = text.replaceAll(written, own)
    return text
  }

  /** Runs a block to its end; what it prints. */
  async run(command: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
    const env = { ...this.environment, ...more }
    const { stdout } = await promisify(execFile)("bash", ["-ec", this.here(command)], { cwd: this.folder, env })
    return stdout
  }

  /** Starts a block that does not end; resolves with all of its output once that holds the pattern. */
  begin(command: string, pattern: RegExp, more: Readonly<Record<string, string>> = {}): Promise<string> {
    const env = { ...this.environment, ...more }
    const child = spawn("bash", ["-ec", this.here(command)], { cwd: this.folder, env, detached: true })
    this.children.push(child)
    return new Promise((resolve, reject) => {
      let output = ""
      const hear = (text: string) => {
        output += text
        if (pattern.test(output)) resolve(output)
      }
      child.stdout.setEncoding("utf8").on("data", hear)
      child.stderr.setEncoding("utf8").on("data", hear)
      child.once("exit", (code) => reject(new Error(`${command} has ended with ${code}: ${output}`)))
    })
  }

  /** Ends what it has begun, with the processes of each. */
  async close(): Promise<void> {
    for (const child of this.children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const ended = new Promise((resolve) => child.once("exit", resolve))
      process.kill(-child.pid!, "SIGTERM")
      await ended
    }
    rmSync(this.folder, { recursive: true, force: true })
  }
}
