/** Durations in buckets, and percentiles of them. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { bucketOf, bucketsOf, percentileOf } from "../../src/common/DurationHistogram.ts"

const bounds = [10, 100, 1_000]

const countsOf = (durations: ReadonlyArray<number>): ReadonlyArray<number> => {
  const counts = new Array<number>(bucketsOf(bounds)).fill(0)
  for (const one of durations) counts[bucketOf(bounds, one)]!++
  return counts
}

describe("a histogram of durations", () => {
  it("has a bound in the bucket below it, and a bucket for everything longer", () => {
    expect([0, 10, 11, 100, 1_000, 1_001].map((one) => bucketOf(bounds, one))).toEqual([0, 0, 1, 1, 2, 3])
  })

  it("spreads a bucket evenly, and counts the longest as the last bound", () => {
    expect(percentileOf(bounds, [0, 10, 0, 0], 0.5)).toBe(55)
    expect(percentileOf(bounds, [4, 0, 0, 0], 0.5)).toBe(5)
    expect(percentileOf(bounds, [1, 0, 0, 9], 0.5)).toBe(1_000)
    expect(percentileOf(bounds, [0, 0, 0, 0], 0.5)).toBeNull()
  })

  it.prop(
    "puts a percentile into the bucket of the duration that has it",
    {
      durations: Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3_000 }))),
      share: Schema.Literals([0.5, 0.9, 0.95, 1])
    },
    ({ durations, share }) => {
      const estimated = percentileOf(bounds, countsOf(durations), share)!
      const sorted = durations.toSorted((a, b) => a - b)
      const exact = sorted[Math.ceil(share * sorted.length) - 1]!
      const bucket = bucketOf(bounds, exact)
      expect(estimated).toBeGreaterThanOrEqual(bounds[bucket - 1] ?? 0)
      expect(estimated).toBeLessThanOrEqual(bounds[bucket] ?? bounds.at(-1)!)
    }
  )
})
