/**
 * How long clients that are answered 503 should wait (docs/platform.md, 8.5): the longer it has gone on, the longer, so that a platform that comes
 * back meets fewer of them together. Needs no service.
 */
import { Context } from "effect"

/** Without a 503 for so long it counts as over. */
export const calmMillis = 10_000

/** Of the time that it has gone on, the part that a client waits, and the bounds in seconds. */
const part = 0.2
export const leastSeconds = 1
export const mostSeconds = 30

/** Seconds to wait, after it has gone on for so long. */
export const waitSeconds = (millis: number): number =>
  Math.min(mostSeconds, Math.max(leastSeconds, Math.ceil((part * millis) / 1_000)))

/** Counts from the first 503 of a row. */
export class RetryGrowth {
  private since = 0
  private last = Number.NEGATIVE_INFINITY

  /** A request is answered 503 at `now`, in milliseconds of a monotonic clock. Returns the seconds that its client should wait. */
  refused(now: number): number {
    if (now - this.last > calmMillis) this.since = now
    this.last = now
    return waitSeconds(now - this.since)
  }
}

/** The one of this process. */
export const CurrentRetryGrowth = Context.Reference<RetryGrowth>("sluice/http/RetryGrowth", {
  defaultValue: () => new RetryGrowth()
})
