/**
 * Makes one attempt of a delivery, from its signature to its recorded outcome (docs/platform.md, 7.4). The endpoint's
 * actor gets an outcome before the store has it as final, so that a crash between the two reports it twice rather than
 * never.
 */
import { Cause, Duration, Effect, Exit, Random, type Tracer } from "effect"
import { Pauses } from "../../common/backoff.ts"
import type { GroupCommit } from "../../common/groupCommit.ts"
import { type AskError, isRetryable } from "../../engine/errors.ts"
import { type DeliveryAttempt, retryLaneOf } from "../delivery/model.ts"
import {
  type DeliveriesUnavailable,
  type DeliveryAnswer,
  type DeliveryOutcome,
  type DeliverySender,
  type EndpointActors,
  SecretsUnavailable,
  type SigningSecrets,
  type TakenDelivery
} from "../delivery/ports.ts"
import { type AttemptOutcome, classify, isExpired, nextStep, singleAttempt } from "../delivery/schedule.ts"
import { decodeHeaders } from "../endpoint/headers.ts"
import { type Endpoint, type EndpointCommand, signingSecretIds } from "../endpoint/model.ts"
import { deliveryHeaders } from "../secret/signature.ts"
import type { AttemptEnd } from "./ConcurrencyLimit.ts"
import type { DeliverySlot, DispatcherState } from "./DispatcherState.ts"
import { departed, departureOf } from "./DispatchLines.ts"
import type { DispatchMetrics } from "./DispatchMetrics.ts"
import type { OpenSecrets, Worker } from "./EndpointWorker.ts"

/** The parts that an attempt needs. */
export interface AttemptContext {
  readonly dispatching: DispatcherState
  readonly sender: DeliverySender
  readonly actors: EndpointActors
  readonly secrets: SigningSecrets["Service"]
  readonly metrics: DispatchMetrics
  /** Answers whether the outcome counted. */
  readonly recorder: GroupCommit<DeliveryOutcome, boolean, DeliveriesUnavailable>
}

const firstPauseMillis = 100
const lastPauseMillis = 5_000

/** How long a delivery waits whose secrets cannot be read. */
const secretsPauseMillis = 1_000

/**
 * Tries an effect again while the actor's partition or the store is away. Once the partition is served elsewhere, it
 * tries only once: outcomes count wherever they come from, but the other dispatcher will attempt the delivery again
 * anyway.
 */
const persistently = <A, E, E2>(
  worker: Worker,
  effect: Effect.Effect<A, E>,
  isWorthIt: (error: E) => boolean,
  otherwise: (error: E) => Effect.Effect<A | undefined, E2>,
  pauses = new Pauses(firstPauseMillis, lastPauseMillis)
): Effect.Effect<A | undefined, E2> =>
  Effect.catch(effect, (error): Effect.Effect<A | undefined, E2> => {
    if (!isWorthIt(error)) return otherwise(error)
    if (worker.isDropped) return Effect.succeed(undefined)
    return Effect.andThen(
      Effect.sleep(Duration.millis(pauses.afterFailure())),
      Effect.suspend(() => persistently(worker, effect, isWorthIt, otherwise, pauses))
    )
  })

const isWorthAsking = (error: AskError): boolean =>
  isRetryable(error, { isIdempotent: true }) || error._tag === "PartitionStopped"

/** Reports to the endpoint's actor, and uses the state of its answer immediately; the log brings it a moment later. */
const tell = (
  { actors, dispatching }: AttemptContext,
  worker: Worker,
  delivery: TakenDelivery,
  command: EndpointCommand
) =>
  Effect.map(
    persistently(
      worker,
      Effect.suspend(() => {
        const asked = dispatching.asking(worker)
        return Effect.map(actors.tell(delivery, command), ({ endpoint }) => ({ asked, endpoint }))
      }),
      isWorthAsking,
      (error) =>
        Effect.as(
          Effect.logError(`webhook endpoint ${delivery.endpointId} could not be told of an outcome: ${error.message}`),
          undefined
        )
    ),
    (reply) => {
      if (reply === undefined) return
      dispatching.foresee(worker, reply.endpoint, reply.asked)
      dispatching.pump()
    }
  )

/** Counts an outcome that holds. */
const counts = ({ metrics }: AttemptContext, { result }: DeliveryOutcome): void =>
  metrics.outcome(result._tag === "Settled" ? result.status : result._tag === "Again" ? "retried" : "returned")

/**
 * Records an outcome and releases the delivery. While its frame is not recorded, the register keeps the outcome, and it
 * is written with the row.
 */
const record = (
  parts: AttemptContext,
  worker: Worker,
  outcome: DeliveryOutcome,
  delivery: TakenDelivery
): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (!parts.dispatching.ended(delivery, outcome)) return recordInStore(parts, worker, outcome, delivery)
    counts(parts, outcome)
    return Effect.void
  })

