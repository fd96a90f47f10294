/** How many requests of a second are kept, and for how many each stands (docs/platform.md, 2.12). */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { RequestSample } from "../../../src/platform/requests/RequestSample.ts"
import { often } from "../../support/often.ts"

const Requests = Schema.Struct({
  bound: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
  draws: Schema.Array(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.999 })))
})

/** Puts the numbers from 0 on, those that are chosen. */
const sampleOf = (bound: number, total: number, random: () => number) => {
  const sample = new RequestSample<number>(bound, random)
  for (let item = 0; item < total; item++) {
    const place = sample.place()
    if (place !== undefined) sample.put(place, item)
  }
  return sample.sampled()
}

describe("a sample", () => {
  it("[platform 2.12] given no more than its bound, then it has each, for itself alone", () => {
    expect(sampleOf(3, 3, () => 0)).toEqual([0, 1, 2].map((item) => ({ item, count: 1 })))
    expect(sampleOf(3, 0, () => 0)).toEqual([])
    expect(sampleOf(0, 9, () => 0)).toEqual([])
  })

  it.prop(
    "[platform 2.12] given more, then it has as many as its bound, and they stand for all",
    [Requests],
    ([{ bound, draws }]) => {
      const total = draws.length
      let drawn = 0
      const sampled = sampleOf(bound, total, () => draws[drawn++]!)
      expect(sampled).toHaveLength(Math.min(bound, total))
      expect(new Set(sampled.map(({ item }) => item)).size).toBe(sampled.length)
      const counts = sampled.map(({ count }) => count)
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(total)
      expect(counts.every((count) => Math.abs(count - total / counts.length) < 1)).toBe(true)
    },
    { arbitrary: { runs: often(100) } }
  )

  it("[platform 2.12] gives each request the same chance, the first as the last", () => {
    // Every way in which four draws can fall, for a bound of one of five requests.
    const kept = [0, 0, 0, 0, 0]
    const ways = 2 * 3 * 4 * 5
    for (let way = 0; way < ways; way++) {
      const draws = [2, 3, 4, 5]
      let rest = way
      const random = () => {
        const of = draws.shift()!
        const drawn = rest % of
        rest = Math.floor(rest / of)
        return (drawn + 0.5) / of
      }
      kept[sampleOf(1, 5, random)[0]!.item]!++
    }
    expect(kept).toEqual(Array(5).fill(ways / 5))
  })
})
