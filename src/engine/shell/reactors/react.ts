/**
 * Runs a reactor over one partition (docs/architecture.md, rule 11). It takes batches from memory or, when it lags,
 * from the log; makes the effects and the cursor's move in one transaction; and parks a record that cannot be
 * processed, with its organization's later ones.
 */
import { Cause, Duration, Effect, Exit, Stream } from "effect"
import { Pauses } from "../../../common/backoff.ts"
import { decodeFrame, hashOf } from "../../frame.ts"
import { lookupDeadlineMillis, maximumParkedNames, transactionDeadlineMillis } from "../../limits.ts"
import type { LogPosition } from "../../ports/Checkpoints.ts"
import {
  type Cursor,
  type CursorMove,
  CursorMoved,
  CursorsUnavailable,
  type RebuildProgress
} from "../../ports/Cursors.ts"
import { maximumBatchFrames, type Reactor } from "../../Reactor.ts"
import { adaptive } from "../../reactorPace.ts"
import { type CommittedFrame, type LogRecord, recordsOf, type UnreadableRecord } from "../../records.ts"
import { deadline } from "../deadline.ts"
import type { Partition } from "../partition/Partition.ts"
import { hashAt } from "../witnesses.ts"
import { batchOf, type ReactorBatch } from "./batchOf.ts"
import { isAway, isolate, lookup, parkBehind, showParked } from "./parkRecords.ts"
import { ReactorPacer } from "./ReactorPacer.ts"
import type { ReactorTasks } from "./ReactorTasks.ts"
import { readStates } from "./readStates.ts"
import { isCovered, isOverAt, walked } from "./statesWalk.ts"

/** Attempts of a batch before its records are tried one organization at a time. */
const batchAttempts = 3

/** How many frames without anything for the reactor pass before its cursor moves over them. */
const silentFrames = 256

const firstPauseMillis = 50
const lastPauseMillis = 5_000

/** Follows the log for as long as the life lasts. Never fails: errors are logged, and the work is tried again. */
export const react = Effect.fnUntraced(function* (partition: Partition, reactor: Reactor<never>) {
  const pauses = new Pauses(firstPauseMillis, lastPauseMillis)
  while (true) {
    const follower = new Follower(partition, reactor, () => pauses.reset())
    const exit = yield* Effect.exit(follower.follow)
    if (Exit.isFailure(exit)) {
      if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.failCause(exit.cause as Cause.Cause<never>)
      yield* Effect.logWarning(`reactor ${reactor.name} of partition ${partition.id} starts over`, exit.cause)
    }
    yield* Effect.sleep(Duration.millis(pauses.afterFailure()))
  }
})

class Follower {
  private readonly partition: Partition
  private readonly reactor: Reactor<never>
  private readonly onProgress: () => void
  private readonly pacing: ReactorPacer
  private readonly tasks: ReactorTasks
  /**
   * The place of the cursor, and of the last frame that was read. Between the two are frames without anything for the
   * reactor.
   */
  private durable: LogPosition = { sequence: 0, hash: "" }
  private position: LogPosition = this.durable
  /** The rebuild from states that is under way; undefined for none. */
  private rebuild: RebuildProgress | undefined = undefined
  /** Organizations that may have parked records; the transaction checks it. */
  private readonly parked = new Set<string>()
  /** Whether there are too many to remember, so that any organization may have some. */
  private isAnyParked = false
  private failures = 0
  /** Up to this sequence frames are taken one by one, because one of them holds a record that fails each time. */
  private isolateThrough = 0

  constructor(partition: Partition, reactor: Reactor<never>, onProgress: () => void) {
    this.partition = partition
    this.reactor = reactor
    this.onProgress = onProgress
    this.tasks = partition.tasksOf(reactor.name)
    this.pacing = new ReactorPacer(partition, reactor.name, reactor.pace ?? adaptive)
  }

  readonly follow = Effect.suspend(() => this.run())

