/**
 * Changes an organization's plans and limits by decisions of its actor. A change is durable when it is answered, in
 * force at the next request, and in the organization's row, so that a read after it shows it. Needs `Engine`.
 */
import { Context, Data, Duration, Effect, Layer } from "effect"
import { Engine } from "../engine/Engine.ts"
import type { AskError } from "../engine/errors.ts"
import { isRetryable } from "../engine/errors.ts"
import * as Reactors from "../engine/Reactors.ts"
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

type PlansCommand = Parameters<typeof OrganizationActor.options.decide>[1]

/** How long an answer waits for the row, milliseconds. While PostgreSQL is away the change is in force all the same. */
const shownWithinMillis = 1_000

const make = (started: Effect.Effect<Engine["Service"], PlansUnavailable>): OrganizationPlans["Service"] => {
  const refused = (error: AskError) =>
    // A terminal error is a fault of this program: plans and limits are small and were checked.
    isRetryable(error, { isIdempotent: true })
      ? Effect.fail(new PlansUnavailable({ message: error.message }))
      : Effect.die(error)
  const decide = (organization: string, command: PlansCommand) =>
    Effect.flatMap(started, (engine) =>
      engine.ask(OrganizationActor, { organization }, command).pipe(
        Effect.catch(refused),
        Effect.tap(() =>
          Reactors.settledFor(organization).pipe(
            Effect.provideService(Engine, engine),
            Effect.timeoutOption(Duration.millis(shownWithinMillis))
          )
        )
      )
    )
  return OrganizationPlans.of({
    setPlans: (organization, plans) => decide(organization, { _tag: "SetPlans", ...plans }),
    followSubscription: (organization) => decide(organization, { _tag: "FollowSubscription" }),
    setLimits: (organization, limits) => decide(organization, { _tag: "SetLimits", limits })
  })
}
