/**
 * Limits how many different values a key may use in any stretch of a given length, such as the recipient domains of an
 * hour (docs/send.md, 1.2). Exact to the millisecond. Time comes from the Clock. `layerMemory` counts in this process
 * and needs nothing else.
 */
import { Context, type Effect, identity, type Layer } from "effect"
import type { AnyActor } from "../engine/Actor.ts"
import type { Engine } from "../engine/Engine.ts"
import type * as Rules from "./distinctRules.ts"
import type { InvalidArgument, LimiterUnreachable } from "./errors.ts"
import type { KeyedWindowOptions } from "./keyedWindow.ts"
import { rollingCapOf } from "./RollingWindow.ts"
import { type WindowEngineOptions, windowLayers } from "./windowActor.ts"
import { distinctWindow } from "./windowActors.ts"

/** The cap of a window of different values. See {@link DistinctWindow}. */
export interface DistinctCapOptions {
  /**
   * Values per window, at most `maximumExactLimit`: one figure for all keys, or a function of the key that is called
   * for each request.
   */
  readonly limit: number | ((key: string) => number)
  /** Length of the window in milliseconds, at most `maximumRollingWindowMillis`. */
  readonly windowMillis: number
}

/** The cap, and how many keys are counted. See {@link DistinctWindow}. */
export interface DistinctWindowOptions extends DistinctCapOptions, KeyedWindowOptions {}

/**
 * Limits the different values of a key in any stretch of time (docs/send.md, 1.2).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { DistinctWindow } from "sluice/limits"
 *
 * const program = Effect.gen(function* () {
 *   const domains = yield* DistinctWindow
 *   yield* domains.take("ann", ["a.test", "b.test"])
 *   return (yield* domains.take("ann", ["b.test", "c.test"])).over
 * })
 * const layer = DistinctWindow.layerMemory({ limit: 2, windowMillis: 3_600_000 })
 * console.log(await Effect.runPromise(Effect.provide(program, layer))) // [ 'c.test' ]
 * ```
 */
export class DistinctWindow extends Context.Service<
  DistinctWindow,
  {
    /**
     * Asks for all of `values` together and notes their use if they pass. A refusal notes nothing, and lists in `over`
     * the values without room.
     */
    readonly take: (
      key: string,
      values: ReadonlyArray<string>
    ) => Effect.Effect<Rules.DistinctDecision, InvalidArgument | LimiterUnreachable>
    /** Returns the answer that `take` would give, noting nothing; `used` is then the count before the request. */
    readonly peek: (
      key: string,
      values: ReadonlyArray<string>
    ) => Effect.Effect<Rules.DistinctDecision, InvalidArgument | LimiterUnreachable>
  }
>()("sluice/limits/DistinctWindow") {
  /** Windows in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: DistinctWindowOptions): Layer.Layer<DistinctWindow, InvalidArgument> =>
    windows.layerMemory(DistinctWindow, options, identity)

  /** The actor that an engine for `layer` must have. */
  static readonly actor: AnyActor = distinctWindow.actor

  /** Windows on an engine, of values that take 64 KiB together. The layer fails for options outside their range. */
  static readonly layer = (
    options: DistinctCapOptions & WindowEngineOptions
  ): Layer.Layer<DistinctWindow, InvalidArgument, Engine> => windows.layer(DistinctWindow, options, identity)
}

const windows = windowLayers(distinctWindow, (options: DistinctCapOptions) => {
  const capOf = rollingCapOf(options)
  return (key, values: ReadonlyArray<string>) => ({ ...capOf(key), values })
})
