/**
 * Tells the dispatcher of deliveries that there is work at an endpoint that it does not know of: a retry, a replay. It finds that by
 * itself after a while; where none runs (a command, a test) nothing has to be told.
 */
import { Context, Effect } from "effect"

export const DispatcherWakeup = Context.Reference<{
  readonly wake: (partition: number, endpointId: string) => Effect.Effect<void>
}>("sluice/webhooks/DispatcherWakeup", { defaultValue: () => ({ wake: () => Effect.void }) })
