/**
 * Defines a delivery as PostgreSQL stores it: one event for one endpoint, with its attempts (docs/platform.md, 7.1).
 * The reactor, the dispatcher and the HTTP endpoints share these definitions of its row, its job in the work queue, and
 * their names. Pure.
 */
import { hash } from "node:crypto"
import { Schema } from "effect"
import { type DeliveryOrigin, jobsTable } from "../endpoint/model.ts"

export { jobsTable }

/** Names of the other tables. */
export const deliveriesTable = "webhook_deliveries"
export const skippedTable = "webhook_skipped"
/** The requested replays, with their progress. */
export const replaysTable = "webhook_replays"

/** The prefix of a delivery's id. */
export const deliveryIdPrefix = "dlv_"

/**
 * The kept beginning of an answer's body, and the part of a whole answer that is read before the connection is closed.
 * In bytes.
 */
export const keptResponseBytes = 1_024
export const readResponseBytes = 65_536

/** How many attempts a delivery's row shows, the newest ones. Only manual retries make more. */
export const maximumShownAttempts = 20

/**
 * The lanes of an endpoint's jobs: first attempts and retries have separate capacity, so that a backlog of one never
 * holds up the other. Tests and manual retries have a lane of their own, because they are sent even while the endpoint
 * is Paused. Deliveries of an endpoint with an order are in a lane of their own from their first attempt to their last.
 */
export const jobLanes = { first: 0, retry: 1, asked: 2, line: 3 } as const

/** The lane in which a delivery waits for its next attempt: those of a line keep theirs. */
export const retryLaneOf = (line: string | undefined): number => (line === undefined ? jobLanes.retry : jobLanes.line)

/**
 * `pending` until it has succeeded or its last attempt has failed; `expired` where its event became older than the
 * event log, `cancelled` where its endpoint was deleted.
 */
export const deliveryStatuses = ["pending", "succeeded", "failed", "expired", "cancelled"] as const
/** The progress of a delivery. See {@link Webhooks}. */
export const DeliveryStatus = Schema.Literals(deliveryStatuses)
export type DeliveryStatus = typeof DeliveryStatus.Type

/** One attempt, as it is recorded and shown. See {@link Webhooks}. */
export const DeliveryAttempt = Schema.Struct({
  at: Schema.Int.annotate({ description: "When it began, milliseconds since the Unix epoch" }),
  status: Schema.Int.annotate({ description: "HTTP status; 0 without an answer" }),
  duration: Schema.Int.annotate({ description: "Milliseconds until the answer, or until it was given up" }),
  response: Schema.NullOr(Schema.String).annotate({
    description: "The first 1,024 bytes of the answer's body, as text"
  }),
  error: Schema.NullOr(Schema.String).annotate({
    description: "Why there was no answer, or what was wrong with it; null for a whole one"
  })
}).annotate({ identifier: "DeliveryAttempt" })
export type DeliveryAttempt = typeof DeliveryAttempt.Type

/**
 * The id of the delivery of an event to an endpoint, derived from both. A replay's delivery also depends on the
 * replay's id.
 */
export const deliveryIdOf = (eventId: string, endpointId: string, replayId = ""): string =>
  `${deliveryIdPrefix}${hash("sha256", `${eventId}\n${endpointId}\n${replayId}`, "hex").slice(0, 32)}`

/** The payload of a job in the work queue. The job's id is the delivery's, its group the endpoint's. See {@link Webhooks}. */
export interface JobPayload {
  readonly organizationId: string
  readonly eventId: string
  /** Milliseconds since the Unix epoch; finds the event in its day's table. */
  readonly eventCreatedAt: number
  readonly origin: DeliveryOrigin
}

export const encodePayload = (payload: JobPayload): string =>
  `${payload.origin} ${payload.eventCreatedAt} ${payload.eventId} ${payload.organizationId}`

/** Reads a text of `encodePayload`. */
export const decodePayload = (text: string): JobPayload => {
  const [origin, eventCreatedAt, eventId, organizationId] = text.split(" ")
  return {
    origin: origin as DeliveryOrigin,
    eventCreatedAt: Number(eventCreatedAt),
    eventId: eventId!,
    organizationId: organizationId!
  }
}
