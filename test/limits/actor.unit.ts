import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Limit, LimiterActor, requestsPerMinute } from "../../src/limits/index.ts"

const noon = Date.UTC(2026, 6, 1, 12, 0, 0)
const seconds = (count: number) => noon + count * 1000
const { decide, initial, keepUntil } = LimiterActor

type Command = LimiterActor.LimiterCommand

const take = (cost = 1): Command => ({ _tag: "Take", cost })
const peek = (cost = 1): Command => ({ _tag: "Peek", cost })
const refund = (cost: number): Command => ({
  _tag: "Refund",
  receipt: { allowed: true, cost, reset: noon / 1000 + 60 }
})

/** An actor after earlier commands, each `[command, limit of the organization then, now]`. */
const given = (...earlier: ReadonlyArray<readonly [command: Command, limit: Limit, now: number]>) => {
  const state = initial()
  for (const [command, limit, now] of earlier) decide(state, command, limit, now)
  return {
    state,
    when: (command: Command, limit: Limit, now: number) => ({
      answers: (expected: object) => expect(decide(state, command, limit, now)).toMatchObject(expected)
    })
  }
}

const decided = (decision: object) => ({ _tag: "Decided", decision })

describe("the limiter's actor", () => {
  it("counts under the organization's limit and refuses over it", () => {
    given()
      .when(take(), 60, noon)
      .answers(decided({ allowed: true, limit: 60, remaining: 59 }))
    given([take(60), 60, noon])
      .when(take(), 60, noon)
      .answers(decided({ allowed: false, outcome: "limited" }))
    given([take(60), 60, noon])
      .when(take(), 60, seconds(60))
      .answers(decided({ allowed: true, remaining: 59 }))
  })

  it("applies a changed plan or custom limit at once and keeps the count", () => {
    const sixty = [take(60), requestsPerMinute("free"), noon] as const
    given(sixty)
      .when(take(), requestsPerMinute("team"), noon)
      .answers(decided({ allowed: true, limit: 6000, remaining: 5939 }))
    given(sixty)
      .when(take(), requestsPerMinute("team", 10), noon)
      .answers(decided({ allowed: false, limit: 10, remaining: 0 }))
    given(sixty)
      .when(take(), requestsPerMinute("free", "unlimited"), noon)
      .answers(decided({ allowed: true, limit: "unlimited" }))
  })

  it("answers a peek without counting, and under a limit of the call alone", () => {
    given([take(58), 60, noon])
      .when(peek(3), 60, noon)
      .answers(decided({ allowed: false, remaining: 2 }))
    given([take(58), 60, noon], [peek(), 60, noon])
      .when(take(2), 60, noon)
      .answers(decided({ allowed: true }))
    given()
      .when({ _tag: "Take", cost: 1, limit: 5 }, 60, noon)
      .answers(decided({ limit: 5, remaining: 4 }))
    given()
      .when({ _tag: "Peek", cost: 1, limit: 5 }, 60, noon)
      .answers(decided({ limit: 5, remaining: 5 }))
  })

  it("gives back within the window only", () => {
    given([take(4), 60, noon])
      .when(refund(4), 60, seconds(1))
      .answers({ _tag: "Refunded", refunded: 4 })
    given([take(4), 60, noon], [refund(4), 60, noon])
      .when(take(60), 60, noon)
      .answers(decided({ allowed: true }))
    given([take(4), 60, noon])
      .when(refund(4), 60, seconds(60))
      .answers({ _tag: "Refunded", refunded: 0 })
  })

  it("is kept while something is counted in its window", () => {
    expect(keepUntil(initial())).toBe(0)
    expect(keepUntil(given([take(), 60, seconds(30)]).state)).toBe(seconds(60))
    expect(keepUntil(given([take(), 60, noon], [refund(1), 60, noon]).state)).toBe(0)
    expect(keepUntil(given([take(), 0, noon]).state)).toBe(0)
  })

  it("answers a command that its schema would have refused, instead of throwing, and counts nothing for it", () => {
    for (const [command, limit, now] of [
      [take(0), 60, noon],
      [peek(-1), 60, noon],
      [refund(0.5), 60, noon],
      [take(), -1, noon],
      [take(), 60, Number.NaN]
    ] as const) {
      given([take(5), 60, noon - 60_000])
        .when(command, limit, now)
        .answers({ _tag: "InvalidArgument" })
    }
    given([take(5), 60, noon], [take(0), 60, noon])
      .when(peek(), 60, noon)
      .answers(decided({ remaining: 55 }))
    expect(() => Schema.decodeUnknownSync(LimiterActor.LimiterCommand)(take(0))).toThrow("between 1 and 1000000000")
  })
})

describe("what travels to another machine", () => {
  const asJson = (value: unknown) => JSON.parse(JSON.stringify(value))
  const throughJson = <A, I>(schema: Schema.Codec<A, I>, value: A) =>
    Schema.decodeUnknownSync(schema)(asJson(Schema.encodeUnknownSync(schema)(value)))

  it.prop("is every command, as JSON", [LimiterActor.LimiterCommand], ([command]) => {
    expect(throughJson(LimiterActor.LimiterCommand, command)).toEqual(asJson(command))
  })

  it("is every reply, as JSON", () => {
    for (const [state, command, limit] of [
      [given().state, take(), 60],
      [given().state, take(61), 60],
      [given([take(60), 60, noon]).state, take(), 60],
      [given().state, take(), "unlimited"],
      [given([take(4), 60, noon]).state, refund(4), 60],
      [given().state, take(0), 60]
    ] as const) {
      const reply = decide(state, command, limit, noon)
      expect(throughJson(LimiterActor.LimiterReply, reply)).toEqual(reply)
    }
  })
})
