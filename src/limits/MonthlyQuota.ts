/**
 * `MonthlyQuota`: how many units a key may use in a calendar month, UTC (docs/send.md, 1.3). Time comes from the Clock. `layerMemory` counts in this process
 * and needs nothing else.
 */
import { Context, Effect, Layer } from "effect"
import { attempt } from "./attempt.ts"
import type { InvalidArgument } from "./errors.ts"
import { makeKeyedWindow } from "./keyedWindow.ts"
import * as Rules from "./monthlyRules.ts"
import type { UnitsOptions } from "./RollingWindow.ts"
import { assertLimit, type Limit } from "./rules.ts"
import type { WindowDecision } from "./windowDecision.ts"

export interface MonthlyQuotaOptions {
  /** Units per month: one figure for all keys, or a function of the key that is called for each request. */
  readonly limit: Limit | ((key: string) => Limit)
  /** Keys that are counted at a time. Default `defaultMaxKeys`. */
  readonly maxKeys?: number | undefined
}

export class MonthlyQuota extends Context.Service<
  MonthlyQuota,
  {
    /** Asks for one unit, or `cost` of them, and counts them if they pass. A refusal counts nothing. */
    readonly take: (key: string, options?: UnitsOptions) => Effect.Effect<WindowDecision, InvalidArgument>
    /** What `take` would answer, counting nothing; `used` is then the count before the request. */
    readonly peek: (key: string, options?: UnitsOptions) => Effect.Effect<WindowDecision, InvalidArgument>
  }
>()("sluice/limits/MonthlyQuota") {
  /** Quotas in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: MonthlyQuotaOptions): Layer.Layer<MonthlyQuota, InvalidArgument> =>
    Layer.effect(
      MonthlyQuota,
      Effect.suspend(() => attempt(() => makeMemory(options)))
    )
}

const makeMemory = ({ limit, maxKeys }: MonthlyQuotaOptions): MonthlyQuota["Service"] => {
  if (typeof limit !== "function") assertLimit(limit)
  const limitOf = typeof limit === "function" ? limit : () => limit
  const quotas = makeKeyedWindow<Rules.MonthlyState, number, WindowDecision>(maxKeys, {
    initial: Rules.initial,
    take: (state, key, cost, now) => Rules.take(state, limitOf(key), cost, now),
    peek: (state, key, cost, now) => Rules.peek(state, limitOf(key), cost, now),
    endOf: (state) => state.endMillis
  })
  return {
    take: (key, options) => quotas.take(key, options?.cost ?? 1),
    peek: (key, options) => quotas.peek(key, options?.cost ?? 1)
  }
}
