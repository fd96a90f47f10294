/** The store on the real PostgreSQL keeps the contract of all stores. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { migrations } from "../../../src/app/migrations.ts"
import { eventsTable } from "../../../src/events/table.ts"
import { DayPartitions } from "../../../src/postgres/dayPartitions.ts"
import { migrate } from "../../../src/postgres/migrate.ts"
import { make as makeWorkQueue } from "../../../src/postgres/WorkQueue.ts"
import { make } from "../../../src/webhooks/delivery/DeliveryStorePostgres.ts"
import { deliveriesTable, encodePayload, jobsTable } from "../../../src/webhooks/delivery/model.ts"
import { endpointsTable } from "../../../src/webhooks/endpoint/model.ts"
import { saveEndpoints } from "../../../src/webhooks/endpoint/rows.ts"
import { freshDatabase } from "../../support/database.ts"
import { deliveryStoreContract } from "./contracts/deliveryStore.ts"
import {
  endpointState,
  type ShownDelivery,
  type StoredDelivery,
  StoreHarness
} from "./contracts/deliveryStoreSupport.ts"

const harness = Layer.effect(
  StoreHarness,
  Effect.gen(function* () {
    yield* Effect.provide(migrate(migrations), Logger.layer([]))
    const sql = yield* SqlClient.SqlClient
    const days = yield* DayPartitions
    const queue = yield* makeWorkQueue(jobsTable)
    let sequence = 0
    const put = Effect.fnUntraced(function* (one: StoredDelivery) {
      yield* days.ensureDays(eventsTable, [one.eventCreatedAt])
      yield* days.ensureDays(deliveriesTable, [one.eventCreatedAt])
      yield* sql`
        insert into ${sql(eventsTable)} (organization_id, event_id, type, service, livemode, created_at, sequence, idx, body)
        values (${one.organizationId}, ${one.eventId}, 'telco.lookup.completed', 'telco', true,
          ${one.eventCreatedAt}::int8, ${++sequence}::int8, 0, ${one.body})
        on conflict do nothing`
      yield* sql`
        insert into ${sql(deliveriesTable)} (id, organization_id, endpoint_id, event_id, event_type, event_created_at,
          origin, created_at, status, attempts, attempt_log, next_attempt_at)
        values (${one.id}, ${one.organizationId}, ${one.endpointId}, ${one.eventId}, 'telco.lookup.completed',
          ${one.eventCreatedAt}::int8, 'event', ${one.eventCreatedAt}::int8, 'pending', 0, '[]', ${one.dueAt}::int8)
        on conflict do nothing`
      yield* queue.put([{ ...one, group: one.endpointId, payload: encodePayload({ ...one, origin: "event" }) }])
    }, sql.withTransaction)
    return StoreHarness.of({
      store: yield* make,
      put: (deliveries) => Effect.forEach(deliveries, put, { discard: true }),
      saveEndpoint: (folded) => Effect.provideService(saveEndpoints([folded]), SqlClient.SqlClient, sql),
      forgetEvent: (eventId) => sql`delete from ${sql(eventsTable)} where event_id = ${eventId}`,
      delivery: (id) =>
        Effect.map(
          sql<Omit<ShownDelivery, "attempts"> & { readonly log: string }>`
            select status, attempts as "attemptCount", attempt_log as log, next_attempt_at as "nextAttemptAt",
              settled_at as "settledAt"
            from ${sql(deliveriesTable)} where id = ${id}`,
          ([row]) => {
            const { log, ...shown } = row!
            return { ...shown, attempts: JSON.parse(log) }
          }
        ),
      lastDelivery: (endpointId) =>
        Effect.map(
          sql<{ readonly at: number | null; readonly status: number | null }>`
            select last_delivery_at as at, last_delivery_status as status
            from ${sql(endpointsTable)} where id = ${endpointId}`,
          ([row]) => ({ ...row! })
        )
    })
  })
).pipe(Layer.provide(DayPartitions.layer), Layer.provideMerge(freshDatabase()))

deliveryStoreContract("PostgreSQL", harness)

layer(harness)("an endpoint whose row cannot be read", (it) => {
  it.effect("keeps nobody from the others", () =>
    Effect.gen(function* () {
      const { saveEndpoint, store } = yield* StoreHarness
      const folded = (endpointId: string) => ({
        endpointId,
        organizationId: "org_bad",
        partition: 0,
        sequence: 1,
        endpoint: endpointState
      })
      yield* saveEndpoint(folded("we_good"))
      yield* saveEndpoint(folded("we_bad"))
      const sql = yield* SqlClient.SqlClient
      yield* sql`update ${sql(endpointsTable)} set state = '{"url":7}' where id = 'we_bad'`
      const known = ["we_bad", "we_good"].map((endpointId) => ({ endpointId, sequence: 0 }))
      const read = yield* store.endpoints(known)
      expect(read.map(({ endpointId }) => endpointId)).toEqual(["we_good"])
    })
  )
})
