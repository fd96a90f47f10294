/**
 * Writes checkpoints of a partition: taken by reference between two drains, written beside them, then superseded rows
 * and frames are removed (docs/architecture.md, rules 9 and 10). A process writes few of them concurrently, and every
 * call has a deadline.
 */
import { Duration, Effect } from "effect"
import { Pauses } from "../../../common/backoff.ts"
import type { Snapshot } from "../../core/protocol.ts"
import { describe } from "../../describe.ts"
import { decodeFrame, hashOf } from "../../frame.ts"
import {
  lookupDeadlineMillis,
  maximumExpiredRows,
  maximumExpiryRuns,
  minimumLogReserveBytes,
  saveDeadlineMillis
} from "../../limits.ts"
import { outboxName } from "../../outbox.ts"
import { CheckpointConflict, type CheckpointRecord, CheckpointsUnavailable } from "../../ports/Checkpoints.ts"
import { type Cursor, CursorsUnavailable } from "../../ports/Cursors.ts"
import type { JournalUnavailable, Log, LogState } from "../../ports/Journal.ts"
import { SignalsUnavailable } from "../../ports/Signals.ts"
import { deadline } from "../deadline.ts"
import type { Partition } from "../partition/Partition.ts"
import { forgetSignals, forgettableThrough, purge, purgeableBelow } from "./purge.ts"

// Decides how much of a log stays behind its checkpoints (docs/architecture.md, rules 9 and 14): the frames younger
// than the engine's `logKeepMillis`, so that a PostgreSQL that was restored from a backup of that age catches up by
// itself, up to half of the log's bound.

/** The share of a log's bound that frames behind checkpoints may fill. */
export const keptShare = 0.5

/**
 * The first sequence from `from` below `to` for which `isYoung` is true; `to` if there is none. Reads few: places are
 * in the order of time.
 */
export const firstYoung = <E>(
  from: number,
  to: number,
  isYoung: (sequence: number) => Effect.Effect<boolean, E>
): Effect.Effect<number, E> =>
  Effect.gen(function* () {
    // Nearly always the oldest one is young: a log that is not as old as it may be.
    if (from >= to || (yield* isYoung(from))) return Math.min(from, to)
    let old = from
    let young = to
    while (young - old > 1) {
      const middle = old + Math.floor((young - old) / 2)
      if (yield* isYoung(middle)) young = middle
      else old = middle
    }
    return young
  })

/**
 * The sequence up to which frames are dropped because of their bytes: those over the share, by the mean size of a
 * frame.
 */
export const overShare = ({ bytes, firstSequence, lastSequence, maximumBytes }: LogState): number => {
  const over = bytes - maximumBytes * keptShare
  const frames = lastSequence - firstSequence + 1
  return over <= 0 || frames <= 0 ? firstSequence : firstSequence + Math.ceil(over / (bytes / frames))
}

/**
 * The sequence below which frames may be dropped, among those below `below`, which no start needs. `cutoffMillis`:
 * later frames stay.
 */
export const keptBelow = Effect.fnUntraced(function* (
  log: Log,
  below: number,
  cutoffMillis: number
): Effect.fn.Return<number, JournalUnavailable> {
  const state = yield* log.state
  const isYoung = (sequence: number) =>
    Effect.map(log.frameAt(sequence), (frame) => {
      if (frame === undefined) return false
      try {
        return decodeFrame(frame.bytes).now > cutoffMillis
      } catch {
        // Unreadable frames do not help to catch up.
        return false
      }
    })
  const from = Math.min(below, Math.max(state.firstSequence, overShare(state)))
  return yield* firstYoung(from, below, isYoung)
})

/**
 * The fill of a log at which operators are warned (docs/architecture.md, rule 14), and reactors store their position.
 */
const fillAlarm = 0.7

/** The pause after a checkpoint, or the cleaning behind it, has failed; it doubles from the first to the last. */
const firstRetryMillis = 1_000
const lastRetryMillis = 30_000

const late = () => new CheckpointsUnavailable({ message: "the checkpoints do not answer" })

