/**
 * Removes frames from a log, and signals from their store; the only module that does (docs/architecture.md, rule 9). It
 * purges up to the second-newest checkpoint, never past a cursor, and never with a sequence that a server would take
 * for "everything".
 */
import { Effect } from "effect"
import type { CheckpointRecord, LogPosition } from "../../ports/Checkpoints.ts"
import type { JournalUnavailable, Log } from "../../ports/Journal.ts"
import type { Signals, SignalsUnavailable } from "../../ports/Signals.ts"

/**
 * The sequence below which frames may be removed; undefined when none may. The frames of the second-newest checkpoint
 * and of every cursor stay, as proof that they fit. When the log is so full that not even a claim fits (`isStuck`), the
 * newest checkpoint takes the place of the second-newest.
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
 * Purges below `sequence` when that is between 2 and the last sequence and frames below it are left. Returns whether it
 * did.
 *
 * No server purges on a condition, so a log may lose its end between the check and the purge, which then empties it up
 * to `sequence` - 1. The loss is still found: `purgeableBelow` answers the lowest witness's own place, so every witness
 * is above that end, and checkpoints cover all removed frames.
 */
export const purge = (log: Log, sequence: number): Effect.Effect<boolean, JournalUnavailable> =>
  Effect.flatMap(log.state, (state) =>
    Number.isSafeInteger(sequence) && sequence >= 2 && sequence <= state.lastSequence && sequence > state.firstSequence
      ? Effect.as(log.purgeBelow(sequence), true)
      : Effect.succeed(false)
  )

/**
 * The signal up to which a partition's may be removed; undefined when none may. Every start begins with the newest
 * checkpoint, or with the one before it, and reads on behind the signal recorded there, so signals decided before the
 * second-newest are never read again.
 */
export const forgettableThrough = (checkpoints: ReadonlyArray<CheckpointRecord>): number | undefined => {
  const [, secondNewest] = [...checkpoints].sort((left, right) => right.sequence - left.sequence)
  return secondNewest === undefined || secondNewest.signalSequence < 1 ? undefined : secondNewest.signalSequence
}

/**
 * Removes a partition's signals up to `through` when that is at least 1 and not above the last decided one: a server
 * treats a purge below the first as a purge of everything. Returns whether it did.
 */
export const forgetSignals = (
  signals: Signals["Service"],
  partition: number,
  through: number,
  decidedThrough: number
): Effect.Effect<boolean, SignalsUnavailable> =>
  Number.isSafeInteger(through) && through >= 1 && through <= decidedThrough
    ? Effect.as(signals.forget(partition, through), true)
    : Effect.succeed(false)
