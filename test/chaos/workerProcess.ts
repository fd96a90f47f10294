/**
 * The driver's end of one process that runs the engine: asks and their answers, what it last reported, and the signals that kill,
 * stop and continue it. An ask that was given up may still be answered, and that answer counts.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { variantEnvironment } from "../variants/runner/change.ts"
import {
  type Answer,
  type Figures,
  lines,
  type Report,
  type Request,
  type WorkerSettings,
  workerVariable
} from "./protocol.ts"

/** How an ask ended, from where the caller stands: an answer, the process's end, or that the caller went elsewhere. */
export type Outcome =
  | Answer
  | { readonly _tag: "Failed"; readonly error: "ProcessGone" | "GivenUp"; readonly message: string }

/** Output of a process that is kept for the message of a failure. */
const keptCharacters = 16 * 1024

const program = fileURLToPath(new URL("worker.ts", import.meta.url))

interface Pending {
  readonly settle: (outcome: Outcome) => void
  givenUp: boolean
}

export class WorkerProcess {
  readonly name: string
  /** Its engine takes asks. */
  started = false
  /** Another process has taken its partitions over before. */
  replaced = false
  partitions: ReadonlyArray<string> = []
  figures: Figures = { branches: {}, fences: 0, restarts: 0, replayedFrames: 0 }
  /** Exit code or signal, once it has ended. */
  end: number | string | undefined = undefined
  /** It is to end: its end is no surprise. */
  ending = false
  private readonly child: ChildProcess
  private readonly pending = new Map<number, Pending>()
  private readonly ended: Promise<void>
  private nextNumber = 0
  private output = ""

  constructor(name: string, settings: WorkerSettings) {
    this.name = name
    this.child = spawn(process.execPath, [program], {
      env: { PATH: process.env.PATH ?? "", ...variantEnvironment(), [workerVariable]: JSON.stringify(settings) },
      stdio: ["pipe", "pipe", "pipe"]
    })
    this.child.stdout!.setEncoding("utf8").on(
      "data",
      lines((text) => {
        // Reports are objects; a line of a log that is written before the loggers are in place is kept for failures.
        if (text.startsWith("{")) this.take(JSON.parse(text) as Report)
        else this.output = `${this.output}${text}\n`.slice(-keptCharacters)
      })
    )
    this.child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.output = (this.output + text).slice(-keptCharacters)
    })
    // A killed process leaves a broken pipe, which its end tells.
    this.child.stdin!.on("error", () => {})
    this.ended = new Promise((resolve) => {
      this.child.once("close", (code, signal) => {
        this.end = code ?? signal ?? "unknown"
        const outcome: Outcome = { _tag: "Failed", error: "ProcessGone", message: `it ended with ${this.end}` }
        for (const { settle } of this.pending.values()) settle(outcome)
        this.pending.clear()
        resolve()
      })
    })
  }

  get pid(): number {
    return this.child.pid!
  }

  /** The last of its log. */
  get log(): string {
    return this.output
  }

  /** Asks whose callers wait. */
  get waitingAsks(): number {
    let count = 0
    for (const { givenUp } of this.pending.values()) if (!givenUp) count++
    return count
  }

  /** Whether every partition serves. */
  get serves(): boolean {
    return (
      this.end === undefined &&
      this.started &&
      this.partitions.length > 0 &&
      this.partitions.every((status) => status === "Serving")
    )
  }

  /** Asks. `settle` is called once, or twice where the ask is given up and answered all the same. */
  ask(request: Omit<Request, "number">, settle: (outcome: Outcome) => void): void {
    if (this.end !== undefined) {
      settle({ _tag: "Failed", error: "ProcessGone", message: `it had ended with ${this.end}` })
      return
    }
    const number = this.nextNumber++
    this.pending.set(number, { settle, givenUp: false })
    this.child.stdin!.write(`${JSON.stringify({ number, ...request } satisfies Request)}\n`)
  }

  /** All its callers go elsewhere. */
  giveUp(): void {
    for (const pending of this.pending.values()) {
      if (pending.givenUp) continue
      pending.givenUp = true
      pending.settle({ _tag: "Failed", error: "GivenUp", message: "the caller asked another process" })
    }
  }

  /** SIGKILL, and waits for the end. */
  async kill(): Promise<void> {
    this.ending = true
    this.child.kill("SIGKILL")
    await this.ended
  }

  /** SIGTERM, and waits for the end. */
  async stop(): Promise<void> {
    this.ending = true
    this.child.kill("SIGTERM")
    await this.ended
  }

  /** SIGSTOP; returns when it does nothing any more. */
  async freeze(): Promise<void> {
    this.child.kill("SIGSTOP")
    await whenStopped(this.pid)
  }

  thaw(): void {
    this.child.kill("SIGCONT")
  }

  private take(report: Report): void {
    switch (report._tag) {
      case "Answer": {
        const pending = this.pending.get(report.number)
        this.pending.delete(report.number)
        pending?.settle(report.answer)
        return
      }
      case "Started":
        this.started = true
        return
      case "Status":
        this.partitions = report.partitions
        return
      case "Figures":
        this.figures = report.figures
    }
  }
}

const run = promisify(execFile)

/** Waits until the kernel has stopped a process, or it has ended. */
export const whenStopped = async (pid: number): Promise<void> => {
  while (true) {
    // No such process: no output and a failure.
    const { stdout } = await run("ps", ["-o", "stat=", "-p", String(pid)]).catch(() => ({ stdout: "" }))
    if (/^[TZ]|^$/.test(stdout.trim())) return
  }
}
