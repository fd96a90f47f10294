import { describe, expect, it } from "@effect/vitest"
import { FixedWindow, InvalidArgument, type Limit, type Receipt, rateLimitHeaders } from "../../src/limits/index.ts"

const noon = Date.UTC(2026, 6, 1, 12, 0, 0)
const at = (seconds: number) => noon + seconds * 1000
const endOfMinute = noon / 1000 + 60

/** A key that let these through, each `[at seconds, limit, cost]`. */
const given = (...earlier: ReadonlyArray<readonly [second: number, limit: Limit, cost: number]>) => {
  let state = FixedWindow.initial
  for (const [second, limit, cost] of earlier) {
    const taken = FixedWindow.take(state, limit, cost, at(second))
    expect(taken.decision.allowed).toBe(true)
    state = taken.state
  }
  return {
    take: (second: number, limit: Limit, cost = 1) => FixedWindow.take(state, limit, cost, at(second)),
    peek: (second: number, limit: Limit, cost = 1) => FixedWindow.peek(state, limit, cost, at(second)),
    refund: (second: number, receipt: Receipt) => FixedWindow.refund(state, receipt, at(second))
  }
}

describe("a fixed window on the UTC minute", () => {
  it("counts what passes, and says what is left and when the minute ends", () => {
    expect(given().take(18, 60).decision).toEqual({
      allowed: true,
      outcome: "allowed",
      limit: 60,
      remaining: 59,
      cost: 1,
      reset: endOfMinute,
      retryAfterSeconds: 42
    })
    expect(given([0, 60, 59]).take(30, 60).decision).toMatchObject({ allowed: true, remaining: 0 })
  })

  it("refuses over the limit and does not count the refusal", () => {
    const full = given([0, 60, 60]).take(30, 60)
    expect(full.decision).toEqual({
      allowed: false,
      outcome: "limited",
      limit: 60,
      remaining: 0,
      cost: 1,
      reset: endOfMinute,
      retryAfterSeconds: 30
    })
    expect(full.state.used).toBe(60)
    const tooDear = given([0, 60, 58]).take(1, 60, 3)
    expect(tooDear.decision).toMatchObject({ allowed: false, outcome: "limited", remaining: 2 })
    expect(FixedWindow.take(tooDear.state, 60, 2, at(2)).decision.allowed).toBe(true)
  })

  it("[platform 3.1] starts anew at the first millisecond of the next minute", () => {
    expect(given([0, 60, 60]).take(59.999, 60).decision).toMatchObject({ allowed: false, retryAfterSeconds: 1 })
    expect(given([0, 60, 60]).take(60, 60).decision).toMatchObject({
      allowed: true,
      remaining: 59,
      reset: endOfMinute + 60,
      retryAfterSeconds: 60
    })
  })

  it("lets a request pass that comes again at the second it was told", () => {
    for (const second of [0, 0.001, 17.5, 58.999, 59.001, 59.999]) {
      const { decision } = given([0, 5, 5]).take(second, 5)
      expect(given([0, 5, 5]).take(second + decision.retryAfterSeconds, 5).decision.allowed).toBe(true)
    }
  })

  it("tells a request that is dearer than the whole limit from one that may pass later", () => {
    const { decision, state } = given([0, 5, 1]).take(1, 5, 6)
    expect(decision).toMatchObject({ allowed: false, outcome: "cost_above_limit", remaining: 4 })
    expect(state.used).toBe(1)
    expect(given().take(0, 0).decision).toMatchObject({ outcome: "cost_above_limit", remaining: 0 })
  })

  it("keeps the count over a change of plan and applies the new limit at once", () => {
    expect(given([0, 60, 50]).take(1, 600).decision).toMatchObject({ allowed: true, limit: 600, remaining: 549 })
    expect(given([0, 600, 50]).take(1, 10).decision).toMatchObject({ allowed: false, limit: 10, remaining: 0 })
    expect(given([0, "unlimited", 50]).take(1, 60, 11).decision.allowed).toBe(false)
    expect(given([0, "unlimited", 50]).take(1, 60, 10).decision).toMatchObject({ allowed: true, remaining: 0 })
  })

  it("never refuses without a limit", () => {
    const { decision } = given([0, "unlimited", 1_000_000_000]).take(1, "unlimited", 1_000_000_000)
    expect(decision).toMatchObject({ allowed: true, limit: "unlimited", remaining: "unlimited", reset: endOfMinute })
  })

  it("stays in the later window when the clock is set back, and grants nothing for it", () => {
    const again = given([60, 60, 60]).take(59, 60)
    expect(again.decision).toMatchObject({ allowed: false, reset: endOfMinute + 60, retryAfterSeconds: 61 })
    expect(given([60, 60, 60]).take(-3600, 60).decision.allowed).toBe(false)
    expect(given([60, 60, 60]).take(60, 60).decision.allowed).toBe(false)
    expect(given([60, 60, 60]).take(120, 60).decision.allowed).toBe(true)
  })

  it("works with windows of any whole number of seconds up to a UTC day", () => {
    const hour = FixedWindow.take(FixedWindow.initial, 60, 1, at(90), 3_600_000).decision
    expect(hour).toMatchObject({ reset: noon / 1000 + 3600, retryAfterSeconds: 3510 })
    const day = FixedWindow.take(FixedWindow.initial, 60, 1, at(0), 86_400_000).decision
    expect(day.reset).toBe(Date.UTC(2026, 6, 2) / 1000)
  })
})

