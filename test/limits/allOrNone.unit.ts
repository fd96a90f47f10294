/** All of several limits or none: against naive limits asked one after the other, on an engine, and in the simulator. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Engine from "../../src/engine/Engine.ts"
import { AllOrNoneActor } from "../../src/limits/allOrNoneActor.ts"
import { limitActors } from "../../src/limits/allOrNoneRules.ts"
import {
  AllOrNone,
  type BucketAsk,
  type DistinctAsk,
  type FixedAsk,
  InvalidArgument,
  type LimitAsks,
  type MonthlyAsk,
  type RollingAsk,
  RollingWindow
} from "../../src/limits/index.ts"
import { monthlyQuota, tokenBucket } from "../../src/limits/windowActors.ts"
import { given, simulate } from "../../src/simulation/index.ts"
import { often } from "../support/often.ts"
import { NaiveBucket } from "./bucketModel.ts"
import { NaiveDistinct, NaiveMonthly, NaiveRolling } from "./windowModels.ts"

const start = Date.UTC(2026, 6, 31, 23, 59, 30)
const fixed: FixedAsk = { kind: "fixed", limit: 8, windowMillis: 60_000 }
const rolling: RollingAsk = { kind: "rolling", limit: 9, windowMillis: 45_000 }
const monthly: MonthlyAsk = { kind: "monthly", limit: 14 }
const distinct = (values: ReadonlyArray<string>): DistinctAsk => ({
  kind: "distinct",
  limit: 4,
  windowMillis: 30_000,
  values
})
const bucket: BucketAsk = { kind: "bucket", burst: 7, tokens: 1, everyMillis: 5_000 }

/** Naive limits of one key, each with its own list. */
class NaiveLimits {
  readonly fixed: Array<{ readonly minute: number; readonly cost: number }> = []
  readonly rolling = new NaiveRolling()
  readonly monthly = new NaiveMonthly()
  readonly distinct = new NaiveDistinct()
  readonly bucket = new NaiveBucket()

  fixedUsed(now: number): number {
    const minute = Math.floor(now / fixed.windowMillis)
    return this.fixed.filter((entry) => entry.minute === minute).reduce((sum, { cost }) => sum + cost, 0)
  }

  /** One after the other: does each of them let it pass? */
  refused(asks: LimitAsks, now: number): ReadonlyArray<string> {
    return Object.entries(asks).flatMap(([name, ask]) => {
      if (ask.kind === "distinct") {
        return this.distinct.passes(ask.windowMillis, ask.limit, ask.values, now) ? [] : [name]
      }
      const cost = ask.cost ?? 1
      const passes =
        ask.kind === "fixed"
          ? this.fixedUsed(now) + cost <= (ask.limit as number)
          : ask.kind === "rolling"
            ? this.rolling.passes(ask.windowMillis, ask.limit, cost, now)
            : ask.kind === "monthly"
              ? this.monthly.used(now) + cost <= (ask.limit as number)
              : this.bucket.passes(ask, cost, now)
      return passes ? [] : [name]
    })
  }

  take(asks: LimitAsks, now: number): ReadonlyArray<string> {
    const refused = this.refused(asks, now)
    if (refused.length > 0) return refused
    for (const ask of Object.values(asks)) {
      if (ask.kind === "distinct") this.distinct.take(ask.windowMillis, ask.limit, ask.values, now)
      else if (ask.kind === "fixed")
        this.fixed.push({ minute: Math.floor(now / fixed.windowMillis), cost: ask.cost ?? 1 })
      else if (ask.kind === "rolling") this.rolling.take(ask.windowMillis, ask.limit, ask.cost ?? 1, now)
      else if (ask.kind === "monthly") this.monthly.take(ask.limit, ask.cost ?? 1, now)
      else this.bucket.take(ask, ask.cost ?? 1, now)
    }
    return refused
  }
}

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Costs = Schema.Union([Schema.Null, int(1, 3), int(1, 10)])
const History = Schema.Array(
  Schema.Struct({
    move: Schema.Union([int(0, 4_000), int(0, 20_000), Schema.Literals(["before", "at"])]),
    kind: Schema.Literals(["take", "take", "take", "peek"]),
    key: Schema.Literals(["", "ann"]),
    fixed: Costs,
    rolling: Costs,
    monthly: Costs,
    bucket: Costs,
    values: Schema.Array(Schema.Literals(["a", "b", "c", "d", "e", "f"])).check(Schema.isMaxLength(3))
  })
).check(Schema.isMinLength(10), Schema.isMaxLength(30))

