import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { TestClock } from "effect/testing"
import {
  DistinctWindow,
  DistinctWindowRule,
  InvalidArgument,
  MonthlyQuota,
  MonthlyQuotaRule,
  maximumExactLimit,
  RollingWindow,
  RollingWindowRule
} from "../../src/limits/index.ts"
import { often } from "../support/often.ts"
import {
  DistinctHistory,
  MonthlyHistory,
  moved,
  NaiveDistinct,
  NaiveMonthly,
  NaiveRolling,
  RollingHistory
} from "./windowModels.ts"

const start = Date.UTC(2026, 6, 1, 12, 0, 0)
const hourMillis = 3_600_000
const windowMillis = 300
const runs = { arbitrary: { runs: often(120) } }

/** A state as it comes back from where it was stored. */
const stored = <State>(state: State): State => JSON.parse(JSON.stringify(state)) as State

describe("the rolling window against a list of all entries", () => {
  it.prop(
    "answers alike, and its resets are the first instants that pass",
    [RollingHistory],
    ([history]) => {
      const naive = new NaiveRolling()
      let state = RollingWindowRule.initial
      let now = start
      for (const { kind, limit, move, units } of history) {
        now = moved(
          move,
          now,
          naive.accepted.map(({ at }) => at + windowMillis)
        )
        const cap = { windowMillis, limit }
        const passes = naive.passes(windowMillis, limit, units, now)
        const resetsAt = passes ? now : naive.resetsAt(windowMillis, limit, units, now)
        if (kind === "take") naive.take(windowMillis, limit, units, now)
        const used = naive.used(windowMillis, now)
        const outcome = passes ? "allowed" : units > limit ? "cost_above_limit" : "limited"
        const passesAt = RollingWindowRule.passesAt(stored(state), cap, units, now)
        const answer = RollingWindowRule[kind](stored(state), cap, units, now)
        const decision = "decision" in answer ? answer.decision : answer
        expect(decision).toMatchObject({ allowed: passes, outcome, resetsAt, used, cost: units, limit })
        expect(decision.retryAfterSeconds).toBe(Math.ceil((resetsAt - now) / 1000))
        if (units <= limit) expect(passesAt).toBe(resetsAt)
        if ("state" in answer) {
          if (!passes) expect(answer.state).toEqual(state)
          state = answer.state
        }
        if (outcome !== "limited") continue
        expect(RollingWindowRule.peek(state, cap, units, resetsAt).allowed).toBe(true)
        expect(RollingWindowRule.peek(state, cap, units, resetsAt - 1).allowed).toBe(false)
      }
      // Bounded by what one window takes, whatever has passed.
      expect(state.entries.length).toBeLessThanOrEqual(2 * 12)
    },
    runs
  )

  it.prop(
    "one state answers for a short and a long window",
    [RollingHistory],
    ([history]) => {
      const naive = new NaiveRolling()
      let state = RollingWindowRule.initial
      let now = start
      for (const { move, units } of history) {
        now = moved(
          move,
          now,
          naive.accepted.flatMap(({ at }) => [at + 50, at + windowMillis])
        )
        state = RollingWindowRule.record(state, windowMillis, units, now)
        naive.accepted.push({ at: naive.time(now), units })
        for (const length of [1, 50, windowMillis])
          expect(RollingWindowRule.used(state, length, now)).toBe(naive.used(length, now))
      }
    },
    runs
  )

  it.prop(
    "answers alike with a long history, whose newest entries stand apart",
    [RollingHistory],
    ([history]) => {
      const naive = new NaiveRolling()
      let state = RollingWindowRule.initial
      let now = start
      const record = (units: number) => {
        state = RollingWindowRule.record(stored(state), windowMillis, units, now)
        naive.accepted.push({ at: naive.time(now), units })
      }
      for (let index = 0; index < 90; index++) {
        now += index % 4
        record(1)
      }
      expect(state.recent?.entries.length).toBeGreaterThan(0)
      for (const { limit, move, units } of [...history, ...history]) {
        now = moved(
          move,
          now,
          naive.accepted.slice(-60).map(({ at }) => at + windowMillis)
        )
        const long = limit + 60
        const passes = naive.passes(windowMillis, long, units, now)
        const resetsAt = passes ? now : naive.resetsAt(windowMillis, long, units, now)
        const cap = { windowMillis, limit: long }
        const used = naive.used(windowMillis, now)
        expect(RollingWindowRule.peek(state, cap, units, now)).toMatchObject({ allowed: passes, resetsAt, used })
        expect(RollingWindowRule.passesAt(state, cap, units, now)).toBe(resetsAt)
        record(units)
        for (const length of [1, 50, windowMillis])
          expect(RollingWindowRule.used(state, length, now)).toBe(naive.used(length, now))
        expect(state.recent?.entries.length ?? 0).toBeLessThanOrEqual(34)
      }
    },
    runs
  )

  it("reads a history that an earlier version has stored in one list", () => {
    const entries = Array.from({ length: 200 }, (_, index) => [index === 0 ? 0 : 60_000, 1]).flat()
    let state: typeof RollingWindowRule.initial = { startMillis: start, entries }
    const cap = { windowMillis: 24 * hourMillis, limit: 1_000 }
    for (let minute = 200; minute < 2_000; minute++) {
      const now = start + minute * 60_000
      expect(RollingWindowRule.peek(state, cap, 1, now).used).toBe(Math.min(minute, 1_439))
      state = RollingWindowRule.record(state, cap.windowMillis, 1, now)
    }
    expect(state.entries.length).toBeLessThanOrEqual(2 * (1_440 + 17))
  })

  it("[send 1.1] counts an entry in [t, t + window), to the millisecond", () => {
    const cap = { windowMillis: hourMillis, limit: 1 }
    const { state } = RollingWindowRule.take(RollingWindowRule.initial, cap, 1, start)
    expect(RollingWindowRule.peek(state, cap, 1, start + hourMillis - 1)).toMatchObject({
      allowed: false,
      resetsAt: start + hourMillis,
      retryAfterSeconds: 1
    })
    expect(RollingWindowRule.peek(state, cap, 1, start + hourMillis)).toMatchObject({ allowed: true, used: 0 })
  })

  it("keeps a full window of the highest limit within an actor's bound, and 200 entries in 2 kB", () => {
    const fill = (limit: number) => {
      const cap = { windowMillis: 86_400_000, limit }
      let state = RollingWindowRule.initial
      for (let index = 0; index < limit; index++)
        state = RollingWindowRule.take(state, cap, 1, start + index * Math.floor(86_400_000 / limit)).state
      expect(RollingWindowRule.peek(state, cap, 1, start + 86_399_999).outcome).toBe("limited")
      return JSON.stringify(state).length
    }
    expect(fill(200)).toBeLessThan(2_000)
    expect(fill(maximumExactLimit)).toBeLessThan(48_000)
  })

  it.each([
    ["cost", () => RollingWindowRule.peek(RollingWindowRule.initial, { windowMillis, limit: 1 }, 0, start)],
    ["now", () => RollingWindowRule.peek(RollingWindowRule.initial, { windowMillis, limit: 1 }, 1, Number.NaN)],
    ["windowMillis", () => RollingWindowRule.peek(RollingWindowRule.initial, { windowMillis: 0, limit: 1 }, 1, start)],
    ["limit", () => RollingWindowRule.peek(RollingWindowRule.initial, { windowMillis, limit: 5_001 }, 1, start)],
    ["values", () => DistinctWindowRule.peek(DistinctWindowRule.initial, { windowMillis, limit: 1 }, [], start)],
    ["values", () => DistinctWindowRule.peek(DistinctWindowRule.initial, { windowMillis, limit: 1 }, [""], start)],
    ["limit", () => MonthlyQuotaRule.peek(MonthlyQuotaRule.initial, -1, 1, start)],
    ["now", () => MonthlyQuotaRule.peek(MonthlyQuotaRule.initial, 1, 1, Number.POSITIVE_INFINITY)]
  ])("refuses a bad %s", (argument, call) => {
    expect(call).toThrow(expect.objectContaining({ _tag: "InvalidArgument", argument }))
  })
})

