/** From the rounds of a benchmark to its rows, and a row's two forms: a line of a table and a JSON object. */
import { type Benchmark, type Goal, type RoundSamples, type RowSpecification, rowName } from "./benchmark.ts"
import type { FinishedRound } from "./rounds.ts"

/** What `--json` prints, one object a line. `goal` bounds the ratio where there is one, else the figure. */
export interface Row {
  readonly name: string
  readonly figure: number
  readonly unit: string
  /** The peer's figure of the same rounds, null where the row has no peer. */
  readonly peer: number | null
  /** Middle of the rounds' ratios, ours to the peer's; not the ratio of the two middles. */
  readonly ratio: number | null
  readonly goal: number | null
  readonly met: boolean | null
}

/** A row and what only people read. */
export interface Result {
  readonly row: Row
  readonly goal: Goal | undefined
  /** Smallest and largest over the rounds: of the ratio where there is one, else of the figure. */
  readonly spread: readonly [least: number, most: number]
  /** Where the mean of the ratios lies with a certainty of 95 %; undefined where there are too few of them to say. */
  readonly interval: readonly [low: number, high: number] | undefined
  readonly rounds: number
  readonly disturbedRounds: number
  readonly note: string | undefined
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Quantiles of Student's t for a two-sided 95 % interval, by degrees of freedom from 1. */
const quantiles = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045
]

/** The 95 % interval of the mean of ratios, as ratios count: by their logarithms. Undefined for fewer than two. */
export const intervalOf = (ratios: ReadonlyArray<number>): readonly [low: number, high: number] | undefined => {
  const freedom = ratios.length - 1
  if (freedom < 1) return undefined
  const logs = ratios.map(Math.log)
  const mean = logs.reduce((sum, one) => sum + one, 0) / logs.length
  const variance = logs.reduce((sum, one) => sum + (one - mean) ** 2, 0) / freedom
  const half = (quantiles[freedom - 1] ?? 1.96) * Math.sqrt(variance / logs.length)
  return [Math.exp(mean - half), Math.exp(mean + half)]
}

/** Fewer ratios say too little for an interval to be shown. */
const leastForInterval = 10

/** Four significant digits, and no fraction of what is in the thousands. */
const rounded = (value: number): number => (Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(4)))

const summarize = (values: ReadonlyArray<number>, row: RowSpecification): number =>
  row.over !== "worst" ? median(values) : row.goal?.bound === "least" ? Math.min(...values) : Math.max(...values)

const meets = (goal: Goal, value: number): boolean =>
  goal.bound === "least" ? value >= goal.value : value <= goal.value

const noteOf = (row: RowSpecification, samples: ReadonlyArray<RoundSamples>): string | undefined =>
  typeof row.note === "function" ? row.note(samples) : row.note

const resultOf = (benchmark: Benchmark, row: RowSpecification, rounds: ReadonlyArray<FinishedRound>): Result => {
  const samples = rounds.map((round) => round.samples)
  const figures = samples.map(row.figure)
  const peers = row.peer === undefined ? undefined : samples.map(row.peer)
  const ratios = peers?.map((peer, round) => figures[round]! / peer)
  const compared = ratios ?? figures
  const value = summarize(compared, row)
  if (!compared.every(Number.isFinite)) throw new Error(`${rowName(benchmark, row)} is not a number in every round`)
  return {
    row: {
      name: rowName(benchmark, row),
      figure: rounded(summarize(figures, row)),
      unit: row.unit,
      peer: peers === undefined ? null : rounded(median(peers)),
      ratio: ratios === undefined ? null : rounded(value),
      goal: row.goal?.value ?? null,
      met: row.goal === undefined ? null : meets(row.goal, value)
    },
    goal: row.goal,
    spread: [Math.min(...compared), Math.max(...compared)],
    interval: ratios === undefined || ratios.length < leastForInterval ? undefined : intervalOf(ratios),
    rounds: rounds.length,
    disturbedRounds: rounds.filter((round) => round.disturbed).length,
    note: noteOf(row, samples)
  }
}

/** The rows that are wanted, in the benchmark's order. */
export const resultsOf = (
  benchmark: Benchmark,
  rounds: ReadonlyArray<FinishedRound>,
  wanted: (name: string) => boolean
): ReadonlyArray<Result> =>
  benchmark.rows.filter((row) => wanted(rowName(benchmark, row))).map((row) => resultOf(benchmark, row, rounds))

/** A figure as people read it. */
export const number = (value: number): string => rounded(value).toLocaleString("en-US", { maximumSignificantDigits: 8 })

const columns: ReadonlyArray<readonly [title: string, width: number, cell: (result: Result) => string]> = [
  ["ROW", 34, ({ row }) => row.name],
  ["FIGURE", 10, ({ row }) => number(row.figure)],
  ["UNIT", 12, ({ row }) => row.unit],
  ["PEER", 10, ({ row }) => (row.peer === null ? "-" : number(row.peer))],
  ["RATIO", 7, ({ row }) => (row.ratio === null ? "-" : number(row.ratio))],
  ["SPREAD", 16, ({ spread: [least, most] }) => `${number(least)}..${number(most)}`],
  ["GOAL", 9, ({ goal }) => (goal === undefined ? "-" : `${goal.bound === "least" ? ">=" : "<="} ${goal.value}`)],
  ["MET", 4, ({ row }) => (row.met === null ? "-" : row.met ? "yes" : "NO")]
]

const line = (cells: ReadonlyArray<string>): string =>
  cells
    .map((cell, column) => cell.padEnd(columns[column]?.[1] ?? 0))
    .join(" ")
    .trimEnd()

export const tableHeader = line([...columns.map(([title]) => title), "NOTE"])

export const tableLine = (result: Result): string => {
  const notes = [
    result.note,
    result.interval && `95 % interval ${result.interval.map((one) => one.toFixed(3)).join(" to ")}`,
    result.disturbedRounds === 0 ? undefined : `${result.disturbedRounds} of ${result.rounds} rounds disturbed`
  ].filter((note) => note !== undefined)
  return line([...columns.map(([, , cell]) => cell(result)), notes.join("; ")])
}
