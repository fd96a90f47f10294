/**
 * Recovers a partition without a checkpoint that continues in the log, and keeps every readable frame
 * (docs/architecture.md, rule 9). A checkpoint that is older than the log's beginning, such as one of a restored
 * backup, gets the log's frames replayed over it. A checkpoint that the log does not reach, or contradicts, stays the
 * state, and the log continues behind its own end, so that reactors still find the records that they have not seen.
 */
import { Effect } from "effect"
import { decodeFrame, emptyHead, type Head, hashOf, placesOf } from "../frame.ts"
import { Checkpoints } from "../ports/Checkpoints.ts"
import type { LogState, StoredFrame } from "../ports/Journal.ts"
import { headOf } from "../shell/partition/recover.ts"
import { appendClaim, type Findings, followChain, lostEpochs, type Mended, RecoverFailed, time } from "./Findings.ts"

/** The most empty frames in place of lost ones. */
const maximumFillers = 1_000_000

const minutes = (fromMillis: number, toMillis: number): string =>
  `${Math.max(0.1, Math.round((toMillis - fromMillis) / 6_000) / 10)} minutes`

/** The head before a log's first frame, derived from that frame; undefined if it cannot be read. */
export const headBefore = (first: StoredFrame): Head | undefined => {
  try {
    const frame = decodeFrame(first.bytes)
    const { epoch, now, number, previousHash } = frame
    return { sequence: first.sequence - 1, hash: previousHash, epoch, number: number - 1, now, ...placesOf(frame) }
  } catch {
    return undefined
  }
}

/** Mends a log that has frames. */
export const keepFrames = Effect.fnUntraced(function* (found: Findings) {
  const { log, records, state } = found
  const [newest] = records
  const first = yield* log.frameAt(state.firstSequence)
  const before = first === undefined ? undefined : headBefore(first)
  const end = before === undefined ? undefined : yield* followChain(log, state, before)
  return yield* before !== undefined && end !== undefined && (newest?.sequence ?? 0) < before.sequence
    ? replayOver(found, before, end)
    : goOnBehind(found, end)
})

/**
 * Replays the log over a checkpoint that is older than its beginning: the checkpoint's states become those before the
 * first frame, and a start replays all frames over them.
 */
const replayOver = Effect.fnUntraced(function* (
  { dryRun, lines, partition, records, state }: Findings,
  before: Head,
  end: Head
) {
  const checkpoints = yield* Checkpoints
  const [newest] = records
  const since = newest?.now ?? 0
  lines.push(
    `Missing: frames ${(newest?.sequence ?? 0) + 1} to ${before.sequence}${newest === undefined ? "" : `, ${minutes(since, before.now)} from ${time(since)} to ${time(before.now)}`}: neither the database nor the log has them.`,
    `Kept: all frames of the log. A start replays ${state.firstSequence} to ${state.lastSequence} over ${newest === undefined ? "nothing" : `the checkpoint at frame ${newest.sequence}`}; an organization whose facts do not fit is taken out of service and said.`
  )
  if (!dryRun) yield* checkpoints.save({ record: { ...before, partition }, previous: newest?.sequence ?? 0, rows: [] })
  const mended: Mended = { head: end, end, lost: { sinceMillis: since, untilMillis: before.now } }
  return mended
})

/** Keeps the checkpoint as the state, although it does not continue in the log; the log continues behind its end. */
const goOnBehind = Effect.fnUntraced(function* (
  { dryRun, lines, log, partition, records, state }: Findings,
  end: Head | undefined
) {
  const checkpoints = yield* Checkpoints
  const newest = records[0] === undefined ? emptyHead : headOf(records[0])
  const last = Math.max(newest.sequence, state.lastSequence) + 2
  if (last - state.lastSequence > maximumFillers)
    return yield* new RecoverFailed({
      message: `partition ${partition}: the log ends ${last - state.lastSequence} frames before the checkpoint, which is too much to go on behind its end: restore a newer copy of the log`
    })
  lines.push(
    `Kept: the state of the checkpoint at frame ${newest.sequence} of ${time(newest.now)}, and frames ${state.firstSequence} to ${state.lastSequence} of the log, for reactors that have not seen them. Lost: every decision that neither has. The log goes on with frame ${last + 1}.`
  )
  const base: Head = {
    ...newest,
    epoch: Math.max(newest.epoch, end?.epoch ?? 0) + lostEpochs,
    now: Math.max(newest.now, end?.now ?? 0),
    number: Math.max(newest.number, end?.number ?? 0)
  }
  const lost: Mended["lost"] = { sinceMillis: newest.now, untilMillis: undefined }
  if (dryRun) return { head: { ...base, sequence: last }, end, lost } satisfies Mended
  const heads = yield* fill(log, state, base, last)
  let previous = records[0]?.sequence ?? 0
  for (const head of heads) {
    yield* checkpoints.save({ record: { ...head, partition }, previous, rows: [] })
    previous = head.sequence
  }
  // Removes checkpoints that do not fit the log: two newer checkpoints have all of their states.
  yield* checkpoints.prune(partition)
  return { head: heads[1], end: end === undefined ? undefined : heads[1], lost } satisfies Mended
})

/** Appends empty frames up to a place; returns the heads of the last two. */
const fill = Effect.fnUntraced(function* (log: Findings["log"], state: LogState, base: Head, last: number) {
  const stored = yield* log.frameAt(state.lastSequence)
  if (stored === undefined)
    return yield* new RecoverFailed({ message: `partition ${log.partition}: the log's last frame cannot be read now` })
  let head: Head = { ...base, sequence: state.lastSequence, hash: hashOf(stored.bytes) }
  let beforeLast = head
  while (head.sequence < last) {
    beforeLast = head
    head = {
      ...head,
      sequence: head.sequence + 1,
      hash: yield* appendClaim(log, head, head.epoch, head.now, false),
      number: head.number + 1
    }
  }
  return [beforeLast, head] as const
})
