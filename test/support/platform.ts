/**
 * Runs the command line as its users do: as a process of its own, on a data folder of its own. `startPlatform` waits
 * until `sluice serve` says that it is ready; `sluice` runs one command to its end.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { environmentName, variantEnvironment } from "../variants/runner/change.ts"

/** Whether this run tests a broken variant of the program: what it starts runs the source then, which the loader named in `NODE_OPTIONS` breaks. */
export const isVariantRun = process.env[environmentName] !== undefined

/** A run of tests bundles the source once (test/support/servers.ts); elsewhere the source itself is started. */
const bundle = isVariantRun ? undefined : process.env.SLUICE_TEST_PROGRAM
const main = bundle ?? new URL("../../src/main.ts", import.meta.url).pathname

export interface Finished {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly process: ChildProcess
  readonly pid: number
  /** What was printed so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  readonly finished: Promise<Finished>
  /** Resolves with the first match on stdout; rejects when the process ends before. */
  readonly printed: (pattern: RegExp) => Promise<RegExpExecArray>
}

/** Room of each log on a shared nats-server, which sets it aside: the least that the settings take. */
const sharedLogBytes = 16 * 1024 * 1024

/** The same for contents of emails. */
const sharedContentBytes = 64 * 1024 * 1024

/** Partitions of a platform on shared servers. Each is opened and claimed at every start, and two show what eight would. */
export const sharedPartitions = 2

/** What the names of a platform's logs on a shared nats-server begin with. `home`: a database's path, or a data folder. */
export const logNamespaceOf = (home: string): string =>
  `test-${createHash("sha256").update(home).digest("hex").slice(0, 16)}`

/**
 * Platforms of different tests share a nats-server: each has logs of its own, which belong to its database under whatever
 * address (a proxy's too) it is started again.
 */
const logsOf = (environment: Readonly<Record<string, string>>): Record<string, string> => {
  const { DATABASE_URL, NATS_URL, SLUICE_DATA_DIR } = environment
  const home = DATABASE_URL === undefined ? SLUICE_DATA_DIR : URL.parse(DATABASE_URL)?.pathname
  if (NATS_URL === undefined || home === undefined) return {}
  return {
    SLUICE_LOG_NAMESPACE: logNamespaceOf(home),
    SLUICE_PARTITIONS: `${sharedPartitions}`,
    SLUICE_LOG_MAX_BYTES: `${sharedLogBytes}`,
    SLUICE_CONTENTS_MAX_BYTES: `${sharedContentBytes}`
  }
}
/** The key of platforms on shared servers. */
export const sharedSecretsKey = "5e".repeat(32)

/** A database of others needs a key of its own for what is stored encrypted in it. */
const secretsOf = ({ DATABASE_URL }: Readonly<Record<string, string>>): Record<string, string> =>
  DATABASE_URL === undefined ? {} : { SLUICE_SECRETS_KEY: sharedSecretsKey }

/** Node keeps compiled sources here. A bundle has a place of its own. */
const compileCache = new URL("../../node_modules/.cache/sluice-compiled", import.meta.url).pathname

/** The environment of a command: nothing of this process but its path, so that nothing unnoticed decides. */
export const environmentOf = (environment: Readonly<Record<string, string>>): Record<string, string> => ({
  PATH: process.env.PATH ?? "",
  HOME: process.env.HOME ?? "/",
  // As `npm start` sets it.
  SLUICE_DEVELOPMENT: "on",
  ...logsOf(environment),
  ...secretsOf(environment),
  ...variantEnvironment(),
  ...environment
})

/** Starts `sluice` with the given arguments. */
export const start = (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
  {
    isLeashed = false,
    program = main,
    input,
    ...options
  }: {
    readonly cwd?: string
    readonly program?: string | undefined
    readonly isLeashed?: boolean
    /** The text on its standard input. */
    readonly input?: string
  } = {}
): Started => {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...(program.endsWith(".ts") ? { NODE_COMPILE_CACHE: compileCache } : {}), ...environmentOf(environment) },
    stdio: [isLeashed || input !== undefined ? "pipe" : "ignore", "pipe", "pipe"],
    ...options
  })
  if (input !== undefined) child.stdin!.end(input)
  let stdout = ""
  let stderr = ""
  const watchers = new Set<() => void>()
  const changed = () => {
    for (const watcher of watchers) watcher()
  }
  child.stdout!.setEncoding("utf8").on("data", (text: string) => {
    stdout += text
    changed()
  })
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    stderr += text
  })
  const finished = new Promise<Finished>((resolve) =>
    child.once("close", (code, signal) => {
      resolve({ code, signal, stdout, stderr })
      changed()
    })
  )
  return {
    process: child,
    pid: child.pid!,
    stdout: () => stdout,
    stderr: () => stderr,
    finished,
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const watch = () => {
          const match = pattern.exec(stdout)
          if (match !== null) {
            watchers.delete(watch)
            resolve(match)
          } else if (child.exitCode !== null || child.signalCode !== null) {
            watchers.delete(watch)
            reject(new Error(`ended without printing ${pattern}:\n${stdout}\n${stderr}`))
          }
        }
        watchers.add(watch)
        watch()
      })
  }
}

/** Runs `sluice` with the given arguments to its end. */
export const sluice = (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
  options: { readonly cwd?: string } = {}
): Promise<Finished> => start(args, environment, options).finished

/** A platform, in a process of its own or in that of the test (`here.ts`). */
export interface RunningPlatform extends Pick<Started, "stdout" | "stderr" | "finished"> {
  readonly url: string
  readonly dataDir: string
  /** For commands that are to find this platform. */
  readonly environment: Readonly<Record<string, string>>
  /** The demo organization's key where this start made it. */
  readonly demoKey: string | undefined
  /** Stops it as an operator does and removes its folder. */
  readonly stop: () => Promise<Finished>
}

export interface Platform extends RunningPlatform, Started {}

/** The line with which a platform says that it is ready, and where. */
export const readyPattern = /API {3,}(http:\S+)/

/** Starts `sluice serve`, or another program with its commands, on a free port and waits until it is ready. `isLeashed`: with a pipe that closes when this process ends. */
export const startPlatform = async (
  environment: Readonly<Record<string, string>>,
  dataDir?: string,
  program?: string,
  isLeashed = false
): Promise<Platform> => {
  const folder = dataDir ?? (await mkdtemp(join(tmpdir(), "sluice-e2e-")))
  const whole = { SLUICE_PORT: "0", SLUICE_DATA_DIR: folder, ...environment }
  const started = start(["serve"], whole, { program, isLeashed })
  const [, url] = await started.printed(readyPattern).catch(async (error) => {
    if (dataDir === undefined) await rm(folder, { recursive: true, force: true })
    throw error
  })
  const stop = async () => {
    started.process.kill("SIGTERM")
    const finished = await started.finished
    if (dataDir === undefined) await rm(folder, { recursive: true, force: true })
    return finished
  }
  return {
    ...started,
    url: url!,
    dataDir: folder,
    environment: whole,
    demoKey: /Key {3,}(sk_\S+)/.exec(started.stdout())?.[1],
    stop
  }
}