describe("the distinct window against a list of all uses", () => {
  it.prop(
    "answers alike, names what is over, and its resets are the first instants that pass",
    [DistinctHistory],
    ([history]) => {
      const naive = new NaiveDistinct()
      let state = DistinctWindowRule.initial
      let now = start
      for (const { kind, limit, move, values } of history) {
        now = moved(
          move,
          now,
          naive.accepted.map(({ at }) => at + windowMillis)
        )
        const cap = { windowMillis, limit }
        const before = naive.living(windowMillis, now)
        const fresh = [...new Set(values)].filter((value) => !before.has(value))
        const passes = naive.passes(windowMillis, limit, values, now)
        const resetsAt = passes ? now : naive.resetsAt(windowMillis, limit, values, now)
        if (kind === "take") naive.take(windowMillis, limit, values, now)
        const answer = DistinctWindowRule[kind](stored(state), cap, values, now)
        const decision = "decision" in answer ? answer.decision : answer
        const used = naive.living(windowMillis, now).size
        expect(decision).toMatchObject({ allowed: passes, resetsAt, used, fresh, cost: fresh.length })
        expect(decision.over).toEqual(passes ? [] : fresh.slice(Math.max(0, limit - before.size)))
        if (decision.over.length > 0 && decision.over.length < values.length) {
          const rest = values.filter((value) => !decision.over.includes(value))
          if (rest.length > 0) expect(naive.passes(windowMillis, limit, rest, now)).toBe(true)
        }
        if ("state" in answer) {
          if (!passes) expect(answer.state).toEqual(state)
          state = answer.state
        }
        if (decision.outcome !== "limited") continue
        expect(DistinctWindowRule.peek(state, cap, values, resetsAt).allowed).toBe(true)
        expect(DistinctWindowRule.peek(state, cap, values, resetsAt - 1).allowed).toBe(false)
      }
      expect(state.values.length).toBeLessThanOrEqual(7)
    },
    runs
  )

  it("[send 1.2] lets a value live until its latest use and the window have passed", () => {
    const cap = { windowMillis: hourMillis, limit: 1 }
    let { state } = DistinctWindowRule.take(DistinctWindowRule.initial, cap, ["a.test"], start)
    state = DistinctWindowRule.take(state, cap, ["a.test"], start + hourMillis - 1).state
    expect(DistinctWindowRule.peek(state, cap, ["b.test"], start + hourMillis)).toMatchObject({
      allowed: false,
      over: ["b.test"],
      resetsAt: start + 2 * hourMillis - 1
    })
  })
})

