/**
 * Checkpoints of a partition: taken by reference between two drains, written beside them, then superseded rows and frames go and idle
 * actors leave memory (architecture, rules 9 and 10).
 */
import { Duration, Effect } from "effect"
import type { ActorRow, CheckpointRecord } from "./Checkpoints.ts"
import { addressOf } from "./decideContext.ts"
import { makeRoom } from "./eviction.ts"
import { hashOf } from "./frame.ts"
import type { Cell } from "./memory.ts"
import type { Partition } from "./Partition.ts"
import { describe } from "./poison.ts"
import { purge, purgeableBelow } from "./purge.ts"

/** The actors' states at a frame boundary, by reference. */
export interface Snapshot {
  /** Bytes of frames that it covers and the checkpoint before did not. */
  readonly bytes: number
  readonly record: CheckpointRecord
  readonly actors: ReadonlyArray<{ readonly cell: Cell; readonly state: unknown; readonly wakeAt: number }>
}

/** Takes a snapshot of what changed since the newest checkpoint; undefined when nothing did. */
export const snapshot = (partition: Partition, ofDrafts: boolean): Snapshot | undefined => {
  const { drain, head, memory, newestCheckpoint } = partition
  if (head.sequence <= (newestCheckpoint?.sequence ?? 0)) return undefined
  const actors: Array<Snapshot["actors"][number]> = []
  for (const cell of memory.dirty) {
    actors.push({ cell, state: ofDrafts ? drain.draft.stateOf(cell) : cell.state, wakeAt: cell.wakeAt })
  }
  const { epoch, hash, now, number, sequence, signalSequence } = head
  const bytes = partition.bytesSinceCheckpoint
  return { record: { partition: partition.id, sequence, hash, epoch, number, now, signalSequence }, actors, bytes }
}

/** Encodes while the store reads, so that a large checkpoint is never in memory as text. */
function* rowsOf(taken: Snapshot): Generator<ActorRow> {
  for (const { cell, state, wakeAt } of taken.actors) {
    const { actor } = cell
    const isOver = wakeAt === Number.POSITIVE_INFINITY && actor.options.isOver?.(state) === true
    yield {
      ...addressOf(cell),
      sequence: taken.record.sequence,
      version: actor.version,
      state: isOver ? null : JSON.stringify(actor.encodeState(state)),
      wakeAt: wakeAt === Number.POSITIVE_INFINITY ? null : wakeAt
    }
  }
}

/** Writes the partition's checkpoints, for ever. */
export const checkpointer = Effect.fnUntraced(function* (partition: Partition) {
  while (true) {
    yield* partition.checkpointWakeup.wait
    // after a failure not again at once, however many frames ask for it
    if (!(yield* checkpoint(partition))) yield* Effect.sleep(Duration.millis(retryMillis))
  }
})

/** The part of a log's bytes from which on operators are warned (rule 14). */
const fillAlarm = 0.7

/** Pause after a checkpoint that could not be written. */
const retryMillis = 1_000

/** Takes and writes one checkpoint and cleans up behind it. Failures are logged and answered with false; the next one tries again. */
export const checkpoint = (partition: Partition): Effect.Effect<boolean> =>
  // the one of a shutdown would conflict with one that is still being written, and be left out
  partition.checkpointTurn.withPermit(takeAndWrite(partition))

const takeAndWrite = Effect.fnUntraced(function* (partition: Partition) {
  const taken = partition.takeSnapshot(false)
  if (taken !== undefined) {
    const written = yield* Effect.exit(write(partition, taken))
    if (written._tag === "Failure") {
      yield* Effect.logWarning(`partition ${partition.id}: a checkpoint was not written`, written.cause)
      return false
    }
  }
  yield* Effect.ignore(cleanUp(partition), { log: "Warn", message: `partition ${partition.id}: cleaning up` })
  return true
})

const write = Effect.fnUntraced(function* (partition: Partition, taken: Snapshot) {
  const { checkpoints } = partition.parts
  const previous = partition.newestCheckpoint?.sequence ?? 0
  const saved = yield* Effect.result(
    // an encoder that throws while the store reads is the actor's defect, not a reason to restart
    Effect.catchDefect(checkpoints.save({ record: taken.record, previous, rows: rowsOf(taken) }), (defect) =>
      Effect.fail(new Error(describe(defect)))
    )
  )
  if (saved._tag === "Failure") {
    // the answer may have been lost after the commit, or somebody else wrote: what is there decides
    const [newest] = yield* checkpoints.list(partition.id)
    if (newest === undefined || newest.sequence <= previous) return yield* Effect.fail(saved.failure)
    const frame = yield* partition.log!.frameAt(newest.sequence)
    // one above our head is a later owner's: its rows are of frames that we have not seen
    if (frame === undefined || hashOf(frame.bytes) !== newest.hash || newest.sequence > partition.head.sequence) {
      partition.restartWanted = `a checkpoint at frame ${newest.sequence} was written by somebody else`
      partition.wakeup.notify()
      return yield* Effect.fail(saved.failure)
    }
    complete(partition, newest, newest.sequence === taken.record.sequence ? taken.bytes : 0)
    return
  }
  if (previous === 0 && taken.actors.length === 0) partition.emptyCheckpointAt = taken.record.sequence
  complete(partition, taken.record, taken.bytes)
})

const complete = (partition: Partition, record: CheckpointRecord, bytes: number): void => {
  partition.bytesSinceCheckpoint -= bytes
  partition.newestCheckpoint = record
  for (const cell of partition.memory.dirty) {
    if (cell.changedAt <= record.sequence) partition.memory.dirty.delete(cell)
  }
  partition.framesSinceCheckpoint = partition.head.sequence - record.sequence
  if (partition.memory.cellCount >= partition.parts.config.maximumActors) makeRoom(partition)
}

const cleanUp = Effect.fnUntraced(function* (partition: Partition) {
  const { checkpoints, cursors, reactors, sabotage } = partition.parts
  yield* checkpoints.prune(partition.id)
  const known = new Set(reactors.map((reactor) => reactor.name))
  const all = (yield* cursors.list(partition.id)).filter((cursor) => known.has(cursor.reactor))
  // a reactor that has not moved yet needs the log from its beginning
  const complete = all.length === known.size
  const below = purgeableBelow(yield* checkpoints.list(partition.id), all, sabotage)
  if (below !== undefined && (complete || sabotage.has("purge-too-far"))) yield* purge(partition.log!, below)
  const state = yield* partition.log!.state
  partition.metrics.fill(state.bytes, state.maximumBytes)
  if (state.bytes >= state.maximumBytes * fillAlarm) {
    yield* Effect.logWarning(
      `the log of partition ${partition.id} is ${Math.floor((state.bytes / state.maximumBytes) * 100)} % full; what keeps it is the slowest of its reactors, or checkpoints that do not complete`
    )
  }
})
