/**
 * Tells the dispatcher that an endpoint has work that it does not know of: a retry, a replay. The dispatcher would find
 * it by itself after a while; without a dispatcher (in a command, a test) the default does nothing.
 */
import { Context, Effect } from "effect"

export const DispatcherWakeup = Context.Reference<{
  readonly wake: (partition: number, endpointId: string) => Effect.Effect<void>
}>("sluice/webhooks/DispatcherWakeup", { defaultValue: () => ({ wake: () => Effect.void }) })