/** Records the outcome of a delivery that was counted when it ended, and whose job was written as held. */
export const recordLate = (
  parts: AttemptContext,
  outcome: DeliveryOutcome,
  delivery: TakenDelivery
): Effect.Effect<void> => {
  const worker = parts.dispatching.worker(delivery.partition, delivery.endpointId)
  parts.dispatching.lines.late(delivery)
  return Effect.asVoid(submit(parts, worker, outcome, delivery))
}

/** Submits an outcome to the store, and arms its retry. Answers whether it counted. */
const submit = (
  { dispatching, recorder }: AttemptContext,
  worker: Worker,
  outcome: DeliveryOutcome,
  delivery: TakenDelivery
) =>
  Effect.map(
    persistently(
      worker,
      Effect.suspend(() => {
        if (dispatching.held.get(delivery.id)?.delivery === delivery) dispatching.recording.add(delivery.id)
        return recorder.submit(outcome)
      }),
      () => true,
      () => Effect.succeed(undefined)
    ),
    (counted) => {
      dispatching.release(delivery, counted === true ? departureOf(outcome) : departed)
      const { result } = outcome
      if (counted === true && delivery.task?.isAbandoned === true) dispatching.outlived.set(delivery.id, true)
      if (counted === true && result._tag === "Again") dispatching.arm(worker, retryLaneOf(delivery.line), result.dueAt)
      return counted === true
    }
  )

const recordInStore = (
  parts: AttemptContext,
  worker: Worker,
  outcome: DeliveryOutcome,
  delivery: TakenDelivery
): Effect.Effect<void> =>
  Effect.map(submit(parts, worker, outcome, delivery), (hasCounted) => {
    if (hasCounted) counts(parts, outcome)
  })

/** The ids of the secrets that an attempt needs now: those that sign, the new one first, and the headers. */
const neededSecrets = (endpoint: Endpoint, now: number): ReadonlyArray<string> => {
  const ids = signingSecretIds(endpoint, now)
  return endpoint.headers === null ? ids : [...ids, endpoint.headers.secretId]
}

/** The secrets of an attempt, if they are already decrypted. */
const knownSecrets = (worker: Worker, endpoint: Endpoint, now: number): OpenSecrets | undefined => {
  const { secrets } = worker
  if (secrets === undefined) return undefined
  const ids = neededSecrets(endpoint, now)
  return secrets.ids.length === ids.length && secrets.ids.every((id, at) => id === ids[at]) ? secrets : undefined
}

const openSecrets = (
  { secrets }: AttemptContext,
  worker: Worker,
  endpoint: Endpoint,
  now: number
): Effect.Effect<OpenSecrets, SecretsUnavailable> => {
  const ids = neededSecrets(endpoint, now)
  return Effect.flatMap(secrets.open(ids), (found) => {
    const lacks = (what: string) =>
      Effect.fail(new SecretsUnavailable({ message: `endpoint ${worker.endpointId} has no ${what}` }))
    const texts = signingSecretIds(endpoint, now).flatMap((id) => found.get(id) ?? [])
    // A previous secret that is gone no longer signs; without the current one nothing can be sent.
    if (!found.has(endpoint.secretId)) return lacks("secret")
    const sealed = endpoint.headers === null ? "{}" : found.get(endpoint.headers.secretId)
    // A receiver would refuse a delivery that lacks them.
    if (sealed === undefined) return lacks("headers")
    const open = { texts, headers: decodeHeaders(sealed) }
    worker.secrets = { ids, ...open }
    return Effect.succeed(open)
  })
}

const endOf = (outcome: AttemptOutcome): AttemptEnd =>
  outcome.result === "succeeded" ? "succeeded" : outcome.status === 0 ? "unanswered" : "answered"

const brokenAnswer: DeliveryAnswer = {
  attempt: { _tag: "NoAnswer" },
  response: null,
  error: "The delivery could not be attempted"
}

/** The span of an attempt. It links to what has put the delivery into the queue. */
export const spanOf = ({ attempt, cause, endpointId, eventId, id, partition }: TakenDelivery): Tracer.SpanOptions => ({
  root: true,
  attributes: { partition, attempt, delivery: id, endpoint: endpointId, event: eventId },
  links: cause === undefined ? [] : [{ span: cause, attributes: {} }]
})

