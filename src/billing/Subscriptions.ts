/**
 * Asks the billing of organizations (docs/platform.md, 11): their subscription, the decisions about it, and the present
 * plans. Needs an engine, which may have to be started first.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { type AskError, isRetryable } from "../engine/errors.ts"
import { retryAfterMillis } from "../http/RequestState.ts"
import { EngineOnDemand } from "../platform/EngineOnDemand.ts"
import { BillingUnavailable } from "./errors.ts"
import { type BillingCommand, BillingRejection, type BillingReply } from "./model.ts"
import { BillingActor } from "./rules.ts"

const isRejection = Schema.is(BillingRejection)

export class Subscriptions extends Context.Service<
  Subscriptions,
  {
    /**
     * Decides a command. What is repeated after an unknown outcome takes effect once, because the rules know what they
     * have settled.
     */
    readonly ask: (
      organizationId: string,
      command: BillingCommand
    ) => Effect.Effect<BillingReply, BillingRejection | BillingUnavailable>
  }
>()("sluice/billing/Subscriptions") {
  static readonly layer: Layer.Layer<Subscriptions, never, EngineOnDemand> = Layer.effect(
    Subscriptions,
    Effect.map(EngineOnDemand, (started) =>
      Subscriptions.of({
        ask: Effect.fn("Subscriptions.ask")((organization, command) =>
          started.pipe(
            Effect.mapError(({ message }) => new BillingUnavailable({ message, retryAfterMillis })),
            Effect.flatMap((engine) =>
              engine
                .ask(BillingActor, { organization }, command)
                .pipe(
                  Effect.catch(
                    (error): Effect.Effect<never, BillingRejection | BillingUnavailable> =>
                      isRejection(error) ? Effect.fail(error) : unavailable(error)
                  )
                )
            )
          )
        )
      })
    )
  )
}

const unavailable = (error: AskError): Effect.Effect<never, BillingUnavailable> => {
  const message = "The request cannot be decided right now; it is safe to repeat"
  if (error._tag === "PartitionStopped")
    return Effect.fail(new BillingUnavailable({ message, retryAfterMillis: undefined }))
  // Anything else is a fault of this program.
  if (!isRetryable(error, { isIdempotent: true })) return Effect.die(error)
  const after = "retryAfterMillis" in error ? error.retryAfterMillis : retryAfterMillis
  return Effect.fail(new BillingUnavailable({ message, retryAfterMillis: after }))
}
