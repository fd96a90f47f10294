/**
 * `RESULTS.md` from the kept measurements: a line for each row with a goal, and a line for each product with its rows that stand beside a peer without
 * one. Rows whose names differ in numbers between slashes share a line, and so do those of one benchmark with the same unit and the same goal.
 */
import { type Benchmark, type Goal, type RowSpecification, rowName } from "./benchmark.ts"
import type { Measurement } from "./measurement.ts"
import { number } from "./result.ts"

/** So much is looked at on one page. */
export const maximumLines = 80
/** Ratios that a row shows, the newest last. */
const shownRatios = 5

/** A row and what was measured of it, the oldest first. */
interface Measured {
  readonly name: string
  readonly benchmark: string
  readonly row: RowSpecification
  readonly measurements: ReadonlyArray<Measurement>
}

const goalText = ({ bound, value }: Goal): string => `${bound === "least" ? ">=" : "<="} ${number(value)}`

/** Names that share their beginning and end as one: `a/{1, 4}/p99`. */
const sharedName = (names: ReadonlyArray<string>): string => {
  const parts = names.map((name) => name.split("/"))
  const [first] = parts
  if (names.length === 1 || first === undefined) return names.join(", ")
  const same = (at: number) => parts.every((one) => one.at(at) === first.at(at))
  const shortest = Math.min(...parts.map((one) => one.length))
  let head = 0
  while (head < shortest - 1 && same(head)) head++
  let tail = 0
  while (tail < shortest - head - 1 && same(-1 - tail)) tail++
  const middles = parts.map((one) => one.slice(head, one.length - tail).join("/"))
  return [...first.slice(0, head), `{${middles.join(", ")}}`, ...first.slice(first.length - tail)].join("/")
}

/** Each value once where all are the same. */
const joined = (values: ReadonlyArray<string>): string => (new Set(values).size === 1 ? values[0]! : values.join(", "))

const latestOf = ({ measurements }: Measured): string => {
  const latest = measurements.at(-1)
  if (latest === undefined || latest.figure === null) return "-"
  const figure = `${number(latest.figure)} ${latest.unit}`
  return latest.peer === null ? figure : `${figure} beside ${number(latest.peer)}`
}

const metOf = ({ measurements }: Measured): string => {
  const met = measurements.at(-1)?.met ?? null
  return met === null ? "-" : met ? "yes" : "NO"
}

const ratiosOf = ({ measurements }: Measured): string =>
  measurements
    .flatMap(({ ratio }) => (ratio === null ? [] : [number(ratio)]))
    .slice(-shownRatios)
    .join(" ")

const groupedBy = (rows: ReadonlyArray<Measured>, keyOf: (row: Measured) => string) => [
  ...Map.groupBy(rows, keyOf).values()
]

const groupsOf = (rows: ReadonlyArray<Measured>): ReadonlyArray<ReadonlyArray<Measured>> => {
  const alike = groupedBy(rows, ({ name }) => name.replaceAll(/(?<=\/)\d[\d,]*(?=\/|$)/g, "#"))
  const several = alike.filter((group) => group.length > 1)
  const single = groupedBy(alike.filter((group) => group.length === 1).flat(), ({ benchmark, row }) =>
    [benchmark, row.unit, row.goal?.bound, row.goal?.value].join(" ")
  )
  // Where the first of each stood.
  return [...several, ...single].toSorted((one, other) => rows.indexOf(one[0]!) - rows.indexOf(other[0]!))
}

const tableLine = (group: ReadonlyArray<Measured>): string => {
  const dates = group.map(({ measurements }) => measurements.at(-1)?.date.slice(0, 10) ?? "-")
  const ratios = group.map(ratiosOf).filter((text) => text !== "")
  const cells = [
    sharedName(group.map(({ name }) => name)),
    joined(group.map(({ row }) => goalText(row.goal!))),
    group.map(latestOf).join(", "),
    joined(dates),
    joined(group.map(metOf)),
    ratios.join("; ")
  ]
  return `| ${cells.join(" | ")} |`
}

const besideLine = (rows: ReadonlyArray<Measured>): string => {
  const texts = rows.map((row) => `${row.name} ${ratiosOf(row)}`)
  return `- ${texts.join("; ")}`
}

/** The report; rows that no benchmark has any more are left out. */
export const reportOf = (benchmarks: ReadonlyArray<Benchmark>, measurements: ReadonlyArray<Measurement>): string => {
  const byRow = Map.groupBy(measurements, ({ row }) => row)
  const rows = benchmarks.flatMap((benchmark) =>
    benchmark.rows.map((row): Measured => {
      const name = rowName(benchmark, row)
      return { name, benchmark: benchmark.name, row, measurements: byRow.get(name) ?? [] }
    })
  )
  const judged = groupsOf(rows.filter(({ row }) => row.goal !== undefined))
  const beside = rows.filter((measured) => measured.row.goal === undefined && ratiosOf(measured) !== "")
  const lines = [
    "# Results",
    "",
    "Made by `npm run bench -- --report` from `results.jsonl`. The goal is of the ratio to the peer where there is one, else of the figure. What was tried is in [performance.md](../../docs/performance.md).",
    "",
    "| row | goal | latest | on | met | last five ratios |",
    "|---|---|---|---|---|---|",
    ...judged.map(tableLine),
    "",
    "Ratios of rows without a goal:",
    ...groupedBy(beside, ({ name }) => name.split("/")[0]!).map(besideLine)
  ]
  if (lines.length > maximumLines) throw new Error(`the report has ${lines.length} lines: group more rows`)
  return `${lines.join("\n")}\n`
}
