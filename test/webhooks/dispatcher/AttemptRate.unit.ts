/** The rate of one endpoint against a model that remembers every attempt. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { AttemptRate, rateWindowMillis } from "../../../src/webhooks/dispatcher/AttemptRate.ts"

/** An attempt at once, with no wait between its start and its beginning. */
const attempt = (rate: AttemptRate, now: number) => {
  rate.start()
  rate.began(now)
}

describe("the rate of an endpoint", () => {
  it("lets as many attempts begin in a second as it says, and the next one when the first is over a second old", () => {
    const rate = new AttemptRate()
    for (const now of [0, 0, 400]) {
      assert.isAtMost(rate.nextAt(3, now), now)
      attempt(rate, now)
    }
    assert.strictEqual(rate.nextAt(3, 400), rateWindowMillis)
    assert.strictEqual(rate.nextAt(3, rateWindowMillis - 1), rateWindowMillis)
    assert.isAtMost(rate.nextAt(3, rateWindowMillis), rateWindowMillis)
  })

  it("counts an attempt from its beginning, and holds its part before", () => {
    const rate = new AttemptRate()
    rate.start()
    assert.isAbove(rate.nextAt(1, 5_000), 5_000)
    rate.began(7_000)
    assert.strictEqual(rate.nextAt(1, 7_000), 7_000 + rateWindowMillis)
  })

  it("gets the part of an attempt that was given up back", () => {
    const rate = new AttemptRate()
    rate.start()
    rate.gaveUp()
    assert.isAtMost(rate.nextAt(1, 10), 10)
    assert.isTrue(rate.isOver(10))
  })

  it("is over a window after the last attempt", () => {
    const rate = new AttemptRate()
    attempt(rate, 100)
    assert.isFalse(rate.isOver(100 + rateWindowMillis - 1))
    assert.isTrue(rate.isOver(100 + rateWindowMillis))
  })

  it("may be lowered and raised: what has begun counts for the new one", () => {
    const rate = new AttemptRate()
    for (const now of [0, 10, 20, 30]) attempt(rate, now)
    assert.strictEqual(rate.nextAt(2, 40), 20 + rateWindowMillis)
    assert.isAtMost(rate.nextAt(5, 40), 40)
  })
})

const Step = Schema.Struct({
  passes: Schema.Literals([0, 1, 7, 130, 499, 999, 1_000, 1_001, 1_500]),
  does: Schema.Literals(["start", "start", "begin", "give up"])
})

describe("the rate of an endpoint, whatever happens", () => {
  it.prop(
    "lets so many begin in no second, and one more as soon as that holds",
    {
      limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
      steps: Schema.Array(Step).check(Schema.isMaxLength(60))
    },
    ({ limit, steps }) => {
      const rate = new AttemptRate()
      const begun: Array<number> = []
      let starting = 0
      let now = 0
      /** How many count at a time, by looking at each. */
      const counted = (at: number) => starting + begun.filter((time) => at - time < rateWindowMillis).length
      for (const { does, passes } of steps) {
        now += passes
        if (does === "start") {
          const at = rate.nextAt(limit, now)
          assert.strictEqual(at <= now, counted(now) < limit)
          if (at <= now) {
            rate.start()
            starting++
          } else if (starting < limit) {
            assert.isBelow(counted(at), limit)
            assert.strictEqual(counted(at - 1), limit)
          }
        } else if (starting > 0) {
          starting--
          if (does === "give up") rate.gaveUp()
          else {
            rate.began(now)
            begun.push(now)
          }
        }
        assert.isAtMost(counted(now), limit)
      }
      // Times are rounded down: less than a second may lie between beginnings whose times are 1,000 apart.
      for (const [index, time] of begun.entries())
        assert.isAtMost(begun.slice(index).filter((other) => other - time <= 1_000).length, limit)
    }
  )
})
