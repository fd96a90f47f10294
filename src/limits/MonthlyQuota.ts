/**
 * Limits how many units a key may use in a calendar month, UTC (docs/send.md, 1.3). Time comes from the Clock.
 * `layerMemory` counts in this process and needs nothing else.
 */
import { Context, type Effect, type Layer } from "effect"
import type { AnyActor } from "../engine/Actor.ts"
import type { Engine } from "../engine/Engine.ts"
import type { InvalidArgument, LimiterUnreachable } from "./errors.ts"
import type { KeyedWindowOptions } from "./keyedWindow.ts"
import { byUnits, type UnitsOptions } from "./RollingWindow.ts"
import { assertLimit, type Limit } from "./rules.ts"
import { type WindowEngineOptions, windowLayers } from "./windowActor.ts"
import { monthlyQuota } from "./windowActors.ts"
import type { WindowDecision } from "./windowDecision.ts"

/** The limit of a month. See {@link MonthlyQuota}. */
export interface MonthlyLimitOptions {
  /** Units per month: one figure for all keys, or a function of the key that is called for each request. */
  readonly limit: Limit | ((key: string) => Limit)
}

/** The limit, and how many keys are counted. See {@link MonthlyQuota}. */
export interface MonthlyQuotaOptions extends MonthlyLimitOptions, KeyedWindowOptions {}

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
    quotas.layerMemory(MonthlyQuota, options, byUnits)

  /** The actor that an engine for `layer` must have. */
  static readonly actor: AnyActor = monthlyQuota.actor

  /** Quotas on an engine. The layer fails for options outside their range. */
  static readonly layer = (
    options: MonthlyLimitOptions & WindowEngineOptions
  ): Layer.Layer<MonthlyQuota, InvalidArgument, Engine> => quotas.layer(MonthlyQuota, options, byUnits)
}

const quotas = windowLayers(monthlyQuota, ({ limit }: MonthlyLimitOptions) => {
  if (typeof limit !== "function") assertLimit(limit)
  return (key, cost: number) => ({ limit: typeof limit === "function" ? limit(key) : limit, cost })
})
