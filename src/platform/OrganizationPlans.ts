/**
 * Changes an organization's plans and limits by decisions of its actor. A change is durable when it is answered, in
 * force at the next request, and in the organization's row soon after. Needs `Engine`.
 */
import { Context, Data, Effect, Layer } from "effect"
import type { Engine } from "../engine/Engine.ts"
import type { AskError } from "../engine/errors.ts"
import { isRetryable } from "../engine/errors.ts"
import { EngineOnDemand } from "./EngineOnDemand.ts"
import type { PlatformPlan, SendPlan } from "./model.ts"
import { OrganizationActor, type OrganizationLimits, type OrganizationState } from "./OrganizationActor.ts"

/** The change could not be stored now; safe to repeat. */
export class PlansUnavailable extends Data.TaggedError("PlansUnavailable")<{ readonly message: string }> {}

export class OrganizationPlans extends Context.Service<
  OrganizationPlans,
  {
    readonly setPlans: (
      organizationId: string,
      plans: { readonly plan?: PlatformPlan; readonly sendPlan?: SendPlan; readonly by?: "operator" }
    ) => Effect.Effect<OrganizationState, PlansUnavailable>
    /** Ends an operator's setting: both plans are again the paid ones. */
    readonly followSubscription: (organizationId: string) => Effect.Effect<OrganizationState, PlansUnavailable>
    readonly setLimits: (
      organizationId: string,
      limits: OrganizationLimits
    ) => Effect.Effect<OrganizationState, PlansUnavailable>
  }
>()("sluice/platform/OrganizationPlans") {
  /** Uses an engine that may have to be started first. */
  static readonly layerWhenNeeded: Layer.Layer<OrganizationPlans, never, EngineOnDemand> = Layer.effect(
    OrganizationPlans,
    Effect.map(EngineOnDemand, (started) =>
      make(Effect.mapError(started, ({ message }) => new PlansUnavailable({ message })))
    )
  )

  static readonly layer: Layer.Layer<OrganizationPlans, never, Engine> = OrganizationPlans.layerWhenNeeded.pipe(
    Layer.provide(EngineOnDemand.layer)
  )
}

const make = (started: Effect.Effect<Engine["Service"], PlansUnavailable>): OrganizationPlans["Service"] => {
  const refused = (error: AskError) =>
    // A terminal error is a fault of this program: plans and limits are small and were checked.
    isRetryable(error, { isIdempotent: true })
      ? Effect.fail(new PlansUnavailable({ message: error.message }))
      : Effect.die(error)
  return OrganizationPlans.of({
    setPlans: (organization, plans) =>
      Effect.flatMap(started, (engine) =>
        engine.ask(OrganizationActor, { organization }, { _tag: "SetPlans", ...plans }).pipe(Effect.catch(refused))
      ),
    followSubscription: (organization) =>
      Effect.flatMap(started, (engine) =>
        engine.ask(OrganizationActor, { organization }, { _tag: "FollowSubscription" }).pipe(Effect.catch(refused))
      ),
    setLimits: (organization, limits) =>
      Effect.flatMap(started, (engine) =>
        engine.ask(OrganizationActor, { organization }, { _tag: "SetLimits", limits }).pipe(Effect.catch(refused))
      )
  })
}
