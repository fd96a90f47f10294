/**
 * Compares a partition's log with its witnesses (checkpoints, reactors' cursors, the process itself): whether it still
 * is the log that they saw (docs/architecture.md, rule 9).
 */
import { Effect } from "effect"
import { decodeFrame, hashOf } from "../frame.ts"
import { type CheckpointRecord, emptyLogHash, type LogPosition } from "../ports/Checkpoints.ts"
import type { JournalUnavailable, Log, LogState } from "../ports/Journal.ts"

/** A witness has seen the log. The frames that it saw must still be there. */
export interface Witness extends LogPosition {
  /** `the checkpoint`, `the cursor of webhooks`… */
  readonly who: string
  /** Whether the witness needs the frames after its place, so that it must not lie before the log's beginning. */
  readonly needsTail: boolean
}

/** The options of an operator for a log that has lost frames. */
export const advice = (partition: number): string =>
  `Nothing was changed. Restore the log's storage, or give the rest up with \`sluice recover --partition ${partition} --accept-loss\`, which prints what goes.`

/**
 * Compares witnesses with the log; returns a sentence for the operator about the first that does not fit
 * (docs/architecture.md, rule 9: none above the last sequence, below the first - 1, or with another hash).
 */
export const examine = (
  log: Log,
  state: LogState,
  witnesses: ReadonlyArray<Witness>
): Effect.Effect<string | undefined, JournalUnavailable> =>
  Effect.gen(function* () {
    const partition = log.partition
    for (const witness of witnesses) {
      if (witness.sequence > state.lastSequence) {
        return `partition ${partition}: ${witness.who} has seen frame ${witness.sequence}, but the log ends at ${state.lastSequence}: frames ${state.lastSequence + 1} to ${witness.sequence} are lost (a file of the log was cut short, an older copy was restored, or the stream was made anew). ${advice(partition)}`
      }
      if (witness.sequence < state.firstSequence - 1) {
        if (!witness.needsTail) continue
        return `partition ${partition}: ${witness.who} stands at frame ${witness.sequence}, but the log begins at ${state.firstSequence}: frames ${witness.sequence + 1} to ${state.firstSequence - 1} are missing (the database is older than the log and reaches back further than the log was kept, or the stream was purged by hand). ${advice(partition)}`
      }
      const found = yield* hashAt(log, state, witness.sequence)
      if (found !== undefined && found !== witness.hash) {
        return `partition ${partition}: ${witness.who} has seen another frame ${witness.sequence} than the log now holds (the stream was made anew or restored from an older copy, and written to since). ${advice(partition)}`
      }
    }
    return undefined
  })

/**
 * The hash of the frame at a place, from the frame itself or from the next frame's chain; undefined if the log cannot
 * say.
 */
export const hashAt = (
  log: Log,
  state: LogState,
  sequence: number
): Effect.Effect<string | undefined, JournalUnavailable> =>
  Effect.gen(function* () {
    if (sequence === 0 && state.firstSequence === 1) return emptyLogHash
    if (sequence >= state.firstSequence) {
      const frame = yield* log.frameAt(sequence)
      return frame === undefined ? undefined : hashOf(frame.bytes)
    }
    if (state.firstSequence > state.lastSequence) return undefined
    const next = yield* log.frameAt(state.firstSequence)
    if (next === undefined) return undefined
    try {
      return decodeFrame(next.bytes).previousHash
    } catch {
      return "unreadable"
    }
  })

const checkpointWitness = (record: CheckpointRecord, index: number): Witness => ({
  who: index === 0 ? "the newest checkpoint" : "an older checkpoint",
  sequence: record.sequence,
  hash: record.hash,
  needsTail: index === 0
})

/** All witnesses of a partition's log: checkpoints, cursors, and this process. */
export const witnessesOf = (
  checkpoints: ReadonlyArray<CheckpointRecord>,
  cursors: ReadonlyArray<LogPosition & { readonly reactor: string }>,
  reactors: ReadonlyArray<{ readonly name: string }>
): ReadonlyArray<Witness> => [
  ...checkpoints.map(checkpointWitness),
  ...cursors.map((cursor) => ({
    who: `the cursor of ${cursor.reactor}`,
    sequence: cursor.sequence,
    hash: cursor.hash,
    needsTail: reactors.some((reactor) => reactor.name === cursor.reactor)
  }))
]
