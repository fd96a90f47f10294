/**
 * Follows actors of an organization (docs/architecture.md, "Followers"): their facts in log order, or that a state has
 * changed. While the partition is served here, facts come from memory as they are stored; a follower that is behind, or
 * in another process, reads the log. The follower pulls, so a slow one costs no memory: it falls back to the log, and
 * fails only if that was purged.
 */
import { Duration, Effect, Scope, Stream } from "effect"
import { type AskError, Overloaded, PartitionStopped, PartitionUnavailable } from "../../errors.ts"
import { type FactPosition, FactsPurged, FactUnreadable, type FollowError } from "../../followTypes.ts"
import { decodeFrame } from "../../frame.ts"
import { followPatienceMillis, followPollMillis, maximumSubscriptions, retryAfterMillis } from "../../limits.ts"
import { JournalGap, type Log } from "../../ports/Journal.ts"
import { type FactRecord, recordsOf } from "../../records.ts"
import { Wakeup } from "../../Wakeup.ts"
import type { EngineContext } from "../partition/EngineContext.ts"
import type { Partition } from "../partition/Partition.ts"
import { readClocks } from "../readClocks.ts"
import { localPartition } from "../remote/deliverMessages.ts"
import { type Followed, type FollowedRecord, type Follower, followedIn } from "./Followers.ts"

/** Frames that are read from the log together. */
const readFrames = 64

/** How many frames behind the log's end a follower may be to follow from memory. */
const attachFrames = 256

const pauseMillis = 100

/** A sign of news, for a follower that does not need the facts. */
const news: ReadonlyArray<FollowedRecord> = [undefined as never]

interface FollowerOptions {
  readonly after: FactPosition | undefined
  readonly keeps: boolean
}

/** A follower that begins now and ends with the scope. */
const makeFollower = Effect.fnUntraced(function* (
  context: EngineContext,
  partition: number,
  followed: Followed,
  options: FollowerOptions
) {
  const follower = new LogFollower(context, partition, followed, options, yield* Effect.scope)
  yield* Effect.addFinalizer(() => Effect.sync(() => follower.close()))
  yield* follower.begin
  return follower
})

/** Counts a stream, and refuses one too many. */
export const subscribed = <A, E>(
  context: EngineContext,
  partition: number,
  stream: Stream.Stream<A, E>
): Stream.Stream<A, E | Overloaded> =>
  Stream.unwrap(
    Effect.gen(function* (): Effect.fn.Return<Stream.Stream<A, E | Overloaded>, never, Scope.Scope> {
      const { subscriptions } = context
      if (subscriptions.count >= maximumSubscriptions)
        return Stream.fail(new Overloaded({ partition, retryAfterMillis }))
      yield* Effect.acquireRelease(
        Effect.sync(() => void subscriptions.count++),
        () => Effect.sync(() => void subscriptions.count--)
      )
      return stream
    })
  )

/** The facts of some actors behind a place, without an end of their own. */
export const followFacts = (
  context: EngineContext,
  partition: number,
  followed: Followed,
  after: FactPosition | undefined
): Stream.Stream<FactRecord, FollowError> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const follower = yield* makeFollower(context, partition, followed, { after, keeps: true })
      return Stream.unfold(follower, (one) => Effect.map(one.next, (records) => records && ([records, one] as const)))
    })
  ).pipe(
    Stream.flattenIterable,
    Stream.mapEffect((record) =>
      record._tag === "Fact"
        ? Effect.succeed(record)
        : Effect.fail(
            new FactUnreadable({
              kind: record.kind,
              sequence: record.sequence,
              index: record.index,
              reason: record.error
            })
          )
    )
  )

/**
 * Calls `read` immediately and after each change of an actor, and emits its result; `isSame` drops unchanged results.
 * Changes that come before the previous result is taken count as one.
 */
export const followChanges = <A, E>(
  context: EngineContext,
  partition: number,
  followed: Followed,
  read: Effect.Effect<A, E>
): Stream.Stream<A, E | FollowError> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const follower = yield* makeFollower(context, partition, followed, { after: undefined, keeps: false })
      const first = Stream.fromEffect(read)
      const later = Stream.unfold(follower, (one) =>
        Effect.flatMap(one.next, (news) =>
          news === undefined ? Effect.undefined : Effect.map(read, (value) => [value, one] as const)
        )
      )
      return Stream.changesWith(Stream.concat(first, later), Object.is)
    })
  )

