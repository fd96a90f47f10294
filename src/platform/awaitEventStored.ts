/** Waits until the event of a request is stored in the log; only then is the request answered. */
import { Data, Effect } from "effect"
import {
  type AskError,
  isRetryable,
  type OutcomeUnknown,
  type PartitionStopped,
  type RetryableError
} from "../engine/errors.ts"

/**
 * The event could not be stored, so the request is not answered. Repeating it is safe; a stopped partition waits for
 * its operator.
 */
export class EventNotStored extends Data.TaggedError("EventNotStored")<{
  readonly cause: RetryableError | OutcomeUnknown | PartitionStopped
}> {
  /**
   * When to try again, in milliseconds: `defaultMillis` if the cause does not say, undefined if only an operator can
   * help.
   */
  retryAfterMillis(defaultMillis: number): number | undefined {
    if (this.cause._tag === "PartitionStopped") return undefined
    return "retryAfterMillis" in this.cause ? this.cause.retryAfterMillis : defaultMillis
  }
}

/** Asks an actor for the event of a request. */
export const awaitEventStored = <A>(asked: Effect.Effect<A, AskError>): Effect.Effect<void, EventNotStored> =>
  asked.pipe(
    Effect.catch((error) =>
      // Any other error is a fault of this program.
      isRetryable(error, { isIdempotent: true }) || error._tag === "PartitionStopped"
        ? Effect.fail(new EventNotStored({ cause: error }))
        : Effect.die(error)
    ),
    Effect.asVoid
  )