describe("peek", () => {
  it("answers as take would and counts nothing", () => {
    expect(given([0, 60, 58]).peek(1, 60)).toMatchObject({ allowed: true, remaining: 2 })
    expect(given([0, 60, 58]).peek(1, 60, 3)).toMatchObject({ allowed: false, outcome: "limited", remaining: 2 })
    expect(given([0, 60, 58]).peek(60, 60)).toMatchObject({ allowed: true, remaining: 60 })
  })
})

describe("refund", () => {
  it("gives back what the decision counted", () => {
    const { decision } = given([0, 60, 10]).take(1, 60, 5)
    const back = given([0, 60, 15]).refund(2, decision)
    expect(back).toEqual({ refunded: 5, state: { endMillis: at(60), used: 10 } })
  })

  it("gives nothing for a refusal, nor into another window", () => {
    const refused = given([0, 60, 60]).take(1, 60).decision
    expect(given([0, 60, 60]).refund(2, refused).refunded).toBe(0)
    const allowed = given().take(59, 60).decision
    expect(given([59, 60, 1], [61, 60, 1]).refund(61, allowed)).toMatchObject({ refunded: 0, state: { used: 1 } })
  })

  it("never frees more than the limit, however often it is asked", () => {
    const { decision, state } = given([0, 60, 2]).take(1, 60, 5)
    let current = state
    for (let i = 0; i < 5; i++) current = FixedWindow.refund(current, decision, at(2)).state
    expect(FixedWindow.peek(current, 60, 1, at(3)).remaining).toBe(60)
  })

  it("takes nothing off a count that went over every limit", () => {
    const { decision, state } = given([0, "unlimited", 1_000_000_000]).take(1, "unlimited", 1_000_000_000)
    const back = FixedWindow.refund(state, decision, at(2))
    expect(back.refunded).toBe(0)
    expect(FixedWindow.peek(back.state, 1_000_000_000, 1, at(2)).allowed).toBe(false)
  })
})

describe("what the rule refuses to work with", () => {
  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1_000_000_001])("a cost of %s", (cost) => {
    expect(() => given().take(0, 60, cost)).toThrow(InvalidArgument)
    expect(() => given().peek(0, 60, cost)).toThrow(`got ${cost}`)
    expect(() => given().refund(0, { allowed: true, cost, reset: endOfMinute })).toThrow(InvalidArgument)
  })

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1_000_000_001])("a limit of %s", (limit) => {
    expect(() => given().take(0, limit)).toThrow(InvalidArgument)
    expect(() => given().peek(0, limit)).toThrow(`got ${limit}`)
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 1e300])("a time of %s", (now) => {
    expect(() => FixedWindow.take(FixedWindow.initial, 60, 1, now)).toThrow(InvalidArgument)
    expect(() => FixedWindow.peek(FixedWindow.initial, 60, 1, now)).toThrow("now must be Unix milliseconds")
  })
})

describe("rateLimitHeaders", () => {
  it("says the limit, what is left, and when the minute ends", () => {
    expect(rateLimitHeaders(given().take(0, 60).decision)).toEqual({
      "X-RateLimit-Limit": "60",
      "X-RateLimit-Remaining": "59",
      "X-RateLimit-Reset": String(endOfMinute)
    })
  })

  it("adds Retry-After to a refusal", () => {
    expect(rateLimitHeaders(given([0, 60, 60]).take(59.5, 60).decision)).toEqual({
      "X-RateLimit-Limit": "60",
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": String(endOfMinute),
      "Retry-After": "1"
    })
  })

  it("is silent for an unlimited plan", () => {
    expect(rateLimitHeaders(given().take(0, "unlimited").decision)).toEqual({})
  })
})
