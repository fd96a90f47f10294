/**
 * Limits how many requests a key may make per clock window (docs/platform.md, 3.1). Time comes from the Clock.
 * `layerMemory` counts in this process and needs nothing else. A limiter in another process can have the same
 * interface; it may fail with `LimiterUnreachable`. A refusal is an answer, not an error: `take` returns it as a
 * Decision, `admit` turns it into `LimitReached` for callers that want to stop there.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { attempt } from "./attempt.ts"
import { type InvalidArgument, LimiterFull, type LimiterUnreachable, LimitReached } from "./errors.ts"
import { type MemoryLimiter, type MemoryOptions, makeMemory } from "./memory.ts"
import { assertLimit, type Decision, type Limit, type Receipt } from "./rules.ts"

/** The cost of one request, and its limit. See {@link RateLimiter}. */
export interface TakeOptions {
  /** The cost of the request, an integer of at least 1. Default 1. */
  readonly cost?: number | undefined
  /** Limit of this key now, instead of the limiter's own for it. The key's count continues under it. */
  readonly limit?: Limit | undefined
}

/** The limits of keys, and the table that counts them. See {@link RateLimiter}. */
export interface MemoryLayerOptions extends MemoryOptions {
  /**
   * The limit when a call names none: one figure for all keys, or a function of the key. The function is called for
   * each request, so that a changed plan or custom limit applies immediately.
   */
  readonly limit: Limit | ((key: string) => Limit)
}

/**
 * Limits the requests of a key in each window of the clock (docs/limits.md).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { RateLimiter } from "sluice/limits"
 *
 * const program = Effect.gen(function* () {
 *   const { take } = yield* RateLimiter
 *   const all = [yield* take("ann"), yield* take("ann"), yield* take("ben")]
 *   return all.map(({ allowed }) => allowed)
 * })
 * const layer = RateLimiter.layerMemory({ limit: 1, windowMillis: 86_400_000 })
 * console.log(await Effect.runPromise(Effect.provide(program, layer))) // [ true, false, true ]
 * ```
 */
export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** Asks for one request, or `cost` of them, and counts them if they pass. A refusal counts nothing. */
    readonly take: (key: string, options?: TakeOptions) => Effect.Effect<Decision, InvalidArgument | LimiterUnreachable>
    /** Returns the answer that `take` would give, counting nothing. */
    readonly peek: (key: string, options?: TakeOptions) => Effect.Effect<Decision, InvalidArgument | LimiterUnreachable>
    /**
     * Returns the units that an allowed decision of this key counted, for a request that was not carried out. Call it
     * once per decision. Answers the returned units: 0 after the decision's window has ended.
     */
    readonly refund: (key: string, receipt: Receipt) => Effect.Effect<number, InvalidArgument | LimiterUnreachable>
  }
>()("sluice/limits/RateLimiter") {
  /** A limiter in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: MemoryLayerOptions): Layer.Layer<RateLimiter, InvalidArgument> =>
    Layer.effect(
      RateLimiter,
      Effect.suspend(() =>
        attempt(() => {
          if (typeof options.limit !== "function") assertLimit(options.limit)
          return fromMemory(makeMemory(options), options.limit)
        })
      )
    )
}

/**
 * The service over a synchronous limiter, which may be shared with code outside Effect.
 *
 * @example
 * ```ts
 * import { Layer } from "effect"
 * import { fromMemory, makeMemory, RateLimiter } from "sluice/limits"
 *
 * // one limiter for code inside and outside of Effect
 * const memory = makeMemory()
 * export const layer = Layer.succeed(RateLimiter, fromMemory(memory, 60))
 * console.log(memory.take("ann", 60, 1, 0).allowed) // true
 * ```
 */
export const fromMemory = (memory: MemoryLimiter, limit: MemoryLayerOptions["limit"]): RateLimiter["Service"] => {
  const limitOf = typeof limit === "function" ? limit : () => limit
  return {
    take: (key, options) =>
      Clock.clockWith((clock) =>
        attempt(() =>
          memory.take(key, options?.limit ?? limitOf(key), options?.cost ?? 1, clock.currentTimeMillisUnsafe())
        )
      ),
    peek: (key, options) =>
      Clock.clockWith((clock) =>
        attempt(() =>
          memory.peek(key, options?.limit ?? limitOf(key), options?.cost ?? 1, clock.currentTimeMillisUnsafe())
        )
      ),
    refund: (key, receipt) =>
      Clock.clockWith((clock) => attempt(() => memory.refund(key, receipt, clock.currentTimeMillisUnsafe())))
  }
}

/**
 * Calls `take` for callers that stop at a refusal. Fails with `LimitReached` over the limit, and with `LimiterFull`
 * when the limiter has no room for another key.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { admit, RateLimiter } from "sluice/limits"
 *
 * const twice = Effect.andThen(admit("ann"), admit("ann"))
 * const told = Effect.catchTag(twice, "LimitReached", ({ limit }) => Effect.succeed(`at most ${limit}`))
 * const layer = RateLimiter.layerMemory({ limit: 1, windowMillis: 86_400_000 })
 * console.log(await Effect.runPromise(Effect.provide(told, layer))) // at most 1
 * ```
 */
export const admit = (
  key: string,
  options?: TakeOptions
): Effect.Effect<Decision, LimitReached | LimiterFull | InvalidArgument | LimiterUnreachable, RateLimiter> =>
  Effect.flatMap(RateLimiter, (limiter) => Effect.flatMap(limiter.take(key, options), orRefused))

/**
 * A refusal as an error.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { FixedWindow, orRefused } from "sluice/limits"
 *
 * const { decision } = FixedWindow.take(FixedWindow.initial, 0, 1, 45_000)
 * const error = await Effect.runPromise(Effect.flip(orRefused(decision)))
 * console.log(error._tag, error.retryAfterSeconds) // LimitReached 15
 * ```
 */
export const orRefused = (decision: Decision): Effect.Effect<Decision, LimitReached | LimiterFull> => {
  if (decision.limit === "unlimited" || decision.allowed) return Effect.succeed(decision)
  const { cost, limit, remaining, reset, retryAfterSeconds } = decision
  return Effect.fail(
    decision.outcome === "full"
      ? new LimiterFull({ reset, retryAfterSeconds })
      : new LimitReached({ limit, remaining, cost, reset, retryAfterSeconds })
  )
}
