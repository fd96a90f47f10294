import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import {
  admit,
  fromMemory,
  InvalidArgument,
  type Limit,
  LimiterFull,
  LimiterUnreachable,
  LimitReached,
  makeMemory,
  orRefused,
  platformPlans,
  RateLimiter,
  requestsPerMinute
} from "../../src/limits/index.ts"

const noon = Date.UTC(2026, 6, 1, 12, 0, 0)

describe("RateLimiter", () => {
  it.effect("admits exactly 100 of 2,000 concurrent takes", () =>
    Effect.gen(function* () {
      const limiter = yield* RateLimiter
      const decisions = yield* Effect.forEach(
        Array.from({ length: 2000 }),
        (_, i) =>
          // Some come a few turns of the scheduler later than the others.
          Effect.repeat(Effect.yieldNow, { times: i % 7 }).pipe(Effect.andThen(limiter.take("organization"))),
        { concurrency: "unbounded" }
      )
      expect(decisions.filter((decision) => decision.allowed)).toHaveLength(100)
      const remaining = decisions.filter((decision) => decision.allowed).map((decision) => decision.remaining)
      expect(new Set(remaining).size).toBe(100)
    }).pipe(Effect.provide(RateLimiter.layerMemory({ limit: 100 })))
  )

  it.effect("takes the time from the Clock", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(noon + 30_000)
      const limiter = yield* RateLimiter
      expect(yield* limiter.take("a")).toMatchObject({ allowed: true, reset: noon / 1000 + 60, retryAfterSeconds: 30 })
      expect((yield* limiter.take("a")).allowed).toBe(false)
      yield* TestClock.adjust("29999 millis")
      expect((yield* limiter.peek("a")).allowed).toBe(false)
      yield* TestClock.adjust("1 millis")
      expect((yield* limiter.take("a")).allowed).toBe(true)
    }).pipe(Effect.provide(RateLimiter.layerMemory({ limit: 1 })))
  )

  it.effect("asks for the key's limit at each call, so that a changed plan applies at once", () => {
    const limits = new Map<string, Limit>([["a", requestsPerMinute("free")]])
    return Effect.gen(function* () {
      const limiter = yield* RateLimiter
      yield* limiter.take("a", { cost: 60 })
      expect((yield* limiter.take("a")).allowed).toBe(false)
      limits.set("a", requestsPerMinute("team"))
      expect(yield* limiter.take("a")).toMatchObject({ allowed: true, limit: 6000, remaining: 5939 })
      limits.set("a", requestsPerMinute("team", 10))
      expect(yield* limiter.take("a")).toMatchObject({ allowed: false, limit: 10, remaining: 0 })
      limits.set("a", requestsPerMinute("team", "unlimited"))
      expect(yield* limiter.take("a")).toMatchObject({ allowed: true, remaining: "unlimited" })
    }).pipe(Effect.provide(RateLimiter.layerMemory({ limit: (key) => limits.get(key) ?? 0 })))
  })

  it.effect("takes a limit for one call in place of its own", () =>
    Effect.gen(function* () {
      const limiter = yield* RateLimiter
      expect(yield* limiter.take("a", { limit: 2, cost: 2 })).toMatchObject({ allowed: true, remaining: 0 })
      expect(yield* limiter.take("a")).toMatchObject({ allowed: true, limit: 100, remaining: 97 })
    }).pipe(Effect.provide(RateLimiter.layerMemory({ limit: 100 })))
  )

  it.effect("gives back a request that was not carried out, while its window lasts", () =>
    Effect.gen(function* () {
      const limiter = yield* RateLimiter
      const first = yield* limiter.take("a", { cost: 5 })
      expect(yield* limiter.refund("a", first)).toBe(5)
      expect((yield* limiter.peek("a")).remaining).toBe(5)
      const second = yield* limiter.take("a", { cost: 5 })
      yield* TestClock.adjust("1 minute")
      yield* limiter.take("a", { cost: 2 })
      expect(yield* limiter.refund("a", second)).toBe(0)
      expect((yield* limiter.peek("a")).remaining).toBe(3)
    }).pipe(Effect.provide(RateLimiter.layerMemory({ limit: 5 })))
  )

  it.effect("counts apart in each limiter that is built from one layer", () => {
    const layer = RateLimiter.layerMemory({ limit: 1 })
    const one = Effect.flatMap(RateLimiter, (limiter) => limiter.take("a")).pipe(Effect.provide(Layer.fresh(layer)))
    return Effect.gen(function* () {
      expect((yield* one).allowed).toBe(true)
      expect((yield* one).allowed).toBe(true)
    })
  })

  it.effect("shares its counts with synchronous callers of the same table", () =>
    Effect.gen(function* () {
      const memory = makeMemory()
      const limiter = fromMemory(memory, 2)
      memory.take("a", 2, 1, 0)
      expect((yield* limiter.take("a")).remaining).toBe(0)
      expect(memory.take("a", 2, 1, 0).allowed).toBe(false)
    })
  )
})

