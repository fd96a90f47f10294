/**
 * Counts by UTC hours: the running hour and the 24 before it, in several columns of one flat array. Older counts are
 * dropped. Pure.
 */
import { hourMillis } from "../limits.ts"

export const ringHours = 25

/** Counts of whole hours. See {@link probationWindow}. */
export interface HoursState {
  /** The newest hour: hours since 1970-01-01T00:00Z. */
  readonly hour: number
  /** The counts of hour h stand from (h mod 25) x columns on. */
  readonly counts: ReadonlyArray<number>
}

/** No counts in any hour. */
export const emptyHours = (columns: number): HoursState => ({
  hour: 0,
  counts: Array.from({ length: ringHours * columns }, () => 0)
})

/** The UTC hour of an instant. */
export const hourOf = (at: number): number => Math.floor(at / hourMillis)

const columnsOf = (state: HoursState): number => state.counts.length / ringHours

/** Counts in the hour of `at`; in the newest one where the clock was set back. */
export const addHour = (state: HoursState, at: number, column: number, count: number): HoursState => {
  const columns = columnsOf(state)
  const hour = Math.max(state.hour, hourOf(at))
  const counts = [...state.counts]
  const fresh = Math.min(hour - state.hour, ringHours)
  for (let passed = hour - fresh + 1; passed <= hour; passed++)
    counts.fill(0, (passed % ringHours) * columns, ((passed % ringHours) + 1) * columns)
  const index = (hour % ringHours) * columns + column
  counts[index] = (counts[index] as number) + count
  return { hour, counts }
}

/** Sum of a column over the hours [from, to), as far as they are kept. */
export const sumHours = (state: HoursState, column: number, from: number, to: number): number => {
  const columns = columnsOf(state)
  let sum = 0
  for (let hour = Math.max(from, state.hour - ringHours + 1, 0); hour < Math.min(to, state.hour + 1); hour++)
    sum += state.counts[(hour % ringHours) * columns + column] as number
  return sum
}