  private readonly run = Effect.fnUntraced(function* (this: Follower) {
    const { partition, reactor } = this
    const { hash, rebuild, sequence } = yield* this.start()
    this.durable = { sequence, hash }
    this.position = this.durable
    this.rebuild = rebuild
    this.tasks.resumed()
    const page = { limit: maximumParkedNames + 1 }
    const parked = yield* lookup(partition.context.cursors.parkedOrganizations(partition.id, reactor.name, page))
    for (const { organization } of parked) this.suspect(organization)
    yield* showParked(partition, reactor.name)
    while (true) {
      const { head } = partition.core
      // Its cursor was moved back: it begins like a new one.
      if (partition.sentBack.delete(reactor.name)) return partition.reacted(reactor.name, 0)
      if (this.rebuild !== undefined && !this.rebuild.isWalked) {
        yield* partition.context.transactionPlaces.within(this.inTurn(this.walk(this.rebuild)))
        continue
      }
      partition.reacted(reactor.name, this.position.sequence)
      this.pacing.caughtUp()
      partition.metrics.cursorLag(reactor.name, head.sequence - this.position.sequence)
      const silent = this.position.sequence - this.durable.sequence
      if (silent > 0 && (silent >= silentFrames || partition.wantsPositions)) {
        yield* this.inTurn(this.commit({ wanted: [], to: this.position }, false))
        continue
      }
      if (head.sequence <= this.position.sequence) {
        yield* nextFrame(
          partition,
          this.position.sequence,
          () => (partition.wantsPositions && silent > 0) || partition.sentBack.has(reactor.name)
        )
        continue
      }
      yield* this.pacing.wait(this.position.sequence)
      const isIsolating = this.position.sequence < this.isolateThrough
      const unread = yield* framesAfter(partition, this.position.sequence, isIsolating ? 1 : maximumBatchFrames)
      const ready = this.pacing.ready(this.position.sequence, unread)
      const batch = batchOf(reactor, ready.length === 0 ? unread : ready, undefined, this.isDone)
      if (batch.wanted.length === 0) this.position = batch.to
      else
        yield* partition.context.transactionPlaces.within(
          this.inTurn(
            Effect.suspend(() => {
              const grown = isIsolating ? batch : this.grown(batch)
              return this.commit(grown, isIsolating || grown.wanted.some(({ problem }) => problem !== undefined))
            })
          )
        )
    }
  })

  /** Extends a batch with frames committed while it waited for its place, if they are in memory and fit. */
  private grown(batch: ReactorBatch): ReactorBatch {
    const room = maximumBatchFrames - (batch.to.sequence - this.position.sequence)
    const frames = room > 0 ? this.partition.feed.after(batch.to.sequence, room) : undefined
    if (frames === undefined) return batch
    const ready = this.pacing.ready(batch.to.sequence, frames)
    return ready.length === 0 ? batch : batchOf(this.reactor, ready, batch, this.isDone)
  }

  /** Whether a fact is contained in a state that the reactor has got. */
  private readonly isDone = (record: LogRecord | UnreadableRecord): boolean =>
    this.rebuild !== undefined && isCovered(this.rebuild, record)

  /** Gives the reactor the next page of states, in one transaction with the progress. A failure is tried again. */
  private readonly walk = Effect.fnUntraced(function* (this: Follower, progress: RebuildProgress) {
    const { durable, partition, reactor } = this
    const { states } = reactor
    if (states === undefined)
      return yield* Effect.fail(
        `${reactor.name} is being rebuilt from states, and a part of it has no handler of states`
      )
    const kinds = states.map(({ kind }) => kind)
    const page = yield* readStates(partition, kinds, progress)
    const next = walked(progress, page)
    const to = isOverAt(next, durable.sequence) ? undefined : next
    const move = {
      partition: partition.id,
      reactor: reactor.name,
      from: durable,
      to: durable,
      rebuild: { from: progress.step, to }
    }
    const effects = Effect.forEach(
      states,
      ({ handle, kind }) => {
        const of = page.byKind.get(kind)
        return of === undefined ? Effect.void : handle(of)
      },
      { discard: true }
    )
    yield* deadline(
      partition.context.cursors.transact(move, effects),
      transactionDeadlineMillis,
      () => new CursorsUnavailable({ message: `a transaction took longer than ${transactionDeadlineMillis} ms` })
    )
    this.rebuild = to
    partition.metrics.rebuilt(reactor.name, page.states)
    this.onProgress()
  })

