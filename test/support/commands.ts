/**
 * Commands of a test: the first of a worker that runs `orgs create` runs it as its users do, as a process; another one of the same name runs in this process, which takes a
 * fraction of the time. What it reads, prints and ends with is the same; that a process ends by itself and has a memory of its own the first one shows.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { commandHere } from "./here.ts"
import { sluice as asProcess, type Finished, isVariantRun } from "./platform.ts"

/** Whether it asks servers that others run, and does not start any itself. */
const asksOthers = ({ DATABASE_URL, SLUICE_DATA_DIR }: Readonly<Record<string, string>>): boolean =>
  DATABASE_URL !== undefined || (SLUICE_DATA_DIR !== undefined && existsSync(join(SLUICE_DATA_DIR, "run.json")))

/** Those that go on until they are stopped. */
const lasting = new Set(["serve", "listen"])

/** Commands that have run as a process. Files of a worker may have modules of their own, and share the process. */
const worker = globalThis as { sluiceCommandsBegun?: Set<string> }

const isFirst = (args: ReadonlyArray<string>): boolean => {
  worker.sluiceCommandsBegun ??= new Set()
  const begun = worker.sluiceCommandsBegun
  // Neither flags nor files belong to the name.
  const name = args
    .slice(0, 2)
    .filter((word) => /^[a-z]+(-[a-z]+)*$/.test(word))
    .join(" ")
  if (begun.has(name)) return false
  begun.add(name)
  return true
}

/** Runs `sluice` with the given arguments to its end. */
export const sluice = (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
  options: { readonly cwd?: string } = {}
): Promise<Finished> =>
  isVariantRun || lasting.has(args[0] ?? "") || options.cwd !== undefined || !asksOthers(environment) || isFirst(args)
    ? asProcess(args, environment, options)
    : commandHere(args, environment)
