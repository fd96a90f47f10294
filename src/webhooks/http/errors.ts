/**
 * Turns faults of webhook endpoints into answers (docs/platform.md, 6.3). A fault of the request or of the endpoint's
 * state gets its status, an unreachable system a 503 that is safe to repeat, and anything else is a defect.
 */

import { Effect, Predicate } from "effect"
import type { SqlError } from "effect/sql"
import type { PeriodInvalid } from "../../common/figuresPeriod.ts"
import { type AskError, isRetryable } from "../../engine/errors.ts"
import type { InvalidPattern } from "../../events/index.ts"
import { databaseFailed } from "../../http/databaseFailure.ts"
import type { IdempotencyConflict } from "../../http/idempotency.ts"
import type { InvalidCursor } from "../../http/PageCursors.ts"
import { retryAfter, retryAfterMillis, unlessRead } from "../../http/RequestState.ts"
import { Conflict, IdempotencyKeyReused, InvalidRequest, NotFound, Unavailable } from "../../http/wireErrors.ts"
import type { RequestUnderWay } from "../../platform/IdempotentRequests.ts"
import type { WorkQueueUnavailable } from "../../postgres/WorkQueue.ts"
import type { DeliveryNotFound, DeliveryNotRetryable, EventNotFound } from "../delivery/Deliveries.ts"
import type { EndpointRejection } from "../endpoint/model.ts"
import type { ReplayNotFound } from "../replay/Replays.ts"
import type { SecretsUnavailable } from "../secret/errors.ts"
import type { UrlRefused } from "../target/targets.ts"
import { urlNotHttps, urlRequired, WebhookUrlInvalid } from "./webhooksApi.ts"

/** How long a request may take before the answer reports an unknown outcome. */
const requestTimeoutMillis = 10_000

/** Every error of the handlers' services. */
export type Fault =
  | EndpointRejection
  | AskError
  | SecretsUnavailable
  | SqlError.SqlError
  | WorkQueueUnavailable
  | InvalidCursor
  | IdempotencyConflict
  | RequestUnderWay
  | DeliveryNotFound
  | DeliveryNotRetryable
  | EventNotFound
  | ReplayNotFound
  | PeriodInvalid

type Wire = InvalidRequest | WebhookUrlInvalid | NotFound | Conflict | IdempotencyKeyReused | Unavailable

const invalid = (message: string) => new InvalidRequest({ error: "invalid_request", message })
const conflict = (message: string) => new Conflict({ error: "conflict", message })

const urlFault = (error: UrlRefused): InvalidRequest | WebhookUrlInvalid =>
  error.reason === "missing"
    ? new WebhookUrlInvalid({ error: urlRequired })
    : error.reason === "not_https"
      ? new WebhookUrlInvalid({ error: urlNotHttps })
      : invalid(error.message)

const patternFault = (error: InvalidPattern): InvalidRequest => invalid(error.message)

/** 503, in the words of a read where the request is one. */
const unavailable = (afterMillis: number, sentence: string): Effect.Effect<never, Unavailable> =>
  Effect.andThen(
    retryAfter(afterMillis),
    Effect.flatMap(unlessRead(sentence), (message) => Effect.fail(new Unavailable({ error: "unavailable", message })))
  )

const safeToRepeat = "This cannot be done right now; the request is safe to repeat with the same Idempotency-Key."

const databaseFault = (error: unknown, cause: unknown) =>
  databaseFailed(error, unavailable(retryAfterMillis, safeToRepeat), cause)

const wireOf = (error: Fault): Effect.Effect<never, Wire> => {
  switch (error._tag) {
    case "EndpointNotFound":
    case "DeliveryNotFound":
    case "EventNotFound":
    case "ReplayNotFound":
      return Effect.fail(new NotFound({ error: "not_found", message: error.message }))
    case "EndpointDisabled":
    case "EndpointPaused":
    case "TooManyEndpoints":
    case "DeliveryNotRetryable":
      return Effect.fail(conflict(error.message))
    case "RequestUnderWay":
      return Effect.andThen(retryAfter(retryAfterMillis), Effect.fail(conflict(error.message)))
    case "IdempotencyConflict":
      return Effect.fail(new IdempotencyKeyReused({ error: "idempotency_conflict", message: error.message }))
    case "EndpointInvalid":
    case "PeriodInvalid":
      return Effect.fail(invalid(error.message))
    case "InvalidPattern":
      return Effect.fail(patternFault(error))
    case "UrlRefused":
      return Effect.fail(urlFault(error))
    case "InvalidCursor":
      return Effect.fail(
        invalid("Invalid parameter 'cursor'. Expected one that this list's answer gave in the last 30 days.")
      )
    case "SqlError":
      return databaseFault(error, error)
    case "SecretsUnavailable":
    case "WorkQueueUnavailable":
      return databaseFault(error, error.cause)
    case "Overloaded":
    case "PartitionUnavailable":
      return unavailable(error.retryAfterMillis, safeToRepeat)
    case "PartitionMoved":
    case "EndpointHeadersChanged":
      return unavailable(retryAfterMillis, safeToRepeat)
    case "OutcomeUnknown":
      return unavailable(
        retryAfterMillis,
        "Whether this was done is not known yet; repeat the request with the same Idempotency-Key."
      )
    case "PartitionStopped":
    case "Quarantined":
      return Effect.andThen(Effect.logError(error.message), unavailable(retryAfterMillis, safeToRepeat))
    // Two requests chose the same id, or a rule has a fault; no caller can repair that.
    case "EndpointExists":
    case "CommandFailed":
    case "CommandInvalid":
    case "DecisionTooLarge":
    case "StateTooLarge":
      return Effect.die(error)
  }
}

const rejections: ReadonlySet<Fault["_tag"]> = new Set([
  "EndpointNotFound",
  "DeliveryNotFound",
  "EndpointDisabled",
  "EndpointPaused",
  "TooManyEndpoints",
  "DeliveryNotRetryable",
  "EndpointInvalid",
  "InvalidPattern",
  "UrlRefused"
])

/** Whether a fault means that nothing was done, and the same request may be made again as a new one. */
export const isRejection = (error: unknown): boolean =>
  !isRetryable(error, { isIdempotent: true }) &&
  Predicate.hasProperty(error, "_tag") &&
  rejections.has(error._tag as Fault["_tag"])

/** The errors of every endpoint. */
type Common = InvalidRequest | Unavailable

/** Errors of some endpoints only, by their tags. */
type Further = Exclude<Wire, Common>["_tag"]

/**
 * Answers faults as the API describes them, and a timeout as an unknown outcome. `further` are the errors that the
 * endpoint describes; any other is a defect.
 */
export const refused =
  <Tag extends Further = never>(...further: ReadonlyArray<Tag>) =>
  <A, E extends Fault, R>(
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, Common | Extract<Wire, { readonly _tag: Tag }>, R> => {
    const described: ReadonlySet<string> = new Set(["InvalidRequest", "Unavailable", ...further])
    const isDescribed = (wire: Wire): wire is Common | Extract<Wire, { readonly _tag: Tag }> => described.has(wire._tag)
    return Effect.catch(effect, (error: Fault) =>
      Effect.catch(wireOf(error), (wire) => (isDescribed(wire) ? Effect.fail(wire) : Effect.die(error)))
    ).pipe(
      Effect.timeoutOrElse({
        duration: requestTimeoutMillis,
        orElse: () =>
          unavailable(
            retryAfterMillis,
            "The request took too long, and its outcome is not known; repeat it with the same Idempotency-Key."
          )
      })
    )
  }
