/**
 * How a partition comes to know its state: the witnesses against the log, the newest checkpoint, the log's tail, and the claim (architecture,
 * rules 4 and 9).
 */
import { Data, Duration, Effect, Random, Stream } from "effect"
import { formatAddress } from "./address.ts"
import { append } from "./append.ts"
import { type CheckpointRecord, CheckpointsUnavailable, emptyLogHash, type LogPosition } from "./Checkpoints.ts"
import { addressOf } from "./decideContext.ts"
import {
  decodeFrame,
  emptyHead,
  encodeClaim,
  type Frame,
  FrameInvalid,
  type Head,
  hashOf,
  headAfter,
  identityOf
} from "./frame.ts"
import { JournalUnavailable, type Log, type LogState, type StoredFrame } from "./Journal.ts"
import { maximumLoadBatch, maximumStateBytes } from "./limits.ts"
import { baseIsGone, baseIsThere, fillCells } from "./loading.ts"
import type { Cell } from "./memory.ts"
import type { Partition } from "./Partition.ts"
import { describe } from "./poison.ts"
import { decodeFact } from "./records.ts"
import { Timers } from "./timers.ts"

/** The log is not the one that checkpoints, cursors or its own chain speak of. Nothing was changed; an operator has to decide. */
export class RecoveryRefused extends Data.TaggedError("RecoveryRefused")<{ readonly message: string }> {}

/** A claim that is refused reads on and claims again, so often at most before the partition starts over. */
const maximumClaims = 20

/** Checkpoints are at most this part of a full log apart, because it is purged up to the second-newest. */
const checkpointsPerLog = 8

/** Somebody who has seen the log: what they saw must still be there. */
export interface Witness extends LogPosition {
  /** `the checkpoint`, `the cursor of webhooks`… */
  readonly who: string
  /** A witness that needs the frames after its place: it must not lie before the log's beginning. */
  readonly needsTail: boolean
}

const advice = (partition: number): string =>
  `Nothing was changed. Restore the log's storage, or give the rest up with \`sluice recover --partition ${partition} --accept-loss\`, which prints what goes.`

/**
 * Compares witnesses with the log; answers a sentence for the operator on the first that does not fit (rule 9: none above the last sequence, below
 * the first - 1, or with another hash).
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
        return `partition ${partition}: ${witness.who} stands at frame ${witness.sequence}, but the log begins at ${state.firstSequence}: frames ${witness.sequence + 1} to ${state.firstSequence - 1} are missing (the stream was purged by hand). ${advice(partition)}`
      }
      const found = yield* hashAt(log, state, witness.sequence)
      if (found !== undefined && found !== witness.hash) {
        return `partition ${partition}: ${witness.who} has seen another frame ${witness.sequence} than the log now holds (the stream was made anew or restored from an older copy, and written to since). ${advice(partition)}`
      }
    }
    return undefined
  })

/** The hash of the frame at a place, from the frame itself or from the next one's chain; undefined when the log cannot say. */
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

/** All that have seen a partition's log: checkpoints, the cursors, and this process. */
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

/** Opens the log, examines the witnesses, loads the newest checkpoint's head and replays the tail. */
export const recover = Effect.fnUntraced(function* (partition: Partition) {
  const { checkpoints, cursors, journal, reactors, sabotage } = partition.parts
  partition.beginLife()
  const log = yield* journal.open(partition.id)
  const records = yield* checkpoints.list(partition.id)
  const state = yield* log.state
  if (!sabotage.has("no-witness-check")) {
    const seen = witnessesOf(records, yield* cursors.list(partition.id), reactors)
    const own: ReadonlyArray<Witness> =
      partition.witness === undefined ? [] : [{ who: "this process", ...partition.witness, needsTail: false }]
    const complaint = yield* examine(log, state, [...seen, ...own])
    if (complaint !== undefined) return yield* new RecoveryRefused({ message: complaint })
  }
  const newest = records[0]
  if (newest === undefined && state.firstSequence > 1) {
    return yield* new RecoveryRefused({
      message: `partition ${partition.id}: there is no checkpoint, but the log begins at ${state.firstSequence}: frames 1 to ${state.firstSequence - 1} are missing (the checkpoints were lost, or the stream was purged by hand). Restore the database, or the log.`
    })
  }
  partition.log = log
  partition.newestCheckpoint = newest
  partition.head = newest === undefined ? emptyHead : headOf(newest)
  partition.timers = new Timers(newest !== undefined)
  partition.checkpointAfterBytes = Math.min(
    partition.parts.config.checkpointBytes,
    Math.floor(state.maximumBytes / checkpointsPerLog)
  )
  partition.renewDrain()
  yield* replay(partition, log, state.lastSequence)
  partition.metrics.replayed(partition.head.sequence - (newest?.sequence ?? 0))
  partition.framesSinceCheckpoint = partition.head.sequence - (newest?.sequence ?? 0)
})