/** Makes the attempt of a slot. It ends with the slot free and the outcome recorded, or interrupted. */
export const attemptDelivery = (parts: AttemptContext, slot: DeliverySlot): Effect.Effect<void> =>
  // Most attempts succeed at a known endpoint, so that path has few operations.
  Effect.suspend(() => {
    const { dispatching } = parts
    const { item: delivery, queue: worker } = slot
    const endpoint = worker.folded?.endpoint
    const begunAt = dispatching.now
    const isHeld = dispatching.held.get(delivery.id)?.delivery === delivery && delivery.task?.isAbandoned !== true
    if (!isHeld || endpoint === undefined || endpoint === null) {
      // The endpoint is deleted, and its deliveries in the store are cancelled. Or another life of the partition has it.
      dispatching.cancelHeld(delivery)
      return leave(parts, slot)
    }
    if (isExpired(delivery.eventCreatedAt, begunAt))
      return Effect.andThen(
        leave(parts, slot),
        record(parts, worker, { delivery, made: null, result: { _tag: "Settled", status: "expired" } }, delivery)
      )
    const secrets = knownSecrets(worker, endpoint, begunAt)
    if (secrets !== undefined) return post(parts, slot, endpoint, secrets)
    return Effect.matchEffect(openSecrets(parts, worker, endpoint, begunAt), {
      onSuccess: (opened) => post(parts, slot, endpoint, opened),
      onFailure: ({ message }) =>
        Effect.gen(function* () {
          yield* Effect.logWarning(`webhook endpoint ${delivery.endpointId}: ${message}`)
          yield* leave(parts, slot)
          const dueAt = dispatching.now + secretsPauseMillis
          yield* record(parts, worker, { delivery, made: null, result: { _tag: "Returned", dueAt } }, delivery)
        })
    })
  })

/** Gives the slot up without an attempt. */
const leave = ({ dispatching }: AttemptContext, slot: DeliverySlot) =>
  Effect.sync(() => {
    dispatching.queue.end(slot, undefined)
    dispatching.pump()
  })

/** Signs and posts the delivery, and settles the outcome. */
const post = (
  parts: AttemptContext,
  slot: DeliverySlot,
  endpoint: Endpoint,
  { headers, texts: secrets }: OpenSecrets
): Effect.Effect<void> => {
  const { dispatching, sender } = parts
  const { body, endpointId, eventId, organizationId } = slot.item
  const flight = dispatching.flying(slot)
  const sent = Effect.suspend(() =>
    sender.send({
      url: endpoint.url,
      organizationId,
      headers: { ...headers, ...deliveryHeaders({ eventId, nowMillis: flight.begunAt, rawBody: body, secrets }) },
      body,
      timeoutMillis: dispatching.settings.timeoutMillis
    })
  )
  return Effect.flatMap(Effect.exit(sent), (exit): Effect.Effect<void> => {
    dispatching.landed(flight)
    if (Exit.isSuccess(exit)) return settle(parts, slot, flight.begunAt, exit.value)
    if (Cause.hasInterrupts(exit.cause)) return Effect.interrupt
    return Effect.andThen(
      Effect.logError(`a delivery to webhook endpoint ${endpointId} could not be attempted`, exit.cause),
      Effect.suspend(() => settle(parts, slot, flight.begunAt, brokenAnswer))
    )
  })
}

/** Frees the slot, tells the endpoint's actor what it must know, and records the outcome. */
const settle = (
  parts: AttemptContext,
  slot: DeliverySlot,
  begunAt: number,
  answer: DeliveryAnswer
): Effect.Effect<void> => {
  const { dispatching, metrics } = parts
  const { item: delivery, queue: worker } = slot
  const endedAt = dispatching.now
  const durationMillis = endedAt - begunAt
  metrics.latency(durationMillis)
  const outcome = classify(answer.attempt, endedAt)
  dispatching.queue.end(slot, { end: endOf(outcome), durationMillis })
  dispatching.pump()
  const made: DeliveryAttempt = {
    at: begunAt,
    status: outcome.status,
    duration: durationMillis,
    response: answer.response,
    error: answer.error
  }
  if (outcome.result !== "succeeded") return settleFailure(parts, slot, outcome, made, endedAt)
  const { folded } = worker
  const recorded = record(parts, worker, { delivery, made, result: { _tag: "Settled", status: "succeeded" } }, delivery)
  // A successful test says nothing about events.
  if (!folded?.endpoint || folded.endpoint.consecutiveFailures === 0 || worker.isSuccessTold) return recorded
  if (delivery.origin === "test") return recorded
  worker.isSuccessTold = true
  return Effect.andThen(tell(parts, worker, delivery, { _tag: "RecordSuccess" }), recorded)
}

const settleFailure = Effect.fnUntraced(function* (
  parts: AttemptContext,
  { item: delivery, queue: worker }: DeliverySlot,
  outcome: AttemptOutcome,
  made: DeliveryAttempt,
  endedAt: number
) {
  const { origin } = delivery
  const schedule = origin === "event" ? parts.dispatching.settings.schedule : singleAttempt
  const next = nextStep(schedule, delivery.attempt, outcome, endedAt, yield* Random.next)
  if (next._tag === "RetryAt") {
    if (outcome.result === "gone") yield* tell(parts, worker, delivery, { _tag: "RecordGone", origin })
    return yield* record(parts, worker, { delivery, made, result: { _tag: "Again", dueAt: next.atMillis } }, delivery)
  }
  if (origin === "event" && outcome.isOurs !== true) {
    const { status } = outcome
    yield* tell(parts, worker, delivery, { _tag: "RecordFailure", deliveryId: delivery.id, origin, status })
  }
  yield* record(parts, worker, { delivery, made, result: { _tag: "Settled", status: "failed" } }, delivery)
})
