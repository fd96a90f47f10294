/** Calendar arithmetic in UTC (docs/platform.md, 11.2), against a model that walks day by day. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { addMonths, intervals, monthAt, monthNamed, periodOf } from "../../src/billing/periods.ts"

const day = 86_400_000

/** A text's instant. */
const at = (text: string): number => Date.parse(`${text}Z`)

/** Walks on by days until the calendar shows the wanted month; then to the wanted day, or back from the first day behind. */
const naiveLater = (from: number, months: number): number => {
  const wanted = new Date(from).getUTCDate()
  let now = from
  for (let left = months; left > 0; left--) {
    const month = new Date(now).getUTCMonth()
    while (new Date(now).getUTCMonth() === month) now += day
    // The first day of the next month, at the same time.
  }
  if (months === 0) return from
  const month = new Date(now).getUTCMonth()
  while (new Date(now).getUTCDate() !== wanted && new Date(now + day).getUTCMonth() === month) now += day
  return now
}

const instants = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: at("2104-12-31T23:59:59") }))

describe("periods", () => {
  it.each([
    ["2026-01-31T10:30:00", 1, "2026-02-28T10:30:00"],
    ["2024-01-31T10:30:00", 1, "2024-02-29T10:30:00"],
    ["2024-02-29T00:00:00", 12, "2025-02-28T00:00:00"],
    ["2024-02-29T00:00:00", 48, "2028-02-29T00:00:00"],
    ["2000-02-29T12:00:00", 1_200, "2100-02-28T12:00:00"],
    ["2026-12-31T23:59:59.999", 2, "2027-02-28T23:59:59.999"],
    ["2026-10-24T02:30:00", 1, "2026-11-24T02:30:00"]
  ])("%s and %i months is %s", (from, months, to) => {
    expect(new Date(addMonths(at(from), months)).toISOString()).toBe(new Date(at(to)).toISOString())
  })

  it.prop(
    "are what walking over the calendar finds",
    { from: instants, months: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 })) },
    ({ from, months }) => {
      expect(addMonths(from, months)).toBe(naiveLater(from, months))
    }
  )

  it.prop(
    "follow one another without a gap, and keep their day",
    {
      anchor: instants,
      interval: Schema.Literals(intervals),
      number: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 300 }))
    },
    ({ anchor, interval, number }) => {
      const one = periodOf(anchor, interval, number)
      const next = periodOf(anchor, interval, number + 1)
      expect(next.start).toBe(one.end)
      expect(one.start).toBeLessThan(one.end)
      const wanted = new Date(anchor).getUTCDate()
      const month = new Date(one.end)
      const last = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 0)).getUTCDate()
      expect(month.getUTCDate()).toBe(Math.min(wanted, last))
      expect((one.end - anchor) % day).toBe(0)
    }
  )

  it.prop("a month holds its instants and no others", { instant: instants }, ({ instant }) => {
    const { end, start } = monthAt(instant)
    expect(start <= instant && instant < end).toBe(true)
    expect([monthAt(end).start, monthAt(end - 1).start]).toEqual([end, start])
    const name = new Date(instant).toISOString().slice(0, 7)
    expect(monthNamed(name)).toEqual({ start, end })
  })

  it.each([
    "2026-13",
    "2026-00",
    "2026-1",
    "26-01",
    "2026-01-01",
    "current",
    "",
    "1969-12",
    " 2026-01"
  ])("%j names no month", (text) => {
    expect(monthNamed(text)).toBeUndefined()
  })
})
