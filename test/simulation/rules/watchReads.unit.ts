/** The reads of the machine that make a rule impure, and calls that answer the same on every machine. */
import { describe, expect, it } from "vitest"
import { watchReads } from "../../../src/simulation/rules/watchReads.ts"

const readsOf = (run: () => unknown): ReadonlyArray<string> => {
  const reads: Array<string> = []
  watchReads((name) => reads.push(name), run)
  return reads
}

const zone = "the time zone of the machine"
const locale = "the locale of the machine"

describe("a read of the machine", () => {
  it.each<[string, () => unknown]>([
    ["the clock, by Date.now", () => Date.now()],
    ["the clock, by new Date()", () => new Date()],
    ["the clock, by performance.now", () => performance.now()],
    ["random numbers, by Math.random", () => Math.random()],
    [`${zone}, by new Date`, () => new Date(2026, 1, 1)],
    [`${zone}, by new Date`, () => new Date("2026-01-01T12:00")],
    [`${zone}, by Date.parse`, () => Date.parse("2026-01-01 12:00:30")],
    [`${zone}, by getMonth`, () => new Date(0).getMonth()],
    [`${zone}, by setHours`, () => new Date(0).setHours(1)],
    [`${zone}, by toString`, () => String(new Date(0))],
    ["the time zone or the locale of the machine, by toLocaleString", () => new Date(0).toLocaleString("en")],
    [`${locale}, by localeCompare`, () => "a".localeCompare("b")],
    [`${locale}, by toLocaleString`, () => (1_000).toLocaleString()]
  ])("is named: %s", (name, run) => {
    expect(readsOf(run)).toContain(name)
    // Nothing is reported, and nothing thrown, once it is over.
    run()
  })

  it.each<[string, () => unknown]>([
    ["a time in UTC", () => new Date("2026-01-01T12:00:00Z").getUTCMonth()],
    ["a time with an offset", () => Date.parse("2026-01-01T12:00:00+02:00")],
    ["a date alone", () => new Date("2026-01-01").toISOString()],
    ["a number", () => new Date(5).getTime()],
    ["a time in a named zone", () => new Date(0).toLocaleString("en", { timeZone: "UTC" })],
    ["a comparison in a named locale", () => "a".localeCompare("b", "en")],
    ["a number in a named locale", () => (1_000).toLocaleString("en")]
  ])("is not there: %s", (_, run) => {
    expect(readsOf(run)).toEqual([])
  })
})
