/**
 * Follows a stream of the program for one partition, as `feedSignals` does with signals (docs/streams.md): in order
 * from the place that is in the partition's frames, so that each message counts once without a set of seen ids.
 */
import { Data, Duration, Effect, Stream } from "effect"
import { Pauses } from "../../../common/backoff.ts"
import { formatLevels } from "../../../common/formatLevels.ts"
import { describe } from "../../describe.ts"
import { addresseeOf, type Ingest, type IngestStart, parkedNameOf, subjectsOf } from "../../ingestRules.ts"
import { ingestPlaceMillis } from "../../limits.ts"
import { type ProgramStreams, type StreamMessage, StreamPlaceLost } from "../../ports/ProgramStreams.ts"
import type { Partition } from "../partition/Partition.ts"
import { showParked } from "../reactors/parkRecords.ts"
import { waitForRoom } from "../signals/feedSignals.ts"
import { parkMessage } from "../signals/parkSignal.ts"
import type { IngestProgress } from "./IngestProgress.ts"

/** The pause before a failed subscription is made again, doubled from the first to the last, milliseconds. */
const firstPauseMillis = 250
const lastPauseMillis = 5_000

/** How often a warning is logged while a stream stays away, milliseconds. */
const warningMillis = 60_000

/** How often the level of formats is looked at while older programs run, milliseconds. */
const levelMillis = 1_000

/** The definition of the ingest, or the transform of its stream, is wrong. */
class IngestFault extends Data.TaggedError("IngestFault")<{ readonly message: string }> {}

/** Follows every ingest of the program for as long as the life lasts. */
export const followIngests = (partition: Partition): Effect.Effect<void> => {
  const { ingests, programStreams } = partition.context
  if (programStreams === undefined) return Effect.void
  // Before any of them begins: a place of one that is not known yet could be given up for a new one's.
  for (const { name } of ingests) partition.core.intake.follows(name)
  return Effect.forEach(ingests, (ingest) => new IngestFollower(partition, ingest, programStreams).follow, {
    concurrency: "unbounded",
    discard: true
  })
}

class IngestFollower {
  private readonly partition: Partition
  private readonly ingest: Ingest
  private readonly streams: ProgramStreams["Service"]
  private readonly progress: IngestProgress
  private readonly pauses = new Pauses(firstPauseMillis, lastPauseMillis)
  private warnedAt: number | undefined = undefined

  constructor(partition: Partition, ingest: Ingest, streams: ProgramStreams["Service"]) {
    this.partition = partition
    this.ingest = ingest
    this.streams = streams
    this.progress = partition.ingestProgress(ingest.name)
  }

  readonly follow: Effect.Effect<never> = Effect.suspend(() => this.run())

  private readonly run = Effect.fnUntraced(function* (this: IngestFollower) {
    const { ingest, partition, progress } = this
    progress.is("starting")
    partition.metrics.ingestStopped(ingest.name, false)
    const { level } = partition.context.placement
    // An older program could own the partition next, and would leave the places out.
    while (level !== undefined && level() < formatLevels.ingestPlaces) yield* Effect.sleep(Duration.millis(levelMillis))
    yield* showParked(partition, parkedNameOf(ingest.name))
    progress.read = this.place
    return yield* Effect.raceFirst(this.keepPlace, this.keepFollowing)
  })

  /** The place in the partition's last frame. */
  private get place(): number | undefined {
    return this.partition.core.head.ingests?.[this.ingest.name]
  }

  private readonly keepFollowing = Effect.suspend(() => this.following())

  private readonly following = Effect.fnUntraced(function* (this: IngestFollower) {
    const { progress } = this
    while (true) {
      const exit = yield* Effect.result(this.once())
      const error = exit._tag === "Failure" ? exit.failure : undefined
      if (error instanceof StreamPlaceLost || error instanceof IngestFault) yield* this.stop(error.message)
      else yield* this.warn(error)
      if (progress.state !== "stopped") yield* Effect.sleep(Duration.millis(this.pauses.afterFailure()))
    }
  })

  /** Follows the stream until it fails. */
  private readonly once = Effect.fnUntraced(function* (this: IngestFollower) {
    const { ingest, partition, progress } = this
    const { start } = progress
    if (start !== undefined || progress.read === undefined) yield* this.begin(start ?? ingest.from)
    const subjects = yield* Effect.try({
      try: () => subjectsOf(ingest, partition.id, partition.context.config.partitions),
      catch: (cause) => new IngestFault({ message: `its subjects cannot be named: ${describe(cause)}` })
    })
    const after = progress.read ?? 0
    const batches = this.streams.follow({ stream: ingest.stream, subjects, after })
    yield* Stream.runForEach(batches, ({ messages, through }) =>
      Effect.gen({ self: this }, function* () {
        progress.is("following")
        this.pauses.reset()
        const left = messages[0]?.behind
        if (left !== undefined) this.isBehind(left + 1)
        for (const message of messages) yield* this.take(message)
        if (messages.length === 0) this.passed(through)
        this.isBehind(messages[messages.length - 1]?.behind ?? 0)
      })
    )
  })

