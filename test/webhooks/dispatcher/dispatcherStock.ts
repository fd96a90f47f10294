/** A dispatcher over a store in memory with endpoints and deliveries in it, of which no reactor tells: it has to find them. */

import { Effect, type Scope } from "effect"
import { unattempted } from "../../../src/webhooks/delivery/matchEvents.ts"
import { encodePayload, jobLanes } from "../../../src/webhooks/delivery/model.ts"
import type { DeliveryStore } from "../../../src/webhooks/delivery/ports.ts"
import { DeliveriesMemory, make } from "../../../src/webhooks/embedded/DeliveryStoreMemory.ts"
import type { DeliveryOrigin, Endpoint } from "../../../src/webhooks/endpoint/model.ts"
import { endpoint, type Faults, type Started, start } from "./dispatcherSupport.ts"

/** The first look at the store is the only one: what is attempted later was found in another way. */
export const noMoreScans = { scanMillis: 1_000_000_000 }

export interface StockedDelivery {
  readonly endpointId?: string
  readonly partition?: number
  readonly lane?: number
  readonly dueAt?: number
  readonly createdAt?: number
  readonly expiresAt?: number
  readonly origin?: DeliveryOrigin
}

/** What waits in a store. Names of deliveries are their bodies too. */
export class Stock {
  readonly data = new DeliveriesMemory()

  /** Writes an endpoint, null for a deleted one. */
  endpoint(endpointId: string, more: Partial<Endpoint> | null = {}, { partition = 0, sequence = 1 } = {}): void {
    this.data.saveEndpoint({
      endpointId,
      organizationId: "org_1",
      partition,
      sequence,
      endpoint: more === null ? null : { ...endpoint, ...more }
    })
  }

  put(name: string, more: StockedDelivery = {}): string {
    const { createdAt = 0, dueAt = 0, endpointId = "we_1", expiresAt = 1e12, origin = "event", partition = 0 } = more
    const id = `dlv_${name}`
    const event = { eventId: `evt_${name}`, eventCreatedAt: createdAt }
    this.data.put(
      {
        changed: new Map(),
        deliveries: [
          {
            id,
            organization_id: "org_1",
            endpoint_id: endpointId,
            event_id: event.eventId,
            event_type: "telco.a",
            event_created_at: createdAt,
            origin,
            ...unattempted(createdAt)
          }
        ],
        jobs: [
          {
            id,
            partition,
            group: endpointId,
            lane: more.lane ?? jobLanes.first,
            dueAt,
            expiresAt,
            payload: encodePayload({ organizationId: "org_1", origin, ...event })
          }
        ]
      },
      new Map([[event.eventId, name]])
    )
    return id
  }

  statusOf(name: string): string | undefined {
    return this.data.delivery(`dlv_${name}`)?.status
  }

  /** How many deliveries have each status. */
  get statuses(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const { endpointId } of this.data.endpoints.values())
      for (const { status } of this.data.deliveries(endpointId)) counts[status] = (counts[status] ?? 0) + 1
    return counts
  }

  /** Starts a dispatcher; `wrap` changes the store's operations. */
  start(
    faults: Omit<Faults, "store"> = {},
    wrap: (store: DeliveryStore) => Partial<DeliveryStore> = () => ({})
  ): Effect.Effect<Started, never, Scope.Scope> {
    const store = make(this.data)
    return Effect.suspend(() => start({ ...faults, store: { ...store, ...wrap(store) } }))
  }
}
