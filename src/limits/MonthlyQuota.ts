/**
 * Limits how many units a key may use in a calendar month, UTC (docs/send.md, 1.3). Time comes from the Clock.
 * `layerMemory` counts in this process and needs nothing else.
 */
import { Context, Effect, Layer } from "effect"
import type { Engine } from "../engine/Engine.ts"
import { attempt } from "./attempt.ts"
import type { InvalidArgument, LimiterUnreachable } from "./errors.ts"
import { type KeyedWindow, makeKeyedWindow } from "./keyedWindow.ts"
import * as Rules from "./monthlyRules.ts"
import type { UnitsOptions } from "./RollingWindow.ts"
import { assertLimit, type Limit } from "./rules.ts"
import { makeEngineWindow, type WindowEngineOptions } from "./windowActor.ts"
import { monthlyQuotaActor } from "./windowActors.ts"
import type { WindowDecision } from "./windowDecision.ts"

export interface MonthlyLimitOptions {
  /** Units per month: one figure for all keys, or a function of the key that is called for each request. */
  readonly limit: Limit | ((key: string) => Limit)
}

/** The limit, and how many keys are counted. See {@link MonthlyQuota}. */
export interface MonthlyQuotaOptions extends MonthlyLimitOptions {
  /** Most keys tracked concurrently. Default `defaultMaxKeys`. */
  readonly maxKeys?: number | undefined
}

/**
 * Limits the units of a key in a calendar month, UTC (docs/send.md, 1.3).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { MonthlyQuota } from "sluice/limits"
 *
 * const program = Effect.gen(function* () {
 *   const quota = yield* MonthlyQuota
 *   const all = [yield* quota.take("ann", { cost: 3_000 }), yield* quota.take("ann")]
 *   return all.map(({ outcome }) => outcome)
 * })
 * const layer = MonthlyQuota.layerMemory({ limit: 3_000 })
 * console.log(await Effect.runPromise(Effect.provide(program, layer))) // [ 'allowed', 'limited' ]
 * ```
 */
export class MonthlyQuota extends Context.Service<
  MonthlyQuota,
  {
    /** Asks for one unit, or `cost` of them, and counts them if they pass. A refusal counts nothing. */
    readonly take: (
      key: string,
      options?: UnitsOptions
    ) => Effect.Effect<WindowDecision, InvalidArgument | LimiterUnreachable>
    /** Returns the answer that `take` would give, counting nothing; `used` is then the count before the request. */
    readonly peek: (
      key: string,
      options?: UnitsOptions
    ) => Effect.Effect<WindowDecision, InvalidArgument | LimiterUnreachable>
  }
>()("sluice/limits/MonthlyQuota") {
  /** Quotas in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: MonthlyQuotaOptions): Layer.Layer<MonthlyQuota, InvalidArgument> =>
    Layer.effect(
      MonthlyQuota,
      Effect.suspend(() => attempt(() => makeMemory(options)))
    )

  /** The actor that an engine for `layer` must have. */
  static readonly actor: typeof monthlyQuotaActor = monthlyQuotaActor

  /** Quotas on an engine. The layer fails for options outside their range. */
  static readonly layer = (
    options: MonthlyLimitOptions & WindowEngineOptions
  ): Layer.Layer<MonthlyQuota, InvalidArgument, Engine> =>
    Layer.effect(
      MonthlyQuota,
      Effect.flatMap(
        attempt(() => limitsOf(options)),
        (limitOf) =>
          Effect.map(
            makeEngineWindow(monthlyQuotaActor, (key, cost: number) => ({ limit: limitOf(key), cost }), options),
            serviceOf
          )
      )
    )
}

const serviceOf = (quotas: KeyedWindow<number, WindowDecision>): MonthlyQuota["Service"] => ({
  take: (key, options) => quotas.take(key, options?.cost ?? 1),
  peek: (key, options) => quotas.peek(key, options?.cost ?? 1)
})

/** @throws InvalidArgument for a limit outside its range. */
const limitsOf = ({ limit }: MonthlyLimitOptions): ((key: string) => Limit) => {
  if (typeof limit === "function") return limit
  assertLimit(limit)
  return () => limit
}

const makeMemory = (options: MonthlyQuotaOptions): MonthlyQuota["Service"] => {
  const limitOf = limitsOf(options)
  return serviceOf(
    makeKeyedWindow<Rules.MonthlyState, number, WindowDecision>(options.maxKeys, {
      initial: Rules.initial,
      take: (state, key, cost, now) => Rules.take(state, limitOf(key), cost, now),
      peek: (state, key, cost, now) => Rules.peek(state, limitOf(key), cost, now),
      endOf: (state) => state.endMillis
    })
  )
}
