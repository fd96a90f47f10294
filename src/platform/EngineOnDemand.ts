/**
 * Builds an engine when it is first needed, for commands that mostly need none. Starting one takes time, and only one
 * can run at a time.
 */
import { Context, Data, Effect, Fiber, Layer, type Scope } from "effect"
import { Engine } from "../engine/Engine.ts"

/** The engine could not be started; the message says why. */
export class EngineNotStarted extends Data.TaggedError("EngineNotStarted")<{ readonly message: string }> {}

/** Gives an engine: the one at hand, or one that starts when it is first needed. */
export class EngineOnDemand extends Context.Service<
  EngineOnDemand,
  Effect.Effect<Engine["Service"], EngineNotStarted>
>()("sluice/platform/EngineWhenNeeded") {
  /** Gives the running engine. */
  static readonly layer: Layer.Layer<EngineOnDemand, never, Engine> = Layer.effect(
    EngineOnDemand,
    Effect.map(Engine, (engine) => Effect.succeed(engine))
  )

  /** Builds the engine at the first request. */
  static readonly layerLazy = <E extends { readonly message: string }, R>(
    engine: Layer.Layer<Engine, E, R>
  ): Layer.Layer<EngineOnDemand, never, Exclude<R, Scope.Scope>> =>
    Layer.effect(
      EngineOnDemand,
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        const context = yield* Effect.context<R>()
        const start = Layer.buildWithScope(engine, scope).pipe(
          Effect.map((built) => Context.get(built, Engine)),
          Effect.tap((service) => service.ready),
          Effect.mapError((error) => new EngineNotStarted({ message: error.message }))
        )
        // Built only in the context of this layer: the caller may be inside a transaction, and the engine must not be.
        const apart = Effect.callback<Engine["Service"], EngineNotStarted>((resume) => {
          const fiber = Effect.runForkWith(context)(start)
          fiber.addObserver(resume)
          return Fiber.interrupt(fiber)
        })
        return yield* Effect.cached(apart)
      })
    )
}
