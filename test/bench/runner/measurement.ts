/**
 * A measured row as it is kept: one JSON object a line of `results.jsonl`, appended by each full run. A quick look, with fewer rounds than the
 * benchmark has, is printed and not kept.
 */
import { execFileSync } from "node:child_process"
import type { Benchmark, Goal } from "./benchmark.ts"
import type { Result } from "./result.ts"
import { defaultRounds } from "./rounds.ts"

/** Where and when a run was made. */
export interface Circumstances {
  readonly date: string
  /** The commit, with a `+` where files differ from it; null where nobody knows. */
  readonly commit: string | null
  readonly machine: string
}

export interface Measurement extends Circumstances {
  readonly row: string
  /** Null in a few measurements that are older than this file. */
  readonly figure: number | null
  readonly unit: string
  readonly peer: number | null
  readonly ratio: number | null
  /** The 95 % interval of the mean ratio, null where there were too few rounds to say. */
  readonly interval: readonly [low: number, high: number] | null
  readonly rounds: number
  /** Rounds in which other processes used the machine. */
  readonly disturbed: number
  /** As it was on that day: of the ratio where there is one, else of the figure. */
  readonly goal: Goal | null
  readonly met: boolean | null
}

const git = (...args: ReadonlyArray<string>): string =>
  execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()

/** What a figure depends on, and the files of results do not change. */
const measuredFiles = [
  ":/src",
  ":/test/bench",
  ":(top,exclude)test/bench/results.jsonl",
  ":(top,exclude)test/bench/RESULTS.md"
]

/** The commit that is checked out; null outside of a repository. */
export const currentCommit = (): string | null => {
  try {
    const isChanged = git("status", "--porcelain", "--", ...measuredFiles) !== ""
    return `${git("rev-parse", "--short", "HEAD")}${isChanged ? "+" : ""}`
  } catch {
    return null
  }
}

/** Whether a run had as many rounds as the benchmark has. */
export const isFull = ({ rounds = defaultRounds }: Benchmark, given: number | undefined): boolean =>
  given === undefined || given >= rounds

export const measurementOf = (
  { disturbedRounds, goal, interval, row, rounds }: Result,
  circumstances: Circumstances
): Measurement => ({
  ...circumstances,
  row: row.name,
  figure: row.figure,
  unit: row.unit,
  peer: row.peer,
  ratio: row.ratio,
  interval: interval === undefined ? null : [Number(interval[0].toPrecision(4)), Number(interval[1].toPrecision(4))],
  rounds,
  disturbed: disturbedRounds,
  goal: goal ?? null,
  met: row.met
})

/** The lines that are appended for results. */
export const linesOf = (results: ReadonlyArray<Result>, circumstances: Circumstances): string =>
  results.map((result) => `${JSON.stringify(measurementOf(result, circumstances))}\n`).join("")

/** What a file of such lines holds, the oldest first. */
export const parseMeasurements = (text: string): ReadonlyArray<Measurement> =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
