/**
 * What an operator can do about a partition that refuses to start (docs/architecture.md, rules 7 and 9): give up what
 * was lost, or accept the clock. Run it only while no process serves the deployment (the caller holds the placement's
 * lock). Needs `Journal`, `Checkpoints`, `Cursors`.
 */
import { Clock, Data, Effect, Random, Stream } from "effect"
import { type CheckpointRecord, Checkpoints, emptyLogHash, type LogPosition } from "../Checkpoints.ts"
import { type Cursor, Cursors } from "../Cursors.ts"
import { decodeFrame, emptyHead, encodeClaim, type Head, hashOf, headAfter, identityOf } from "../frame.ts"
import { Journal, type Log, type LogState } from "../Journal.ts"
import { outboxName } from "../outbox.ts"
import { append } from "../shell/append.ts"
import { foreignLog, mayAdopt } from "../shell/belonging.ts"
import { readClocks } from "../shell/Partition.ts"
import { headOf } from "../shell/recovering.ts"
import { examine, hashAt, witnessesOf } from "../shell/witnesses.ts"

/** The operation could not be done; the message says why. */
export class RecoverFailed extends Data.TaggedError("RecoverFailed")<{ readonly message: string }> {}

/** How many epochs `acceptLoss` skips, so that ids of lost frames are never derived again. */
const lostEpochs = 1_000

/** What `acceptLoss` found and did, or with `dryRun` would do. */
export interface LossReport {
  readonly partition: number
  /** Nothing is wrong: nothing was done. */
  readonly fits: boolean
  /** Sentences for the operator. */
  readonly lines: ReadonlyArray<string>
}

export interface LossOptions {
  /** Says what would go, and changes nothing. */
  readonly dryRun: boolean
  /** Names of the engine's reactors. */
  readonly reactors: ReadonlyArray<string>
}

const time = (millis: number): string => new Date(millis).toISOString()

/** Follows a log's chain from `base` to its end and answers the head there; undefined when the chain is broken. */
const followChain = Effect.fnUntraced(function* (log: Log, state: LogState, base: Head) {
  let head: Head | undefined = base
  yield* Stream.runForEach(log.read(base.sequence + 1, state.lastSequence), (batch) =>
    Effect.sync(() => {
      for (const stored of batch) {
        if (head === undefined) return
        try {
          const frame = decodeFrame(stored.bytes)
          head = frame.previousHash === head.hash ? headAfter(stored.sequence, stored.bytes, frame) : undefined
        } catch {
          head = undefined
        }
      }
    })
  )
  return head
})

/**
 * Opens a log to work on it. Refuses a log of another deployment: an operator may give up only this deployment's data.
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
 * Gives up what the log has lost, so that the partition can start. The log decides where a checkpoint still fits it: later checkpoints
 * and cursors go back to it. Where none fits, the newest checkpoint becomes the state and the log goes on after it.
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
  const head =
    end !== undefined && (state.lastSequence > 0 || records.length === 0)
      ? yield* dropLater(found, end)
      : yield* restartFromCheckpoint(found)
  yield* moveCursors(found, head, [...options.reactors, outboxName])
  if (!options.dryRun)
    yield* appendClaim(log, head, head.epoch + lostEpochs, Math.max(head.now, yield* Clock.currentTimeMillis), false)
  return { partition, fits: false, lines } as LossReport
}, Effect.scoped)

/** What was found of a partition whose log has lost something. Without `dryRun` it is mended; `lines` say what goes. */
interface Findings {
  readonly partition: number
  readonly dryRun: boolean
  readonly log: Log
  readonly state: LogState
  /** The checkpoints, the newest one first, and those of them that still fit the log. */
  readonly records: ReadonlyArray<CheckpointRecord>
  readonly fitting: ReadonlyArray<CheckpointRecord>
  readonly cursors: ReadonlyArray<Cursor>
  /** The head of the log as it is; undefined when no checkpoint continues in it. */
  readonly end: Head | undefined
  readonly lines: Array<string>
}

/** The log decides: checkpoints after its end go. Answers the head. */
const dropLater = Effect.fnUntraced(function* (
  { cursors, dryRun, fitting, lines, partition, records, state }: Findings,
  end: Head
) {
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
  return end
})

/** No checkpoint continues in the log: the newest one becomes the state. Answers the head. */
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

/** Lets a partition go on with the clock as it is, although its last frame is from the future. Answers the last frame's time and the accepted one. */
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

const appendClaim = Effect.fnUntraced(function* (
  log: Log,
  head: Head,
  epoch: number,
  now: number,
  acceptsClock: boolean
) {
  const { hash, signalSequence } = head
  const header = { epoch, number: head.number + 1, now, previousHash: hash, signalSequence }
  const bytes = encodeClaim(header, `recover-${yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)}`, acceptsClock)
  const identity = identityOf(log.partition, epoch, header.number)
  const clock = yield* Clock.Clock
  const outcome = yield* append(log, { bytes, identity, expectedLast: head.sequence }, () => readClocks(clock))
  if (outcome._tag !== "Stored") {
    return yield* new RecoverFailed({
      message: `partition ${log.partition}: the closing frame was not appended (${outcome.branch}); is another process serving it?`
    })
  }
  return hashOf(bytes)
})
