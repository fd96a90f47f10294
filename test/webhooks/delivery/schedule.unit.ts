/** The retry schedule and what attempts mean (docs/platform.md, 7.4 and 7.5). */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  type Attempt,
  attemptTimeoutMillis,
  classify,
  defaultSchedule,
  isExpired,
  maximumRetries,
  type NextStep,
  nextStep,
  parseRetryAfter,
  RetrySchedule,
  singleAttempt
} from "../../../src/webhooks/delivery/schedule.ts"

const now = Date.UTC(2026, 6, 1, 12, 0, 0)
const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const answered = (status: number, retryAfter?: string): Attempt => ({ _tag: "Answered", status, retryAfter })
const timedOut: Attempt = { _tag: "TimedOut" }
const noAnswer: Attempt = { _tag: "NoAnswer" }

/** A delivery of which so many attempts were made; the last one ended like this; what becomes of it, relative to now. */
const given = (attempts: number, schedule: RetrySchedule = defaultSchedule) => ({
  when: (attempt: Attempt, random = 0) => {
    const step = nextStep(schedule, attempts, classify(attempt, now), now, random)
    return {
      thenRetryAfter: (millis: number) => expect(step).toEqual({ _tag: "RetryAt", atMillis: now + millis }),
      thenIt: (tag: NextStep["_tag"]) => expect(step._tag).toBe(tag)
    }
  }
})

describe("what an answer means", () => {
  it("[platform 7.4] 2xx is a success and nothing else is", () => {
    for (let status = 100; status < 600; status++) {
      const expected = status >= 200 && status < 300 ? "succeeded" : status === 410 ? "gone" : "failed"
      expect(classify(answered(status), now)).toEqual({ result: expected, status, retryAfterMillis: 0 })
    }
  })
  it("[platform 7.4] a redirect is a failure", () => {
    for (const status of [301, 302, 303, 307, 308]) given(1).when(answered(status)).thenIt("RetryAt")
  })
  it("[platform 7.4] no answer is the status 0, also when the 15 s are over", () => {
    expect(attemptTimeoutMillis).toBe(15_000)
    for (const attempt of [timedOut, noAnswer])
      expect(classify(attempt, now)).toEqual({ result: "failed", status: 0, retryAfterMillis: 0 })
  })
  it("410 is a failure that pauses the endpoint; the delivery is kept for its next attempt", () => {
    expect(classify(answered(410, "7200"), now).result).toBe("gone")
    given(1)
      .when(answered(410))
      .thenRetryAfter(5 * second)
    given(6).when(answered(410)).thenIt("Failed")
  })
})

describe("[platform 7.4] the schedule", () => {
  it.each([
    [1, 5 * second],
    [2, 30 * second],
    [3, 2 * minute],
    [4, 15 * minute],
    [5, 1 * hour]
  ])("[platform 7.4] behind attempt %d the next one waits %d ms, and up to a fifth longer", (attempts, delay) => {
    given(attempts).when(answered(500), 0).thenRetryAfter(delay)
    given(attempts)
      .when(timedOut, 0.5)
      .thenRetryAfter(delay * 1.1)
    given(attempts)
      .when(noAnswer, 0.999_999_999)
      .thenRetryAfter(Math.floor(delay * 1.199_999_999_8))
  })
  it("the sixth is the last", () => {
    for (const attempt of [answered(500), answered(429, "10"), timedOut, noAnswer])
      given(6).when(attempt).thenIt("Failed")
  })
  it("a success ends it at any attempt", () => {
    for (let attempts = 1; attempts <= 6; attempts++) given(attempts).when(answered(204)).thenIt("Succeeded")
  })
  it("tests and manual retries have one attempt", () => {
    given(1, singleAttempt).when(answered(500)).thenIt("Failed")
    given(1, singleAttempt).when(answered(200)).thenIt("Succeeded")
  })
})

