/**
 * Defines the view of a process's dispatcher that the log and the SQL reactor have: what they tell it, and how much it
 * has room for. `DispatchFeed.ts` connects them. Needs no service.
 */
import type { Effect } from "effect"
import type { FoldedEndpoint } from "../endpoint/model.ts"
import type { DeliveryOutcome, TakenDelivery } from "./ports.ts"

/** The result of one committed transaction of the reactor. */
export interface CommittedDeliveries {
  /** Already taken for the dispatcher of this process. */
  readonly taken: ReadonlyArray<TakenDelivery>
  /** Endpoints, by id, for which more is in the queue. */
  readonly queued: ReadonlyMap<
    string,
    {
      readonly partition: number
      /** Those of lines. */
      readonly lines?: ReadonlyArray<{ readonly line: string; readonly id: string }>
    }
  >
  /** Retries that were written with the first attempt's outcome. */
  readonly retries?: ReadonlyArray<{
    readonly partition: number
    readonly endpointId: string
    readonly dueAt: number
    readonly line?: string | undefined
  }>
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
  /** Whether it has a delivery already, such as one whose attempt an earlier life of the partition began. */
  readonly holds: (deliveryId: string) => boolean
  /** Must not throw. */
  readonly committed: (committed: CommittedDeliveries) => void
  /** Takes in the state of endpoints from an acknowledged frame. Must not throw. */
  readonly followed: (endpoints: ReadonlyArray<FoldedEndpoint>) => void
  /** Takes deliveries of an acknowledged frame: each runs, waits for room, or is left to the queue. Must not throw. */
  readonly offer: (deliveries: ReadonlyArray<TakenDelivery>) => void
  /** Takes note of deliveries of an acknowledged frame that only the reactor knows, for want of room. Must not throw. */
  readonly missed: (delivery: TakenDelivery) => void
  /** The store has all of a partition up to this frame. Must not throw. */
  readonly recorded: (partition: number, sequence: number) => void
  /** The store may have newer states of this partition's endpoints than anybody has told. Must not throw. */
  readonly outdated: (partition: number) => void
  /** Records the outcome of a delivery whose job a transaction has written meanwhile. Must not throw. */
  readonly late: (delivery: TakenDelivery, outcome: DeliveryOutcome) => void
  /** Accepts no more deliveries, waits for attempts under way, and returns the others to the queue. */
  readonly drain: Effect.Effect<void>
}
