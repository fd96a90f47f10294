/**
 * Repairs a partition that refuses to start (docs/architecture.md, rules 7 and 9): an operator gives up the lost part,
 * or accepts the clock. Run it only while no process serves the deployment (the caller holds the placement's lock).
 * Needs `Journal`, `Checkpoints`, `Cursors`.
 */
import { Clock, Effect } from "effect"
import { decodeFrame, emptyHead, type Head, headAfter } from "../frame.ts"
import { outboxName } from "../outbox.ts"
import {
  type CheckpointRecord,
  Checkpoints,
  type CheckpointsUnavailable,
  emptyLogHash,
  type LogPosition
} from "../ports/Checkpoints.ts"
import { Cursors } from "../ports/Cursors.ts"
import { Journal } from "../ports/Journal.ts"
import { foreignLog, mayAdopt } from "../shell/partition/ownLogs.ts"
import { headOf } from "../shell/partition/recover.ts"
import { examine, hashAt, witnessesOf } from "../shell/witnesses.ts"
import {
  appendClaim,
  type Findings,
  followChain,
  type LossReport,
  lostEpochs,
  type Mended,
  RecoverFailed,
  time
} from "./Findings.ts"
import { keepFrames } from "./keptFrames.ts"

export interface LossOptions {
  /** Reports the losses, and changes nothing. */
  readonly dryRun: boolean
  /** Names of the engine's reactors. */
  readonly reactors: ReadonlyArray<string>
}

/**
 * Opens a log for a repair. Refuses a log of another deployment: an operator may give up only this deployment's data.
 */
const openOwn = Effect.fnUntraced(function* (partition: number) {
  const journal = yield* Journal
  const checkpoints = yield* Checkpoints
  const deployment = yield* checkpoints.deployment
  if (deployment === undefined)
    return yield* new RecoverFailed({
      message: "nothing has served with this database yet: there is nothing to recover"
    })
  const log = yield* journal.open(partition, deployment.id)
  const foreign = foreignLog(log, deployment)
  if (foreign !== undefined) return yield* new RecoverFailed({ message: foreign })
  return { deployment, log }
})

/**
 * Gives up the part that the log has lost, so that the partition can start. The log decides where a checkpoint still
 * fits it: later checkpoints and cursors go back to it. If none fits, readable frames stay: those behind a checkpoint
 * that is older than the log are replayed over it (`keptFrames.ts`), and otherwise the newest checkpoint becomes the
 * state and the log continues behind its end. A log without a frame continues after the newest checkpoint.
 */
export const acceptLoss = Effect.fnUntraced(function* (partition: number, options: LossOptions) {
  const checkpoints = yield* Checkpoints
  const cursors = yield* Cursors
  const { deployment, log } = yield* openOwn(partition)
  const state = yield* log.state
  const records = yield* checkpoints.list(partition)
  const all = yield* cursors.list(partition)
  const reactors = [...options.reactors, outboxName].map((name) => ({ name }))
  const witnesses = witnessesOf(records, all, reactors)
  const complaint = yield* examine(log, state, witnesses)
  const isOurs = log.deployment !== undefined || (yield* mayAdopt(log, state, witnesses))
  const lines: Array<string> = [`The log holds frames ${state.firstSequence} to ${state.lastSequence}.`]
  if (complaint !== undefined) lines.push(complaint)

  const fitting: Array<CheckpointRecord> = []
  for (const record of records) {
    const witness = { who: "", sequence: record.sequence, hash: record.hash, needsTail: true }
    if ((yield* examine(log, state, [witness])) === undefined) fitting.push(record)
  }
  const base = fitting[0]
  const baseHead = base !== undefined ? headOf(base) : state.firstSequence === 1 ? emptyHead : undefined
  const end = baseHead === undefined ? undefined : yield* followChain(log, state, baseHead)
  if (complaint === undefined && end !== undefined && isOurs) {
    return { partition, fits: true, lines: [...lines, "Everything fits it; nothing is to be given up."] } as LossReport
  }
  if (!isOurs)
    lines.push(
      `Taken over: ${log.home}, which carries no deployment's id and whose frames ${deployment.home} knows nothing of.`
    )
  if (!options.dryRun && log.deployment === undefined) yield* log.adopt(deployment.id)

  const found: Findings = {
    partition,
    dryRun: options.dryRun === true,
    log,
    state,
    records,
    cursors: all,
    fitting,
    end,
    lines
  }
  const mended = yield* end !== undefined && (state.lastSequence > 0 || records.length === 0)
    ? dropLater(found, end)
    : state.lastSequence >= state.firstSequence
      ? keepFrames(found)
      : Effect.map(
          restartFromCheckpoint(found),
          (head): Mended => ({ head, end: undefined, lost: lostAfter(records[0]) })
        )
  const { head } = mended
  yield* moveCursors({ ...found, end: mended.end }, head, [...options.reactors, outboxName])
  if (!options.dryRun)
    yield* appendClaim(log, head, head.epoch + lostEpochs, Math.max(head.now, yield* Clock.currentTimeMillis), false)
  return { partition, fits: false, lines, lost: mended.lost } as LossReport
}, Effect.scoped)

