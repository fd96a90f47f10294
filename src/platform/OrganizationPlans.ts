/**
 * Changes an organization's plans and limits, as decisions of its actor: durable when answered, in force at the next
 * request, projected to its row soon after. Needs `Engine`; `layerLazy` starts one with the first change, for commands
 * that mostly need none.
 */
import { Context, Data, Effect, Fiber, Layer, type Scope } from "effect"
import { Engine } from "../engine/Engine.ts"
import type { AskError } from "../engine/errors.ts"
import { isRetryable } from "../engine/errors.ts"
import type { PlatformPlan, SendPlan } from "./model.ts"
import { OrganizationActor, type OrganizationLimits, type OrganizationState } from "./OrganizationActor.ts"

/** The change could not be stored now; safe to repeat. */
export class PlansUnavailable extends Data.TaggedError("PlansUnavailable")<{ readonly message: string }> {}

export class OrganizationPlans extends Context.Service<
  OrganizationPlans,
  {
    readonly setPlans: (
      organizationId: string,
      plans: { readonly plan?: PlatformPlan; readonly sendPlan?: SendPlan }
    ) => Effect.Effect<OrganizationState, PlansUnavailable>
    readonly setLimits: (
      organizationId: string,
      limits: OrganizationLimits
    ) => Effect.Effect<OrganizationState, PlansUnavailable>
  }
>()("sluice/platform/OrganizationPlans") {
  static readonly layer: Layer.Layer<OrganizationPlans, never, Engine> = Layer.effect(
    OrganizationPlans,
    Effect.map(Engine, (engine) => make(Effect.succeed(engine)))
  )

  /** Builds the engine when the first change is made. */
  static readonly layerLazy = <E extends { readonly message: string }, R>(
    engine: Layer.Layer<Engine, E, R>
  ): Layer.Layer<OrganizationPlans, never, Exclude<R, Scope.Scope>> =>
    Layer.effect(
      OrganizationPlans,
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        const context = yield* Effect.context<R>()
        const start = Layer.buildWithScope(engine, scope).pipe(
          Effect.map((built) => Context.get(built, Engine)),
          Effect.tap((service) => service.ready),
          Effect.mapError((error) => new PlansUnavailable({ message: error.message }))
        )
        // In the context of this layer alone: the one who asks may be inside a transaction, and the engine must not be.
        const apart = Effect.callback<Engine["Service"], PlansUnavailable>((resume) => {
          const fiber = Effect.runForkWith(context)(start)
          fiber.addObserver(resume)
          return Fiber.interrupt(fiber)
        })
        return make(yield* Effect.cached(apart))
      })
    )
}

const make = (started: Effect.Effect<Engine["Service"], PlansUnavailable>): OrganizationPlans["Service"] => {
  const refused = (error: AskError) =>
    // A terminal error is a fault of this program: plans and limits are small and checked before.
    isRetryable(error) ? Effect.fail(new PlansUnavailable({ message: error.message })) : Effect.die(error)
  return OrganizationPlans.of({
    setPlans: (organization, plans) =>
      Effect.flatMap(started, (engine) =>
        engine.ask(OrganizationActor, { organization }, { _tag: "SetPlans", ...plans }).pipe(Effect.catch(refused))
      ),
    setLimits: (organization, limits) =>
      Effect.flatMap(started, (engine) =>
        engine.ask(OrganizationActor, { organization }, { _tag: "SetLimits", limits }).pipe(Effect.catch(refused))
      )
  })
}
