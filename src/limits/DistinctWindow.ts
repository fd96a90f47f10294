/**
 * Limits how many different values a key may use in any stretch of a given length, such as the recipient domains of an
 * hour (docs/send.md, 1.2). Exact to the millisecond. Time comes from the Clock. `layerMemory` counts in this process
 * and needs nothing else.
 */
import { Context, Effect, Layer } from "effect"
import type { Engine } from "../engine/Engine.ts"
import { attempt } from "./attempt.ts"
import * as Rules from "./distinctRules.ts"
import type { InvalidArgument, LimiterUnreachable } from "./errors.ts"
import { makeKeyedWindow } from "./keyedWindow.ts"
import { makeEngineWindow, type WindowEngineOptions } from "./windowActor.ts"
import { distinctWindowActor } from "./windowActors.ts"
import { assertCap } from "./windowDecision.ts"

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
export interface DistinctWindowOptions extends DistinctCapOptions {
  /** Most keys tracked concurrently. Default `defaultMaxKeys`. */
  readonly maxKeys?: number | undefined
}

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
    Layer.effect(
      DistinctWindow,
      Effect.suspend(() => attempt(() => makeMemory(options)))
    )

  /** The actor that an engine for `layer` must have. */
  static readonly actor: typeof distinctWindowActor = distinctWindowActor

  /** Windows on an engine, of values that take 64 KiB together. The layer fails for options outside their range. */
  static readonly layer = (
    options: DistinctCapOptions & WindowEngineOptions
  ): Layer.Layer<DistinctWindow, InvalidArgument, Engine> =>
    Layer.effect(
      DistinctWindow,
      Effect.flatMap(
        attempt(() => capsOf(options)),
        (capOf) =>
          makeEngineWindow(
            distinctWindowActor,
            (key, values: ReadonlyArray<string>) => ({ ...capOf(key), values }),
            options
          )
      )
    )
}

/** @throws InvalidArgument for a cap outside its range. */
const capsOf = ({ limit, windowMillis }: DistinctCapOptions) => {
  assertCap({ limit: typeof limit === "function" ? 0 : limit, windowMillis })
  return (key: string) => ({ limit: typeof limit === "function" ? limit(key) : limit, windowMillis })
}

const makeMemory = (options: DistinctWindowOptions): DistinctWindow["Service"] => {
  const capOf = capsOf(options)
  return makeKeyedWindow<Rules.DistinctState, ReadonlyArray<string>, Rules.DistinctDecision>(options.maxKeys, {
    initial: Rules.initial,
    take: (state, key, values, now) => Rules.take(state, capOf(key), values, now),
    peek: (state, key, values, now) => Rules.peek(state, capOf(key), values, now),
    endOf: (state) => (Rules.latest(state) ?? 0) + options.windowMillis
  })
}