/** Writes the partition's checkpoints for as long as the life lasts. */
export const writeCheckpoints = Effect.fnUntraced(function* (partition: Partition) {
  const pauses = new Pauses(firstRetryMillis, lastRetryMillis)
  while (true) {
    yield* partition.checkpointWakeup.wait
    // A failed checkpoint is tried again after a pause, even without a new request.
    while (!(yield* checkpoint(partition))) yield* Effect.sleep(Duration.millis(pauses.afterFailure()))
    pauses.reset()
  }
})

/**
 * Takes and writes one checkpoint and cleans up behind it. Failures are logged and return false; the next one tries
 * again.
 */
export const checkpoint = (partition: Partition, isStuck = false): Effect.Effect<boolean> =>
  // Otherwise a shutdown's checkpoint would conflict with one still being written, and be left out.
  partition.checkpointTurn.withPermit(partition.context.checkpointTurns.withPermit(takeAndWrite(partition, isStuck)))

const takeAndWrite = Effect.fnUntraced(function* (partition: Partition, isStuck: boolean) {
  const taken = partition.core.checkpoints.snapshot()
  if (taken !== undefined) {
    const written = yield* Effect.exit(write(partition, taken))
    if (written._tag === "Failure") {
      yield* Effect.logWarning(`partition ${partition.id}: a checkpoint was not written`, written.cause)
      return false
    }
  }
  const cleaned = yield* Effect.exit(Effect.andThen(cleanUp(partition, isStuck), expire(partition)))
  if (cleaned._tag === "Success") return true
  yield* Effect.logWarning(`partition ${partition.id}: cleaning up behind a checkpoint failed`, cleaned.cause)
  return false
})

const write = Effect.fnUntraced(function* (partition: Partition, taken: Snapshot) {
  const { checkpoints } = partition.context
  const { record, rows } = taken
  const previous = partition.core.newestCheckpoint?.sequence ?? 0
  const saved = yield* Effect.result(
    // When an encoder throws while the store reads, that is the actor's defect and no reason to restart.
    Effect.catchDefect(deadline(checkpoints.save({ record, previous, rows }), saveDeadlineMillis, late), (defect) =>
      Effect.fail(new Error(describe(defect)))
    )
  )
  if (saved._tag === "Success") return partition.core.checkpoints.saved(record, taken.count, taken.bytes)
  // The answer may have been lost after the commit, or another owner wrote: read the stored checkpoint.
  const [newest] = yield* deadline(checkpoints.list(partition.id), lookupDeadlineMillis, late)
  if (newest === undefined || newest.sequence <= previous) return yield* Effect.fail(saved.failure)
  if (!(yield* isOurs(partition, newest))) {
    partition.restart(`a checkpoint at frame ${newest.sequence} was written by somebody else`)
    return yield* Effect.fail(saved.failure)
  }
  const isThisOne = newest.sequence === record.sequence
  // A checkpoint that we gave up and that was written after all covers the changes up to its snapshot.
  partition.core.checkpoints.saved(
    newest,
    isThisOne ? taken.count : Number.POSITIVE_INFINITY,
    isThisOne ? taken.bytes : 0
  )
  if (!isThisOne && saved.failure instanceof CheckpointConflict) partition.core.wantCheckpoint()
})

/** Whether a checkpoint covers frames that we have. One above our head is a later owner's. */
const isOurs = Effect.fnUntraced(function* (partition: Partition, { hash, sequence }: CheckpointRecord) {
  const frame = yield* partition.log!.frameAt(sequence)
  return frame !== undefined && hashOf(frame.bytes) === hash && sequence <= partition.core.head.sequence
})

