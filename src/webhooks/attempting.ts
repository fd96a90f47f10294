/**
 * One attempt of a delivery, from its signature to its recorded outcome (decisions, "Events and webhooks"). What the endpoint's actor must
 * know it is told before the outcome is final in the store, so that a crash between the two tells it twice rather than never.
 */
import { Cause, Duration, Effect, Exit, Random } from "effect"
import { type AskError, isRetryable } from "../engine/errors.ts"
import type { GroupCommit } from "../postgres/groupCommit.ts"
import type { DeliverySlot, Dispatching } from "./Dispatching.ts"
import type { DispatchMetrics } from "./DispatchMetrics.ts"
import { type DeliveryAttempt, lanes } from "./deliveryModel.ts"
import {
  type DeliveriesUnavailable,
  type DeliveryAnswer,
  type DeliveryOutcome,
  type DeliverySender,
  type EndpointActors,
  SecretsUnavailable,
  type SigningSecrets,
  type TakenDelivery
} from "./dispatchPorts.ts"
import { type Endpoint, type EndpointCommand, signingSecretIds } from "./endpointModel.ts"
import type { AttemptEnd } from "./pace.ts"
import { classify, isExpired, nextStep, type Outcome, singleAttempt } from "./schedule.ts"
import { deliveryHeaders } from "./signature.ts"
import type { Worker } from "./Worker.ts"

/** What attempts are made with. */
export interface AttemptParts {
  readonly dispatching: Dispatching
  readonly sender: DeliverySender
  readonly actors: EndpointActors
  readonly secrets: SigningSecrets["Service"]
  readonly metrics: DispatchMetrics
  /** Answers whether the outcome counted. */
  readonly recorder: GroupCommit<DeliveryOutcome, boolean, DeliveriesUnavailable>
}

const firstPauseMillis = 100
const lastPauseMillis = 5_000

/** A delivery whose secrets cannot be read is left alone for so long. */
const secretsPauseMillis = 1_000

/**
 * Tries again what fails for a while: the actor's partition or the store are away. Where the partition is served elsewhere meanwhile, one try
 * is what is left: outcomes count wherever they come from, but the other one will attempt the delivery again anyway.
 */
const persistently = <A, E, E2>(
  worker: Worker,
  effect: Effect.Effect<A, E>,
  isWorthIt: (error: E) => boolean,
  otherwise: (error: E) => Effect.Effect<A | undefined, E2>
): Effect.Effect<A | undefined, E2> =>
  Effect.gen(function* () {
    let pauseMillis = firstPauseMillis
    while (true) {
      const result = yield* Effect.result(effect)
      if (result._tag === "Success") return result.success
      if (!isWorthIt(result.failure)) return yield* otherwise(result.failure)
      if (worker.isDropped) return undefined
      yield* Effect.sleep(Duration.millis(pauseMillis))
      pauseMillis = Math.min(pauseMillis * 2, lastPauseMillis)
    }
  })

const isWorthAsking = (error: AskError): boolean => isRetryable(error) || error._tag === "PartitionStopped"

/** Tells the endpoint's actor, and takes its state over at once: the log's comes a moment later. */
const tell = (
  { actors, dispatching }: AttemptParts,
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

/** Records an outcome and lets the delivery go. */
const record = (
  { dispatching, metrics, recorder }: AttemptParts,
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
      dispatching.release(delivery)
      if (counted !== true) return
      const { result } = outcome
      metrics.outcome(result._tag === "Settled" ? result.status : result._tag === "Again" ? "retried" : "returned")
      if (result._tag === "Again") dispatching.arm(worker, lanes.retry, result.dueAt)
    }
  )

/** The secrets that sign now, the new one first. */
const secretsOf = (
  { secrets }: AttemptParts,
  worker: Worker,
  endpoint: Endpoint,
  now: number
): Effect.Effect<ReadonlyArray<string>, SecretsUnavailable> => {
  const ids = signingSecretIds(endpoint, now)
  const known = worker.secrets
  if (known !== undefined && known.ids.length === ids.length && known.ids.every((id, at) => id === ids[at]))
    return Effect.succeed(known.texts)
  return Effect.flatMap(secrets.open(ids), (found) => {
    const texts = ids.map((id) => found.get(id)).filter((text) => text !== undefined)
    // a previous secret that is gone already signs no more; without the current one nothing can be sent
    if (!found.has(endpoint.secretId))
      return Effect.fail(new SecretsUnavailable({ message: `endpoint ${worker.endpointId} has no secret` }))
    worker.secrets = { ids, texts }
    return Effect.succeed(texts)
  })
}

