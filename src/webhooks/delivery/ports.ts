/**
 * Defines the dispatcher's ports: the store of deliveries, the sender, the endpoints' actors, and their secrets. The
 * platform's implementations are over PostgreSQL (`DeliveryStorePostgres.ts`), undici (`HttpSender.ts`), the engine and
 * `WebhookSecrets`; a simulation brings its own.
 */
import { Context, Data, type Effect, type Tracer } from "effect"
import type { AskError } from "../../engine/errors.ts"
import type { DeliveryOrigin, EndpointCommand, EndpointReply, FoldedEndpoint } from "../endpoint/model.ts"
import { SecretsUnavailable } from "../secret/errors.ts"
import type { DeliveryAttempt, DeliveryStatus } from "./model.ts"
import type { Attempt } from "./schedule.ts"

/**
 * A delivery that was taken from the queue: an attempt of it may begin until `leasedUntil`. Times in milliseconds since
 * the Unix epoch. See {@link DeliveryStoreMemory.make}.
 */
export interface TakenDelivery {
  readonly id: string
  readonly partition: number
  readonly organizationId: string
  readonly endpointId: string
  /** One of `lanes`. */
  readonly lane: number
  /**
   * The attempt's number, from 1. Its outcome counts only while the job has this number. It changes when the delivery
   * is taken again.
   */
  attempt: number
  leasedUntil: number
  readonly origin: DeliveryOrigin
  readonly eventId: string
  readonly eventCreatedAt: number
  /** The event, as `encodeEvent` wrote it. */
  readonly body: string
  /** The line in which it goes, at an endpoint with an order. */
  readonly line?: string | undefined
  /** The frame of its event, if it comes from an acknowledged frame. */
  readonly frame?: number | undefined
  /** The span that put it into the queue, if it comes from memory and spans are collected. */
  cause?: Tracer.AnySpan
  /** Its task, if it comes from an acknowledged frame that may not be recorded yet. */
  task?: DeliveryTask
}

/** A delivery's place in the register of its partition's life. See {@link DeliveryStoreMemory.make}. */
export interface DeliveryTask {
  /** Notes that the dispatcher holds the delivery; false where the queue has it. */
  readonly run: () => boolean
  /** Leaves the delivery to the queue. */
  readonly leave: () => void
  /** Ends it; false where the store must record the outcome. */
  readonly end: (outcome: DeliveryOutcome) => boolean
  /** Whether the store has a job of it. */
  readonly isQueued: boolean
  /** Whether a transaction that is not known to be over has written it as running. */
  readonly isBeingWritten: boolean
  /** Whether the next owner of its partition has it, so that no attempt may begin here. */
  readonly isAbandoned: boolean
}

/** A request for deliveries of a lane of an endpoint. See {@link DeliveryStoreMemory.make}. */
export interface DeliveryClaim {
  readonly endpointId: string
  readonly lane: number
  readonly limit: number
}

/** A request for the first deliveries of a line of an endpoint. See {@link DeliveryStoreMemory.make}. */
export interface LineClaim {
  readonly endpointId: string
  readonly line: string
  readonly limit: number
}

/** A line of an endpoint that has deliveries. See {@link DeliveryStoreMemory.make}. */
export interface DeliveryLine {
  readonly line: string
  /** Its first delivery, and when that may be taken. */
  readonly headId: string
  readonly dueAt: number
  /** Whether it is the only one. */
  readonly isAlone: boolean
}

/** The earliest delivery of a lane of an endpoint. See {@link DeliveryStoreMemory.make}. */
export interface DueDeliveries {
  readonly endpointId: string
  readonly lane: number
  readonly dueAt: number
}

