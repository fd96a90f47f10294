/**
 * Both ends of a workload: a fresh process that prepares itself (servers, engine, warm-up) when it is given its settings,
 * measures when it is told to, and stops what it started at SIGTERM. The runner watches the CPU only while it measures.
 */
import { rmSync } from "node:fs"
import { Cause, Effect, Exit, Scope } from "effect"
import type { Round, Sample } from "../runner/benchmark.ts"
import type { Child } from "../runner/child.ts"
import { newDataFolder } from "../runner/platform.ts"
import type { Workbench } from "../runner/workbench.ts"

/** What a workload has when it is prepared. */
export interface Prepared {
  /** What it tells the runner, such as an address. */
  readonly told?: unknown
  /** What it does when it is told to measure. */
  readonly measure?: () => Promise<Sample>
}

const fail = (what: unknown): never => {
  process.stderr.write(`${what instanceof Error ? (what.stack ?? what.message) : String(what)}\n`)
  process.exit(1)
}

/** The process's side: settings come first, then one request to measure. Whatever fails ends the process with its reason. */
export const serveWorkload = <Settings, E>(
  prepare: (settings: Settings) => Effect.Effect<Prepared, E, Scope.Scope>
): void => {
  const scope = Scope.makeUnsafe()
  let ready: Prepared | undefined
  const take = async (message: unknown): Promise<unknown> => {
    if (ready !== undefined) return ready.measure?.()
    // The runner's side sends what this file of the workload names as its settings.
    const prepared = await Effect.runPromiseExit(Scope.provide(prepare(message as Settings), scope))
    if (Exit.isFailure(prepared)) return fail(Cause.pretty(prepared.cause))
    ready = prepared.value
    return ready.told ?? "prepared"
  }
  process.on("message", (message) => void take(message).then((answer) => process.send!(answer), fail))
  let stopping = false
  const stop = () => {
    if (stopping) return
    stopping = true
    void Effect.runPromise(Scope.close(scope, Exit.void)).then(() => process.exit(0), fail)
  }
  process.once("SIGTERM", stop)
  // A runner that was killed must leave no servers behind.
  process.once("disconnect", stop)
}

const fileOf = (name: string): string => new URL(`${name}.ts`, import.meta.url).pathname

/** A workload's process that has prepared itself. */
export interface Workload<Told> {
  readonly child: Child
  readonly told: Told
}

/** The runner's side: starts the process of `workloads/<name>.ts` and waits until it has prepared itself. */
export const startWorkload = async <Told = unknown>(
  workbench: Workbench,
  name: string,
  settings: unknown
): Promise<Workload<Told>> => {
  const child = workbench.start(process.execPath, [fileOf(name)], { channel: true })
  // A workload's file names what it tells.
  return { child, told: (await child.ask(settings)) as Told }
}

/** One measurement by a fresh process. */
export const runWorkload = async <S extends Sample>(
  { watched, workbench }: Round,
  name: string,
  settings: unknown
): Promise<S> => {
  const { child } = await startWorkload(workbench, name, settings)
  try {
    // A workload's file names what it measures.
    return (await watched(() => child.ask("measure"))) as S
  } finally {
    await child.stop()
  }
}

/** The same with an empty data folder for servers of its own, which is removed afterwards. */
export const runWithServers = async <S extends Sample>(round: Round, name: string, settings: object): Promise<S> => {
  const dataFolder = newDataFolder(round.workbench, `${name}-${performance.now()}`)
  try {
    return await runWorkload<S>(round, name, { ...settings, dataFolder })
  } finally {
    rmSync(dataFolder, { recursive: true, force: true })
  }
}
