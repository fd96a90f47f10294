/**
 * Limits how many units a key may use in any stretch of a given length (docs/send.md, 1.1). Exact to the millisecond,
 * and a refusal says when the same request would pass. Time comes from the Clock. `layerMemory` counts in this process
 * and needs nothing else.
 */
import { Context, type Effect, type Layer } from "effect"
import type { AnyActor } from "../engine/Actor.ts"
import type { Engine } from "../engine/Engine.ts"
import type { InvalidArgument, LimiterUnreachable } from "./errors.ts"
import type { KeyedWindow, KeyedWindowOptions } from "./keyedWindow.ts"
import { type WindowEngineOptions, windowLayers } from "./windowActor.ts"
import { rollingWindow } from "./windowActors.ts"
import { assertCap, type RollingCap, type WindowDecision } from "./windowDecision.ts"

/** The cap of a rolling window. See {@link RollingWindow}. */
export interface RollingCapOptions {
  /**
   * Units per window, at most `maximumExactLimit`: one figure for all keys, or a function of the key that is called for
   * each request.
   */
  readonly limit: number | ((key: string) => number)
  /** Length of the window in milliseconds, at most `maximumRollingWindowMillis`. */
  readonly windowMillis: number
}

/** The cap, and how many keys are counted. See {@link RollingWindow}. */
export interface RollingWindowOptions extends RollingCapOptions, KeyedWindowOptions {}

/** The cost of one request. See {@link RollingWindow}. */
export interface UnitsOptions {
  /** The cost of the request, an integer of at least 1. Default 1. */
  readonly cost?: number | undefined
}

/**
 * Limits the units of a key in any stretch of time, to the millisecond (docs/send.md, 1.1).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { RollingWindow } from "sluice/limits"
 *
 * const program = Effect.gen(function* () {
 *   const window = yield* RollingWindow
 *   const all = [yield* window.take("ann", { cost: 50 }), yield* window.take("ann")]
 *   return all.map(({ allowed, retryAfterSeconds }) => [allowed, retryAfterSeconds])
 * })
 * const layer = RollingWindow.layerMemory({ limit: 50, windowMillis: 3_600_000 })
 * console.log(await Effect.runPromise(Effect.provide(program, layer))) // [ [ true, 0 ], [ false, 3600 ] ]
 * ```
 */
export class RollingWindow extends Context.Service<
  RollingWindow,
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
>()("sluice/limits/RollingWindow") {
  /** Windows in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: RollingWindowOptions): Layer.Layer<RollingWindow, InvalidArgument> =>
    windows.layerMemory(RollingWindow, options, byUnits)

  /** The actor that an engine for `layer` must have. */
  static readonly actor: AnyActor = rollingWindow.actor

  /** Windows on an engine. The layer fails for options outside their range. */
  static readonly layer = (
    options: RollingCapOptions & WindowEngineOptions
  ): Layer.Layer<RollingWindow, InvalidArgument, Engine> => windows.layer(RollingWindow, options, byUnits)
}

/** The methods of a service that counts units. */
export const byUnits = <Decision>(keyed: KeyedWindow<number, Decision>): KeyedUnits<Decision> => ({
  take: (key, options) => keyed.take(key, options?.cost ?? 1),
  peek: (key, options) => keyed.peek(key, options?.cost ?? 1)
})

interface KeyedUnits<Decision> {
  readonly take: (key: string, options?: UnitsOptions) => Effect.Effect<Decision, InvalidArgument | LimiterUnreachable>
  readonly peek: (key: string, options?: UnitsOptions) => Effect.Effect<Decision, InvalidArgument | LimiterUnreachable>
}

/** @throws InvalidArgument for a cap outside its range. */
export const rollingCapOf = ({ limit, windowMillis }: RollingCapOptions): ((key: string) => RollingCap) => {
  assertCap({ limit: typeof limit === "function" ? 0 : limit, windowMillis })
  return (key) => ({ limit: typeof limit === "function" ? limit(key) : limit, windowMillis })
}

const windows = windowLayers(rollingWindow, (options: RollingCapOptions) => {
  const capOf = rollingCapOf(options)
  return (key, cost: number) => ({ ...capOf(key), cost })
})