const cleanUp = Effect.fnUntraced(function* (partition: Partition, isStuck: boolean) {
  const { checkpoints, cursors, reactors } = partition.context
  const { id } = partition
  const log = partition.log!
  yield* deadline(checkpoints.prune(id, partition.earlierKinds()), saveDeadlineMillis, late)
  const known = new Set([...reactors.map(({ name }) => name), outboxName])
  // Without messages in the log only this moves the outbox's cursor.
  yield* partition.courier?.save ?? Effect.void
  const lateCursors = () => new CursorsUnavailable({ message: "the cursors do not answer" })
  const all = yield* deadline(cursors.list(id), lookupDeadlineMillis, lateCursors)
  const own = all.filter(({ reactor }) => known.has(reactor))
  const records = yield* deadline(checkpoints.list(id), lookupDeadlineMillis, late)
  partition.prunedThrough(records[1]?.sequence ?? 0)
  // A reactor that has not moved yet needs the log from its beginning.
  const isTooFull = isStuck && (yield* hasNoRoom(log))
  const unneeded = own.length === known.size ? purgeableBelow(records, own, isTooFull) : undefined
  const keepMillis = partition.context.config.logKeepMillis
  const below =
    unneeded === undefined || isTooFull || keepMillis === 0
      ? unneeded
      : yield* keptBelow(log, unneeded, partition.now().wall - keepMillis)
  if (below !== undefined && (yield* purge(log, below))) {
    const forgotten = all.filter(({ reactor, sequence }) => !known.has(reactor) && sequence < below)
    yield* Effect.forEach(forgotten, (cursor) => forget(partition, cursor), { discard: true })
  }
  yield* forgetDecided(partition, records)
  const state = yield* log.state
  partition.core.noteFill(state)
  partition.metrics.fill(state.bytes, state.maximumBytes)
  // Reactors then store their position even if none of these frames was for them.
  partition.needsRoom(state.bytes >= state.maximumBytes * fillAlarm)
  if (!partition.wantsPositions) return
  const percent = Math.floor((state.bytes / state.maximumBytes) * 100)
  yield* Effect.logWarning(
    `the log of partition ${id} is ${percent} % full; what keeps it is the slowest of its reactors, or checkpoints that do not complete`
  )
})

/** Removes rows that had expired at the newest checkpoint. After some statements the rest waits for the next one. */
const expire = Effect.fnUntraced(function* ({ core, id, context }: Partition) {
  const { checkpoints } = context
  const now = core.newestCheckpoint?.now ?? 0
  for (let run = 0; run < maximumExpiryRuns; run++) {
    const gone = yield* deadline(checkpoints.expire(id, now, maximumExpiredRows), saveDeadlineMillis, late)
    if (gone < maximumExpiredRows) return
  }
})

/**
 * Removes the signals that no start needs any more. A store that is away keeps them until the next checkpoint; that is
 * no reason to repeat the rest of the cleaning.
 */
const forgetDecided = Effect.fnUntraced(function* (partition: Partition, records: ReadonlyArray<CheckpointRecord>) {
  const { signals } = partition.context
  const through = forgettableThrough(records)
  if (signals === undefined || through === undefined || partition.hasForgotten(through)) return
  const late = () => new SignalsUnavailable({ message: "the signals do not answer" })
  const decided = partition.core.head.signalSequence
  const forgotten = yield* Effect.result(
    deadline(forgetSignals(signals, partition.id, through, decided), lookupDeadlineMillis, late)
  )
  if (forgotten._tag === "Failure")
    return yield* Effect.logWarning(
      `partition ${partition.id}: signals up to ${through} are kept for now: ${forgotten.failure.message}`
    )
  if (forgotten.success) partition.forgotThrough(through)
})

/** Whether not even a claim may fit. */
const hasNoRoom = (log: Log) =>
  Effect.map(log.state, ({ bytes, maximumBytes }) => bytes + minimumLogReserveBytes > maximumBytes)

/** Forgets the cursors of reactors that are no longer configured. If one comes back, it begins like a new one. */
const forget = Effect.fnUntraced(function* (partition: Partition, { reactor, sequence }: Cursor) {
  const { cursors } = partition.context
  const lateCursors = () => new CursorsUnavailable({ message: "the cursors do not answer" })
  yield* deadline(cursors.forget(partition.id, reactor), lookupDeadlineMillis, lateCursors)
  yield* Effect.logWarning(
    `reactor ${reactor} of partition ${partition.id} is not configured any more: its place, frame ${sequence}, is given up with the frames behind it`
  )
})