describe("[send 1.3] the monthly quota against a list of all entries", () => {
  it.prop(
    "answers alike around the ends of months and leap years, whatever the clock does",
    [MonthlyHistory],
    ([history]) => {
      const naive = new NaiveMonthly()
      let state = MonthlyQuotaRule.initial
      for (const { days, kind, limit, millis, month, units, year } of history) {
        const now = Date.UTC(year, month, 1) + days * 86_400_000 + millis
        const passes = limit === "unlimited" || naive.used(now) + units <= limit
        const resetsAt = passes ? now : naive.resetsAt(now)
        if (kind === "take") naive.take(limit, units, now)
        const answer = MonthlyQuotaRule[kind](stored(state), limit, units, now)
        const decision = "decision" in answer ? answer.decision : answer
        expect(decision).toMatchObject({ allowed: passes, used: naive.used(now), resetsAt, cost: units, limit })
        if ("state" in answer) state = answer.state
      }
    },
    runs
  )

  it.each([
    ["2026-01-31T23:59:59.999Z", "2026-02-01T00:00:00.000Z"],
    ["2028-02-29T12:00:00.000Z", "2028-03-01T00:00:00.000Z"],
    ["2027-02-28T23:59:59.999Z", "2027-03-01T00:00:00.000Z"],
    ["2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00.000Z"],
    ["2026-08-31T00:00:00.000Z", "2026-09-01T00:00:00.000Z"],
    ["2026-09-01T00:00:00.000Z", "2026-10-01T00:00:00.000Z"]
  ])("of %s resets at %s", (now, resetsAt) => {
    expect(new Date(MonthlyQuotaRule.monthEnd(Date.parse(now))).toISOString()).toBe(resetsAt)
  })
})