const asksOf = (step: (typeof History.Type)[number]): LimitAsks => ({
  ...(step.fixed === null ? {} : { perMinute: { ...fixed, key: step.key, cost: step.fixed } }),
  ...(step.rolling === null ? {} : { rolling: { ...rolling, key: step.key, cost: step.rolling } }),
  ...(step.monthly === null ? {} : { month: { ...monthly, key: step.key, cost: step.monthly } }),
  ...(step.bucket === null ? {} : { burst: { ...bucket, key: step.key, cost: step.bucket } }),
  ...(step.values.length === 0 ? {} : { domains: { ...distinct(step.values), key: step.key } })
})

describe("all of several limits or none", () => {
  it.effect.prop(
    "passes if each naive limit lets it pass, counts in all or in none, and resets at the first instant that passes",
    [History],
    ([history]) =>
      Effect.gen(function* () {
        const { peek, take } = yield* AllOrNone
        const naive = { "": new NaiveLimits(), ann: new NaiveLimits() }
        let now = start
        let edge = start
        for (const step of history) {
          const asks = asksOf(step)
          if (Object.keys(asks).length === 0) continue
          // Never back: the tables in memory have one time for all keys.
          if (typeof step.move === "number") now += step.move
          else now = Math.max(now, edge - (step.move === "at" ? 0 : 1))
          yield* TestClock.setTime(now)
          const of = naive[step.key]
          const refused = step.kind === "take" ? of.take(asks, now) : of.refused(asks, now)
          const decision = yield* (step.kind === "take" ? take : peek)("acme", asks)
          expect(decision).toMatchObject({ allowed: refused.length === 0, refused })
          expect(Object.keys(decision.decisions)).toEqual(Object.keys(asks))
          const each = Object.values(decision.decisions)
          expect(each.flatMap(({ allowed }, index) => (allowed ? [] : [Object.keys(asks)[index]]))).toEqual(refused)
          expect(decision.resetsAt).toBe(
            Math.max(now, ...each.flatMap(({ allowed, resetsAt }) => (allowed ? [] : [resetsAt])))
          )
          edge = decision.resetsAt
          if (decision.outcome !== "limited") continue
          expect(of.refused(asks, decision.resetsAt)).toEqual([])
          expect(of.refused(asks, decision.resetsAt - 1)).not.toEqual([])
        }
      }).pipe(Effect.provide(AllOrNone.layerMemory())),
    { arbitrary: { runs: often(60) } }
  )

  const onEngine = Layer.provide(AllOrNone.layer, Engine.layerMemory({ actors: AllOrNone.actors }))

  it.effect("answers on an engine as in memory", () =>
    Effect.gen(function* () {
      const history = (key: string) =>
        Effect.gen(function* () {
          const { peek, take } = yield* AllOrNone
          const asks = (cost: number, ...values: ReadonlyArray<string>) =>
            ({
              perMinute: { ...fixed, cost },
              rolling: { ...rolling, key, cost },
              month: { ...monthly, cost },
              burst: { ...bucket, key, cost },
              domains: distinct(values)
            }) as const
          const told: Array<unknown> = []
          for (const [minutes, ask] of [
            [0, take("acme", asks(5, "a", "b"))],
            [0, take("acme", asks(3, "c", "d", "e"))],
            [0, peek("acme", asks(2, "c", "d"))],
            [0, take("acme", asks(2, "c", "d"))],
            [0, take("other", asks(2, "x"))],
            [0, take("acme", { burst: { ...bucket, key, cost: 8 }, month: monthly })],
            [0, take("acme", { month: { ...monthly, limit: "unlimited", cost: 90 } })],
            [1, take("acme", { month: monthly })],
            [9, take("acme", asks(7, "a"))]
          ] as const) {
            yield* TestClock.adjust(`${minutes} minutes`)
            told.push(yield* ask)
          }
          return told
        })
      yield* TestClock.setTime(start)
      const memory = yield* Effect.provide(history("ann"), AllOrNone.layerMemory())
      yield* TestClock.setTime(start)
      const durable = yield* Effect.provide(history("ann"), onEngine)
      expect(durable).toEqual(memory)
      expect(memory).toMatchObject([
        { allowed: true, decisions: { month: { used: 5 }, burst: { remaining: 2 }, domains: { used: 2 } } },
        { outcome: "limited", refused: ["burst", "domains"], decisions: { domains: { over: ["e"] } } },
        { allowed: true, decisions: { month: { used: 5 }, burst: { remaining: 2 } } },
        { allowed: true, decisions: { month: { used: 7 }, perMinute: { used: 7 }, rolling: { used: 7 } } },
        { allowed: true, decisions: { month: { used: 2 } } },
        { outcome: "cost_above_limit", refused: ["burst"], decisions: { month: { allowed: true, used: 7 } } },
        { allowed: true, decisions: { month: { used: 97 } } },
        { allowed: true, decisions: { month: { used: 1 } } },
        { allowed: true }
      ])
    })
  )

  it.live("lets exactly as many of concurrent requests pass as the smallest limit, and counts those alone", () =>
    Effect.gen(function* () {
      const { peek, take } = yield* AllOrNone
      const large: MonthlyAsk = { kind: "monthly", limit: 1_000 }
      const small: BucketAsk = { kind: "bucket", burst: 6, tokens: 1, everyMillis: 604_800_000 }
      const all = yield* Effect.forEach(
        Array.from({ length: 40 }),
        (_, index) => take("acme", { perCaller: { ...small, key: `caller ${index % 2}` }, month: large }),
        { concurrency: "unbounded" }
      )
      expect(all.filter(({ allowed }) => allowed)).toHaveLength(12)
      expect((yield* peek("acme", { month: large })).decisions.month.used).toBe(12)
    }).pipe(Effect.provide(onEngine))
  )

  it.effect("counts in the windows of the other services: a limit is the actor of its name and key", () =>
    Effect.gen(function* () {
      const { take } = yield* AllOrNone
      yield* take("acme", { hour: { ...rolling, key: "ann", cost: 4 }, month: monthly })
      const window = yield* RollingWindow
      expect(yield* window.peek("hour/ann")).toMatchObject({ used: 4 })
    }).pipe(
      Effect.provide(Layer.merge(AllOrNone.layer, RollingWindow.layer({ ...rolling, organization: () => "acme" }))),
      Effect.provide(Engine.layerMemory({ actors: AllOrNone.actors }))
    )
  )
})

