/**
 * Counts durations in a few fixed buckets, so that a row of figures stays small and sums of rows are exact. Percentiles
 * are estimates from the buckets. Pure.
 */

/** The upper bounds of the buckets in milliseconds, ascending. A last bucket has everything longer. */
export type DurationBounds = ReadonlyArray<number>

/** The number of buckets, that of the longest durations included. */
export const bucketsOf = (bounds: DurationBounds): number => bounds.length + 1

/** The bucket of a duration in milliseconds. A bound belongs to the bucket below it. */
export const bucketOf = (bounds: DurationBounds, millis: number): number => {
  const found = bounds.findIndex((bound) => millis <= bound)
  return found === -1 ? bounds.length : found
}

/** The usual percentiles of durations in milliseconds; null without durations. */
export interface DurationPercentiles {
  readonly p50: number | null
  readonly p95: number | null
}

export const percentilesOf = (bounds: DurationBounds, counts: ReadonlyArray<number>): DurationPercentiles => ({
  p50: percentileOf(bounds, counts, 0.5),
  p95: percentileOf(bounds, counts, 0.95)
})

/**
 * Estimates the duration that a share of all durations does not exceed (0.95 for p95), in whole milliseconds. It is
 * exact to its bucket, and spread evenly within it. The last bucket counts as its lower bound. Null without durations.
 */
export const percentileOf = (bounds: DurationBounds, counts: ReadonlyArray<number>, share: number): number | null => {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const wanted = share * total
  let below = 0
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && below + count >= wanted) {
      const lower = bounds[bucket - 1] ?? 0
      const upper = bounds[bucket] ?? lower
      return Math.round(lower + ((upper - lower) * (wanted - below)) / count)
    }
    below += count
  }
  return bounds.at(-1) ?? null
}
