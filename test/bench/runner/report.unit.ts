/** Kept measurements and the report of them; how they are made is in `runner.unit.ts`. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { atLeast, atMost, type Benchmark, benchmark, type RowOf } from "./benchmark.ts"
import { isFull, linesOf, type Measurement, parseMeasurements } from "./measurement.ts"
import { maximumLines, reportOf } from "./report.ts"
import type { Result } from "./result.ts"

const circumstances = { date: "2026-11-26T12:00:00.000Z", commit: "abc1234", machine: "a machine" }

const result: Result = {
  row: { name: "a/row", figure: 80, unit: "s", peer: 100, ratio: 0.9, goal: 0.85, met: true },
  goal: atLeast(0.85),
  spread: [0.8, 0.9],
  interval: [0.81234567, 0.91],
  rounds: 18,
  disturbedRounds: 2,
  note: undefined
}

const rowOf = (row: Partial<RowOf<object>> & { readonly name: string }) => ({ unit: "ms", figure: () => 1, ...row })

const benchmarkOf = (name: string, rows: ReadonlyArray<ReturnType<typeof rowOf>>): Benchmark =>
  benchmark({ name, sides: {}, rows })

const measured = (row: string, more: Partial<Measurement> = {}): Measurement => ({
  ...parseMeasurements(linesOf([result], circumstances))[0]!,
  row,
  unit: "ms",
  ...more
})

/** The lines of the report below its introduction. */
const bodyOf = (benchmarks: ReadonlyArray<Benchmark>, measurements: ReadonlyArray<Measurement>) =>
  reportOf(benchmarks, measurements).trimEnd().split("\n").slice(6)

describe("a measurement", () => {
  it("is one line with what a reader needs to judge it", () => {
    const text = linesOf([result, { ...result, interval: undefined, goal: undefined }], circumstances)
    expect(text.split("\n")).toHaveLength(3)
    expect(parseMeasurements(text)[0]).toEqual({
      ...circumstances,
      row: "a/row",
      figure: 80,
      unit: "s",
      peer: 100,
      ratio: 0.9,
      interval: [0.8123, 0.91],
      rounds: 18,
      disturbed: 2,
      goal: { bound: "least", value: 0.85 },
      met: true
    })
    expect(parseMeasurements(text)[1]).toMatchObject({ interval: null, goal: null })
  })

  it("that is kept has all of it", () => {
    const kept = parseMeasurements(readFileSync(new URL("../results.jsonl", import.meta.url), "utf8"))
    const fields = Object.keys(measured("a/row"))
    expect(kept.filter((one) => Object.keys(one).join() !== fields.join())).toEqual([])
    expect(kept.map(({ date }) => date)).toEqual(kept.map(({ date }) => date).toSorted())
  })

  it("is kept where the run had all rounds", () => {
    const of = (rounds?: number): Benchmark => ({ name: "a", sides: {}, rows: [], ...(rounds && { rounds }) })
    expect([isFull(of(), undefined), isFull(of(), 5), isFull(of(), 4)]).toEqual([true, true, false])
    expect([isFull(of(3), 3), isFull(of(3), 2)]).toEqual([true, false])
  })
})

describe("the report", () => {
  it("has the newest figure of a row, and its last five ratios", () => {
    const ratios = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    const of = benchmarkOf("a", [rowOf({ name: "row", goal: atLeast(0.85) })])
    const history = ratios.map((ratio) => measured("a/row", { ratio, figure: 1_000 * ratio, met: false }))
    expect(bodyOf([of], history)[0]).toBe(
      "| a/row | >= 0.85 | 600 ms beside 100 | 2026-11-26 | NO | 0.2 0.3 0.4 0.5 0.6 |"
    )
  })

  it("shows a row that was never measured, and none that is no more", () => {
    const of = benchmarkOf("a", [rowOf({ name: "row", goal: atMost(10) })])
    expect(bodyOf([of], [measured("a/gone")])[0]).toBe("| a/row | <= 10 | - | - | - |  |")
    expect(reportOf([of], [measured("a/gone")])).not.toContain("gone")
  })

  it("gives a line to rows that differ in a number, and to those of one benchmark with one goal", () => {
    const all = [
      benchmarkOf("a/1", [rowOf({ name: "p99", goal: atMost(1) })]),
      benchmarkOf("a/4", [rowOf({ name: "p99", goal: atMost(4) })]),
      benchmarkOf("b", [
        rowOf({ name: "one", goal: atMost(9) }),
        rowOf({ name: "other", goal: atMost(9) }),
        rowOf({ name: "third", goal: atMost(8) })
      ])
    ]
    const alone = { peer: null, ratio: null, met: true }
    const figures = [
      measured("a/1/p99", { ...alone, figure: 1 }),
      measured("a/4/p99", { ...alone, figure: 5, met: false })
    ]
    expect(bodyOf(all, figures).slice(0, 3)).toEqual([
      "| a/{1, 4}/p99 | <= 1, <= 4 | 1 ms, 5 ms | 2026-11-26 | yes, NO |  |",
      "| b/{one, other} | <= 9 | -, - | - | - |  |",
      "| b/third | <= 8 | - | - | - |  |"
    ])
  })

  it("has the ratios of rows without a goal by product", () => {
    const of = benchmarkOf("a/b", [rowOf({ name: "cpu" }), rowOf({ name: "alone" })])
    expect(bodyOf([of], [measured("a/b/cpu"), measured("a/b/alone", { ratio: null })]).at(-1)).toBe("- a/b/cpu 0.9")
  })

  it("is refused where it is too long for a page", () => {
    const rows = Array.from({ length: maximumLines }, (_, index) =>
      rowOf({ name: "row", unit: `unit ${index}`, goal: atMost(1) })
    )
    expect(() =>
      reportOf(
        rows.map((row, index) => benchmarkOf(`a${index}`, [row])),
        []
      )
    ).toThrow(/group more rows/)
  })
})
