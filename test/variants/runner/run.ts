/** Runs finders in child processes, each told its change in the environment. What these start is broken in the same way. */
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { environmentName, root, type Told } from "./change.ts"
import { type Finding, findingIn } from "./finding.ts"
import { type Finder, locate, type Replacement } from "./variant.ts"

const runner = `${root}test/variants/runner`

/** A child that takes longer is ended: the variant hangs, which `npm test` would notice as well. */
const patienceMillis = (finder: Finder): number => (finder.kind === "unit" ? 300_000 : 900_000)

/** What one finder came to. */
export interface Tried {
  readonly finder: Finder
  readonly finding: Finding
  /** Whether a process has loaded the file that was changed. */
  readonly isApplied: boolean
  readonly seconds: number
  /** What the child wrote. */
  readonly output: string
}

const argumentsOf = (finder: Finder, seeds: number): ReadonlyArray<string> => {
  if (finder.kind !== "unit" && finder.kind !== "servers") return [`${runner}/simulate.ts`, finder.kind, String(seeds)]
  const vitest = `${root}node_modules/vitest/vitest.mjs`
  return [vitest, "run", "--config", `${runner}/vitest.config.ts`, "--project", finder.kind, ...finder.files]
}

/** The environment of a process that is broken. */
export const environmentOf = (told: Told): NodeJS.ProcessEnv => ({
  ...process.env,
  NODE_OPTIONS: [process.env.NODE_OPTIONS, "--import", `${runner}/register.ts`].filter((part) => part).join(" "),
  [environmentName]: JSON.stringify(told)
})

const endGroup = (processId: number): void => {
  try {
    process.kill(-processId, "SIGKILL")
  } catch {
    // It has ended in this moment.
  }
}

/** The groups of the children that run: what ends this process does not reach them by itself. */
const running = new Set<number>()
process.once("exit", () => {
  for (const processId of running) endGroup(processId)
})

/** Runs a finder to its end, or until it has taken too long. */
const finish = (finder: Finder, seeds: number, told: Told): Promise<Pick<Tried, "finding" | "output">> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, argumentsOf(finder, seeds), {
      cwd: root,
      // A group of its own, so that what it has started ends with it.
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: environmentOf(told)
    })
    running.add(child.pid!)
    let output = ""
    let isLate = false
    const take = (chunk: string) => {
      output += chunk
    }
    child.stdout.setEncoding("utf8").on("data", take)
    child.stderr.setEncoding("utf8").on("data", take)
    const patience = patienceMillis(finder)
    const timer = setTimeout(() => {
      isLate = true
      endGroup(child.pid!)
    }, patience)
    child.on("error", reject)
    child.on("close", () => {
      clearTimeout(timer)
      running.delete(child.pid!)
      const finding: Finding = isLate
        ? { _tag: "Noticed", by: `has not ended after ${patience / 1000} s` }
        : (findingIn(output) ?? { _tag: "Unusable", message: `the child said nothing:\n${output.slice(-2_000)}` })
      resolve({ finding, output })
    })
  })

/** Lets a finder look at a variant; at the program as it is where there is none. */
export const tryFinder = async (finder: Finder, variant: Replacement | undefined, seeds: number): Promise<Tried> => {
  const begunAt = performance.now()
  const folder = mkdtempSync(join(tmpdir(), "sluice-variant-"))
  const appliedFile = join(folder, "applied")
  try {
    const told: Told = { change: variant === undefined ? null : locate(variant), appliedFile }
    const finished = await finish(finder, seeds, told)
    const seconds = (performance.now() - begunAt) / 1000
    return { finder, ...finished, isApplied: existsSync(appliedFile), seconds }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