/** The head that a checkpoint stands for. */
export const headOf = ({ epoch, hash, now, number, sequence, signalSequence }: CheckpointRecord): Head => ({
  sequence,
  hash,
  epoch,
  number,
  now,
  signalSequence
})

/** Applies the frames after the head up to `through`. */
export const replay = Effect.fnUntraced(function* (partition: Partition, log: Log, through: number) {
  if (through <= partition.head.sequence) return
  const changed = new Set<Cell>()
  yield* Stream.runForEach(log.read(partition.head.sequence + 1, through), (batch) =>
    Effect.gen(function* () {
      const frames: Array<Frame> = []
      for (const stored of batch) {
        frames.push(yield* link(partition, stored))
        partition.bytesSinceCheckpoint += stored.bytes.length
      }
      yield* loadTouched(partition, frames)
      for (const [index, frame] of frames.entries()) {
        const problem = apply(partition, batch[index]!.sequence, frame, changed)
        if (problem !== undefined) {
          return yield* new RecoveryRefused({ message: `partition ${partition.id}: ${problem}` })
        }
      }
    })
  )
  for (const cell of changed) {
    partition.memory.dirty.add(cell)
    const { wakeAt } = cell.actor.options
    const at = wakeAt === undefined ? undefined : wakeAt(cell.state)
    if (at === undefined || at === cell.wakeAt) {
      cell.wakeAt = at ?? Number.POSITIVE_INFINITY
      continue
    }
    cell.wakeAt = at
    partition.timers.add(addressOf(cell), at)
  }
})

/** Decodes a frame, looks that it follows the head, and makes it the head. */
const link = (partition: Partition, stored: StoredFrame): Effect.Effect<Frame, RecoveryRefused> =>
  Effect.suspend(() => {
    const { head } = partition
    const refuse = (what: string) =>
      Effect.fail(
        new RecoveryRefused({
          message: `partition ${partition.id}: frame ${stored.sequence} of the log ${what}. ${advice(partition.id)}`
        })
      )
    let frame: Frame
    try {
      frame = decodeFrame(stored.bytes)
    } catch (cause) {
      return refuse(`cannot be read: ${cause instanceof FrameInvalid ? cause.message : describe(cause)}`)
    }
    if (frame.previousHash !== head.hash) return refuse("does not follow the one before it: its chain is broken")
    if (frame.number !== head.number + 1) return refuse(`has number ${frame.number} after ${head.number}`)
    if (frame.epoch < head.epoch) return refuse(`has epoch ${frame.epoch} after ${head.epoch}`)
    partition.head = headAfter(stored.sequence, stored.bytes, frame)
    return Effect.succeed(frame)
  })

