/** The hours and days of a request for figures (docs/platform.md, 3.5). */
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { type AskedFigures, figuresOver, figuresPeriodOf, rateOf } from "../../src/common/figuresPeriod.ts"

const at = (text: string): number => Date.parse(`${text}Z`)
const now = at("2026-07-15T14:20:00")
const periodOf = (asked: AskedFigures) => {
  const { since, until } = Result.getOrThrow(figuresPeriodOf(asked, now))
  return [since, until].map((time) => new Date(time).toISOString().slice(0, 16))
}
const faultOf = (asked: AskedFigures) => Result.getOrThrow(Result.flip(figuresPeriodOf(asked, now))).message

describe("[platform 3.5] the period of a request for figures", () => {
  it("is the last 24 hours, or the last 30 days", () => {
    expect(periodOf({})).toEqual(["2026-07-14T14:00", "2026-07-15T15:00"])
    expect(periodOf({ interval: "day" })).toEqual(["2026-06-15T00:00", "2026-07-16T00:00"])
  })

  it("is the whole intervals that the times touch", () => {
    const since = at("2026-07-01T10:59:59")
    expect(periodOf({ since, until: at("2026-07-01T12:00:00") })).toEqual(["2026-07-01T10:00", "2026-07-01T12:00"])
    expect(periodOf({ since, until: at("2026-07-01T12:00:00"), interval: "day" })).toEqual([
      "2026-07-01T00:00",
      "2026-07-02T00:00"
    ])
  })

  it("is refused where it ends before it begins, is too long ago or too far ahead", () => {
    expect(faultOf({ since: now, until: now })).toBe(
      `Invalid parameter 'since': "${now}". Expected a time before 'until', which is the present where it is left out.`
    )
    expect(faultOf({ since: 5 })).toBe(`Invalid parameter 'since': "5". Figures are kept for 30 days.`)
    expect(faultOf({ until: 5 })).toBe(`Invalid parameter 'until': "5". Figures are kept for 30 days.`)
    const later = now + 25 * 3_600_000
    expect(faultOf({ until: later })).toBe(
      `Invalid parameter 'until': "${later}". Expected a time that is at most a day ahead.`
    )
    // What a program computes as 30 days ago is a moment older when it arrives.
    expect(periodOf({ since: now - 30 * 24 * 3_600_000 - 1_000 })[0]).toBe("2026-06-15T14:00")
  })

  it("has every interval in its series, and their sum as its total", () => {
    const period = Result.getOrThrow(figuresPeriodOf({ since: now - 2 * 3_600_000 }, now))
    const given = [
      { at: at("2026-07-15T13:00:00"), count: 4 },
      { at: at("2026-07-15T14:00:00"), count: 3 }
    ]
    const { series, totals } = figuresOver(period, given, ({ count = 0 }) => ({ count }))
    expect(series).toEqual([{ at: at("2026-07-15T12:00:00"), count: 0 }, ...given])
    expect(totals).toEqual({ count: 7 })
  })

  it("has rates to four places, and none of nothing", () => {
    expect([rateOf(1, 3), rateOf(0, 3), rateOf(0, 0)]).toEqual([0.3333, 0, null])
  })
})