describe("the services, by the Clock", () => {
  const windows = Layer.mergeAll(
    RollingWindow.layerMemory({ limit: (key) => (key === "big" ? 10 : 2), windowMillis: hourMillis, maxKeys: 2 }),
    DistinctWindow.layerMemory({ limit: 2, windowMillis: hourMillis, maxKeys: 2 }),
    MonthlyQuota.layerMemory({ limit: 3, maxKeys: 2 })
  )

  it.effect("count each key by itself, and a refusal says when to come again", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const rolling = yield* RollingWindow
      expect(yield* rolling.take("a", { cost: 2 })).toMatchObject({ allowed: true, used: 2 })
      expect(yield* rolling.take("big", { cost: 10 })).toMatchObject({ allowed: true, used: 10 })
      yield* TestClock.adjust("59 minutes")
      expect(yield* rolling.take("a")).toMatchObject({ outcome: "limited", retryAfterSeconds: 60 })
      yield* TestClock.adjust("60 seconds")
      expect(yield* rolling.peek("a")).toMatchObject({ allowed: true, used: 0 })
      const distinct = yield* DistinctWindow
      expect(yield* distinct.take("a", ["x", "y", "x"])).toMatchObject({ allowed: true, used: 2 })
      expect(yield* distinct.take("a", ["y", "z"])).toMatchObject({ allowed: false, over: ["z"] })
      const monthly = yield* MonthlyQuota
      expect(yield* monthly.take("a", { cost: 3 })).toMatchObject({ allowed: true, used: 3 })
      expect(yield* monthly.take("a")).toMatchObject({ allowed: false, resetsAt: Date.UTC(2026, 7, 1) })
      yield* TestClock.setTime(Date.UTC(2026, 7, 1))
      expect(yield* monthly.take("a")).toMatchObject({ allowed: true, used: 1 })
    }).pipe(Effect.provide(windows))
  )

  it.effect(
    "hold so many keys at most, reset nobody's count for a new one, and take new ones when the oldest has ended",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(start)
        const rolling = yield* RollingWindow
        yield* rolling.take("a", { cost: 2 })
        yield* TestClock.adjust("1 minute")
        yield* rolling.take("b")
        expect(yield* rolling.take("c")).toMatchObject({
          outcome: "full",
          resetsAt: start + hourMillis,
          retryAfterSeconds: 59 * 60
        })
        expect((yield* rolling.peek("c")).outcome).toBe("full")
        expect((yield* rolling.take("a")).outcome).toBe("limited")
        expect((yield* rolling.take("b")).allowed).toBe(true)
        yield* TestClock.setTime(start + hourMillis)
        expect((yield* rolling.take("c")).allowed).toBe(true)
        expect((yield* rolling.take("d")).outcome).toBe("full")
      }).pipe(Effect.provide(windows))
  )

  it.effect("grant nothing when the clock is set back, even to a key that was dropped meanwhile", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const rolling = yield* RollingWindow
      yield* rolling.take("a", { cost: 2 })
      yield* TestClock.setTime(start - hourMillis)
      expect((yield* rolling.take("a")).outcome).toBe("limited")
      yield* TestClock.setTime(start + hourMillis)
      yield* rolling.take("b")
      yield* rolling.take("a", { cost: 2 })
      yield* TestClock.setTime(start)
      expect(yield* rolling.take("a")).toMatchObject({ outcome: "limited", resetsAt: start + 2 * hourMillis })
    }).pipe(Effect.provide(windows))
  )

  it.effect.each([
    ["windowMillis", RollingWindow.layerMemory({ limit: 1, windowMillis: 0 })],
    ["limit", RollingWindow.layerMemory({ limit: maximumExactLimit + 1, windowMillis })],
    ["limit", DistinctWindow.layerMemory({ limit: -1, windowMillis })],
    ["limit", MonthlyQuota.layerMemory({ limit: 0.5 })],
    ["maxKeys", MonthlyQuota.layerMemory({ limit: 1, maxKeys: 0 })]
  ] as const)("refuse a bad %s when they are made", ([argument, layer]) =>
    Effect.gen(function* () {
      const made = yield* Effect.exit(Effect.scoped(Layer.build(layer as Layer.Layer<never, InvalidArgument>)))
      expect(Exit.isFailure(made) && made.cause.toString()).toContain(argument)
    })
  )

  it.effect("refuse a bad key and a bad cost", () =>
    Effect.gen(function* () {
      const rolling = yield* RollingWindow
      expect(yield* Effect.flip(rolling.take(""))).toMatchObject({ argument: "key" })
      expect(yield* Effect.flip(rolling.take("k".repeat(257)))).toBeInstanceOf(InvalidArgument)
      expect(yield* Effect.flip(rolling.take("a", { cost: 0 }))).toMatchObject({ argument: "cost" })
    }).pipe(Effect.provide(windows))
  )
})
