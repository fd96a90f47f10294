/** The token bucket: its rule against exact fractions, its service, its actor on an engine and in the simulator. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Engine from "../../src/engine/Engine.ts"
import {
  type LimitOutcome,
  makeMemory,
  rateLimitHeaders,
  TokenBucket,
  TokenBucketRule
} from "../../src/limits/index.ts"
import { tokenBucket } from "../../src/limits/windowActors.ts"
import { given, simulate } from "../../src/simulation/index.ts"
import { often } from "../support/often.ts"
import { BucketHistory, caps, NaiveBucket } from "./bucketModel.ts"

const start = Date.UTC(2026, 6, 1, 12, 0, 0)
const cap = { burst: 20, tokens: 10, everyMillis: 1_000 }

/** A state as it comes back from where it was stored. */
const stored = <State>(state: State): State => JSON.parse(JSON.stringify(state)) as State

describe("the token bucket against exact fractions of a token", () => {
  it.prop(
    "answers alike whatever the clock and the cap do, and its times are the first instants that pass",
    [BucketHistory],
    ([{ cap: usual, steps }]) => {
      const naive = new NaiveBucket()
      let state = TokenBucketRule.initial
      let now = start
      let edge = start
      for (const { cost, kind, move, otherCap } of steps) {
        now = move._tag === "By" ? now + move.millis : edge + move.off
        const asked = caps[otherCap ?? usual]!
        const latest = Math.max(now, naive.accepted.at(-1)?.at ?? now)
        const passes = naive.passes(asked, cost, latest)
        const answer = TokenBucketRule[kind](stored(state), asked, cost, now)
        const decision = "decision" in answer ? answer.decision : answer
        const outcome = passes ? "allowed" : cost > asked.burst ? "cost_above_limit" : "limited"
        if (kind === "take") naive.take(asked, cost, latest)
        const remaining = naive.remaining(asked, latest)
        expect(decision).toMatchObject({ allowed: passes, outcome, cost, limit: asked.burst, remaining })
        expect(naive.isFull(asked, decision.fullAt)).toBe(true)
        if (decision.fullAt > latest) expect(naive.isFull(asked, decision.fullAt - 1)).toBe(false)
        expect(decision.retryAfterSeconds).toBe(Math.ceil((decision.resetsAt - now) / 1000))
        if ("state" in answer) {
          if (!passes) expect(answer.state).toEqual(state)
          state = answer.state
        }
        // A bucket of ten million weeks is full in a year that no clock shows.
        edge = decision.resetsAt < start + 1e12 ? decision.resetsAt : now
        if (outcome === "allowed") expect(decision.resetsAt).toBe(now)
        if (outcome === "cost_above_limit") expect(decision.resetsAt).toBeGreaterThan(latest)
        if (outcome !== "limited") continue
        expect(naive.passes(asked, cost, decision.resetsAt)).toBe(true)
        expect(naive.passes(asked, cost, decision.resetsAt - 1)).toBe(false)
      }
    },
    { arbitrary: { runs: often(300) } }
  )

  it("does not drift: thirty thousand tokens at a rate of broken milliseconds arrive to the millisecond", () => {
    const thirds = { burst: 2, tokens: 3, everyMillis: 10 }
    let state = TokenBucketRule.initial
    let now = start
    let passed = 0
    while (passed < 30_000) {
      const taken = TokenBucketRule.take(state, thirds, 1, now)
      state = taken.state
      if (taken.decision.allowed) passed++
      else now = taken.decision.resetsAt
    }
    // Each came after three and a third milliseconds: a wait of four leaves two thirds for the next one.
    expect(TokenBucketRule.peek(state, thirds, 1, now).fullAt - start).toBe(100_000)
  })

  it.each([
    ["cost", () => TokenBucketRule.peek(TokenBucketRule.initial, cap, 0, start)],
    ["now", () => TokenBucketRule.peek(TokenBucketRule.initial, cap, 1, Number.NaN)],
    ["burst", () => TokenBucketRule.peek(TokenBucketRule.initial, { ...cap, burst: 10_000_001 }, 1, start)],
    ["tokens", () => TokenBucketRule.peek(TokenBucketRule.initial, { ...cap, tokens: 0 }, 1, start)],
    ["tokens", () => TokenBucketRule.peek(TokenBucketRule.initial, { ...cap, tokens: 0.5 }, 1, start)],
    ["everyMillis", () => TokenBucketRule.peek(TokenBucketRule.initial, { ...cap, everyMillis: 11 }, 1, start)]
  ])("refuses a bad %s", (argument, call) => {
    expect(call).toThrow(expect.objectContaining({ _tag: "InvalidArgument", argument }))
  })
})

describe("the headers of a bucket", () => {
  it("are the burst, the tokens that are left and the second at which it is full", () => {
    const first = TokenBucketRule.take(TokenBucketRule.initial, cap, 15, start)
    expect(rateLimitHeaders(first.decision)).toEqual({
      "X-RateLimit-Limit": "20",
      "X-RateLimit-Remaining": "5",
      "X-RateLimit-Reset": String(start / 1000 + 2)
    })
    const second = TokenBucketRule.take(first.state, cap, 6, start)
    expect(rateLimitHeaders(second.decision)).toMatchObject({ "X-RateLimit-Remaining": "5", "Retry-After": "1" })
    expect(rateLimitHeaders(makeMemory().take("ann", 10, 1, start))["X-RateLimit-Reset"]).toBe(
      String(start / 1000 + 60)
    )
  })
})

/** So slow that no token comes while a test runs. */
const weekly = { burst: 20, tokens: 1, everyMillis: 604_800_000 }