describe("its errors", () => {
  it.effect("are typed: a bad argument fails the call and counts nothing", () =>
    Effect.gen(function* () {
      const limiter = yield* RateLimiter
      const calls: ReadonlyArray<Effect.Effect<unknown, InvalidArgument | LimiterUnreachable>> = [
        limiter.take("a", { cost: 0 }),
        limiter.take("a", { limit: -1 }),
        limiter.take(""),
        limiter.peek("a", { cost: 1.5 }),
        limiter.refund("a", { allowed: true, cost: 0, reset: 60 })
      ]
      for (const call of calls) expect(yield* Effect.flip(call)).toBeInstanceOf(InvalidArgument)
      expect((yield* limiter.peek("a")).remaining).toBe(5)
    }).pipe(Effect.provide(RateLimiter.layerMemory({ limit: 5 })))
  )

  it.effect("keep a failing limit function a defect", () =>
    Effect.gen(function* () {
      const limiter = yield* RateLimiter
      const exit = yield* Effect.exit(limiter.take("a"))
      expect(Exit.isFailure(exit) && Exit.hasDies(exit)).toBe(true)
    }).pipe(
      Effect.provide(
        RateLimiter.layerMemory({
          limit: () => {
            throw new Error("no such organization")
          }
        })
      )
    )
  )

  it.effect("refuse a layer whose options are out of range", () =>
    Effect.gen(function* () {
      for (const options of [{ limit: -1 }, { limit: 1, maxKeys: 0 }, { limit: 1, windowMillis: 1 }]) {
        const error = yield* Effect.flip(Effect.scoped(Layer.build(RateLimiter.layerMemory(options))))
        expect(error).toBeInstanceOf(InvalidArgument)
      }
    })
  )

  it.effect("tell a reached limit from a limiter without room", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(noon + 15_000)
      expect((yield* admit("a")).remaining).toBe(0)
      const limited = yield* Effect.flip(admit("a"))
      expect(limited).toBeInstanceOf(LimitReached)
      expect(limited).toMatchObject({
        limit: 1,
        remaining: 0,
        cost: 1,
        reset: noon / 1000 + 60,
        retryAfterSeconds: 45,
        message: "Over the limit of 1; retry after 45 s"
      })
      expect((yield* Effect.flip(admit("a", { cost: 2 }))).message).toBe(
        "A request of cost 2 never fits the limit of 1"
      )
      const full = yield* Effect.flip(admit("b"))
      expect(full).toBeInstanceOf(LimiterFull)
      expect(full).toMatchObject({ reset: noon / 1000 + 60, retryAfterSeconds: 45 })
      expect((yield* admit("b", { limit: "unlimited" })).allowed).toBe(true)
    }).pipe(Effect.provide(RateLimiter.layerMemory({ limit: 1, maxKeys: 1 })))
  )

  it.effect("tell a limiter that cannot be reached from a limit, so that a caller can let only the first pass", () => {
    const away = Effect.fail(new LimiterUnreachable({ message: "partition 3 gave no answer within 250 ms" }))
    const limiter = RateLimiter.of({ take: () => away, peek: () => away, refund: () => away })
    const answer = (limit: Limit) =>
      admit("a", { limit }).pipe(
        Effect.map(() => "allowed"),
        Effect.catchTags({
          LimitReached: () => Effect.succeed("limited"),
          LimiterUnreachable: () => Effect.succeed("let through")
        }),
        Effect.result
      )
    return Effect.gen(function* () {
      expect(yield* answer(0).pipe(Effect.provideService(RateLimiter, limiter))).toEqual(Result.succeed("let through"))
      expect(yield* answer(0).pipe(Effect.provide(RateLimiter.layerMemory({ limit: 1 })))).toEqual(
        Result.succeed("limited")
      )
    })
  })

  it.effect("pass an allowed decision on as it is", () =>
    Effect.gen(function* () {
      const decision = makeMemory().take("a", 5, 1, noon)
      expect(yield* orRefused(decision)).toBe(decision)
    })
  )
})

describe("plans", () => {
  it("[platform 2.2] have the rates of the platform document", () => {
    expect(platformPlans.map((plan) => requestsPerMinute(plan))).toEqual([60, 600, 6000])
  })

  it("[platform 2.2] yield to a custom limit, even to one of nothing", () => {
    expect(requestsPerMinute("free", 1000)).toBe(1000)
    expect(requestsPerMinute("team", 0)).toBe(0)
    expect(requestsPerMinute("team", null)).toBe(6000)
  })
})