/** The place where a follower reads, and the last frame there. */
interface Place {
  /** Undefined if another process runs the partition. */
  readonly partition: Partition | undefined
  readonly log: Log
  readonly last: number
}

/** Reads on in a partition's log, from memory where it can. */
class LogFollower {
  private readonly context: EngineContext
  private readonly id: number
  private readonly followed: Followed
  private readonly after: FactPosition | undefined
  /** Whether the facts themselves are needed, or only a sign of news. */
  private readonly keeps: boolean
  private readonly scope: Scope.Scope
  private readonly wakeup = new Wakeup()
  private readonly unwatch: () => void
  /** Every frame up to this one was read; -1 until the beginning is known. */
  private sequence: number
  private attached: { readonly follower: Follower; readonly to: Partition } | undefined = undefined
  private farLog: Log | undefined = undefined
  /** When the log stopped answering, or the partition stopped serving; monotonic milliseconds. */
  private waitingSince: number | undefined = undefined

  constructor(context: EngineContext, id: number, followed: Followed, options: FollowerOptions, scope: Scope.Scope) {
    this.context = context
    this.id = id
    this.followed = followed
    this.after = options.after
    this.keeps = options.keeps
    this.scope = scope
    this.sequence = options.after === undefined ? -1 : Math.max(0, options.after.sequence - 1)
    this.unwatch = context.subscriptions.watch(this.wakeup)
  }

  /** Fixes the place of the beginning. */
  readonly begin = Effect.suspend(() =>
    this.sequence >= 0
      ? Effect.void
      : Effect.map(this.findPlace(), (place) => {
          if (place !== undefined) this.enter(place, place.last)
        })
  )

  /** Takes the next facts, at least one; undefined when the engine stops. */
  readonly next = Effect.suspend(() => this.findNext())

  close(): void {
    this.unwatch()
    this.detach()
  }

  private detach(): void {
    if (this.attached !== undefined) this.attached.to.followers.remove(this.attached.follower)
    this.attached = undefined
  }

  private readonly findNext = Effect.fnUntraced(function* (
    this: LogFollower
  ): Effect.fn.Return<ReadonlyArray<FollowedRecord> | undefined, FollowError> {
    while (true) {
      const found = this.fromMemory()
      if (found === "nothing yet") {
        if (this.context.subscriptions.isClosed) return undefined
        yield* this.wakeup.wait
        continue
      }
      if (found !== undefined && found.length > 0) return found
      if (found !== undefined) continue
      const place = yield* this.findPlace()
      if (place === undefined) return undefined
      this.enter(place, this.sequence)
      // Facts stored since it is shown frames come from memory, and would come twice.
      const last = this.attached === undefined ? place.last : Math.min(place.last, this.attached.follower.from)
      if (last > this.sequence) {
        const read = yield* this.readOn({ ...place, last })
        if (read.length > 0) return read
      } else if (place.partition === undefined) yield* this.pause(followPollMillis)
    }
  })

  /** Begins to follow from memory if it is near enough to the log's end. */
  private enter({ last, partition }: Place, sequence: number): void {
    this.sequence = sequence
    if (partition === undefined || this.attached !== undefined || last - sequence > attachFrames) return
    const follower = partition.followers.add(this.followed, last, this.keeps, this.wakeup)
    this.attached = { follower, to: partition }
  }

  /** Takes the facts that came in memory; undefined if the log must be read first. */
  private fromMemory(): ReadonlyArray<FollowedRecord> | "nothing yet" | undefined {
    if (this.attached === undefined) return undefined
    const { follower, to } = this.attached
    const through = follower.isLost ? follower.lostThrough : to.followers.through
    if (through === undefined || this.sequence < follower.from) {
      if (follower.isLost) this.detach()
      return undefined
    }
    const { hasNews } = follower
    const records = this.wanted(follower.take())
    this.sequence = through
    if (follower.isLost) this.detach()
    else if (!hasNews) return "nothing yet"
    return hasNews && !this.keeps ? news : records
  }

