/** Computes the wait before another try: twice as long after each failure, up to a bound. Needs no service. */
import { Duration, Schedule } from "effect"

/** For `Effect.retry`, which begins with the first pause each time. */
export const backoff = (firstMillis: number, longestMillis: number) =>
  Schedule.min([Schedule.exponential(Duration.millis(firstMillis)), Schedule.spaced(Duration.millis(longestMillis))])

/** The same for a loop that continues after a success, and therefore resets the pauses itself. */
export class Pauses {
  private readonly firstMillis: number
  private readonly longestMillis: number
  private nextMillis: number

  constructor(firstMillis: number, longestMillis: number) {
    this.firstMillis = firstMillis
    this.longestMillis = longestMillis
    this.nextMillis = firstMillis
  }

  /** The pause after one more failure, in milliseconds. */
  afterFailure(): number {
    const millis = this.nextMillis
    this.nextMillis = Math.min(millis * 2, this.longestMillis)
    return millis
  }

  /** The next failure is a first one again. */
  reset(): void {
    this.nextMillis = this.firstMillis
  }
}
