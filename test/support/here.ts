/**
 * Runs commands and platforms within the process of the test, which takes a fraction of the time that a process of their own takes. What they read, print and
 * end with is the same. Tests about the process itself (signals, kills, memory, children) start one: `platform.ts`.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import type { RunningCommand } from "../../src/cli/runCommand.ts"
import {
  environmentOf,
  type Finished,
  isVariantRun,
  type RunningPlatform,
  readyPattern,
  sluice,
  startPlatform
} from "./platform.ts"

/** The program that the run starts, loaded by Node: as source it would be transformed for each worker. */
const loadProgram = (): Promise<typeof import("../../src/cli/runCommand.ts")> => {
  const file = pathToFileURL(join(dirname(process.env.SLUICE_TEST_PROGRAM!), "commands.mjs"))
  return import(/* @vite-ignore */ file.href)
}

/** Runs a command to its end. A broken variant is a process of its own. */
export const commandHere = async (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>
): Promise<Finished> => {
  if (isVariantRun) return sluice(args, environment)
  const { runCommand } = await loadProgram()
  return { ...(await runCommand(args, environmentOf(environment))), signal: null }
}

/** Starts `sluice serve`, and answers the match of its address once it is ready. */
const serve = async (environment: Readonly<Record<string, string>>) => {
  const { startCommand } = await loadProgram()
  let command: RunningCommand | undefined
  let ready: (match: RegExpExecArray) => void
  const printed = new Promise<RegExpExecArray>((resolve) => {
    ready = resolve
  })
  const look = () => {
    const match = readyPattern.exec(command?.stdout() ?? "")
    if (match !== null) ready(match)
  }
  command = await startCommand(["serve"], environmentOf(environment), look)
  look()
  const failed = command.finished.then(({ stderr, stdout }) => {
    throw new Error(`ended without being ready:\n${stdout}\n${stderr}`)
  })
  const [, url] = await Promise.race([printed, failed])
  failed.catch(() => {})
  return { command, url: url! }
}

/** One after the other: a start is work of this one thread, and what is started meanwhile would only wait for its servers' answers in vain. */
let earlier: Promise<unknown> = Promise.resolve()

const inTurn = <A>(start: () => Promise<A>): Promise<A> => {
  const own = earlier.then(start)
  earlier = own.catch(() => {})
  return own
}

/** Starts the platform on a free port and waits until it is ready, like `startPlatform`. A broken variant is a process of its own. */
export const startPlatformHere = async (
  environment: Readonly<Record<string, string>>,
  dataDir?: string
): Promise<RunningPlatform> => {
  if (isVariantRun) return startPlatform(environment, dataDir)
  const folder = dataDir ?? (await mkdtemp(join(tmpdir(), "sluice-e2e-")))
  const removeFolder = async () => {
    if (dataDir === undefined) await rm(folder, { recursive: true, force: true })
  }
  const whole = { SLUICE_PORT: "0", SLUICE_DATA_DIR: folder, ...environment }
  const { command, url } = await inTurn(() => serve(whole)).catch(async (error) => {
    await removeFolder()
    throw error
  })
  const finished = command.finished.then((output): Finished => ({ ...output, signal: null }))
  return {
    stdout: command.stdout,
    stderr: command.stderr,
    finished,
    url,
    dataDir: folder,
    environment: whole,
    demoKey: /Key {3,}(sk_\S+)/.exec(command.stdout())?.[1],
    stop: async () => {
      command.interrupt()
      const output = await finished
      await removeFolder()
      return output
    }
  }
}
