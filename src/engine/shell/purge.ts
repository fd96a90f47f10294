/**
 * The only way to remove frames from a log (docs/architecture.md, rule 9): up to the second-newest checkpoint, never
 * past a cursor, and never with a sequence that a server would take for "everything".
 */
import { Effect } from "effect"
import type { CheckpointRecord, LogPosition } from "../Checkpoints.ts"
import type { JournalUnavailable, Log } from "../Journal.ts"

/**
 * The sequence below which frames may go; undefined when none may. The frames of the second-newest checkpoint and of
 * every cursor stay, as proof that they fit. When the log is so full that not even a claim fits (`isStuck`), the newest
 * checkpoint takes the place of the second-newest.
 */
export const purgeableBelow = (
  checkpoints: ReadonlyArray<CheckpointRecord>,
  cursors: ReadonlyArray<LogPosition>,
  isStuck = false
): number | undefined => {
  const [newest, secondNewest] = [...checkpoints].sort((left, right) => right.sequence - left.sequence)
  const covered = isStuck ? newest : secondNewest
  if (covered === undefined) return undefined
  let below = covered.sequence
  for (const cursor of cursors) below = Math.min(below, cursor.sequence)
  return below >= 2 ? below : undefined
}

/**
 * Purges below `sequence` when that is between 2 and the last sequence and frames below it are left. Answers whether it
 * did.
 *
 * No server purges on a condition, so a log may lose its end between the look and the purge, which then empties it up
 * to `sequence` - 1. The loss is still found: `purgeableBelow` answers the lowest witness's own place, so every witness
 * is above that end, and checkpoints cover all that went.
 */
export const purge = (log: Log, sequence: number): Effect.Effect<boolean, JournalUnavailable> =>
  Effect.flatMap(log.state, (state) =>
    Number.isSafeInteger(sequence) && sequence >= 2 && sequence <= state.lastSequence && sequence > state.firstSequence
      ? Effect.as(log.purgeBelow(sequence), true)
      : Effect.succeed(false)
  )
