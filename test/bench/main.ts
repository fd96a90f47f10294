/**
 * `npm run bench [-- name…] [--json] [--rounds n]`: the one way to run benchmarks. Names select rows by their beginning.
 * stdout gets rows and nothing else, as a table or one JSON object a line; progress and the machine go to stderr. The
 * exit code tells whether everything could be measured, not whether every goal was met. Full runs are kept in
 * `results.jsonl`, and `--report` makes `RESULTS.md` of them.
 */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { benchmarks } from "./benchmarks.ts"
import { type Benchmark, rowName } from "./runner/benchmark.ts"
import { machine } from "./runner/cpu.ts"
import { type Circumstances, currentCommit, isFull, linesOf, parseMeasurements } from "./runner/measurement.ts"
import { reportOf } from "./runner/report.ts"
import { resultsOf, tableHeader, tableLine } from "./runner/result.ts"
import { runRounds } from "./runner/rounds.ts"
import { makeWorkbench, type OwnedWorkbench } from "./runner/workbench.ts"

const usage = `Usage: npm run bench [-- name…] [--json] [--rounds n] [--list] [--report]

  name…       rows to measure, by the beginning of their name; default: all
  --json      one JSON object a row: name, figure, unit, peer, ratio, goal, met
  --rounds n  rounds, 1 to 100; fewer than the benchmark has are a quick look, which is not kept
  --list      print the names and measure nothing
  --report    write RESULTS.md from results.jsonl and measure nothing`

const kept = new URL("results.jsonl", import.meta.url)
const report = new URL("RESULTS.md", import.meta.url)

const readArguments = () => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      report: { type: "boolean", default: false },
      rounds: { type: "string" },
      help: { type: "boolean", default: false }
    }
  })
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds >= 1 && rounds <= 100)) {
    throw new Error("--rounds must be a whole number from 1 to 100")
  }
  const names = benchmarks.flatMap((benchmark) => benchmark.rows.map((row) => rowName(benchmark, row)))
  const unknown = positionals.filter((prefix) => !names.some((name) => name.startsWith(prefix)))
  if (unknown.length > 0) throw new Error(`no row begins with ${unknown.join(" or ")}; there are:\n${names.join("\n")}`)
  const wanted = (name: string) => positionals.length === 0 || positionals.some((prefix) => name.startsWith(prefix))
  return { ...values, rounds, wanted, names: names.filter(wanted) }
}

type Arguments = ReturnType<typeof readArguments>

/** Measures one benchmark, prints its rows and keeps those of a full run; false where it could not be measured. */
const run = async (
  benchmark: Benchmark,
  given: Arguments,
  workbench: OwnedWorkbench,
  circumstances: Circumstances
): Promise<boolean> => {
  const reason = await benchmark.unavailable?.()
  if (reason !== undefined) {
    workbench.log(`${benchmark.name}: left out, ${reason}`)
    return true
  }
  workbench.log(benchmark.name)
  try {
    const rounds = await runRounds(benchmark, workbench, given.rounds)
    const results = resultsOf(benchmark, rounds, given.wanted)
    for (const result of results) {
      process.stdout.write(`${given.json ? JSON.stringify(result.row) : tableLine(result)}\n`)
      if (given.json) workbench.log(tableLine(result))
    }
    if (isFull(benchmark, given.rounds)) appendFileSync(kept, linesOf(results, circumstances))
    else workbench.log(`${benchmark.name}: a quick look, not kept`)
    return true
  } catch (error) {
    workbench.log(`${benchmark.name}: ${error instanceof Error ? error.message : String(error)}`)
    return false
  }
}

const measure = async (given: Arguments): Promise<number> => {
  const workbench = makeWorkbench()
  let stopping = false
  const stop = (code: number) => {
    if (stopping) return
    stopping = true
    void workbench.close().finally(() => process.exit(code))
  }
  process.once("SIGINT", () => stop(130))
  process.once("SIGTERM", () => stop(143))
  try {
    const circumstances = { date: new Date().toISOString(), commit: currentCommit(), machine: machine() }
    workbench.log(`${circumstances.machine}, ${circumstances.date.slice(0, 10)}`)
    if (given.json) workbench.log(tableHeader)
    else process.stdout.write(`${tableHeader}\n`)
    let measured = true
    for (const benchmark of benchmarks) {
      if (stopping) break
      if (benchmark.rows.some((row) => given.wanted(rowName(benchmark, row)))) {
        measured = (await run(benchmark, given, workbench, circumstances)) && measured
      }
    }
    return measured ? 0 : 1
  } finally {
    await workbench.close()
  }
}

const main = async (): Promise<number> => {
  let given: Arguments
  try {
    given = readArguments()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
    return 2
  }
  if (given.help) process.stdout.write(`${usage}\n`)
  else if (given.list) process.stdout.write(`${given.names.join("\n")}\n`)
  else if (given.report) writeFileSync(report, reportOf(benchmarks, parseMeasurements(readFileSync(kept, "utf8"))))
  else return measure(given)
  return 0
}

process.exitCode = await main()
