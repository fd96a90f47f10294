/** The store in memory keeps the contract of all stores, and its own bounds. */

import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { unattempted } from "../../../src/webhooks/delivery/matchEvents.ts"
import { encodePayload } from "../../../src/webhooks/delivery/model.ts"
import { DeliveriesMemory, make } from "../../../src/webhooks/embedded/DeliveryStoreMemory.ts"
import { deliveryStoreContract } from "../delivery/contracts/deliveryStore.ts"
import { type StoredDelivery, StoreHarness } from "../delivery/contracts/deliveryStoreSupport.ts"

const put = (data: DeliveriesMemory, one: StoredDelivery): void =>
  data.put(
    {
      changed: new Map(),
      deliveries: [
        {
          id: one.id,
          organization_id: one.organizationId,
          endpoint_id: one.endpointId,
          event_id: one.eventId,
          event_type: "telco.lookup.completed",
          event_created_at: one.eventCreatedAt,
          origin: "event",
          ...unattempted(one.eventCreatedAt)
        }
      ],
      jobs: [{ ...one, group: one.endpointId, payload: encodePayload({ ...one, origin: "event" }) }]
    },
    new Map([[one.eventId, one.body]])
  )

deliveryStoreContract(
  "memory",
  Layer.sync(StoreHarness, () => {
    const data = new DeliveriesMemory()
    return StoreHarness.of({
      store: make(data),
      put: (deliveries) =>
        Effect.sync(() => {
          for (const one of deliveries) put(data, one)
        }),
      saveEndpoint: (folded) => Effect.sync(() => data.saveEndpoint(folded)),
      forgetEvent: (eventId) => Effect.sync(() => data.forgetEvent(eventId)),
      delivery: (id) =>
        Effect.sync(() => {
          const { attemptCount, attempts, nextAttemptAt, settledAt, status } = data.delivery(id)!
          return { status, attemptCount, attempts, nextAttemptAt, settledAt }
        }),
      lastDelivery: (endpointId) =>
        Effect.sync(() => {
          const { lastDeliveryAt, lastDeliveryStatus } = data.endpoints.get(endpointId)!
          return { at: lastDeliveryAt, status: lastDeliveryStatus }
        })
    })
  })
)

describe("the store in memory", () => {
  it.effect("says when it is full, and of what is over shows the newest", () =>
    Effect.gen(function* () {
      const data = new DeliveriesMemory({ maximumPending: 4, maximumSettled: 2 })
      const store = make(data)
      const place = { partition: 0, organizationId: "org", endpointId: "we", eventCreatedAt: 1, lane: 0, expiresAt: 9 }
      for (const number of [1, 2, 3, 4]) {
        expect(data.hasRoom(1)).toBe(true)
        put(data, { ...place, id: `dlv_${number}`, eventId: `evt_${number}`, body: "{}", dueAt: number })
      }
      expect(data.hasRoom(1)).toBe(false)
      for (const _ of [1, 2, 3]) {
        const [delivery] = yield* store.take(0, [{ endpointId: "we", lane: 0, limit: 1 }], {
          now: 5,
          leasedUntil: 6,
          maximumBytes: 100
        })
        yield* store.record([{ delivery: delivery!, made: null, result: { _tag: "Settled", status: "failed" } }], 5)
      }
      expect(data.hasRoom(3)).toBe(true)
      expect(data.deliveries("we").map(({ id, status }) => `${id} ${status}`)).toEqual([
        "dlv_4 pending",
        "dlv_3 failed",
        "dlv_2 failed"
      ])
      expect(data.bodyOf("evt_1")).toBeUndefined()
      expect(data.bodyOf("evt_2")).toBe("{}")
    })
  )
})