  private wanted(records: ReadonlyArray<FollowedRecord>): ReadonlyArray<FollowedRecord> {
    const { after } = this
    if (after === undefined) return records
    return records.filter(
      ({ index, sequence }) => sequence > after.sequence || (sequence === after.sequence && index > after.index)
    )
  }

  /** Reads some frames of the log. Facts read before a failure count. */
  private readonly readOn = Effect.fnUntraced(function* (this: LogFollower, { last, log }: Place) {
    const found: Array<FollowedRecord> = []
    const from = this.sequence + 1
    const read = Stream.runForEach(log.read(from, Math.min(last, from + readFrames - 1)), (batch) =>
      Effect.sync(() => {
        for (const { bytes, sequence } of batch) {
          const records = recordsOf(this.context.registry, this.id, sequence, decodeFrame(bytes))
          found.push(...followedIn(this.followed, records))
          this.sequence = sequence
        }
      })
    )
    const result = yield* Effect.result(read)
    if (result._tag === "Success" || this.sequence >= from) this.waitingSince = undefined
    else if (result.failure instanceof JournalGap) {
      yield* this.overGap(log, from)
      // The content of the purged frames is unknown.
      if (this.sequence >= from) return news
    } else yield* this.awhile(this.away(result.failure.message))
    return this.keeps || found.length === 0 ? this.wanted(found) : news
  })

  /** A state can be read again even if the log was purged, and then must be; facts cannot. */
  private readonly overGap = Effect.fnUntraced(function* (this: LogFollower, log: Log, sequence: number) {
    const state = yield* Effect.result(log.state)
    if (state._tag === "Failure") return yield* this.awhile(this.away(state.failure.message))
    const { firstSequence } = state.success
    if (this.keeps) return yield* new FactsPurged({ partition: this.id, sequence, firstSequence })
    this.sequence = Math.max(this.sequence, firstSequence - 1)
  })

  /** Finds where the log can be read now; waits for it. Undefined when the engine stops. */
  private readonly findPlace = Effect.fnUntraced(function* (
    this: LogFollower
  ): Effect.fn.Return<Place | undefined, FollowError> {
    const { context } = this
    while (!context.subscriptions.isClosed) {
      const partition = localPartition(context, this.id)
      if (partition === undefined) {
        const far = yield* Effect.result(this.findFar())
        if (far._tag === "Success") return far.success
        yield* this.awhile(this.away(far.failure.message))
        continue
      }
      const { log, status } = partition
      if (status._tag === "Stopped") return yield* new PartitionStopped({ partition: this.id, reason: status.reason })
      if (status._tag === "Serving" && log !== undefined) {
        this.waitingSince = undefined
        return { partition, log, last: partition.core.head.sequence }
      }
      yield* this.awhile(partition.notServing())
    }
    return undefined
  })

  /** The log of a partition that another process runs. */
  private readonly findFar = Effect.fnUntraced(function* (this: LogFollower) {
    const { deployment, journal, remote } = this.context
    if (remote === undefined) return yield* this.away("it is not placed here")
    if (this.farLog === undefined) {
      const log = yield* Scope.provide(journal.open(this.id, deployment.id), this.scope)
      if (log.deployment !== deployment.id) return yield* this.away("its log belongs to another deployment")
      this.farLog = log
    }
    const { lastSequence } = yield* this.farLog.state
    this.waitingSince = undefined
    return { partition: undefined, log: this.farLog, last: lastSequence }
  })

  private away(reason: string): PartitionUnavailable {
    return new PartitionUnavailable({ partition: this.id, reason, retryAfterMillis })
  }

  /** Pauses, or fails when the patience is used up. */
  private readonly awhile = Effect.fnUntraced(function* (this: LogFollower, error: AskError) {
    const now = readClocks(this.context.clock).monotonic
    this.waitingSince ??= now
    if (now - this.waitingSince >= followPatienceMillis) return yield* Effect.fail(error)
    yield* this.pause(pauseMillis)
  })

  private pause(millis: number): Effect.Effect<void> {
    return Effect.raceFirst(this.wakeup.wait, Effect.sleep(Duration.millis(millis)))
  }
}
