/** How many attempts an endpoint gets at a time: 4 at first, growing to 64 while its answers take no longer for it, 1 after trouble. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  type AttemptEnd,
  firstPace,
  maximumLimit,
  overduePace,
  type Pace,
  paceAfter,
  slowAfterMillis,
  slowPace,
  windowOf
} from "../../../src/webhooks/dispatcher/ConcurrencyLimit.ts"

const quick = 5
const paced = (pace: Pace, ...ends: ReadonlyArray<readonly [AttemptEnd, number]>): Pace =>
  ends.reduce(
    (before, [end, durationMillis]) =>
      paceAfter(before, { end, durationMillis, inFlight: before.limit, isAlone: false }),
    pace
  )
const times = (count: number, end: AttemptEnd, durationMillis = quick) =>
  Array.from({ length: count }, () => [end, durationMillis] as const)

describe("the pace of an endpoint", () => {
  it("given nothing, then four at a time", () => {
    expect(firstPace).toMatchObject({ limit: 4, track: "main" })
  })

  it("[platform 7.4] given quick successes, then one more each, up to 64", () => {
    expect(paced(firstPace, ...times(3, "succeeded"))).toMatchObject({ limit: 7, track: "main" })
    expect(paced(firstPace, ...times(1_000, "succeeded"))).toMatchObject({ limit: 64, track: "main" })
  })

  it("given no answer, whatever was before, then one at a time in the slow track", () => {
    expect(paced(firstPace, ...times(100, "succeeded"), ["unanswered", 15_000])).toMatchObject({
      limit: 1,
      track: "slow"
    })
    expect(paced(firstPace, ["unanswered", 1])).toMatchObject({ limit: 1, track: "slow" })
  })

  it("given a quick answer in the slow track, then the main one again, growing from one", () => {
    const slow = paced(firstPace, ["unanswered", 15_000])
    expect(paced(slow, ["succeeded", quick])).toMatchObject({ limit: 2, track: "main" })
    expect(paced(slow, ["answered", quick])).toMatchObject({ limit: 1, track: "main" })
  })

  it("given answers that are no success, then half as many", () => {
    expect(paced(firstPace, ...times(60, "succeeded"), ["answered", quick])).toMatchObject({ limit: 32, track: "main" })
    expect(paced(firstPace, ...times(9, "answered"))).toMatchObject({ limit: 1, track: "main" })
  })

  it("given slow successes that always take as long, then one more each, in the slow track", () => {
    expect(paced(firstPace, ["succeeded", slowAfterMillis + 1])).toMatchObject({ limit: 5, track: "slow" })
    expect(paced(firstPace, ["succeeded", slowAfterMillis])).toMatchObject({ limit: 5, track: "main" })
    expect(paced(slowPace, ...times(1_000, "succeeded", 2_000))).toMatchObject({ limit: 64, track: "slow" })
  })

  it("given successes that take longer beside others than alone, then no more; given three times as long, then fewer", () => {
    const alone = paceAfter(slowPace, { end: "succeeded", durationMillis: 1_200, inFlight: 1, isAlone: true })
    expect(alone.limit).toBe(2)
    expect(paced(alone, ["succeeded", 2_401]).limit).toBe(2)
    expect(paced(alone, ["succeeded", 3_601]).limit).toBe(1)
  })

  it("given an endpoint that has become slower, then it is measured anew once it has one attempt at a time", () => {
    const before = paced(firstPace, ...times(20, "succeeded", 1_200))
    const fewer = paced(before, ...times(60, "succeeded", 4_000))
    expect(fewer).toMatchObject({ limit: 1, leastMillis: 1_200 })
    const measured = paceAfter(fewer, { end: "succeeded", durationMillis: 4_000, inFlight: 1, isAlone: true })
    expect(measured).toMatchObject({ limit: 2, leastMillis: 4_000 })
    expect(paced(measured, ...times(10, "succeeded", 4_000)).limit).toBe(12)
  })

  it("given answers to attempts that began beside more than may be made now, then they take no more away", () => {
    const pace = { limit: 8, track: "slow", leastMillis: 1_000 } as const
    const late = { end: "succeeded", durationMillis: 4_000, isAlone: false } as const
    expect(paceAfter(pace, { ...late, inFlight: 9 }).limit).toBe(8)
    expect(paceAfter(pace, { ...late, inFlight: 8 }).limit).toBe(7)
  })

  it("given answers that take as long as a queue of them could not, then no more", () => {
    expect(paced(slowPace, ...times(9, "succeeded", 6_000)).limit).toBe(10)
    expect(paced(slowPace, ...times(9, "succeeded", 6_001)).limit).toBe(1)
  })

  it("given an attempt that is overdue, then what is made goes on, and no more than at first where that is less", () => {
    const full = paced(firstPace, ...times(100, "succeeded"))
    expect(overduePace(full, 9)).toEqual({ ...full, limit: 9, track: "slow" })
    expect(overduePace(full, 1)).toEqual({ ...full, limit: 4, track: "slow" })
    expect(overduePace(slowPace, 9)).toEqual(slowPace)
  })

  /** An endpoint that works on so many at a time, one behind the other, for so long each. */
  it.each([
    [1, 1_200, 4],
    [1, 2_000, 4],
    [8, 1_200, 32],
    [64, 2_000, 64]
  ])("given one that works on %i at a time for %i ms, then it is kept at work and has no more than %i", (places, millis, most) => {
    let pace = slowPace
    for (let round = 0; round < 200; round++) {
      const { limit } = pace
      const behind = (at: number) => Math.ceil((Math.max(at, limit - places) + 1) / places)
      for (let at = 0; at < limit; at++) {
        const durationMillis = millis * behind(at)
        pace = paceAfter(pace, { end: "succeeded", durationMillis, inFlight: limit, isAlone: limit === 1 })
      }
      expect(pace.limit).toBeLessThanOrEqual(most)
    }
    expect(pace.limit).toBeGreaterThanOrEqual(places)
  })

  const End = Schema.Tuple([
    Schema.Literals(["succeeded", "answered", "unanswered"]),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20_000 }))
  ])
  const History = Schema.Array(End).check(Schema.isMaxLength(200))

  it.prop(
    "stays within its bounds, and its track tells of the last attempt alone",
    [History, End],
    ([history, last]) => {
      const pace = paced(firstPace, ...history, last)
      expect(pace.limit).toBeGreaterThanOrEqual(1)
      expect(pace.limit).toBeLessThanOrEqual(maximumLimit)
      expect(pace.track).toBe(last[0] === "unanswered" || last[1] > slowAfterMillis ? "slow" : "main")
      expect(windowOf(pace)).toBeGreaterThanOrEqual(pace.limit)
    }
  )

  it.prop("never grows by more than one an attempt", [History, End], ([history, last]) => {
    const before = paced(firstPace, ...history)
    expect(paced(before, last).limit).toBeLessThanOrEqual(before.limit + 1)
  })
})