const loadTouched = Effect.fnUntraced(function* (partition: Partition, frames: ReadonlyArray<Frame>) {
  const { memory, newestCheckpoint } = partition
  const missing: Array<Cell> = []
  for (const frame of frames) {
    let last: unknown
    for (const { actor, event } of frame.records) {
      if (actor === last || event !== undefined) continue
      last = actor
      const index = memory.registry.actorIndex(actor.kind)
      const organization = memory.organization(actor.organization)
      if (index < 0 || organization === undefined) continue
      const known = organization.cell(index, actor.key)
      if (known !== undefined) continue
      missing.push(memory.cell(organization, index, actor.key))
    }
  }
  for (let from = 0; from < missing.length; from += maximumLoadBatch) {
    const cells = missing.slice(from, from + maximumLoadBatch)
    const rows =
      newestCheckpoint === undefined
        ? []
        : yield* partition.parts.checkpoints.load(partition.id, cells.map(addressOf), newestCheckpoint.sequence)
    if (newestCheckpoint !== undefined && rows.length < cells.length && !(yield* baseIsThere(partition))) {
      return yield* new CheckpointsUnavailable({ message: baseIsGone })
    }
    fillCells(partition, cells, rows)
  }
})

/** Applies one frame's facts; answers what went wrong. */
const apply = (partition: Partition, sequence: number, frame: Frame, changed: Set<Cell>): string | undefined => {
  const { memory } = partition
  const { registry } = memory
  for (const { actor, event, fact } of frame.records) {
    if (event !== undefined) continue
    const index = registry.actorIndex(actor.kind)
    const cell = memory.organizations.get(actor.organization)?.cell(index, actor.key)
    try {
      const decoded = decodeFact(registry, sequence, actor, fact)
      if (cell === undefined) throw new Error("its actor has no place in memory")
      if (cell.broken !== undefined) throw new Error(cell.broken)
      const options = cell.actor.options
      // the row's state belongs to nobody else, so it may be changed in place; a shared initial state may not
      cell.state = options.evolve(
        cell.changedAt === 0 && options.copy !== undefined ? options.copy(cell.state) : cell.state,
        decoded
      )
    } catch (cause) {
      return cause instanceof FrameInvalid
        ? cause.message
        : `frame ${sequence} has a fact of ${formatAddress(actor)} that cannot be applied: ${describe(cause)}`
    }
    cell.changedAt = sequence
    // not known without encoding: the next write measures it
    cell.bytes = maximumStateBytes
    changed.add(cell)
  }
  return undefined
}

/**
 * Appends the claim frame; a refused claim reads on and claims again. Afterwards the partition is the owner of its epoch. False when the log is
 * full, with nothing stored.
 */
export const claim = Effect.fnUntraced(function* (partition: Partition) {
  const log = partition.log!
  for (let attempt = 0; attempt < maximumClaims; attempt++) {
    const { head } = partition
    const clock = partition.parts.clock.currentTimeMillisUnsafe()
    const header = {
      epoch: head.epoch + 1,
      number: head.number + 1,
      now: Math.max(clock, head.now),
      previousHash: head.hash,
      signalSequence: head.signalSequence
    }
    const owner = `${partition.parts.instance}-${yield* Random.nextIntBetween(0, 0x1_0000_0000)}`
    const bytes = encodeClaim(header, owner)
    const startedAt = partition.nanos()
    const identity = identityOf(partition.id, header.epoch, header.number)
    const outcome = yield* append(log, { bytes, identity, expectedLast: head.sequence }, partition.parts.sabotage)
    partition.metrics.appended(outcome.branch, Number(partition.nanos() - startedAt) / 1e6)
    switch (outcome._tag) {
      case "Committed":
        partition.head = headAfter(head.sequence + 1, bytes, header)
        partition.confirmedAt = outcome.confirmedAtNanos
        partition.framesSinceCheckpoint++
        return true
      case "Fenced": {
        // somebody else wrote: see what, after a moment in which they may finish what they do
        yield* Effect.sleep(Duration.millis(yield* Random.nextIntBetween(1, 50)))
        const state = yield* log.state
        if (state.lastSequence < head.sequence) {
          return yield* new JournalUnavailable({
            partition: partition.id,
            message: `the log ends at ${state.lastSequence}, before frame ${head.sequence} that was read from it`
          })
        }
        yield* replay(partition, log, state.lastSequence)
        continue
      }
      case "Full":
        return false
      default:
        return yield* new JournalUnavailable({ partition: partition.id, message: "the claim's outcome is not known" })
    }
  }
  return yield* new JournalUnavailable({
    partition: partition.id,
    message: `${maximumClaims} claims were refused: other owners write to this log`
  })
})