describe("a request under several limits", () => {
  it.effect.each([
    ["asks", {}],
    ["asks", { "no name": monthly }],
    ["asks", { __proto: { kind: "toString" } as never }],
    ["asks", Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`limit${index}`, monthly]))],
    ["key", { month: { ...monthly, key: "k".repeat(252) } }],
    ["cost", { month: { ...monthly, cost: 0 } }],
    ["limit", { month: monthly, rolling: { ...rolling, limit: 5_001 } }],
    ["windowMillis", { perMinute: { ...fixed, windowMillis: 1_500 } }],
    ["everyMillis", { burst: { ...bucket, everyMillis: 11 } }],
    ["values", { domains: distinct([]) }]
  ] as const)("is refused for a bad %s and counts nothing", ([argument, asks]) =>
    Effect.gen(function* () {
      const { peek, take } = yield* AllOrNone
      const error = yield* Effect.flip(take("acme", asks as LimitAsks))
      expect(error).toBeInstanceOf(InvalidArgument)
      expect(error).toMatchObject({ argument })
      expect((yield* peek("acme", { month: monthly })).decisions.month.used).toBe(0)
    }).pipe(Effect.provide(AllOrNone.layerMemory()))
  )

  it.effect("is refused for an organization that no partition can have", () =>
    Effect.gen(function* () {
      const { take } = yield* AllOrNone
      expect(yield* Effect.flip(take("a.b", { month: monthly }))).toMatchObject({ argument: "organization" })
    }).pipe(Effect.provide(AllOrNone.layerMemory()))
  )

  it.effect("finds no room in memory for one key more than there are, and counts nothing then", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { take } = yield* AllOrNone
      const two = (key: string) => take("acme", { minute: { ...fixed, key }, hold: { ...rolling, key } })
      for (let index = 0; index < 15; index++) expect((yield* two(`k${index}`)).allowed).toBe(true)
      expect((yield* take("acme", { minute: { ...fixed, key: "last" } })).allowed).toBe(true)
      const refused = yield* two("more")
      expect(refused).toMatchObject({ outcome: "full", refused: ["minute", "hold"], resetsAt: start + 30_000 })
      const uncounted = yield* take("acme", { minute: { ...fixed, key: "more", limit: "unlimited" } })
      expect(uncounted.allowed).toBe(true)
      expect((yield* take("acme", { minute: { ...fixed, key: "more" } })).allowed).toBe(true)
      yield* TestClock.setTime(start + 30_000)
      // The clock's minute is over and its states have gone, even those that are asked again.
      expect((yield* two("k0")).decisions).toMatchObject({ minute: { used: 1 }, hold: { used: 2 } })
    }).pipe(Effect.provide(AllOrNone.layerMemory({ maxKeys: 32 })))
  )
})

