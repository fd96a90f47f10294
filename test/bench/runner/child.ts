/**
 * A child process of a measurement: started with a known environment, its last output kept for the message of a
 * failure, spoken to over Node's channel where it has one, and ended by signal.
 */
import { type ChildProcess, spawn } from "node:child_process"

export interface ChildOptions {
  /** Added to the bare environment: PATH, HOME and LANG, so that no setting of the caller's shell changes a figure. */
  readonly env?: Readonly<Record<string, string>>
  /** Opens a channel for `ask`. */
  readonly channel?: boolean
}

export interface Child {
  readonly pid: number
  /** Exit code, or the signal that ended it. */
  readonly exited: Promise<number | string>
  /** The last of what it printed on either stream. */
  readonly output: () => string
  /** Everything on stdout, for a child that ends by itself. */
  readonly stdout: () => string
  /** Sends a message and resolves with the next one that comes back. */
  readonly ask: (message: unknown) => Promise<unknown>
  /** SIGTERM, then SIGKILL after `stopTimeoutMillis`, which is a failure. */
  readonly stop: () => Promise<void>
}

/** Time a child gets to stop, above the 10 s that the platform allows itself. */
const stopTimeoutMillis = 15_000
/** Output that is kept. */
const keptCharacters = 64 * 1024

export class ChildFailed extends Error {
  override readonly name = "ChildFailed"
}

export const startChild = (command: string, args: ReadonlyArray<string>, options: ChildOptions = {}): Child => {
  const { PATH = "", HOME = "/" } = process.env
  const child: ChildProcess = spawn(command, args, {
    env: { PATH, HOME, LANG: "C.UTF-8", ...options.env },
    stdio: options.channel === true ? ["ignore", "pipe", "pipe", "ipc"] : ["ignore", "pipe", "pipe"]
  })
  let output = ""
  let stdout = ""
  const keep = (known: string, text: string) => (known + text).slice(-keptCharacters)
  child.stdout!.setEncoding("utf8").on("data", (text: string) => {
    stdout = keep(stdout, text)
    output = keep(output, text)
  })
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    output = keep(output, text)
  })
  const exited = new Promise<number | string>((resolve) => {
    child.once("error", (error) => {
      output = keep(output, error.message)
      if (child.pid === undefined) resolve(error.message)
    })
    child.once("close", (code, signal) => resolve(code ?? signal ?? "unknown"))
  })
  const shown = [command, ...args].join(" ")
  const failed = (what: string) => new ChildFailed(`${shown}: ${what}\n${output.trimEnd()}`)
  let stopping: Promise<void> | undefined

  const stop = async () => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(resolve, stopTimeoutMillis, "late")
    })
    child.kill("SIGTERM")
    const end = await Promise.race([exited, late])
    clearTimeout(timer)
    if (end !== "late") return
    child.kill("SIGKILL")
    await exited
    throw failed(`did not stop within ${stopTimeoutMillis / 1000} s`)
  }

  return {
    pid: child.pid ?? -1,
    exited,
    output: () => output,
    stdout: () => stdout,
    ask: async (message) => {
      const answered = new Promise<unknown>((resolve, reject) => {
        child.once("message", resolve)
        void exited.then((code) => reject(failed(`ended with ${code}`)))
      })
      child.send(message as object)
      return answered
    },
    stop: () => {
      stopping ??=
        child.exitCode === null && child.signalCode === null && child.pid !== undefined ? stop() : Promise.resolve()
      return stopping
    }
  }
}

/** Runs a command to its end; fails with its output where the exit code is not 0. */
export const finished = async (child: Child, what: string): Promise<string> => {
  const code = await child.exited
  if (code !== 0) throw new ChildFailed(`${what} ended with ${code}\n${child.output().trimEnd()}`)
  return child.stdout()
}

/** How often a starting server is asked whether it is ready. */
const pollMillis = 10
/** Time a server gets until it is ready. */
const readyTimeoutMillis = 60_000

/** Waits until an address answers 200; fails when the child ends before, or after `readyTimeoutMillis`. */
export const untilReady = async (
  child: Child,
  url: string,
  headers: Readonly<Record<string, string>> = {}
): Promise<void> => {
  let ended: number | string | undefined
  void child.exited.then((code) => {
    ended = code
  })
  const deadline = performance.now() + readyTimeoutMillis
  while (true) {
    try {
      const response = await fetch(url, { headers })
      await response.arrayBuffer()
      if (response.status === 200) return
    } catch {
      // Not listening yet.
    }
    if (ended !== undefined) throw new ChildFailed(`ended with ${ended} before it was ready\n${child.output()}`)
    if (performance.now() > deadline)
      throw new ChildFailed(`not ready after ${readyTimeoutMillis} ms\n${child.output()}`)
    await new Promise((resolve) => setTimeout(resolve, pollMillis))
  }
}

export { freePort } from "../../support/freePort.ts"
