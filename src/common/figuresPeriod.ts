/**
 * Decides which hours or days a request for figures is about (docs/platform.md, 3.5), and lays figures of hours out in
 * them. Days are those of UTC. Pure.
 */
import { Data, Result } from "effect"

const hourMillis = 60 * 60 * 1000
const dayMillis = 24 * hourMillis

/**
 * How long figures by the hour are kept: 30 days and one more, so that a request for 30 days that begins within a day is
 * served whole.
 */
export const keptFiguresMillis = 31 * dayMillis

/** How far ahead a period may end: clocks differ, and the present day ends later. */
const maximumAheadMillis = dayMillis

export const hourOf = (at: number): number => at - (at % hourMillis)

export const figureIntervals = ["hour", "day"] as const
export type FigureInterval = (typeof figureIntervals)[number]

const stepMillis: Readonly<Record<FigureInterval, number>> = { hour: hourMillis, day: dayMillis }

/** The period of a request that names no beginning. */
const defaultMillis: Readonly<Record<FigureInterval, number>> = { hour: dayMillis, day: 30 * dayMillis }

/** A request for figures. Times in Unix milliseconds. */
export interface AskedFigures {
  readonly since?: number | undefined
  readonly until?: number | undefined
  readonly interval?: FigureInterval | undefined
}

/** Whole intervals from `since`, inclusive, to `until`, exclusive. */
export interface FiguresPeriod {
  readonly interval: FigureInterval
  readonly stepMillis: number
  readonly since: number
  readonly until: number
}

/** The times of a request make no period. The message names the parameter. */
export class PeriodInvalid extends Data.TaggedError("PeriodInvalid")<{ readonly message: string }> {}

const invalid = (parameter: "since" | "until", given: number | undefined, expected: string) =>
  Result.fail(
    new PeriodInvalid({
      message: `Invalid parameter '${parameter}'${given === undefined ? "" : `: "${given}"`}. ${expected}`
    })
  )

const keptFor = "Figures are kept for 30 days."

/** The period of a request: the whole intervals that its times touch. */
export const figuresPeriodOf = (
  { interval = "hour", since, until }: AskedFigures,
  now: number
): Result.Result<FiguresPeriod, PeriodInvalid> => {
  const step = stepMillis[interval]
  const end = until ?? now
  const oldest = now - keptFiguresMillis
  const begin = since ?? Math.max(end - defaultMillis[interval], oldest)
  if (end > now + maximumAheadMillis) return invalid("until", until, "Expected a time that is at most a day ahead.")
  if (end <= oldest) return invalid("until", until, keptFor)
  if (begin >= end)
    return invalid("since", since, "Expected a time before 'until', which is the present where it is left out.")
  if (begin < oldest) return invalid("since", since, keptFor)
  const first = begin - (begin % step)
  return Result.succeed({ interval, stepMillis: step, since: first, until: Math.ceil(end / step) * step })
}

/** One for each interval of a period, in order: the given one, or what `empty` makes. */
const seriesOf = <A extends { readonly at: number }>(
  { since, stepMillis, until }: FiguresPeriod,
  given: Iterable<A>,
  empty: (at: number) => A
): ReadonlyArray<A> => {
  const byTime = new Map<number, A>()
  for (const one of given) byTime.set(one.at, one)
  return Array.from({ length: (until - since) / stepMillis }, (_, index) => {
    const at = since + index * stepMillis
    return byTime.get(at) ?? empty(at)
  })
}

/** Figures of hours added up over a period. */
export interface FiguresOverTime<Shown> {
  readonly totals: Shown
  /** One for each interval of the period, in order. */
  readonly series: ReadonlyArray<Shown & { readonly at: number }>
}

/** Sums of columns, by their names. */
export type FigureSums = Readonly<Record<string, number>>

/** Lays the sums of each interval out over a period, with their totals, each as `shown` makes it. */
export const figuresOver = <Shown extends object>(
  period: FiguresPeriod,
  rows: ReadonlyArray<FigureSums & { readonly at: number }>,
  shown: (sums: FigureSums) => Shown
): FiguresOverTime<Shown> => {
  const totals: Record<string, number> = {}
  for (const { at: _, ...sums } of rows)
    for (const [column, sum] of Object.entries(sums)) totals[column] = (totals[column] ?? 0) + sum
  const series = seriesOf(
    period,
    rows.map((row) => ({ ...shown(row), at: row.at })),
    (at) => ({ ...shown({}), at })
  )
  return { totals: shown(totals), series }
}

/** A share of a whole, to four places; null of nothing. */
export const rateOf = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.round((part / whole) * 10_000) / 10_000