describe("the actor that decides", () => {
  const request = { burst: 5, tokens: 1, everyMillis: 1_000, cost: 3 }
  const asks = [
    { kind: "monthly" as const, name: "month", key: "", limit: 10, cost: 3 },
    { kind: "bucket" as const, name: "burst", key: "ann", ...request },
    { kind: "distinct" as const, name: "domains", key: "", limit: 2, windowMillis: 60_000, values: ["a", "b"] }
  ]
  const now = Date.UTC(2026, 6, 1)

  it("is specified: it gives facts to all limits", () => {
    const decided = given(AllOrNoneActor, [], { now }).when({ _tag: "Take", asks })
    decided.then({
      others: [
        { kind: "monthlyQuota", key: "month", facts: [{ at: now, request: { limit: 10, cost: 3 } }] },
        { kind: "tokenBucket", key: "burst/ann", facts: [{ at: now, request }] },
        {
          kind: "distinctWindow",
          key: "domains",
          facts: [{ at: now, request: { limit: 2, windowMillis: 60_000, values: ["a", "b"] } }]
        }
      ]
    })
    // Between machines no answer loses a field of its kind.
    const codec = Schema.toCodecJson(AllOrNoneActor.options.reply!)
    const { reply } = decided.decision
    const sent = JSON.parse(JSON.stringify(Schema.encodeUnknownSync(codec)(reply))) as unknown
    expect(Schema.decodeUnknownSync(codec)(sent)).toEqual(reply)
  })

  it("is specified: it gives facts to none if one of them refuses, and names each that does", () => {
    const others = [
      { actor: tokenBucket.actor, key: "burst/ann", facts: [{ at: now, request }] },
      { actor: monthlyQuota.actor, key: "month", facts: [{ at: now, request: { limit: 10, cost: 8 } }] }
    ]
    const decided = given(AllOrNoneActor, [], { now, others }).when({ _tag: "Take", asks })
    decided.then({ facts: [], others: [] })
    expect(decided.decision.reply).toMatchObject({
      allowed: false,
      outcome: "limited",
      refused: ["month", "burst"],
      resetsAt: Date.UTC(2026, 7, 1),
      decisions: [{ used: 8 }, { remaining: 2, resetsAt: now + 1_000 }, { allowed: true, used: 0 }]
    })
  })

  const Cost = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 }))
  const weekMillis = 604_800_000
  const commands = Arbitrary.map(
    Arbitrary.schema(
      Schema.Struct({ _tag: Schema.Literals(["Take", "Take", "Peek"]), both: Schema.Boolean, cost: Cost })
    ),
    ({ _tag, both, cost }) => ({
      _tag,
      asks: [
        { kind: "monthly" as const, name: "month", key: "", limit: "unlimited" as const, cost },
        ...(both
          ? [{ kind: "bucket" as const, name: "burst", key: "", burst: 9, tokens: 1, everyMillis: weekMillis, cost }]
          : []),
        { kind: "monthly" as const, name: both ? "bothMonth" : "otherMonth", key: "", limit: 40, cost }
      ]
    })
  )

  it.effect("is proved: whatever fails, a request is counted in all of its limits or in none", () =>
    simulate(AllOrNoneActor, {
      commands,
      others: limitActors,
      after: [weekMillis],
      together: {
        "the months agree": (states) => {
          const month = states.get(monthlyQuota.actor, "month")
          const used = ["bothMonth", "otherMonth"].map((key) => {
            const part = states.get(monthlyQuota.actor, key)
            return part?.endMillis === month?.endMillis ? (part?.used ?? 0) : 0
          })
          return (month?.used ?? 0) === used[0]! + used[1]!
        },
        "no bucket lacks more than its burst": (states) =>
          (states.get(tokenBucket.actor, "burst")?.missing ?? 0) <= 9 * weekMillis
      },
      seeds: often(24),
      steps: 60,
      floods: false
    })
  )
})
