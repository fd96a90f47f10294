/**
 * Repeats background work until its scope ends, whatever fails. It logs a failure, a defect included, and tries again
 * after a pause; only an interruption ends the loop. Needs no service.
 */
import { Cause, Duration, Effect } from "effect"

/** The warning that is logged with the cause. */
export interface SuperviseOptions {
  readonly failed: string
  /** How long it waits after a failure, in milliseconds. */
  readonly retryMillis: number
}

/** Does the same for ever; waiting between two rounds is the work's own. */
export const superviseLoop = <E, R>(
  work: Effect.Effect<unknown, E, R>,
  { failed, retryMillis }: SuperviseOptions
): Effect.Effect<never, never, R> =>
  Effect.forever(
    Effect.catchCause(work, (cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause as Cause.Cause<never>)
        : Effect.andThen(Effect.logWarning(failed, cause), Effect.sleep(Duration.millis(retryMillis)))
    )
  )
