/** Runs finders in child processes, each with its variant in the environment. */
import { spawn } from "node:child_process"
import { type Finding, findingIn } from "./finding.ts"
import { appliedMark, environmentName, type Finder, type Replacement, root } from "./variant.ts"

const runner = "test/variants/runner"

/** A child that takes longer is ended: the variant hangs, which `npm test` would notice as well. */
const patienceMillis: Readonly<Record<Finder["kind"], number>> = {
  unit: 300_000,
  simulation: 900_000,
  followers: 900_000,
  deliveries: 900_000,
  sending: 900_000,
  owners: 900_000,
  servers: 900_000
}

/** What one finder came to. */
export interface Tried {
  readonly finder: Finder
  readonly finding: Finding
  /** Whether the child loaded the file that was replaced in. */
  readonly isApplied: boolean
  readonly seconds: number
  /** What the child wrote. */
  readonly output: string
}

const argumentsOf = (finder: Finder, seeds: number): ReadonlyArray<string> => {
  if (finder.kind !== "unit" && finder.kind !== "servers")
    return ["--import", `${root}${runner}/register.ts`, `${root}${runner}/simulate.ts`, finder.kind, String(seeds)]
  const vitest = `${root}node_modules/vitest/vitest.mjs`
  return [vitest, "run", "--config", `${root}${runner}/vitest.config.ts`, "--project", finder.kind, ...finder.files]
}

/** Programs that a test starts are broken too. */
const nodeOptionsOf = (finder: Finder): string | undefined =>
  finder.kind === "servers"
    ? [process.env.NODE_OPTIONS, "--import", `${root}${runner}/register.ts`].filter((part) => part).join(" ")
    : process.env.NODE_OPTIONS

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

/** Lets a finder look at a variant; at the program as it is where there is none. */
export const tryFinder = (finder: Finder, variant: Replacement | undefined, seeds: number): Promise<Tried> =>
  new Promise((resolve, reject) => {
    const begunAt = performance.now()
    const child = spawn(process.execPath, argumentsOf(finder, seeds), {
      cwd: root,
      // A group of its own, so that what it has started ends with it.
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        NODE_OPTIONS: nodeOptionsOf(finder),
        [environmentName]: variant === undefined ? undefined : JSON.stringify(variant)
      }
    })
    running.add(child.pid!)
    let output = ""
    let isLate = false
    const take = (chunk: string) => {
      output += chunk
    }
    child.stdout.setEncoding("utf8").on("data", take)
    child.stderr.setEncoding("utf8").on("data", take)
    const timer = setTimeout(() => {
      isLate = true
      endGroup(child.pid!)
    }, patienceMillis[finder.kind])
    child.on("error", reject)
    child.on("close", () => {
      clearTimeout(timer)
      running.delete(child.pid!)
      const finding: Finding = isLate
        ? { _tag: "Noticed", by: `has not ended after ${patienceMillis[finder.kind] / 1000} s` }
        : (findingIn(output) ?? { _tag: "Unusable", message: `the child said nothing:\n${output.slice(-2_000)}` })
      const seconds = (performance.now() - begunAt) / 1000
      resolve({ finder, finding, isApplied: output.includes(appliedMark), seconds, output })
    })
  })