describe("the service of buckets, by the Clock", () => {
  const buckets = TokenBucket.layerMemory({
    burst: (key) => (key === "slow" ? 1 : 20),
    tokens: (key) => (key === "slow" ? 1 : 600),
    everyMillis: 60_000,
    maxKeys: 3
  })

  it.effect("gives each key its own burst and rate, and says when to come again", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { peek, take } = yield* TokenBucket
      expect(yield* take("slow")).toMatchObject({ allowed: true, remaining: 0, fullAt: start + 60_000 })
      expect(yield* take("slow")).toMatchObject({ allowed: false, retryAfterSeconds: 60 })
      expect(yield* take("fast", { cost: 20 })).toMatchObject({ allowed: true, remaining: 0, fullAt: start + 2_000 })
      yield* TestClock.adjust("250 millis")
      expect(yield* peek("fast", { cost: 2 })).toMatchObject({ allowed: true, remaining: 2 })
      expect(yield* take("fast", { cost: 3 })).toMatchObject({ allowed: false, remaining: 2, resetsAt: start + 300 })
      yield* TestClock.adjust("50 millis")
      expect((yield* take("fast", { cost: 3 })).allowed).toBe(true)
    }).pipe(Effect.provide(buckets))
  )

  it.effect("drops the keys that are full, whichever were used last, and no other", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { take } = yield* TokenBucket
      yield* take("slow")
      yield* take("a")
      yield* take("b")
      expect(yield* take("c")).toMatchObject({ outcome: "full", remaining: 0, resetsAt: start + 100 })
      yield* TestClock.adjust("50 millis")
      yield* take("a")
      yield* TestClock.adjust("50 millis")
      // "b" is full again; the others are not, though one of them was there before it.
      expect((yield* take("c")).allowed).toBe(true)
      expect((yield* take("d")).outcome).toBe("full")
      expect((yield* take("slow")).outcome).toBe("limited")
    }).pipe(Effect.provide(buckets))
  )

  it.effect.each([
    ["burst", TokenBucket.layerMemory({ ...cap, burst: -1 })],
    ["tokens", TokenBucket.layerMemory({ ...cap, tokens: 0 })],
    ["everyMillis", TokenBucket.layerMemory({ ...cap, tokens: () => 1, everyMillis: 7_001 })],
    ["maxKeys", TokenBucket.layerMemory({ ...cap, maxKeys: 0 })]
  ] as const)("refuses a bad %s when it is made", ([argument, layer]) =>
    Effect.gen(function* () {
      const made = yield* Effect.exit(Effect.scoped(Layer.build(layer)))
      expect(Exit.isFailure(made) && made.cause.toString()).toContain(argument)
    })
  )

  it.live("lets exactly the burst of many concurrent requests pass on an engine", () =>
    Effect.gen(function* () {
      const { peek, take } = yield* TokenBucket
      const all = yield* Effect.forEach(Array.from({ length: 60 }), () => take("ann@x.test"), {
        concurrency: "unbounded"
      })
      expect(all.filter(({ allowed }) => allowed)).toHaveLength(20)
      expect(yield* peek("ann@x.test")).toMatchObject({ allowed: false, remaining: 0 })
    }).pipe(
      Effect.provide(Layer.provide(TokenBucket.layer(weekly), Engine.layerMemory({ actors: [TokenBucket.actor] })))
    )
  )
})

describe("the actor of a bucket", () => {
  const request = { ...cap, cost: 15 }
  it("is specified: a refusal has no fact and says when the cost is there", () => {
    given(tokenBucket.actor, [{ at: start, request }], { now: start + 100 })
      .when({ _tag: "Take", request })
      .then({
        facts: [],
        reply: {
          allowed: false,
          outcome: "limited",
          cost: 15,
          limit: 20,
          used: 14,
          resetsAt: start + 1_000,
          retryAfterSeconds: 1,
          remaining: 6,
          fullAt: start + 1_500
        }
      })
    given(tokenBucket.actor, [{ at: start, request }], { now: start + 1_000 })
      .when({ _tag: "Take", request })
      .then([{ at: start + 1_000, request }])
  })

  const Cost = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 }))
  const rate = { burst: 5, tokens: 2, everyMillis: 1_000 }
  const commands = Arbitrary.map(
    Arbitrary.schema(Schema.Struct({ _tag: Schema.Literals(["Take", "Peek"]), cost: Cost })),
    ({ _tag, cost }) => ({ _tag, request: { ...rate, cost } })
  )

  it.effect("is proved: no course of events lets it take a token that is not there", () =>
    simulate(tokenBucket.actor, {
      commands,
      after: [500, 1_000, 2_500],
      invariants: { "it lacks at most its burst": ({ missing }) => missing >= 0 && missing <= 5 * 604_800_000 },
      // The same in another way: a token comes each 500 ms, so the instant at which all are there says everything.
      oracle: {
        initial: () => 0,
        step: (fullBefore: number, { _tag, request: { cost } }, now) => {
          const full = Math.max(fullBefore, now)
          const lacking = full - now
          const isThere = lacking + cost * 500 <= 2_500
          const resetsAt = isThere ? now : now + (cost > 5 ? 2_500 : lacking + cost * 500 - 2_500)
          const after = isThere && _tag === "Take" ? full + cost * 500 : full
          const used = Math.ceil((after - now) / 500)
          const outcome: LimitOutcome = isThere ? "allowed" : cost > 5 ? "cost_above_limit" : "limited"
          return {
            model: isThere && _tag === "Take" ? after : fullBefore,
            reply: {
              allowed: isThere,
              outcome,
              cost,
              limit: 5,
              used,
              resetsAt,
              retryAfterSeconds: Math.ceil((resetsAt - now) / 1000),
              remaining: 5 - used,
              fullAt: after
            }
          }
        }
      },
      seeds: often(24),
      steps: 60,
      floods: false
    })
  )
})