const endOf = (outcome: Outcome): AttemptEnd =>
  outcome.result === "succeeded" ? "succeeded" : outcome.status === 0 ? "unanswered" : "answered"

const brokenAnswer: DeliveryAnswer = {
  attempt: { _tag: "NoAnswer" },
  response: null,
  error: "The delivery could not be attempted"
}

/** Makes the attempt that a slot was given for. Ends with the slot free and the outcome recorded, or interrupted. */
export const attempt = (parts: AttemptParts, slot: DeliverySlot): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { dispatching, metrics, sender } = parts
    const { item: delivery, queue: worker } = slot
    const endpoint = worker.folded?.endpoint
    const begunAt = dispatching.now
    const isHeld = dispatching.held.get(delivery.id)?.delivery === delivery
    if (!isHeld || endpoint === undefined || endpoint === null) {
      // of a deleted endpoint: what is in the store of it is cancelled
      dispatching.release(delivery)
      dispatching.queue.end(slot, undefined)
      return dispatching.pump()
    }
    if (isExpired(delivery.eventCreatedAt, begunAt)) {
      dispatching.queue.end(slot, undefined)
      dispatching.pump()
      return yield* record(
        parts,
        worker,
        { delivery, made: null, result: { _tag: "Settled", status: "expired" } },
        delivery
      )
    }
    const answer = yield* send(parts, slot, endpoint, sender)
    if (answer === undefined) return
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
    if (outcome.result === "succeeded") {
      const { folded } = worker
      if (folded?.endpoint && folded.endpoint.consecutiveFailures > 0 && !worker.isSuccessTold) {
        worker.isSuccessTold = true
        yield* tell(parts, worker, delivery, { _tag: "RecordSuccess" })
      }
      return yield* record(
        parts,
        worker,
        { delivery, made, result: { _tag: "Settled", status: "succeeded" } },
        delivery
      )
    }
    const { origin } = delivery
    const schedule = origin === "event" ? dispatching.settings.schedule : singleAttempt
    const next = nextStep(schedule, delivery.attempt, outcome, endedAt, yield* Random.next)
    if (next._tag === "RetryAt") {
      if (outcome.result === "gone") yield* tell(parts, worker, delivery, { _tag: "RecordGone", origin })
      return yield* record(parts, worker, { delivery, made, result: { _tag: "Again", dueAt: next.atMillis } }, delivery)
    }
    if (origin === "event") {
      const { status } = outcome
      yield* tell(parts, worker, delivery, { _tag: "RecordFailure", deliveryId: delivery.id, origin, status })
    }
    yield* record(parts, worker, { delivery, made, result: { _tag: "Settled", status: "failed" } }, delivery)
  })

/** Signs and posts; undefined where that could not be done now and the delivery was given back. */
const send = (parts: AttemptParts, slot: DeliverySlot, endpoint: Endpoint, sender: DeliverySender) =>
  Effect.gen(function* () {
    const { dispatching } = parts
    const { item: delivery, queue: worker } = slot
    const secrets = yield* Effect.result(secretsOf(parts, worker, endpoint, dispatching.now))
    if (secrets._tag === "Failure") {
      yield* Effect.logWarning(`webhook endpoint ${delivery.endpointId}: ${secrets.failure.message}`)
      dispatching.queue.end(slot, undefined)
      dispatching.pump()
      const dueAt = dispatching.now + secretsPauseMillis
      yield* record(parts, worker, { delivery, made: null, result: { _tag: "Returned", dueAt } }, delivery)
      return undefined
    }
    const flight = dispatching.flying(slot)
    const exit = yield* Effect.exit(
      Effect.suspend(() =>
        sender.send({
          url: endpoint.url,
          headers: deliveryHeaders({
            eventId: delivery.eventId,
            nowMillis: flight.begunAt,
            rawBody: delivery.body,
            secrets: secrets.success
          }),
          body: delivery.body,
          timeoutMillis: dispatching.settings.timeoutMillis
        })
      )
    )
    dispatching.landed(flight)
    if (Exit.isSuccess(exit)) return exit.value
    if (Cause.hasInterrupts(exit.cause)) return yield* Effect.interrupt
    yield* Effect.logError(`a delivery to webhook endpoint ${delivery.endpointId} could not be attempted`, exit.cause)
    return brokenAnswer
  })
