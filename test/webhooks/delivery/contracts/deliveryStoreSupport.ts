/** Helpers for the contract of `DeliveryStore`, and the part that an implementation gives. */
import { Context, Effect } from "effect"
import type { NewJob } from "../../../../src/postgres/WorkQueue.ts"
import type { DeliveryAttempt } from "../../../../src/webhooks/delivery/model.ts"
import { deliveryIdOf, jobLanes } from "../../../../src/webhooks/delivery/model.ts"
import type { DeliveryOutcome, DeliveryStore, TakenDelivery } from "../../../../src/webhooks/delivery/ports.ts"
import type { Endpoint, FoldedEndpoint } from "../../../../src/webhooks/endpoint/model.ts"

/** A delivery to be put in. Times in milliseconds since the Unix epoch. */
export interface StoredDelivery {
  readonly id: string
  readonly partition: number
  readonly organizationId: string
  readonly endpointId: string
  readonly eventId: string
  readonly eventCreatedAt: number
  readonly body: string
  readonly lane: number
  readonly dueAt: number
  readonly leasedUntil?: number | undefined
  readonly expiresAt: number
  readonly line?: NewJob["line"]
}

/** A delivery as it is shown. */
export interface ShownDelivery {
  readonly status: string
  readonly attemptCount: number
  readonly attempts: ReadonlyArray<DeliveryAttempt>
  readonly nextAttemptAt: number | null
  readonly settledAt: number | null
}

/** What the suite needs of an implementation, besides the store. */
export class StoreHarness extends Context.Service<
  StoreHarness,
  {
    readonly store: DeliveryStore
    readonly put: (deliveries: ReadonlyArray<StoredDelivery>) => Effect.Effect<void, unknown>
    readonly saveEndpoint: (folded: FoldedEndpoint) => Effect.Effect<void, unknown>
    readonly forgetEvent: (eventId: string) => Effect.Effect<void, unknown>
    readonly delivery: (id: string) => Effect.Effect<ShownDelivery, unknown>
    readonly lastDelivery: (
      endpointId: string
    ) => Effect.Effect<{ readonly at: number | null; readonly status: number | null }, unknown>
  }
>()("test/StoreHarness") {}

let partitions = 0
let names = 0

/** An afternoon. */
export const now = Date.UTC(2026, 6, 1, 14)
export const lease = 35_000
const plenty = 1_000_000

export const endpointState: Endpoint = {
  url: "https://example.com/hook",
  enabledEvents: ["telco.*"],
  description: null,
  livemode: true,
  isActive: true,
  headers: null,
  rateLimit: null,
  paused: null,
  consecutiveFailures: 0,
  failedDeliveries: [],
  secretId: "wsk_1",
  previousSecret: null,
  createdAt: now
}

export const fresh = Effect.gen(function* () {
  const harness = yield* StoreHarness
  const { store } = harness
  const partition = partitions++
  const endpointId = `we_${String(++names).padStart(4, "0")}`
  const organizationId = `org_${names}`
  const put = (one: Partial<StoredDelivery> = {}) => {
    const eventId = one.eventId ?? `evt_${++names}`
    const id = deliveryIdOf(eventId, one.endpointId ?? endpointId)
    return Effect.as(
      Effect.orDie(
        harness.put([
          {
            id,
            partition,
            organizationId,
            endpointId,
            eventId,
            eventCreatedAt: now,
            body: `{"eventId":"${eventId}"}`,
            lane: jobLanes.first,
            dueAt: now,
            expiresAt: now + 1_000_000,
            ...one
          }
        ])
      ),
      id
    )
  }
  const take = (
    options: { readonly at?: number; readonly limit?: number; readonly lane?: number; readonly bytes?: number } = {}
  ) => {
    const { at = now, bytes = plenty, lane = jobLanes.first, limit = 100 } = options
    return Effect.map(
      store.take(partition, [{ endpointId, lane, limit }], { now: at, leasedUntil: at + lease, maximumBytes: bytes }),
      (taken) => taken.toSorted((left, right) => (left.id < right.id ? -1 : 1))
    )
  }
  const save = (endpoint: Endpoint | null, sequence = 1, id = endpointId) =>
    Effect.orDie(harness.saveEndpoint({ endpointId: id, organizationId, partition, sequence, endpoint }))
  return {
    store,
    partition,
    endpointId,
    organizationId,
    put,
    take,
    save,
    delivery: (id: string) => Effect.orDie(harness.delivery(id)),
    lastDelivery: Effect.orDie(Effect.suspend(() => harness.lastDelivery(endpointId))),
    forgetEvent: (eventId: string) => Effect.orDie(harness.forgetEvent(eventId))
  }
})

export const made = (status: number, at = now): DeliveryAttempt => ({
  at,
  status,
  duration: 20,
  response: status === 0 ? null : "answer",
  error: status === 0 ? "The connection was refused" : null
})

export const settled = (
  delivery: TakenDelivery,
  status: "succeeded" | "failed" | "expired",
  code = 200
): DeliveryOutcome => ({
  delivery,
  made: made(code),
  result: { _tag: "Settled", status }
})
export const again = (delivery: TakenDelivery, dueAt: number, code = 500): DeliveryOutcome => ({
  delivery,
  made: made(code),
  result: { _tag: "Again", dueAt }
})
export const returned = (delivery: TakenDelivery, dueAt: number): DeliveryOutcome => ({
  delivery,
  made: null,
  result: { _tag: "Returned", dueAt }
})
