/**
 * Turns faults of emails' services into answers (docs/platform.md, 9.10 to 9.12). A fault of the request or of the
 * email's state gets its status, an unreachable system a 503, and anything else is a defect.
 */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { OnceError } from "../../engine/errors.ts"
import type { InvalidCursor } from "../../http/PageCursors.ts"
import { quote } from "../../http/parameters.ts"
import { retryAfter, retryAfterMillis, unlessRead } from "../../http/RequestState.ts"
import type { AcceptFault } from "../emails/AcceptEmails.ts"
import type { ContentsUnavailable } from "../emails/contents/MessageContents.ts"
import type { EmailNotFound, EmailNotWaiting, ScheduleTooFar } from "../emails/Emails.ts"
import { isSendRejection, retryAfterSeconds } from "../rules/rejections.ts"
import { rejectedAs } from "./rejectionErrors.ts"
import {
  SendConflict,
  SendIdempotencyConflict,
  SendInvalidRequest,
  SendNotFound,
  SendUnavailable,
  sqlFailed
} from "./sendErrors.ts"

/** The time after which a request is answered that its outcome is not known. */
const requestTimeoutMillis = 10_000

/** 503, in the words of a read where the request is one. */
const unavailable = (sentence: string, afterMillis: number = retryAfterMillis): Effect.Effect<never, SendUnavailable> =>
  Effect.andThen(
    retryAfter(afterMillis),
    Effect.flatMap(unlessRead(sentence), (message) => Effect.fail(SendUnavailable.of(message)))
  )

const unknown =
  "Whether this was done is not known. Repeat it with the same Idempotency-Key; without one a repeat may send twice."
const nothingDone = "This cannot be done right now. Nothing was done, and the request is safe to repeat."

const engineFault = (error: OnceError): Effect.Effect<never, SendUnavailable | SendIdempotencyConflict> => {
  switch (error._tag) {
    case "IdempotencyConflict":
      return Effect.fail(SendIdempotencyConflict.of("The Idempotency-Key was used for another request."))
    case "Overloaded":
    case "PartitionUnavailable":
      return unavailable(nothingDone, error.retryAfterMillis)
    case "PartitionMoved":
      return unavailable(nothingDone)
    case "OutcomeUnknown":
      return unavailable(unknown)
    case "PartitionStopped":
    case "Quarantined":
      return Effect.andThen(Effect.logError(error.message), unavailable(nothingDone))
    // A rule has a fault; no caller can mend that.
    default:
      return Effect.die(error)
  }
}

const contentsFault = (error: ContentsUnavailable): Effect.Effect<never, SendUnavailable> =>
  Effect.andThen(Effect.logWarning("Contents of emails are away", error), unavailable(nothingDone))

/** A request to send that was not accepted, at the time of the answer. */
export const sendingFault = (
  error: AcceptFault,
  now: number
): Effect.Effect<never, ReturnType<typeof rejectedAs> | SendIdempotencyConflict | SendUnavailable> => {
  if (isSendRejection(error)) {
    const seconds = retryAfterSeconds(error, now)
    const failed = Effect.fail(rejectedAs(error))
    return seconds === undefined ? failed : Effect.andThen(retryAfter(seconds * 1_000), failed)
  }
  switch (error._tag) {
    case "ContentsUnavailable":
      return contentsFault(error)
    case "SqlError":
      return sqlFailed(error)
    // The key's organization has just been removed.
    case "OrganizationNotFound":
      return Effect.die(error)
    default:
      return engineFault(error)
  }
}

/** A fault of an email that was accepted before. */
export type EmailFault =
  | EmailNotFound
  | EmailNotWaiting
  | ScheduleTooFar
  | InvalidCursor
  | ContentsUnavailable
  | SqlError.SqlError
  | Exclude<OnceError, { readonly _tag: "IdempotencyConflict" | "ReplyTooLarge" }>

type Wire = SendInvalidRequest | SendNotFound | SendConflict | SendUnavailable

export const emailFault = (error: EmailFault): Effect.Effect<never, Wire> => {
  switch (error._tag) {
    case "EmailNotFound":
      return Effect.fail(SendNotFound.of(`No email ${quote(error.id)}.`))
    case "EmailNotWaiting":
      return Effect.fail(
        SendConflict.of(`The email ${quote(error.id)} is ${error.state}, so it can no longer be changed in this way.`)
      )
    case "ScheduleTooFar":
      return Effect.fail(SendInvalidRequest.of("Invalid field 'scheduled_at'. Expected a time at most 30 days ahead."))
    case "InvalidCursor":
      return Effect.fail(
        SendInvalidRequest.of(
          `Invalid parameter 'cursor': ${quote(error.cursor)}. Expected one that this list has given.`
        )
      )
    case "ContentsUnavailable":
      return contentsFault(error)
    case "SqlError":
      return sqlFailed(error)
    default:
      // Asked without an idempotency key.
      return Effect.catchTag(engineFault(error), "NestedIdempotencyConflict", Effect.die)
  }
}

/** Answers 503 where a request takes too long. */
export const inTime = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SendUnavailable, R> =>
  Effect.timeoutOrElse(effect, {
    duration: requestTimeoutMillis,
    orElse: () => unavailable(unknown)
  })
