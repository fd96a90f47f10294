import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  type Decision,
  FixedWindow,
  type Limit,
  makeMemory,
  RateLimiter,
  type Receipt
} from "../../src/limits/index.ts"
import { often } from "../support/often.ts"
import { History, NaiveLimiter, type Step } from "./model.ts"

const windowMillis = 60_000
const start = Date.UTC(2026, 6, 1, 12, 0, 30)

/** What an implementation answers at a given time; the naive one is asked the same. */
interface Subject {
  readonly take: (key: string, limit: Limit, cost: number, now: number) => Decision
  readonly peek: (key: string, limit: Limit, cost: number, now: number) => Decision
  readonly refund: (key: string, receipt: Receipt, now: number) => number
}

/** Walks a history through the naive limiter and gives what must be done and what must come of it. */
function* expectations(history: ReadonlyArray<Step>, singleKey: boolean) {
  const naive = new NaiveLimiter(windowMillis)
  const receipts: Array<{ readonly key: string; decision: Decision | null; refunded: boolean }> = []
  let now = start
  for (const step of history) {
    now += step.elapsed
    if (step._tag === "Refund") {
      const open = receipts.filter((receipt) => !receipt.refunded)
      const chosen = open[step.which % Math.max(1, open.length)]
      if (chosen === undefined) continue
      chosen.refunded = true
      const refunded = naive.refund(receipts.indexOf(chosen), now)
      yield { kind: "refund" as const, key: chosen.key, receipt: chosen.decision!, now, refunded }
      continue
    }
    const key = singleKey ? "a" : step.key
    const { limit, cost } = step
    const before = naive.used(key, now)
    if (step._tag === "Peek") {
      const allowed = limit === "unlimited" || before + cost <= limit
      yield { kind: "peek" as const, key, limit, cost, now, ...standing(naive, limit, before, now), allowed }
      continue
    }
    const allowed = naive.take(key, limit, cost, now)
    const used = naive.used(key, now)
    const receipt = { key, decision: null as Decision | null, refunded: false }
    if (allowed) receipts.push(receipt)
    const keep = (decision: Decision) => {
      receipt.decision = decision
    }
    yield { kind: "take" as const, key, limit, cost, now, ...standing(naive, limit, used, now), allowed, keep }
  }
}

const standing = (naive: NaiveLimiter, limit: Limit, used: number, now: number) => {
  const end = (naive.window(now) + 1) * windowMillis
  return {
    remaining: limit === "unlimited" ? limit : Math.max(0, limit - used),
    reset: end / 1000,
    retryAfterSeconds: Math.ceil((end - now) / 1000)
  }
}

type Expectation = ReturnType<typeof expectations> extends Generator<infer E> ? E : never

const compare = (expected: Exclude<Expectation, { kind: "refund" }>, actual: Decision) => {
  const { allowed, cost, limit, remaining, reset, retryAfterSeconds } = expected
  expect(actual).toMatchObject({ allowed, cost, limit, remaining, reset, retryAfterSeconds })
  expect(actual.outcome === "allowed").toBe(allowed)
  expect(actual.outcome === "cost_above_limit").toBe(limit !== "unlimited" && cost > limit)
  expect(retryAfterSeconds).toBeGreaterThanOrEqual(1)
}

const follow = (history: ReadonlyArray<Step>, subject: Subject, singleKey = false) => {
  for (const expected of expectations(history, singleKey)) {
    if (expected.kind === "refund") {
      expect(subject.refund(expected.key, expected.receipt, expected.now)).toBe(expected.refunded)
    } else {
      const decision = subject[expected.kind](expected.key, expected.limit, expected.cost, expected.now)
      compare(expected, decision)
      if (expected.kind === "take") expected.keep(decision)
    }
  }
}

const pureSubject = (): Subject => {
  let state = FixedWindow.initial
  return {
    take: (_key, limit, cost, now) => {
      const taken = FixedWindow.take(state, limit, cost, now)
      state = taken.state
      return taken.decision
    },
    // Keeps what the peek learned of the time, as an implementation with one clock does.
    peek: (_key, limit, cost, now) => {
      state = FixedWindow.advance(state, now)
      return FixedWindow.peek(state, limit, cost, now)
    },
    refund: (_key, receipt, now) => {
      const given = FixedWindow.refund(state, receipt, now)
      state = given.state
      return given.refunded
    }
  }
}

const runs = { arbitrary: { runs: often(400) } }

describe("against a list of all accepted requests", () => {
  it.prop("the pure rule answers alike", [History], ([history]) => follow(history, pureSubject(), true), runs)

  it.prop("the table of many keys answers alike", [History], ([history]) => follow(history, makeMemory()), runs)

  it.effect.prop(
    "the service answers alike, by the Clock",
    [History],
    ([history]) =>
      Effect.gen(function* () {
        const limiter = yield* RateLimiter
        for (const expected of expectations(history, false)) {
          yield* TestClock.setTime(expected.now)
          if (expected.kind === "refund") {
            expect(yield* limiter.refund(expected.key, expected.receipt)).toBe(expected.refunded)
            continue
          }
          const { cost, key, limit } = expected
          const decision = yield* limiter[expected.kind](key, { cost, limit })
          compare(expected, decision)
          if (expected.kind === "take") expected.keep(decision)
        }
      }).pipe(Effect.provide(RateLimiter.layerMemory({ limit: 0 }))),
    { arbitrary: { runs: often(100) } }
  )
})

const AnyReceipt = Schema.Struct({
  allowed: Schema.Boolean,
  cost: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })),
  reset: Schema.Literals([start / 1000 - 30, start / 1000 + 30, start / 1000 + 90])
})

describe("whatever is refunded", () => {
  it.prop(
    "never more than the limit is free, and no request is counted below zero",
    [Schema.Array(Schema.Union([AnyReceipt, Schema.Literal("take")])).check(Schema.isMaxLength(50))],
    ([steps]) => {
      const memory = makeMemory()
      for (const step of steps) {
        if (step === "take") memory.take("a", 20, 3, start)
        else memory.refund("a", step, start)
        const { remaining } = memory.peek("a", 20, 1, start)
        expect(remaining).toBeGreaterThanOrEqual(0)
        expect(remaining).toBeLessThanOrEqual(20)
      }
    },
    runs
  )
})

describe("no history", () => {
  const Instants = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: -150_000, maximum: 150_000 })))
  it.prop(
    "of the clock lets more than the limit pass in one window",
    [Instants.check(Schema.isMaxLength(200))],
    ([instants]) => {
      const memory = makeMemory()
      const passed = new Map<number, number>()
      for (const instant of instants) {
        const { allowed, reset } = memory.take("a", 3, 1, start + instant)
        if (allowed) passed.set(reset, (passed.get(reset) ?? 0) + 1)
      }
      for (const sum of passed.values()) expect(sum).toBeLessThanOrEqual(3)
      const windowsSeen = new Set(instants.map((instant) => Math.floor((start + instant) / windowMillis)))
      expect(passed.size).toBeLessThanOrEqual(windowsSeen.size)
    },
    runs
  )
})
