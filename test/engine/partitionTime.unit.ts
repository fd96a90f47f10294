/** Rules 6 and 7 without an engine: a partition's time, and how long it counts itself the owner, by two clocks that need not agree. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { type Instant, PartitionTime } from "../../src/engine/core/PartitionTime.ts"
import { clockBehindMillis, freshnessMillis, idleConfirmMillis } from "../../src/engine/limits.ts"

const at = (wall: number, monotonic = wall): Instant => ({ wall, monotonic })

describe("rule 7, a partition's time", () => {
  it.each([
    ["ahead of the last frame", 1_000, 2_000, 2_000],
    ["a little behind it", 100_000, 100_000 - clockBehindMillis, 100_000],
    ["more than a minute behind it", 100_000, 99_999 - clockBehindMillis, "behind the log"]
  ])("is, with a clock %s, …", (_, headNow, wall, told) => {
    expect(new PartitionTime().tell(headNow, wall)).toBe(told)
  })

  it("is not told again once it was told: a clock set back by more than a minute has none", () => {
    const time = new PartitionTime()
    expect(time.tell(0, 500_000)).toBe(500_000)
    expect(time.tell(0, 500_000 - clockBehindMillis)).toBe(500_000)
    expect(time.tell(0, 499_999 - clockBehindMillis)).toBe("set back")
    expect(time.tell(0, 500_001)).toBe(500_001)
  })

  it.prop(
    "never goes back, and is the clock's unless that would be going back",
    [Arbitrary.schema(Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 300_000 }))))],
    ([walls]) => {
      const time = new PartitionTime()
      let latest = 50_000
      for (const wall of walls) {
        const told = time.tell(50_000, wall)
        if (typeof told === "string") expect(latest - wall).toBeGreaterThan(clockBehindMillis)
        else {
          expect(told).toBe(Math.max(latest, wall))
          latest = told
        }
      }
    }
  )
})

describe("rule 6, freshness", () => {
  const provenAt = (instant: Instant) => {
    const time = new PartitionTime()
    time.proven(instant)
    return time
  }

  it.each([
    ["at once", at(100_000), true],
    ["just before it is too old", at(100_000 + freshnessMillis - 1), true],
    ["when it is", at(100_000 + freshnessMillis), false],
    ["after a suspension, in which the monotonic clock stood still", at(100_000 + freshnessMillis, 100_001), false],
    ["with a wall clock that was set back", at(100_000 - freshnessMillis, 100_001), false],
    ["with a wall clock that stands still", at(100_000, 100_000 + freshnessMillis), false]
  ])("a proof counts %s: %s", (_, now, isFresh) => {
    expect(provenAt(at(100_000)).isFresh(now)).toBe(isFresh)
  })

  it("nothing is fresh without a proof, and a look at the log's end is none", () => {
    const time = new PartitionTime()
    expect(time.isFresh(at(1))).toBe(false)
    time.seen(at(1))
    expect([time.isFresh(at(1)), time.wasSeenSince(at(1)), time.wasSeenSince(at(2))]).toEqual([false, true, false])
  })

  it("a proof is renewed for whoever asks steadily, from half of its time on, and once for each who wants it", () => {
    const time = provenAt(at(0))
    const due = at(freshnessMillis / 2 + 1)
    expect(time.takeRenewal(due)).toBe(false)
    time.wantRenewal()
    expect(time.takeRenewal(at(freshnessMillis / 2))).toBe(false)
    time.wantRenewal()
    expect([time.takeRenewal(due), time.takeRenewal(due)]).toEqual([true, false])
  })

  it("a leader that did not answer is asked again after half a second", () => {
    const time = provenAt(at(0))
    time.failed(at(10_000))
    expect([time.mayAsk(at(10_499)), time.isRenewalDue(at(10_499)), time.isLookDue(at(10_499))]).toEqual([
      false,
      false,
      false
    ])
    expect([time.mayAsk(at(10_500)), time.isRenewalDue(at(10_500)), time.isLookDue(at(10_500))]).toEqual([
      true,
      true,
      true
    ])
  })

  it("an owner that nobody asks looks at its log ten seconds after it has seen it last", () => {
    const time = provenAt(at(0))
    time.seen(at(3_000))
    expect([time.isLookDue(at(2_999 + idleConfirmMillis)), time.isLookDue(at(3_000 + idleConfirmMillis))]).toEqual([
      false,
      true
    ])
    expect(time.untilLook(at(5_000))).toBe(idleConfirmMillis - 2_000)
  })
})
