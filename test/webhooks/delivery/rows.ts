/** Rows of the event log, deliveries and skipped events, put there as the reactor and the dispatcher leave them. */
import { randomUUID } from "node:crypto"
import { deliveryIdOf } from "../../../src/webhooks/delivery/model.ts"
import { query } from "../../cli/support.ts"

export const newEventId = (): string => `evt_${randomUUID()}`

const dayMillis = 24 * 60 * 60 * 1000

/** Makes the partition of a day, as whoever writes into it first does. */
const ensureDay = async (url: string, table: string, millis: number): Promise<void> => {
  const day = Math.floor(millis / dayMillis)
  const name = `${table}_d${new Date(day * dayMillis).toISOString().slice(0, 10).replaceAll("-", "")}`
  await query(
    url,
    `create table if not exists ${name} partition of ${table} for values from (${day * dayMillis}) to (${(day + 1) * dayMillis})`
  ).catch((error: Error & { readonly code?: string }) => {
    // The platform has made it at the same moment.
    if (error.code !== "42P07") throw error
  })
}

export interface TestEvent {
  readonly eventId?: string
  readonly type?: string
  readonly service?: string
  readonly createdAt: number
  readonly sequence?: number
}

/** Puts events into the log of an organization; answers their ids. */
export const putEvents = async (
  url: string,
  organization: string,
  events: ReadonlyArray<TestEvent>
): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for (const [index, event] of events.entries()) {
    const {
      createdAt,
      eventId = newEventId(),
      sequence = 1,
      service = "telco",
      type = "telco.lookup.completed"
    } = event
    await ensureDay(url, "events", createdAt)
    await query(
      url,
      `insert into events (organization_id, event_id, type, service, livemode, created_at, sequence, idx, body)
       values ($1, $2, $3, $4, true, $5, $6, $7, '{}')`,
      [organization, eventId, type, service, createdAt, sequence, index]
    )
    ids.push(eventId)
  }
  return ids
}

export interface TestDelivery {
  readonly eventId?: string
  readonly eventCreatedAt?: number
  readonly createdAt?: number
  readonly status?: string
  readonly attempts?: ReadonlyArray<object>
}

/** Puts a delivery there as the dispatcher leaves it; answers its id. */
export const putDelivery = async (
  url: string,
  { endpointId, organization }: { readonly endpointId: string; readonly organization: string },
  delivery: TestDelivery = {}
): Promise<string> => {
  const { eventId = newEventId(), status = "failed", attempts = [] } = delivery
  const { eventCreatedAt = Date.now(), createdAt = eventCreatedAt } = delivery
  const id = deliveryIdOf(eventId, endpointId)
  await ensureDay(url, "webhook_deliveries", eventCreatedAt)
  const isOver = status !== "pending"
  await query(
    url,
    `insert into webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type, event_created_at, origin, created_at,
       status, attempts, attempt_log, next_attempt_at, settled_at)
     values ($1, $2, $3, $4, 'telco.lookup.completed', $5, 'event', $6, $7, $8, $9, $10, $11)`,
    [
      id,
      organization,
      endpointId,
      eventId,
      eventCreatedAt,
      createdAt,
      status,
      attempts.length,
      JSON.stringify(attempts),
      isOver ? null : createdAt,
      isOver ? createdAt : null
    ]
  )
  return id
}

/** Puts an event into an endpoint's list of skipped ones. */
export const putSkipped = async (
  url: string,
  { endpointId, organization }: { readonly endpointId: string; readonly organization: string },
  skipped: { readonly createdAt: number; readonly sequence: number; readonly reason: "paused" | "disabled" }
): Promise<string> => {
  const eventId = newEventId()
  await ensureDay(url, "webhook_skipped", skipped.createdAt)
  await query(
    url,
    `insert into webhook_skipped (organization_id, endpoint_id, event_id, event_type, event_created_at, sequence, idx, reason)
     values ($1, $2, $3, 'telco.lookup.completed', $4, $5, 0, $6)`,
    [organization, endpointId, eventId, skipped.createdAt, skipped.sequence, skipped.reason]
  )
  return eventId
}

/** Notes when and how the last delivery to an endpoint went. */
export const putLastDelivery = (
  url: string,
  organization: string,
  endpointId: string,
  last: { readonly last_delivery_at: number; readonly last_delivery_status: number }
) =>
  query(
    url,
    `insert into webhook_endpoints (id, organization_id, partition, sequence, state, last_delivery_at, last_delivery_status)
     values ($1, $2, 0, 1, '{}', $3, $4)
     on conflict (id) do update set last_delivery_at = excluded.last_delivery_at, last_delivery_status = excluded.last_delivery_status`,
    [endpointId, organization, last.last_delivery_at, last.last_delivery_status]
  )
