/** An engine that is built when it is first asked for: for commands that mostly need none. It takes its time, and there can be one at a time. */
import { Context, Data, Effect, Fiber, Layer, type Scope } from "effect"
import { Engine } from "../engine/Engine.ts"

/** The engine could not be started; its words say why. */
export class EngineNotStarted extends Data.TaggedError("EngineNotStarted")<{ readonly message: string }> {}

/** Where an engine is to be had: at hand, or started by the first who needs it. */
export class EngineWhenNeeded extends Context.Service<
  EngineWhenNeeded,
  Effect.Effect<Engine["Service"], EngineNotStarted>
>()("sluice/platform/EngineWhenNeeded") {
  /** The engine that is there. */
  static readonly layer: Layer.Layer<EngineWhenNeeded, never, Engine> = Layer.effect(
    EngineWhenNeeded,
    Effect.map(Engine, (engine) => Effect.succeed(engine))
  )

  /** Builds the engine when the first one asks. */
  static readonly layerLazy = <E extends { readonly message: string }, R>(
    engine: Layer.Layer<Engine, E, R>
  ): Layer.Layer<EngineWhenNeeded, never, Exclude<R, Scope.Scope>> =>
    Layer.effect(
      EngineWhenNeeded,
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        const context = yield* Effect.context<R>()
        const start = Layer.buildWithScope(engine, scope).pipe(
          Effect.map((built) => Context.get(built, Engine)),
          Effect.tap((service) => service.ready),
          Effect.mapError((error) => new EngineNotStarted({ message: error.message }))
        )
        // In the context of this layer alone: the one who asks may be inside a transaction, and the engine must not be.
        const apart = Effect.callback<Engine["Service"], EngineNotStarted>((resume) => {
          const fiber = Effect.runForkWith(context)(start)
          fiber.addObserver(resume)
          return Fiber.interrupt(fiber)
        })
        return yield* Effect.cached(apart)
      })
    )
}
