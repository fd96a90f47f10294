/**
 * The only way to remove frames from a log (architecture, rule 9): up to the second-newest checkpoint, never past a cursor, and
 * never with a sequence that a server would take for "everything".
 */
import { Effect } from "effect"
import type { CheckpointRecord } from "./Checkpoints.ts"
import type { Cursor } from "./Cursors.ts"
import type { JournalUnavailable, Log } from "./Journal.ts"
import type { Sabotage } from "./sabotage.ts"

/**
 * The sequence below which frames may go: the second-newest checkpoint's and every cursor's own frame stay, as proof that they fit.
 * Undefined when nothing may go.
 */
export const purgeableBelow = (
  checkpoints: ReadonlyArray<CheckpointRecord>,
  cursors: ReadonlyArray<Cursor>,
  sabotage: ReadonlySet<Sabotage>
): number | undefined => {
  const [newest, secondNewest] = [...checkpoints].sort((left, right) => right.sequence - left.sequence)
  if (sabotage.has("purge-too-far") && newest !== undefined) return newest.sequence + 1
  if (secondNewest === undefined) return undefined
  let below = secondNewest.sequence
  for (const cursor of cursors) below = Math.min(below, cursor.sequence)
  return below >= 2 ? below : undefined
}

/**
 * Purges below `sequence` when that is between 2 and the last sequence, and not below the first already. Answers whether it did.
 *
 * No server purges on a condition, so a log may lose its end between the look and the purge, which then empties it up to `sequence` - 1. The loss
 * is still found: `purgeableBelow` answers the lowest witness's own place, so that every witness is above that end, and all that went is covered.
 */
export const purge = (log: Log, sequence: number): Effect.Effect<boolean, JournalUnavailable> =>
  Effect.flatMap(log.state, (state) =>
    Number.isSafeInteger(sequence) && sequence >= 2 && sequence <= state.lastSequence && sequence > state.firstSequence
      ? Effect.as(log.purgeBelow(sequence), true)
      : Effect.succeed(false)
  )
