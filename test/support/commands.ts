/**
 * Commands of a test: the first of a file that runs `orgs create` runs it as its users do, as a process; another one of the same name runs in this process, which takes a
 * fraction of the time. What it reads, prints and ends with is the same; that a process ends by itself and has a memory of its own the first one shows.
 */
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { expect } from "vitest"
import { sluice as asProcess, environmentOf, type Finished, isVariantRun } from "./platform.ts"

/** Whether it asks servers that others run, and does not start any itself. */
const asksOthers = ({ DATABASE_URL, SLUICE_DATA_DIR }: Readonly<Record<string, string>>): boolean =>
  DATABASE_URL !== undefined || (SLUICE_DATA_DIR !== undefined && existsSync(join(SLUICE_DATA_DIR, "run.json")))

/** Those that go on until they are stopped. */
const lasting = new Set(["serve", "listen"])

/** Files and commands that have run as a process. */
const begun = new Set<string>()

const isFirst = (args: ReadonlyArray<string>): boolean => {
  const words = args.slice(0, 2).filter((word) => !word.startsWith("-"))
  const name = [expect.getState().testPath, ...words].join(" ")
  if (begun.has(name)) return false
  begun.add(name)
  return true
}

/** The program that the run starts, loaded by Node: as source it would be transformed for each worker. */
const loadProgram = (): Promise<typeof import("../../src/cli/runCommand.ts")> => {
  const file = pathToFileURL(join(dirname(process.env.SLUICE_TEST_PROGRAM!), "commands.mjs"))
  return import(/* @vite-ignore */ file.href)
}

const runHere = async (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>
): Promise<Finished> => {
  const { runCommand } = await loadProgram()
  return { ...(await runCommand(args, environmentOf(environment))), signal: null }
}

/** Runs `sluice` with the given arguments to its end. */
export const sluice = (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
  options: { readonly cwd?: string } = {}
): Promise<Finished> =>
  isVariantRun || lasting.has(args[0] ?? "") || options.cwd !== undefined || !asksOthers(environment) || isFirst(args)
    ? asProcess(args, environment, options)
    : runHere(args, environment)
