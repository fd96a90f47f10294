/**
 * Recovers a partition's state: the witnesses against the log, the newest checkpoint, the log's tail, and the claim
 * (docs/architecture.md, rules 4 and 9).
 */
import { Data, Duration, Effect, Random, Stream } from "effect"
import type { Replay } from "../../core/log/Replay.ts"
import { emptyHead, encodeClaim, type Head, headAfter, identityOf, placesOf } from "../../frame.ts"
import { loadDeadlineMillis, lookupDeadlineMillis, maximumLoadBatch } from "../../limits.ts"
import { outboxName } from "../../outbox.ts"
import { type CheckpointRecord, CheckpointsUnavailable, emptyLogHash } from "../../ports/Checkpoints.ts"
import { type Cursor, CursorsUnavailable } from "../../ports/Cursors.ts"
import { JournalRefused, JournalUnavailable, type Log, type LogState, type StoredFrame } from "../../ports/Journal.ts"
import { deadline } from "../deadline.ts"
import { messagesOf, outboxStart } from "../outbox/readMessages.ts"
import { baseIsGone, baseIsThere } from "../stores/readCheckpoints.ts"
import { advice, examine, type Witness, witnessesOf } from "../witnesses.ts"
import { append } from "./append.ts"
import { foreignLog, mayAdopt, unknownLog } from "./ownLogs.ts"
import type { Partition } from "./Partition.ts"

/**
 * The log contradicts the checkpoints, the cursors or its own chain. Nothing was changed; an operator has to decide.
 */
export class RecoveryRefused extends Data.TaggedError("RecoveryRefused")<{ readonly message: string }> {}

/** Refused claims, each followed by a read of the log, before the partition starts over. */
const maximumClaims = 20

/**
 * The stores' records about a partition. They are read before the log's end, because a cursor may move with the log.
 */
interface Seen {
  readonly records: ReadonlyArray<CheckpointRecord>
  readonly cursors: ReadonlyArray<Cursor>
}

const readSeen = Effect.fnUntraced(function* (partition: Partition) {
  const { checkpoints, cursors } = partition.context
  const seen: Seen = {
    records: yield* deadline(
      checkpoints.list(partition.id),
      lookupDeadlineMillis,
      () => new CheckpointsUnavailable({ message: "the checkpoints do not answer" })
    ),
    cursors: yield* deadline(
      cursors.list(partition.id),
      lookupDeadlineMillis,
      () => new CursorsUnavailable({ message: "the cursors do not answer" })
    )
  }
  return seen
})

/** Whether the stores say the same twice, so that a complaint is not about a log that moved on in between. */
const isSame = (left: Seen, right: Seen): boolean =>
  JSON.stringify([left.records, left.cursors]) === JSON.stringify([right.records, right.cursors])

/** Opens the log, examines the witnesses, loads the newest checkpoint's head and replays the tail. */
export const recover = Effect.fnUntraced(function* (partition: Partition) {
  const { deployment, journal, reactors } = partition.context
  partition.beginLife()
  const seen = yield* readSeen(partition)
  // A log whose frames were seen is not created again: this may be the wrong server.
  const mustExist = [...seen.records, ...seen.cursors].some(({ sequence }) => sequence > 0)
  const log = yield* journal.open(partition.id, deployment.id, mustExist)
  const foreign = foreignLog(log, deployment)
  if (foreign !== undefined) return yield* new JournalRefused({ message: foreign })
  const own: ReadonlyArray<Witness> =
    partition.witness === undefined ? [] : [{ who: "this process", ...partition.witness, needsTail: false }]
  // After the witnesses: an owner that still writes moves them, and then a witness could seem to be ahead of the log.
  const state = yield* log.state
  const witnesses = [...witnessesOf(seen.records, seen.cursors, [...reactors, { name: outboxName }]), ...own]
  const complaint = (yield* examine(log, state, witnesses)) ?? withoutCheckpoint(partition.id, seen.records[0], state)
  if (complaint !== undefined) {
    if (isSame(seen, yield* readSeen(partition))) return yield* new RecoveryRefused({ message: complaint })
    return yield* new JournalUnavailable({ partition: partition.id, message: "another owner writes to it meanwhile" })
  }
  if (log.deployment === undefined) {
    if (!(yield* mayAdopt(log, state, witnesses))) {
      // Another process of this deployment may have adopted the log since, and written to it.
      const { deployment: owner } = yield* journal.open(partition.id, deployment.id)
      if (owner === undefined) return yield* new JournalRefused({ message: unknownLog(log, deployment) })
      return yield* new JournalUnavailable({ partition: partition.id, message: "it has just been adopted" })
    }
    yield* log.adopt(deployment.id)
  }
  partition.opened(log)
  const unmoved = { partition: partition.id, reactor: outboxName, sequence: 0, hash: emptyLogHash }
  const cursor = seen.cursors.find(({ reactor }) => reactor === outboxName) ?? unmoved
  partition.outbox.begin(yield* outboxStart(partition, cursor))
  yield* replayAll(partition, log, seen.records[0], state)
})

const withoutCheckpoint = (
  partition: number,
  newest: CheckpointRecord | undefined,
  { firstSequence }: LogState
): string | undefined =>
  newest === undefined && firstSequence > 1
    ? `partition ${partition}: there is no checkpoint, but the log begins at ${firstSequence}: frames 1 to ${firstSequence - 1} are missing (the checkpoints were lost, or the stream was purged by hand). Restore the database, or the log.`
    : undefined

/** The log's head at a checkpoint. */
export const headOf = (record: CheckpointRecord): Head => {
  const { epoch, hash, now, number, sequence } = record
  return { sequence, hash, epoch, number, now, ...placesOf(record) }
}

