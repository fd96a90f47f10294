import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Limit, LimiterActor } from "../../src/limits/index.ts"

const noon = Date.UTC(2026, 6, 1, 12, 0, 0)
const seconds = (count: number) => noon + count * 1000
const { decide, evolve, heldUntilMillis, initial } = LimiterActor

type Fact = LimiterActor.LimiterFact
type Earlier = Fact | readonly [command: LimiterActor.LimiterCommand, now: number]

const take = (cost = 1): LimiterActor.LimiterCommand => ({ _tag: "Take", cost })
const plan = (name: "free" | "early_adopter" | "team"): Fact => ({ _tag: "PlanSet", plan: name })
const custom = (limit: Limit | null): Fact => ({ _tag: "CustomLimitSet", requestsPerMinute: limit })

/** The actor after facts of the log and earlier commands, in order. */
const given = (...earlier: ReadonlyArray<Earlier>) => {
  const state = earlier.reduce<LimiterActor.LimiterState>(
    (state, step) => ("_tag" in step ? evolve(state, step) : decide(state, step[0], step[1]).state),
    initial()
  )
  return {
    state,
    when: (command: LimiterActor.LimiterCommand, now: number) => ({
      answers: (expected: object) => expect(decide(state, command, now).reply).toMatchObject(expected)
    })
  }
}

const decided = (decision: object) => ({ _tag: "Decided", decision })

describe("the limiter's actor", () => {
  it("starts with the free plan", () => {
    given()
      .when(take(), noon)
      .answers(decided({ allowed: true, limit: 60, remaining: 59 }))
    given([take(60), noon])
      .when(take(), noon)
      .answers(decided({ allowed: false, outcome: "limited" }))
  })

  it("applies a plan, a custom limit and its withdrawal at once, and keeps the count", () => {
    given([take(60), noon], plan("team"))
      .when(take(), noon)
      .answers(decided({ allowed: true, remaining: 5939 }))
    given(plan("team"), [take(600), noon], plan("early_adopter"))
      .when(take(), noon)
      .answers(decided({ allowed: false }))
    given(custom(10))
      .when(take(), noon)
      .answers(decided({ limit: 10 }))
    given(custom(10), plan("team"))
      .when(take(), noon)
      .answers(decided({ limit: 10 }))
    given(plan("team"), custom(10), custom(null))
      .when(take(), noon)
      .answers(decided({ limit: 6000 }))
    given(custom("unlimited"))
      .when(take(), noon)
      .answers(decided({ limit: "unlimited" }))
  })

  it("answers a peek without counting and under a limit of the call alone", () => {
    given([take(58), noon])
      .when({ _tag: "Peek", cost: 3 }, noon)
      .answers(decided({ allowed: false, remaining: 2 }))
    given([take(58), noon], [{ _tag: "Peek", cost: 1 }, noon])
      .when(take(2), noon)
      .answers(decided({ allowed: true }))
    given()
      .when({ _tag: "Take", cost: 1, limit: 5 }, noon)
      .answers(decided({ limit: 5, remaining: 4 }))
    given()
      .when({ _tag: "Peek", cost: 1, limit: 5 }, noon)
      .answers(decided({ limit: 5, remaining: 5 }))
  })

  it("gives back within the window only", () => {
    const receipt = { allowed: true, cost: 4, reset: noon / 1000 + 60 }
    const refund: LimiterActor.LimiterCommand = { _tag: "Refund", receipt }
    given([take(4), noon])
      .when(refund, seconds(1))
      .answers({ _tag: "Refunded", refunded: 4 })
    given([take(4), noon], [refund, noon])
      .when(take(60), noon)
      .answers(decided({ allowed: true }))
    given([take(4), noon])
      .when(refund, seconds(60))
      .answers({ _tag: "Refunded", refunded: 0 })
  })

  it("may go from memory once nothing is counted in its window any more", () => {
    expect(heldUntilMillis(given(plan("team")).state)).toBe(0)
    expect(heldUntilMillis(given([take(), seconds(30)]).state)).toBe(seconds(60))
    const receipt = { allowed: true, cost: 1, reset: noon / 1000 + 60 }
    expect(heldUntilMillis(given([take(), noon], [{ _tag: "Refund", receipt }, noon]).state)).toBe(0)
  })

  it("leaves the state it was given as it was", () => {
    const before = given([take(), noon]).state
    const copy = structuredClone(before)
    decide(before, take(), noon)
    evolve(before, plan("team"))
    expect(before).toEqual(copy)
  })

  it("refuses a cost that its schema would have refused", () => {
    expect(() => decide(initial(), take(0), noon)).toThrow("cost must be an integer")
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

  it.prop("is every fact, as JSON", [LimiterActor.LimiterFact], ([fact]) => {
    expect(throughJson(LimiterActor.LimiterFact, fact)).toEqual(asJson(fact))
  })

  it("is every reply, as JSON", () => {
    for (const [state, cost] of [
      [given().state, 1],
      [given().state, 61],
      [given([take(60), noon]).state, 1],
      [given(custom("unlimited")).state, 1]
    ] as const) {
      const { reply } = decide(state, take(cost), noon)
      expect(throughJson(LimiterActor.LimiterReply, reply)).toEqual(reply)
    }
  })
})