/** The outcome of an attempt, or of a delivery without an attempt. See {@link DeliveryStoreMemory.make}. */
export interface DeliveryOutcome {
  readonly delivery: Pick<TakenDelivery, "id" | "endpointId" | "attempt" | "eventCreatedAt" | "line">
  /** The attempt that was made; null when there was none. */
  readonly made: DeliveryAttempt | null
  /**
   * `Settled`: over, the job is removed. `Again`: another attempt is due, in the lane of retries. `Returned`: not
   * attempted after all, due as before.
   */
  readonly result:
    | { readonly _tag: "Settled"; readonly status: Exclude<DeliveryStatus, "pending"> }
    | { readonly _tag: "Again"; readonly dueAt: number }
    | { readonly _tag: "Returned"; readonly dueAt: number }
}

/** Deliveries that wait or are being attempted. See {@link DeliveryStoreMemory.make}. */
export interface DeliveryBacklog {
  readonly pending: number
  /** When the longest waiting job became due; null when there is none. */
  readonly oldestDueAt: number | null
}

/** The store cannot be reached or gave up. The operation may have been done. See {@link DeliveryStoreMemory.make}. */
export class DeliveriesUnavailable extends Data.TaggedError("DeliveriesUnavailable")<{
  readonly message: string
  /** Whether a repeat may succeed a moment later. If not, the store refuses something in the data. */
  readonly isTransient: boolean
  readonly cause?: unknown
}> {}

/** The result of a call of a store. See {@link Webhooks}. */
export type Stored<A> = Effect.Effect<A, DeliveriesUnavailable>

/** Most deliveries in one `keep` of a store. See {@link DeliveryStoreMemory.make}. */
export const maximumKept = 5_000

/**
 * The port that keeps deliveries and hands out those that are due. Implemented in memory and on PostgreSQL. See
 * {@link DeliveryStoreMemory.make}.
 */
export interface DeliveryStore {
  /**
   * The lanes of endpoints that hold deliveries, with their earliest, in order, at most `limit`; `after` continues
   * behind one.
   */
  readonly due: (
    partition: number,
    options: {
      readonly after?: { readonly endpointId: string; readonly lane: number } | undefined
      readonly limit: number
    }
  ) => Stored<ReadonlyArray<DueDeliveries>>

  /**
   * Takes deliveries that are due at `now`, until `leasedUntil`, with their events, as far as these fit into
   * `maximumBytes`; the others stay. Deliveries whose event is gone end as expired.
   */
  readonly take: (
    partition: number,
    claims: ReadonlyArray<DeliveryClaim>,
    options: { readonly now: number; readonly leasedUntil: number; readonly maximumBytes: number }
  ) => Stored<ReadonlyArray<TakenDelivery>>

  /** The lines of an endpoint in order, at most `limit`, behind `after`; and whether a replay of it is being queued. */
  readonly lines: (
    partition: number,
    endpointId: string,
    options: { readonly after: string; readonly limit: number }
  ) => Stored<{ readonly found: ReadonlyArray<DeliveryLine>; readonly isReplaying: boolean }>

  /**
   * Takes the first deliveries of lines, in order, as far as they are due: none of a line whose first one is taken or is
   * due later, and none behind such a one. Those behind a replay that is being queued stay too.
   */
  readonly takeLines: (
    partition: number,
    claims: ReadonlyArray<LineClaim>,
    options: { readonly now: number; readonly leasedUntil: number; readonly maximumBytes: number }
  ) => Stored<ReadonlyArray<TakenDelivery>>

  /** Keeps taken deliveries longer; returns the ids of those that are still the caller's. At most `maximumKept`. */
  readonly keep: (
    deliveries: ReadonlyArray<Pick<TakenDelivery, "id" | "attempt">>,
    leasedUntil: number
  ) => Stored<ReadonlySet<string>>

  /**
   * Records outcomes, all or none: the job, the delivery's row, the endpoint's last status. Returns the ids of those
   * that counted; deliveries that another dispatcher has taken since, or that are gone, are not among them.
   */
  readonly record: (outcomes: ReadonlyArray<DeliveryOutcome>, now: number) => Stored<ReadonlySet<string>>