  /** The end of a rebuild from states, where a batch takes it over the last cut. */
  private endOfRebuild(sequence: number): Pick<CursorMove, "rebuild"> {
    const { rebuild } = this
    return rebuild !== undefined && isOverAt(rebuild, sequence)
      ? { rebuild: { from: rebuild.step, to: undefined } }
      : {}
  }

  /** Works on a batch, unless the cursor was moved back before its turn came. */
  private inTurn<E>(work: Effect.Effect<void, E>): Effect.Effect<void, E> {
    const { partition, reactor } = this
    return partition
      .reactorTurn(reactor.name)
      .withPermit(Effect.suspend(() => (partition.sentBack.has(reactor.name) ? Effect.void : work)))
  }

  private suspect(organization: string): void {
    const isKnown = this.parked.size < maximumParkedNames
    if (isKnown) this.parked.add(organization)
    else this.isAnyParked = true
    // Its later records are parked behind, and what they ask for waits with them.
    this.tasks.exclude(isKnown ? organization : undefined)
  }

  /** Reads the reactor's place. A cursor that has never moved begins with the oldest frame of the log. */
  private readonly start = Effect.fnUntraced(function* (this: Follower) {
    const { id, log, context } = this.partition
    const cursor = yield* lookup(context.cursors.read(id, this.reactor.name))
    if (cursor.sequence > 0) return cursor
    const state = yield* log!.state
    if (state.firstSequence === 1) return cursor
    const hash = (yield* hashAt(log!, state, state.firstSequence - 1)) ?? cursor.hash
    const beginning: Cursor = { ...cursor, sequence: state.firstSequence - 1, hash }
    yield* Effect.logWarning(
      `reactor ${this.reactor.name} is new and begins at frame ${state.firstSequence} of partition ${id}; earlier ones are purged`
    )
    // Compared, because another owner may have moved it since it was read.
    const move = { partition: id, reactor: this.reactor.name, from: cursor, to: beginning }
    const late = () => new CursorsUnavailable({ message: "the cursors do not answer" })
    yield* deadline(context.cursors.transact(move, Effect.void), lookupDeadlineMillis, late)
    return beginning
  })

  /**
   * Processes a batch in one transaction. A failing batch is tried again, and after some attempts one organization at a
   * time.
   */
  private readonly commit = Effect.fnUntraced(function* (this: Follower, batch: ReactorBatch, isIsolating: boolean) {
    const { partition, reactor } = this
    const end = this.endOfRebuild(batch.to.sequence)
    const move = { partition: partition.id, reactor: reactor.name, from: this.durable, to: batch.to, ...end }
    const transaction = deadline(
      partition.context.cursors.transact(move, this.effects(batch, isIsolating)),
      transactionDeadlineMillis,
      () => new CursorsUnavailable({ message: `a transaction took longer than ${transactionDeadlineMillis} ms` })
    )
    const begunAt = partition.now().monotonic
    const ahead = isIsolating ? Effect.void : this.ahead(batch)
    const exit = yield* Effect.exit(this.traced(batch, Effect.andThen(ahead, transaction)))
    this.pacing.spent(begunAt)
    if (Exit.isSuccess(exit)) {
      this.durable = batch.to
      this.position = batch.to
      if (end.rebuild !== undefined) this.rebuild = undefined
      this.failures = 0
      for (const organization of exit.value.free) {
        this.parked.delete(organization)
        this.tasks.allow(organization)
      }
      // After the others: one that was free again may have got a parked record in the same batch.
      for (const organization of exit.value.parked) this.suspect(organization)
      if (exit.value.hasParked) yield* showParked(partition, reactor.name)
      return this.onProgress()
    }
    const error = Cause.squash(exit.cause)
    if (Cause.hasInterrupts(exit.cause) || error instanceof CursorMoved || isAway(error))
      return yield* Effect.failCause(exit.cause)
    this.failures++
    if (this.failures >= batchAttempts) this.isolateThrough = Math.max(this.isolateThrough, batch.to.sequence)
    yield* Effect.logWarning(`reactor ${reactor.name} of partition ${partition.id} failed on a batch`, exit.cause)
    yield* Effect.sleep(Duration.millis(Math.min(firstPauseMillis * 4 ** this.failures, lastPauseMillis)))
  })

