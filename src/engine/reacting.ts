/**
 * Runs a reactor over one partition (architecture, rule 11): batches from memory or, when it lags, from the log; effects and the cursor's
 * move in one transaction; what cannot be processed is parked with its organization's later records.
 */
import { Cause, Duration, Effect, Exit, Stream } from "effect"
import type { LogPosition } from "./Checkpoints.ts"
import { CursorMoved, CursorsUnavailable, type ParkedRecord, ReactorTransaction } from "./Cursors.ts"
import { decodeFrame, hashOf } from "./frame.ts"
import type { Partition } from "./Partition.ts"
import { describe } from "./poison.ts"
import { maximumBatchFrames, maximumBatchRecords, type Reactor } from "./Reactor.ts"
import { type CommittedFrame, encodeRecord, type LogRecord, recordsOf } from "./records.ts"
import { hashAt } from "./recovery.ts"

/** Attempts of a batch before its records are tried one organization at a time. */
const batchAttempts = 3

/** A cursor moves over frames without anything for the reactor after so many of them. */
const silentFrames = 256

const firstPauseMillis = 50
const lastPauseMillis = 5_000

/** Follows the log for ever. Never fails: what goes wrong is logged and tried again. */
export const react = Effect.fnUntraced(function* (partition: Partition, reactor: Reactor<never>) {
  let pauseMillis = firstPauseMillis
  while (true) {
    const exit = yield* Effect.exit(follow(partition, reactor, () => (pauseMillis = firstPauseMillis)))
    if (Exit.isFailure(exit)) {
      if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.failCause(exit.cause as Cause.Cause<never>)
      yield* Effect.logWarning(`reactor ${reactor.name} of partition ${partition.id} starts over`, exit.cause)
    }
    yield* Effect.sleep(Duration.millis(pauseMillis))
    pauseMillis = Math.min(pauseMillis * 2, lastPauseMillis)
  }
})

const follow = Effect.fnUntraced(function* (partition: Partition, reactor: Reactor<never>, onProgress: () => void) {
  let durable: LogPosition = yield* start(partition, reactor)
  let position = durable
  let parked = yield* parkedSet(partition, reactor)
  let failures = 0
  /** Up to here frames are taken one by one: one of them holds what cannot be processed. */
  let isolateThrough = 0
  while (true) {
    partition.feed.done(reactor.name, position.sequence)
    partition.metrics.cursorLag(reactor.name, partition.head.sequence - durable.sequence)
    if (partition.head.sequence <= position.sequence) {
      yield* nextFrame(partition, position.sequence)
      continue
    }
    const isolating = position.sequence < isolateThrough
    const frames = yield* framesAfter(partition, position.sequence, isolating ? 1 : maximumBatchFrames)
    const batch = wantedOf(reactor, frames)
    const last = batch.last
    const to: LogPosition = { sequence: last.sequence, hash: last.hash }
    if (batch.records.length === 0 && to.sequence - durable.sequence < silentFrames) {
      position = to
      continue
    }
    if (parked.size > 0) parked = yield* parkedSet(partition, reactor)
    const exit = yield* Effect.exit(commit(partition, reactor, durable, to, batch.records, parked, isolating))
    if (Exit.isSuccess(exit)) {
      durable = to
      position = to
      failures = 0
      for (const organization of exit.value) parked.add(organization)
      onProgress()
      continue
    }
    const error = Cause.squash(exit.cause)
    if (Cause.hasInterrupts(exit.cause) || error instanceof CursorMoved || error instanceof CursorsUnavailable) {
      return yield* Effect.failCause(exit.cause)
    }
    failures++
    if (failures >= batchAttempts) isolateThrough = Math.max(isolateThrough, to.sequence)
    yield* Effect.logWarning(`reactor ${reactor.name} of partition ${partition.id} failed on a batch`, exit.cause)
    yield* Effect.sleep(Duration.millis(Math.min(firstPauseMillis * 4 ** failures, lastPauseMillis)))
  }
})

/** Where the reactor stands. One that has never moved begins with what is left of the log. */
const start = Effect.fnUntraced(function* (partition: Partition, reactor: Reactor<never>) {
  const { cursors } = partition.parts
  const cursor = yield* cursors.read(partition.id, reactor.name)
  if (cursor.sequence > 0) return cursor
  const state = yield* partition.log!.state
  if (state.firstSequence === 1) return cursor
  const hash = (yield* hashAt(partition.log!, state, state.firstSequence - 1)) ?? cursor.hash
  const beginning = { ...cursor, sequence: state.firstSequence - 1, hash }
  yield* Effect.logWarning(
    `reactor ${reactor.name} is new and begins at frame ${state.firstSequence} of partition ${partition.id}; earlier ones are purged`
  )
  yield* cursors.reset(beginning)
  return beginning
})

const parkedSet = (partition: Partition, reactor: Reactor<never>) =>
  Effect.map(
    partition.parts.cursors.parkedOrganizations(partition.id, reactor.name),
    (organizations) => new Set(organizations.map(({ organization }) => organization))
  )

const nextFrame = (partition: Partition, after: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (partition.head.sequence > after) {
      resume(Effect.void)
      return
    }
    const stop = partition.feed.listen(() => {
      stop()
      resume(Effect.yieldNow)
    })
    return Effect.sync(stop)
  })

