/**
 * Limits a key to a steady rate with bursts (docs/limits.md, "A token bucket"): exact to the millisecond, in two numbers
 * a key. Time comes from the Clock. `layerMemory` counts in this process and needs nothing else.
 */
import { Context, type Effect, type Layer } from "effect"
import type { AnyActor } from "../engine/Actor.ts"
import type { Engine } from "../engine/Engine.ts"
import { assertBucket, type BucketCap, type BucketDecision } from "./bucketRules.ts"
import type { InvalidArgument, LimiterUnreachable } from "./errors.ts"
import type { KeyedWindowOptions } from "./keyedWindow.ts"
import { byUnits, type UnitsOptions } from "./RollingWindow.ts"
import { type WindowEngineOptions, windowLayers } from "./windowActor.ts"
import { tokenBucket } from "./windowActors.ts"

/** The size and the rate of a bucket. See {@link TokenBucket}. */
export interface BucketCapOptions {
  /**
   * Tokens of a full bucket, at most `TokenBucketRule.maximumBurst`: one figure for all keys, or a function of the key
   * that is called for each request.
   */
  readonly burst: number | ((key: string) => number)
  /** Tokens that arrive in each interval, in the same forms. */
  readonly tokens: number | ((key: string) => number)
  /** Length of the interval in milliseconds. It divides a week. */
  readonly everyMillis: number
}

/** The bucket, and how many keys are counted. See {@link TokenBucket}. */
export interface TokenBucketOptions extends BucketCapOptions, KeyedWindowOptions {}

/**
 * Limits a key to a steady rate with bursts (docs/limits.md, "A token bucket").
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { TestClock } from "effect/testing"
 * import { TokenBucket } from "sluice/limits"
 *
 * const program = Effect.gen(function* () {
 *   const bucket = yield* TokenBucket
 *   const first = yield* bucket.take("ann", { cost: 20 })
 *   yield* TestClock.adjust("100 millis")
 *   const second = yield* bucket.take("ann", { cost: 5 })
 *   return [first.remaining, second.allowed, second.remaining, second.resetsAt]
 * })
 * const layer = TokenBucket.layerMemory({ burst: 20, tokens: 10, everyMillis: 1_000 })
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(layer), Effect.provide(TestClock.layer())))) // [ 0, false, 1, 500 ]
 * ```
 */
export class TokenBucket extends Context.Service<
  TokenBucket,
  {
    /** Asks for one token, or `cost` of them, and takes them if they are there. A refusal takes nothing. */
    readonly take: (
      key: string,
      options?: UnitsOptions
    ) => Effect.Effect<BucketDecision, InvalidArgument | LimiterUnreachable>
    /** Returns the answer that `take` would give, taking nothing; `remaining` are then the tokens before the request. */
    readonly peek: (
      key: string,
      options?: UnitsOptions
    ) => Effect.Effect<BucketDecision, InvalidArgument | LimiterUnreachable>
  }
>()("sluice/limits/TokenBucket") {
  /** Buckets in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: TokenBucketOptions): Layer.Layer<TokenBucket, InvalidArgument> =>
    buckets.layerMemory(TokenBucket, options, byUnits)

  /** The actor that an engine for `layer` must have. */
  static readonly actor: AnyActor = tokenBucket.actor

  /** Buckets on an engine. The layer fails for options outside their range. */
  static readonly layer = (
    options: BucketCapOptions & WindowEngineOptions
  ): Layer.Layer<TokenBucket, InvalidArgument, Engine> => buckets.layer(TokenBucket, options, byUnits)
}

const figureOf = (figure: number | ((key: string) => number), key: string): number =>
  typeof figure === "function" ? figure(key) : figure

/** @throws InvalidArgument for a size or a rate outside its range. */
const bucketCapOf = ({ burst, everyMillis, tokens }: BucketCapOptions): ((key: string) => BucketCap) => {
  assertBucket({
    burst: typeof burst === "function" ? 0 : burst,
    tokens: typeof tokens === "function" ? 1 : tokens,
    everyMillis
  })
  return (key) => ({ burst: figureOf(burst, key), tokens: figureOf(tokens, key), everyMillis })
}

const buckets = windowLayers(tokenBucket, (options: BucketCapOptions) => {
  const capOf = bucketCapOf(options)
  return (key, cost: number) => ({ ...capOf(key), cost })
})
