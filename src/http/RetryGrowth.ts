/**
 * Decides how long clients that are answered 503 should wait (docs/platform.md, 8.5): the longer the failure lasts, the
 * longer, so that a recovering platform meets fewer of them together. Needs no service.
 */
import { Context } from "effect"

/** Time without a 503 after which the failure counts as over. */
export const calmMillis = 10_000

/** The part of the failure's duration that a client waits, and the bounds in seconds. */
const part = 0.2
export const leastSeconds = 1
export const mostSeconds = 30

/** Seconds to wait, after a failure of this duration. */
export const waitSeconds = (millis: number): number =>
  Math.min(mostSeconds, Math.max(leastSeconds, Math.ceil((part * millis) / 1_000)))

/** Measures a failure from its first 503. */
export class RetryGrowth {
  private since = 0
  private last = Number.NEGATIVE_INFINITY

  /**
   * Notes that a request is answered 503 at `now`, in milliseconds of a monotonic clock. Returns the seconds that its
   * client should wait.
   */
  refused(now: number): number {
    if (now - this.last > calmMillis) this.since = now
    this.last = now
    return waitSeconds(now - this.since)
  }
}

/** The one object of this process. */
export const CurrentRetryGrowth = Context.Reference<RetryGrowth>("sluice/http/RetryGrowth", {
  defaultValue: () => new RetryGrowth()
})