/** Folds the tail over a checkpoint. Folds it again with care when facts of some organizations could not be folded. */
const replayAll = Effect.fnUntraced(function* (
  partition: Partition,
  log: Log,
  base: CheckpointRecord | undefined,
  state: LogState
) {
  const { careful, core, metrics } = partition
  while (true) {
    const replay = core.beginReplay(base, base === undefined ? emptyHead : headOf(base), careful)
    const bytes = yield* replayTail(partition, log, replay, state.lastSequence)
    const broken = core.endReplay(replay, bytes, state)
    metrics.replayed(core.head.sequence - (base?.sequence ?? 0))
    if (broken.size === 0) return
    for (const organization of broken) careful.add(organization)
    core.beginLife()
  }
})

/** Applies the frames up to `through`; returns their bytes. */
const replayTail = Effect.fnUntraced(function* (partition: Partition, log: Log, replay: Replay, through: number) {
  if (through <= replay.head.sequence) return 0
  let bytes = 0
  replay.onFrame = (head, frame) => partition.outbox.take({ ...head, messages: messagesOf(head.sequence, frame) })
  const batches = log.read(replay.head.sequence + 1, through)
  yield* Stream.runForEach(batches, (batch: ReadonlyArray<StoredFrame>) =>
    Effect.gen(function* () {
      const cells = replay.link(batch)
      if (typeof cells === "string") return yield* refuse(partition, cells)
      for (const { bytes: frame } of batch) bytes += frame.length
      yield* fillMissing(partition, replay, cells)
      const problem = replay.apply()
      if (problem !== undefined) return yield* new RecoveryRefused({ message: `partition ${partition.id}: ${problem}` })
    })
  )
  return bytes
})

const refuse = (partition: Partition, what: string) =>
  Effect.fail(new RecoveryRefused({ message: `partition ${partition.id}: ${what}. ${advice(partition.id)}` }))

/** Reads the rows of actors that the tail changes. */
const fillMissing = Effect.fnUntraced(function* (
  partition: Partition,
  replay: Replay,
  missing: Exclude<ReturnType<Replay["link"]>, string>
) {
  const base = partition.core.newestCheckpoint
  for (let from = 0; from < missing.length; from += maximumLoadBatch) {
    const cells = missing.slice(from, from + maximumLoadBatch)
    if (base === undefined) {
      replay.fill(cells, [])
      continue
    }
    const addresses = cells.map(({ address }) => address)
    const late = () => new CheckpointsUnavailable({ message: "the checkpoints do not answer" })
    const load = partition.context.checkpoints.load(partition.id, addresses, base.sequence)
    const rows = yield* deadline(load, loadDeadlineMillis, late)
    if (rows.length < cells.length && !(yield* deadline(baseIsThere(partition), lookupDeadlineMillis, late)))
      return yield* new CheckpointsUnavailable({ message: baseIsGone })
    replay.fill(cells, rows)
  }
})

/**
 * Appends the claim frame. After a refused claim it reads the others' frames and claims again. Afterwards the partition
 * owns its epoch. False when the log is full; a copy of the claim may still be stored, and the next claim then finds
 * it.
 */
export const claim = Effect.fnUntraced(function* (partition: Partition) {
  const log = partition.log!
  const { core, id } = partition
  for (let attempt = 0; attempt < maximumClaims; attempt++) {
    const { head } = core
    const header = {
      epoch: head.epoch + 1,
      number: head.number + 1,
      now: Math.max(partition.now().wall, head.now),
      previousHash: head.hash,
      ...placesOf(head)
    }
    const owner = `${partition.context.instance}-${yield* Random.nextIntBetween(0, 0x1_0000_0000)}`
    const bytes = encodeClaim(header, owner)
    const begunAt = partition.now().monotonic
    const identity = identityOf(id, header.epoch, header.number)
    const outcome = yield* append(log, { bytes, identity, expectedLast: head.sequence }, partition.now)
    partition.metrics.appended(outcome.branch, partition.now().monotonic - begunAt)
    switch (outcome._tag) {
      case "Stored": {
        const claimed = headAfter(head.sequence + 1, bytes, header)
        core.claimed(claimed, bytes.length, outcome.provenAt, log.leaderMayBeDeposed)
        partition.sawEnd(claimed)
        partition.outbox.take({ ...claimed, messages: [] })
        partition.feed.wake()
        return true
      }
      case "Fenced":
        // Another owner wrote: give it a moment to finish, then read its frames.
        yield* Effect.sleep(Duration.millis(yield* Random.nextIntBetween(1, 50)))
        yield* readOn(partition, log, head)
        continue
      case "Refused":
        return false
      default:
        return yield* new JournalUnavailable({ partition: id, message: "the claim's outcome is not known" })
    }
  }
  return yield* new JournalUnavailable({
    partition: id,
    message: `${maximumClaims} claims were refused: other owners write to this log`
  })
})

/** Folds the frames that others have written since. */
const readOn = Effect.fnUntraced(function* (partition: Partition, log: Log, head: Head) {
  const state = yield* log.state
  if (state.lastSequence < head.sequence) {
    return yield* new JournalUnavailable({
      partition: partition.id,
      message: `the log ends at ${state.lastSequence}, before frame ${head.sequence} that was read from it`
    })
  }
  const replay = partition.core.continueReplay(partition.careful)
  const bytes = yield* replayTail(partition, log, replay, state.lastSequence)
  const broken = partition.core.endReplay(replay, bytes, state)
  // The next life folds them with care.
  for (const organization of broken) partition.careful.add(organization)
  if (broken.size > 0)
    return yield* new JournalUnavailable({ partition: partition.id, message: "a fact of it could not be applied" })
  partition.feed.wake()
})