describe("[platform 7.4] Retry-After", () => {
  it.each([429, 503])("of a %d counts where it is later than the schedule", (status) => {
    given(1)
      .when(answered(status, "60"))
      .thenRetryAfter(60 * second)
    given(3)
      .when(answered(status, "60"))
      .thenRetryAfter(2 * minute)
    given(1).when(answered(status, "5"), 0.5).thenRetryAfter(5_500)
    given(1)
      .when(answered(status, "0"))
      .thenRetryAfter(5 * second)
  })
  it("[platform 7.4] counts for an hour and no longer", () => {
    given(1).when(answered(503, "3600")).thenRetryAfter(hour)
    given(1).when(answered(503, "3601")).thenRetryAfter(hour)
    given(1)
      .when(answered(503, "9".repeat(400)))
      .thenRetryAfter(hour)
    given(1).when(answered(503, "Thu, 31 Dec 2099 23:59:59 GMT")).thenRetryAfter(hour)
    // The jitter of the last delay goes beyond it.
    given(5)
      .when(answered(503, "3600"), 0.5)
      .thenRetryAfter(1.1 * hour)
  })
  it.each([200, 301, 400, 408, 410, 500, 502, 504])("of a %d is ignored", (status) => {
    expect(classify(answered(status, "60"), now).retryAfterMillis).toBe(0)
  })
  it("may be a date, in the three forms of HTTP", () => {
    for (const date of [
      "Wed, 01 Jul 2026 12:01:00 GMT",
      "Wednesday, 01-Jul-26 12:01:00 GMT",
      "Wed Jul  1 12:01:00 2026"
    ])
      given(1).when(answered(429, date)).thenRetryAfter(minute)
    // The third says no zone; it is universal time wherever this runs.
    const zone = process.env.TZ
    process.env.TZ = "America/New_York"
    try {
      given(1).when(answered(429, "Wed Jul  1 12:01:00 2026")).thenRetryAfter(minute)
    } finally {
      if (zone === undefined) delete process.env.TZ
      else process.env.TZ = zone
    }
    given(1).when(answered(429, " 60 ")).thenRetryAfter(minute)
  })
  it.each([
    "",
    " ",
    "-1",
    "1.5",
    "1e3",
    "soon",
    "60s",
    "2026-07-01T12:01:00Z",
    "Wed, 01 Foo 2026 12:01:00 GMT",
    "Wed, 01 Jul 2026 11:59:00 GMT",
    "0x10",
    "60, 60",
    "Infinity",
    "NaN"
  ])("%j says nothing", (header) =>
    given(1)
      .when(answered(429, header))
      .thenRetryAfter(5 * second))
})

describe("[platform 7.4] settings", () => {
  const own: RetrySchedule = { delaysMillis: [10, 20], jitter: 1, maximumRetryAfterMillis: 50 }
  it("[platform 7.4] give another schedule", () => {
    given(1, own).when(answered(500), 0.5).thenRetryAfter(15)
    given(2, own).when(answered(500), 0).thenRetryAfter(20)
    given(2, own).when(answered(503, "1"), 0).thenRetryAfter(50)
    given(3, own).when(answered(500)).thenIt("Failed")
  })
  it("have bounds", () => {
    const decode = Schema.decodeUnknownSync(RetrySchedule)
    expect(decode(own)).toEqual(own)
    expect(decode(defaultSchedule)).toEqual(defaultSchedule)
    for (const wrong of [
      { delaysMillis: [-1] },
      { delaysMillis: [1.5] },
      { delaysMillis: Array.from({ length: maximumRetries + 1 }, () => 1) },
      { jitter: 1.1 },
      { jitter: -0.1 },
      { jitter: Number.NaN },
      { maximumRetryAfterMillis: Number.POSITIVE_INFINITY }
    ])
      expect(() => decode({ ...own, ...wrong })).toThrow(Object.keys(wrong)[0])
  })
})

describe("[platform 7.1] a delivery that the event log has outlived ends expired", () => {
  it("not before", () => {
    expect(isExpired(now - 30 * 24 * hour, now)).toBe(false)
    expect(isExpired(now - 30 * 24 * hour - 1, now)).toBe(true)
  })
})

const Random = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.999_999_999_999 }))
const Status = Schema.Int.check(Schema.isBetween({ minimum: 100, maximum: 599 }))
const Asked = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))

describe("whatever an endpoint answers", () => {
  it.prop(
    "a delivery ends within six attempts, each in its window after the one before",
    [Schema.Array(Schema.Tuple([Status, Asked, Random])).check(Schema.isMinLength(6), Schema.isMaxLength(6))],
    ([answers]) => {
      let time = now
      for (const [at, [status, asked, random]] of answers.entries()) {
        const outcome = classify(answered(status, String(asked)), time)
        const step = nextStep(defaultSchedule, at + 1, outcome, time, random)
        if (status >= 200 && status < 300) return expect(step._tag).toBe("Succeeded")
        if (at === 5) return expect(step._tag).toBe("Failed")
        const delay = [5_000, 30_000, 120_000, 900_000, 3_600_000][at]!
        const wait = step._tag === "RetryAt" ? step.atMillis - time : Number.NaN
        const heeded = status === 429 || status === 503 ? Math.min(asked * 1000, hour) : 0
        expect(Number.isInteger(wait)).toBe(true)
        expect(wait).toBeGreaterThanOrEqual(Math.max(delay, heeded))
        expect(wait).toBeLessThanOrEqual(Math.max(delay * 1.2, heeded))
        time += wait
      }
      return undefined
    },
    { arbitrary: { runs: 1_000 } }
  )

  it.prop("no text makes a wait that is no number", [Schema.String], ([text]) => {
    const wait = parseRetryAfter(text, now)
    expect(wait).toBeGreaterThanOrEqual(0)
    expect(Number.isFinite(wait)).toBe(true)
  })
})