  /** Ends deliveries whose event is older than the event log, at most `limit`; answers how many. */
  readonly expire: (partition: number, options: { readonly now: number; readonly limit: number }) => Stored<number>

  /**
   * Answers the endpoints whose state differs from the caller's (`sequence` 0 for none). An endpoint that never
   * existed, or that was deleted and has no more pending deliveries, has no organization and a null `endpoint`.
   */
  readonly endpoints: (
    known: ReadonlyArray<{ readonly endpointId: string; readonly sequence: number }>
  ) => Stored<ReadonlyArray<FoldedEndpoint>>

  /** Deleted endpoints of these partitions that may still have pending deliveries, at most `limit`. */
  readonly deleted: (
    partitions: ReadonlyArray<number>,
    limit: number
  ) => Stored<ReadonlyArray<{ readonly partition: number; readonly endpointId: string }>>

  /**
   * Cancels pending deliveries of an endpoint, at most `limit`; answers how many. The endpoint is forgotten with the
   * last ones.
   */
  readonly cancel: (
    partition: number,
    endpointId: string,
    options: { readonly now: number; readonly limit: number }
  ) => Stored<number>

  /**
   * The partitions among these that hold pending deliveries. One question for all, so that an idle process does not ask
   * for each of its partitions.
   */
  readonly holding: (partitions: ReadonlyArray<number>) => Stored<ReadonlySet<number>>

  /** For metrics. It counts the whole backlog, so do not call it every second. */
  readonly backlog: (partition: number) => Stored<DeliveryBacklog>

  /** For metrics: endpoints of a partition that are paused. */
  readonly pausedEndpoints: (partition: number) => Stored<number>
}

/** One POST. See {@link HttpSender.make}. */
export interface DeliveryRequest {
  readonly url: string
  /** The owner of the delivery; its name look-ups count against this organization. */
  readonly organizationId: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** How long the endpoint has for its answer. */
  readonly timeoutMillis: number
}

/** The result of a POST. See {@link HttpSender.make}. */
export interface DeliveryAnswer {
  readonly attempt: Attempt
  /** The beginning of the answer's body as text; null without an answer. */
  readonly response: string | null
  /** Why there was no answer, or its fault, in words for the endpoint's owner; null for a whole one. */
  readonly error: string | null
}

/** The port that posts a delivery. See {@link HttpSender.make}. */
export interface DeliverySender {
  /**
   * Posts a delivery. It never takes much longer than the request's timeout, and closes the connection when it is
   * interrupted.
   */
  readonly send: (request: DeliveryRequest) => Effect.Effect<DeliveryAnswer>
}

/** Endpoints as actors, and which partitions are served here. See {@link make}. */
export interface EndpointActors {
  readonly tell: (
    endpoint: { readonly organizationId: string; readonly endpointId: string },
    command: EndpointCommand
  ) => Effect.Effect<EndpointReply, AskError>
  /** The partitions that this process serves now. */
  readonly partitions: Effect.Effect<ReadonlyArray<number>>
}

export { SecretsUnavailable }

/**
 * Secrets of endpoints by their ids.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { SigningSecrets } from "sluice/webhook/dispatcher"
 *
 * // Secrets in memory.
 * export const secretsOf = (secrets: ReadonlyMap<string, string>) =>
 *   SigningSecrets.of({
 *     open: (ids) => Effect.succeed(new Map([...secrets].filter(([id]) => ids.includes(id)))),
 *     forget: () => Effect.void
 *   })
 * ```
 */
export class SigningSecrets extends Context.Service<
  SigningSecrets,
  {
    /** The secrets of these ids; those that do not exist are left out. */
    readonly open: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, string>, SecretsUnavailable>
    /** Removes secrets; inside a transaction, with it. */
    readonly forget: (ids: ReadonlyArray<string>) => Effect.Effect<void, SecretsUnavailable>
  }
>()("sluice/webhooks/SigningSecrets") {}
