/**
 * Connects the log of the partitions of this process with its dispatcher (docs/architecture.md, rule 11). Deliveries
 * are offered as soon as their frame is acknowledged (`DeliveryTasks.ts`). The SQL reactor behind it writes what became
 * of them, and hands over those that the register did not know. Deliveries for which the dispatcher has no room wait in
 * the queue. Needs no service.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { EndpointCache, OrganizationCache } from "../endpoint/EndpointCache.ts"
import { DeliveryTasks } from "./DeliveryTasks.ts"
import type { DispatchListener } from "./DispatchListener.ts"

export type { CommittedDeliveries, DispatchListener } from "./DispatchListener.ts"

/** The service of {@link DispatchFeed}; its methods are for the platform's own parts. */
export interface DispatchFeedShape {
  /**
   * Endpoints as this process has folded or read them.
   *
   * @internal
   */
  readonly remembered: EndpointCache
  /**
   * Whole organizations, as the SQL reactors of this process know them.
   *
   * @internal
   */
  readonly organizations: OrganizationCache
  /**
   * The deliveries of acknowledged frames that are not recorded yet.
   *
   * @internal
   */
  readonly tasks: DeliveryTasks
  /**
   * The dispatcher of this process, while there is one.
   *
   * @internal
   */
  readonly listener: () => DispatchListener | undefined
  /**
   * Makes this listener the dispatcher of the process until the scope ends.
   *
   * @internal
   */
  readonly attach: (listener: DispatchListener) => Effect.Effect<void, never, Scope.Scope>
}

/**
 * Wakes a dispatcher, and caches its endpoints between its reads. Give it to {@link make}.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { DispatchFeed } from "sluice/webhook/dispatcher"
 *
 * const feed = await Effect.runPromise(Effect.provide(DispatchFeed, DispatchFeed.layer))
 * console.log(typeof feed) // object
 * ```
 */
export class DispatchFeed extends Context.Service<DispatchFeed, DispatchFeedShape>()("sluice/webhooks/DispatchFeed") {
  static readonly layer: Layer.Layer<DispatchFeed> = Layer.sync(DispatchFeed, () => {
    let current: DispatchListener | undefined
    return DispatchFeed.of({
      remembered: new EndpointCache(),
      organizations: new OrganizationCache(),
      tasks: new DeliveryTasks(() => current),
      listener: () => current,
      attach: (listener) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => {
              current = listener
            }),
            () =>
              Effect.sync(() => {
                if (current === listener) current = undefined
              })
          )
        )
    })
  })
}

export const DispatcherWakeup = Context.Reference<{
  readonly wake: (partition: number, endpointId: string) => Effect.Effect<void>
}>("sluice/webhooks/DispatcherWakeup", { defaultValue: () => ({ wake: () => Effect.void }) })