const framesAfter = Effect.fnUntraced(function* (partition: Partition, after: number, limit: number) {
  const fed = partition.feed.after(after, limit)
  if (fed !== undefined && fed.length > 0) return fed
  const through = Math.min(partition.head.sequence, after + limit)
  const frames: Array<CommittedFrame> = []
  yield* Stream.runForEach(partition.log!.read(after + 1, through), (batch) =>
    Effect.try({
      try: () => {
        for (const stored of batch) {
          const frame = decodeFrame(stored.bytes)
          frames.push({
            sequence: stored.sequence,
            hash: hashOf(stored.bytes),
            number: frame.number,
            epoch: frame.epoch,
            now: frame.now,
            bytes: stored.bytes.length,
            records: recordsOf(partition.parts.registry, partition.id, stored.sequence, frame)
          })
        }
      },
      catch: (cause) => cause
    })
  )
  return frames as ReadonlyArray<CommittedFrame>
})

/** The wanted records of as many frames as fit a batch; whole frames, at least one. */
const wantedOf = (reactor: Reactor<never>, frames: ReadonlyArray<CommittedFrame>) => {
  const records: Array<LogRecord> = []
  let last = frames[0]!
  for (const frame of frames) {
    const wanted = reactor.wants === undefined ? frame.records : frame.records.filter(reactor.wants)
    if (records.length > 0 && records.length + wanted.length > maximumBatchRecords) break
    for (const record of wanted) records.push(record)
    last = frame
  }
  return { records, last }
}

/** One transaction: effects, parking, the cursor's move. Answers the organizations that are parked now. */
const commit = (
  partition: Partition,
  reactor: Reactor<never>,
  from: LogPosition,
  to: LogPosition,
  records: ReadonlyArray<LogRecord>,
  parked: ReadonlySet<string>,
  isolating: boolean
): Effect.Effect<ReadonlyArray<string>, unknown> => {
  const { cursors, sabotage } = partition.parts
  const behind = parked.size === 0 ? [] : records.filter((record) => parked.has(record.organization))
  const free = parked.size === 0 ? records : records.filter((record) => !parked.has(record.organization))
  const effects = Effect.gen(function* () {
    if (behind.length > 0) yield* cursors.park(behind.map((record) => parkedOf(partition, reactor, record, behindText)))
    if (!isolating) {
      if (free.length > 0) yield* reactor.handle(free)
      return []
    }
    return yield* isolate(partition, reactor, free)
  })
  const move = { partition: partition.id, reactor: reactor.name, from, to }
  if (sabotage.has("cursor-before-effect")) {
    return Effect.andThen(
      cursors.transact(move, Effect.void),
      Effect.provideService(effects, ReactorTransaction, ReactorTransaction.of({ onCommit: (action) => action() }))
    )
  }
  if (sabotage.has("cursor-without-compare")) {
    const actions: Array<() => void> = []
    const transaction = ReactorTransaction.of({ onCommit: (action) => void actions.push(action) })
    return Effect.tap(Effect.provideService(effects, ReactorTransaction, transaction), () =>
      Effect.map(cursors.reset({ partition: partition.id, reactor: reactor.name, ...to }), () => {
        for (const action of actions) action()
      })
    )
  }
  return cursors.transact(move, effects)
}

const behindText = "behind a parked record of its organization"

/** Tries each organization's records alone, then one by one; parks from the first that fails. */
const isolate = Effect.fnUntraced(function* (
  partition: Partition,
  reactor: Reactor<never>,
  records: ReadonlyArray<LogRecord>
) {
  const { cursors } = partition.parts
  const groups = Map.groupBy(records, (record) => record.organization)
  const parked: Array<string> = []
  for (const [organization, group] of groups) {
    const whole = yield* Effect.exit(cursors.attempt(reactor.handle(group)))
    if (Exit.isSuccess(whole)) continue
    yield* passOn(whole.cause)
    for (const [index, record] of group.entries()) {
      const one = yield* Effect.exit(cursors.attempt(reactor.handle([record])))
      if (Exit.isSuccess(one)) continue
      yield* passOn(one.cause)
      const error = describe(Cause.squash(one.cause))
      const rest = group.slice(index)
      yield* cursors.park(
        rest.map((later) => parkedOf(partition, reactor, later, later === record ? error : behindText))
      )
      parked.push(organization)
      partition.metrics.parked(reactor.name, rest.length)
      yield* Effect.logError(
        `reactor ${reactor.name} parked ${organization} at frame ${record.sequence}, record ${record.index}: ${error}`
      )
      break
    }
  }
  return parked
})

/** What is no fault of a record goes on failing: an interruption, the store away. */
const passOn = (cause: Cause.Cause<unknown>): Effect.Effect<void, unknown> =>
  Cause.hasInterrupts(cause) || Cause.squash(cause) instanceof CursorsUnavailable
    ? Effect.failCause(cause)
    : Effect.void

const parkedOf = (partition: Partition, reactor: Reactor<never>, record: LogRecord, error: string): ParkedRecord => ({
  partition: partition.id,
  reactor: reactor.name,
  organization: record.organization,
  sequence: record.sequence,
  index: record.index,
  record: encodeRecord(partition.parts.registry, record),
  error
})