  private isBehind(messages: number): void {
    this.progress.behind = messages
    this.partition.metrics.ingestBehind(this.ingest.name, messages)
  }

  /** Has recorded where a new ingest begins, ahead of its first message: a restart would begin elsewhere otherwise. */
  private readonly begin = Effect.fnUntraced(function* (this: IngestFollower, from: IngestStart) {
    const { ingest, partition, progress } = this
    const { core } = partition
    const start = yield* this.placeOf(from)
    core.intake.passOver(start, ingest.name)
    progress.read = start
    core.intake.passed(start, ingest.name)
    progress.begun()
  })

  private readonly placeOf = Effect.fnUntraced(function* (this: IngestFollower, from: IngestStart) {
    const { ingest, streams } = this
    const { stream } = ingest
    if (typeof from === "object" && "timeMillis" in from) return yield* streams.before(stream, from.timeMillis)
    const { first, last } = yield* streams.ends(stream)
    if (typeof from === "string") return from === "new" ? last : first - 1
    if (from.sequence > last + 1)
      return yield* new IngestFault({ message: `its stream ends at ${last}, before the sequence ${from.sequence}` })
    return Math.max(from.sequence, first) - 1
  })

  /** Takes a message in: a command, one to be parked, or one that means nothing here. */
  private readonly take = Effect.fnUntraced(function* (this: IngestFollower, message: StreamMessage) {
    const { ingest, partition, progress } = this
    const { sequence } = message
    if (sequence <= (progress.read ?? 0)) return
    const { partitions } = partition.context.config
    const addressee = addresseeOf(ingest, message, partition.id, partitions)
    if (addressee._tag === "Misplaced") return yield* new IngestFault(addressee)
    if (addressee._tag === "Others") return this.passed(sequence)
    const { organization } = addressee
    const problem = addressee._tag === "Ours" ? this.offer(message, organization) : addressee.error
    if (problem !== undefined) {
      partition.metrics.poison()
      yield* parkMessage(partition, ingest.name, organization, message, problem)
      partition.core.intake.passOver(sequence, ingest.name)
    }
    this.passed(sequence)
    yield* waitForRoom(partition, ingest.name)
    // The place moves on when an actor has failed, so what waits to be parked is never dropped.
    yield* partition.failedSignals.room
  })

  /** Hands a message to the core as its command. Returns why it means none; undefined if the rule skips it too. */
  private offer(message: StreamMessage, organization: string): string | undefined {
    const { ingest, partition } = this
    try {
      const meaning = ingest.toCommand(message)
      if (meaning === undefined) return undefined
      const { actor, command, key } = meaning
      const problem = actor.commandProblem(command)
      if (problem !== undefined) return `toCommand made no command of ${actor.kind}: ${problem}`
      partition.metrics.ingestTaken(ingest.name)
      return partition.core.intake.signal(message.sequence, organization, actor, key, command, ingest.name)
        ? undefined
        : `nothing of this engine is named ${actor.kind}`
    } catch (cause) {
      return describe(cause)
    }
  }

  private passed(sequence: number): void {
    this.progress.read = sequence
    this.partition.core.intake.passed(sequence, this.ingest.name)
  }

  /**
   * Stores the place now and then where no decision does: other partitions' messages would be read again after a start,
   * and a place that stays behind would look like a loss once the stream has dropped what is there.
   */
  private readonly keepPlace: Effect.Effect<never> = Effect.forever(
    Effect.andThen(
      Effect.sleep(Duration.millis(ingestPlaceMillis)),
      Effect.sync(() => {
        const { core } = this.partition
        const { place } = this
        const { read } = this.progress
        if (place === undefined || read === undefined || read <= place) return
        if (core.intake.isThrough(this.ingest.name)) core.intake.passOver(read, this.ingest.name)
      })
    )
  )

  /** Stops until an operator has said where to go on: nothing is skipped silently. */
  private readonly stop = Effect.fnUntraced(function* (this: IngestFollower, reason: string) {
    const { ingest, partition, progress } = this
    progress.is("stopped", reason)
    partition.metrics.ingestStopped(ingest.name, true)
    yield* Effect.logError(
      `ingest ${ingest.name} of partition ${partition.id} has stopped, until Ingest.resume says where it goes on: ${reason}`
    )
    yield* progress.resumed.wait
    progress.is("starting")
    partition.metrics.ingestStopped(ingest.name, false)
  })

  private warn(error: unknown): Effect.Effect<void> {
    const { ingest, partition, progress } = this
    progress.is("away", error === undefined ? "its stream has ended" : describe(error))
    const now = partition.now().monotonic
    if (this.warnedAt !== undefined && now - this.warnedAt < warningMillis) return Effect.void
    this.warnedAt = now
    return Effect.logWarning(
      `ingest ${ingest.name} of partition ${partition.id} gets no messages and subscribes again: ${progress.reason}`
    )
  }
}
