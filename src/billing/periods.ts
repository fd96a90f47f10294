/**
 * Computes billing's calendar, all of it in UTC (docs/platform.md, 11.2): periods that keep the day on which a
 * subscription began, and calendar months. Pure; times are Unix milliseconds.
 */

/** How often a price is paid. */
export const intervals = ["month", "year"] as const
export type Interval = (typeof intervals)[number]

const monthsOf: Record<Interval, number> = { month: 1, year: 12 }

/** A half-open period of time: `start` belongs to it, `end` to the next one. */
export interface Period {
  readonly start: number
  readonly end: number
}

/** The same day and time a number of months later, or the last day of a month that is too short for it. */
export const addMonths = (at: number, months: number): number => {
  const date = new Date(at)
  const year = date.getUTCFullYear()
  const month = date.getUTCMonth() + months
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return Date.UTC(
    year,
    month,
    Math.min(date.getUTCDate(), lastDay),
    date.getUTCHours(),
    date.getUTCMinutes(),
    date.getUTCSeconds(),
    date.getUTCMilliseconds()
  )
}

/**
 * The period with this number, from 0, of a subscription that began at `anchor`. Counted from the anchor and not from
 * the period before, so that one that began on the 31st ends on the 30th in some months and on the 31st again later.
 */
export const periodOf = (anchor: number, interval: Interval, number: number): Period => ({
  start: addMonths(anchor, number * monthsOf[interval]),
  end: addMonths(anchor, (number + 1) * monthsOf[interval])
})

/** The calendar month that an instant lies in. */
export const monthAt = (at: number): Period => {
  const date = new Date(at)
  const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  return { start, end: addMonths(start, 1) }
}

/** The calendar month of a text such as `2026-07`; undefined where it is none. */
export const monthNamed = (text: string): Period | undefined => {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? []
  return year === undefined || Number(year) < 1970 ? undefined : monthAt(Date.UTC(Number(year), Number(month) - 1, 1))
}
