/**
 * Connects the log of the partitions of this process with its dispatcher (docs/architecture.md, rule 11). Deliveries
 * are offered as soon as their frame is acknowledged (`DeliveryTasks.ts`). The SQL reactor behind it writes what became
 * of them, and hands over those that the register did not know. Deliveries for which the dispatcher has no room wait in
 * the queue. Needs no service.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { EndpointCache, OrganizationCache } from "../endpoint/EndpointCache.ts"
import type { FoldedEndpoint } from "../endpoint/model.ts"
import { DeliveryTasks } from "./DeliveryTasks.ts"
import type { DeliveryOutcome, TakenDelivery } from "./ports.ts"

/** The result of one committed transaction of the reactor. */
export interface CommittedDeliveries {
  /** Already taken for the dispatcher of this process. */
  readonly taken: ReadonlyArray<TakenDelivery>
  /** Endpoints, by id, for which more is in the queue. */
  readonly queued: ReadonlyMap<string, { readonly partition: number }>
  /** Retries that were written with the first attempt's outcome. */
  readonly retries?: ReadonlyArray<{ readonly partition: number; readonly endpointId: string; readonly dueAt: number }>
  /** The current state of endpoints that have changed or receive something. */
  readonly endpoints: ReadonlyArray<FoldedEndpoint>
}

/** The reactor's view of the dispatcher. */
export interface DispatchListener {
  /** The lease of the handed-over deliveries, in milliseconds. */
  readonly leaseMillis: number
  /** Free capacity for deliveries from memory: their number, and the total length of their bodies in characters. */
  readonly room: () => { readonly deliveries: number; readonly characters: number }
  /** The same for one organization: organizations share it. */
  readonly roomFor: (organizationId: string) => { readonly deliveries: number; readonly characters: number }
  /** Free capacity for first attempts of an endpoint. */
  readonly roomOf: (endpointId: string) => number
  /** Must not throw. */
  readonly committed: (committed: CommittedDeliveries) => void
  /** Takes in the state of endpoints from an acknowledged frame. Must not throw. */
  readonly followed: (endpoints: ReadonlyArray<FoldedEndpoint>) => void
  /** Takes deliveries of an acknowledged frame: each runs, waits for room, or is left to the queue. Must not throw. */
  readonly offer: (deliveries: ReadonlyArray<TakenDelivery>) => void
  /** The store may have newer states of this partition's endpoints than anybody has told. Must not throw. */
  readonly outdated: (partition: number) => void
  /** Records the outcome of a delivery whose job a transaction has written meanwhile. Must not throw. */
  readonly late: (delivery: TakenDelivery, outcome: DeliveryOutcome) => void
  /** Accepts no more deliveries, waits for attempts under way, and returns the others to the queue. */
  readonly drain: Effect.Effect<void>
}

/**
 * Wakes a dispatcher, and caches its endpoints between its reads.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { DispatchFeed } from "sluice/webhook/dispatcher"
 *
 * const isAttached = Effect.map(DispatchFeed, ({ listener }) => listener() !== undefined)
 * console.log(await Effect.runPromise(Effect.provide(isAttached, DispatchFeed.layer))) // false
 * ```
 */
export class DispatchFeed extends Context.Service<
  DispatchFeed,
  {
    /** Endpoints as this process has folded or read them. */
    readonly remembered: EndpointCache
    /** Whole organizations, as the SQL reactors of this process know them. */
    readonly organizations: OrganizationCache
    /** The deliveries of acknowledged frames that are not recorded yet. */
    readonly tasks: DeliveryTasks
    /** The dispatcher of this process, while there is one. */
    readonly listener: () => DispatchListener | undefined
    /** Makes this listener the dispatcher of the process until the scope ends. */
    readonly attach: (listener: DispatchListener) => Effect.Effect<void, never, Scope.Scope>
  }
>()("sluice/webhooks/DispatchFeed") {
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
