/** How many attempts an endpoint gets at a time (issue: 4 at first, growing to 64 while it answers well, 1 in the slow track after trouble). */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  type AttemptEnd,
  firstPace,
  maximumLimit,
  type Pace,
  paceAfter,
  slowAfterMillis,
  windowOf
} from "../../../src/webhooks/dispatcher/pace.ts"

const quick = 5
const paced = (pace: Pace, ...ends: ReadonlyArray<readonly [AttemptEnd, number]>): Pace =>
  ends.reduce((before, [end, durationMillis]) => paceAfter(before, end, durationMillis), pace)
const times = (count: number, end: AttemptEnd, durationMillis = quick) =>
  Array.from({ length: count }, () => [end, durationMillis] as const)

describe("the pace of an endpoint", () => {
  it("given nothing, then four at a time", () => {
    expect(firstPace).toEqual({ limit: 4, track: "main" })
  })

  it("given quick successes, then one more each, up to 64", () => {
    expect(paced(firstPace, ...times(3, "succeeded"))).toEqual({ limit: 7, track: "main" })
    expect(paced(firstPace, ...times(1_000, "succeeded"))).toEqual({ limit: 64, track: "main" })
  })

  it("given no answer, whatever was before, then one at a time in the slow track", () => {
    expect(paced(firstPace, ...times(100, "succeeded"), ["unanswered", 15_000])).toEqual({ limit: 1, track: "slow" })
    expect(paced(firstPace, ["unanswered", 1])).toEqual({ limit: 1, track: "slow" })
  })

  it("given a quick answer in the slow track, then the main one again, growing from one", () => {
    const slow = paced(firstPace, ["unanswered", 15_000])
    expect(paced(slow, ["succeeded", quick])).toEqual({ limit: 2, track: "main" })
    expect(paced(slow, ["answered", quick])).toEqual({ limit: 1, track: "main" })
  })

  it("given answers that are no success, then half as many", () => {
    expect(paced(firstPace, ...times(60, "succeeded"), ["answered", quick])).toEqual({ limit: 32, track: "main" })
    expect(paced(firstPace, ...times(9, "answered"))).toEqual({ limit: 1, track: "main" })
  })

  it("given slow successes, then as many as before, in the slow track", () => {
    expect(paced(firstPace, ["succeeded", slowAfterMillis + 1])).toEqual({ limit: 4, track: "slow" })
    expect(paced(firstPace, ["succeeded", slowAfterMillis])).toEqual({ limit: 5, track: "main" })
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