const lostAfter = (newest: CheckpointRecord | undefined): LossReport["lost"] => ({
  sinceMillis: newest?.now ?? 0,
  untilMillis: undefined
})

/** Removes checkpoints after the end of the log, which decides. */
const dropLater = Effect.fnUntraced(function* (
  { cursors, dryRun, fitting, lines, partition, records, state }: Findings,
  end: Head
): Effect.fn.Return<Mended, CheckpointsUnavailable, Checkpoints> {
  const checkpoints = yield* Checkpoints
  const [base] = fitting
  for (const record of records) {
    if (record === base || fitting.includes(record)) continue
    lines.push(`Dropped: the checkpoint at frame ${record.sequence} of ${time(record.now)}, and what only it knew.`)
  }
  const lastSeen = Math.max(0, ...records.map(({ sequence }) => sequence), ...cursors.map(({ sequence }) => sequence))
  if (lastSeen > state.lastSequence)
    lines.push(
      `Lost: decisions of frames ${state.lastSequence + 1} to ${lastSeen}, and of later ones if there were any.`
    )
  if (!dryRun) yield* checkpoints.discardAbove(partition, base?.sequence ?? 0)
  return { head: end, end, lost: { sinceMillis: end.now, untilMillis: undefined } }
})

/** Makes the newest checkpoint the state, because none continues in the log. Returns the head. */
const restartFromCheckpoint = Effect.fnUntraced(function* ({
  dryRun,
  lines,
  log,
  partition,
  records,
  state
}: Findings) {
  const checkpoints = yield* Checkpoints
  const [newest] = records
  const sequence = Math.max(state.lastSequence, newest?.sequence ?? 0)
  const head: Head = { ...(newest === undefined ? emptyHead : headOf(newest)), sequence }
  lines.push(
    newest === undefined
      ? "Lost: everything; there is no checkpoint that could stand for it."
      : `Kept: the state of the checkpoint at frame ${newest.sequence} of ${time(newest.now)}. Lost: every decision after it, and the log's frames.`
  )
  if (dryRun) return head
  yield* log.restartAfter(sequence)
  if (newest === undefined || sequence > newest.sequence)
    yield* checkpoints.save({ record: { ...head, partition }, previous: newest?.sequence ?? 0, rows: [] })
  return head
})

/** Moves the cursors that no longer fit to the log's beginning or to the head. */
const moveCursors = Effect.fnUntraced(function* (
  { cursors: all, dryRun, end, lines, log, partition, state }: Findings,
  head: Head,
  reactors: ReadonlyArray<string>
) {
  const cursors = yield* Cursors
  for (const cursor of all) {
    const witness = { ...cursor, who: "", needsTail: reactors.includes(cursor.reactor) }
    const fits = end !== undefined && (yield* examine(log, state, [witness])) === undefined
    if (fits) continue
    const to: LogPosition =
      end !== undefined && cursor.sequence < state.firstSequence
        ? {
            sequence: state.firstSequence - 1,
            hash: (yield* hashAt(log, state, state.firstSequence - 1)) ?? emptyLogHash
          }
        : { sequence: head.sequence, hash: head.hash }
    lines.push(
      `Moved: the cursor of ${cursor.reactor} from frame ${cursor.sequence} to ${to.sequence}; what it did for lost frames stays done.`
    )
    if (!dryRun) yield* cursors.reset({ partition, reactor: cursor.reactor, ...to })
  }
})

/**
 * Makes a partition accept the clock as it is, although its last frame is from the future. Returns the last frame's
 * time and the accepted one.
 */
export const acceptClock = Effect.fnUntraced(function* (partition: number) {
  const checkpoints = yield* Checkpoints
  const { log } = yield* openOwn(partition)
  const state = yield* log.state
  const [newest] = yield* checkpoints.list(partition)
  const stored = yield* log.frameAt(state.lastSequence)
  const head =
    stored !== undefined
      ? yield* Effect.try({
          try: () => headAfter(stored.sequence, stored.bytes, decodeFrame(stored.bytes)),
          catch: () => new RecoverFailed({ message: `the last frame of partition ${partition} cannot be read` })
        })
      : newest !== undefined && newest.sequence === state.lastSequence
        ? headOf(newest)
        : undefined
  if (head === undefined) {
    return yield* new RecoverFailed({ message: `partition ${partition} has no frame whose time could be accepted` })
  }
  const now = yield* Clock.currentTimeMillis
  yield* appendClaim(log, head, head.epoch + 1, now, true)
  return { lastFrame: head.now, accepted: now }
}, Effect.scoped)
