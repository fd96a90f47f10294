/** How long to wait before something is tried again: twice as long after each failure, up to a bound. Needs no service. */
import { Duration, Schedule } from "effect"

export const backoff = (firstMillis: number, longestMillis: number) =>
  Schedule.min([Schedule.exponential(Duration.millis(firstMillis)), Schedule.spaced(Duration.millis(longestMillis))])
