/**
 * Spaces turns evenly over a second, each a little after the one before. Pure: the time is an argument, in
 * milliseconds.
 */
export class RateSpacer {
  private readonly pauseMillis: number
  private nextAt = Number.NEGATIVE_INFINITY

  constructor(perSecond: number) {
    this.pauseMillis = 1_000 / perSecond
  }

  /** When the next turn is; undefined, and none is taken, where that is after `latest`. */
  take(now: number, latest: number): number | undefined {
    const at = Math.max(now, this.nextAt)
    if (at > latest) return undefined
    this.nextAt = at + this.pauseMillis
    return at
  }
}