  /** Does what the reactor does before the transaction, but for organizations that may have parked records. */
  private ahead({ wanted }: ReactorBatch): Effect.Effect<void, unknown> {
    const { ahead } = this.reactor
    if (ahead === undefined || this.isAnyParked) return Effect.void
    const free = wanted.filter(({ record }) => !this.parked.has(record.organization))
    return free.length === 0 ? Effect.void : ahead(free.map(({ record }) => record as LogRecord))
  }

  /** Runs a transaction in its own span, if spans are collected. */
  private traced<A, E>({ to, wanted }: ReactorBatch, transaction: Effect.Effect<A, E>): Effect.Effect<A, E> {
    const { id, context, traces } = this.partition
    if (!context.isTraced) return transaction
    return Effect.withSpan(transaction, "sluice.reactor", {
      root: true,
      attributes: { partition: id, reactor: this.reactor.name, records: wanted.length, through: to.sequence },
      links: traces.linksToFrames(wanted.map(({ record }) => record.sequence))
    })
  }

  /** Runs the effects of a batch. Returns the organizations that it parked, and those that are no longer parked. */
  private readonly effects = Effect.fnUntraced(function* (
    this: Follower,
    { wanted }: ReactorBatch,
    isIsolating: boolean
  ) {
    const { cursors } = this.partition.context
    const { id } = this.partition
    const suspected = [...new Set(wanted.map(({ record }) => record.organization))].filter(
      (name) => this.isAnyParked || this.parked.has(name)
    )
    const still =
      suspected.length === 0 ? new Set<string>() : yield* cursors.parkedAmong(id, this.reactor.name, suspected)
    const behind = wanted.filter(({ record }) => still.has(record.organization))
    const free = behind.length === 0 ? wanted : wanted.filter(({ record }) => !still.has(record.organization))
    if (behind.length > 0) yield* parkBehind(this.partition, this.reactor.name, behind)
    let parked: ReadonlyArray<string> = []
    if (isIsolating) parked = yield* isolate(this.partition, this.reactor, free)
    else if (free.length > 0) yield* this.reactor.handle(free.map(({ record }) => record as LogRecord))
    const hasParked = parked.length > 0 || behind.length > 0
    return { parked, hasParked, free: suspected.filter((name) => !still.has(name)) }
  })
}

/** Frames that are read from the log together; they may be large, and their memory comes on top of the feed's. */
const maximumReadFrames = 64

/** The frames behind `after`, at most `limit`. There must be one, which `nextFrame` waits for. */
export const framesAfter = Effect.fnUntraced(function* (partition: Partition, after: number, limit: number) {
  const { core, feed, id, log, context } = partition
  const fed = feed.after(after, limit)
  if (fed !== undefined && fed.length > 0) return fed
  const frames: Array<CommittedFrame> = []
  const through = Math.min(core.head.sequence, after + Math.min(limit, maximumReadFrames))
  yield* Stream.runForEach(log!.read(after + 1, through), (batch) =>
    Effect.try({
      try: () => {
        for (const { bytes, sequence } of batch) {
          const frame = decodeFrame(bytes)
          const { epoch, now, number } = frame
          const records = recordsOf(context.registry, id, sequence, frame)
          frames.push({ sequence, hash: hashOf(bytes), number, epoch, now, bytes: bytes.length, records })
        }
      },
      catch: (cause) => cause
    })
  )
  return frames as ReadonlyArray<CommittedFrame>
})

/** Waits until a frame behind `after` is committed, or until `isWanted` says at a wake-up that there is other work. */
export const nextFrame = (partition: Partition, after: number, isWanted: () => boolean): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (partition.core.head.sequence > after || isWanted()) {
      resume(Effect.void)
      return
    }
    const stop = partition.feed.listen(() => {
      stop()
      resume(Effect.yieldNow)
    })
    return Effect.sync(stop)
  })
