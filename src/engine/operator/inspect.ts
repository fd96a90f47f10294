/** Shows operators a partition or an actor: state, sequence, checkpoint, timers and the last facts, as plain values. */
import { Effect, Option, Stream } from "effect"
import type { ActorAddress } from "../address.ts"
import type { ProbedActor } from "../core/drain/Probe.ts"
import { describe } from "../describe.ts"
import { decodeFrame, type Frame, type Head, hashOf } from "../frame.ts"
import { lookupDeadlineMillis } from "../limits.ts"
import type { CheckpointRecord } from "../ports/Checkpoints.ts"
import type { Cursor } from "../ports/Cursors.ts"
import type { LogState } from "../ports/Journal.ts"
import { deadline } from "../shell/deadline.ts"
import type { Status } from "../shell/partition/EngineContext.ts"
import type { Partition } from "../shell/partition/Partition.ts"

/** Frames at the log's end that are searched for facts. */
export const inspectedFrames = 500

/** Facts shown. */
export const inspectedFacts = 20

/** A record as the log holds it. See {@link Engine.Operator.inspectPartition}. */
export interface InspectedRecord extends ActorAddress {
  readonly sequence: number
  readonly index: number
  /** Milliseconds since the Unix epoch. */
  readonly now: number
  /** The fact's JSON, or the event's. */
  readonly record: unknown
  readonly isEvent: boolean
}

/** A reactor's stored cursor, with how far the reactor itself is. See {@link Engine.Operator.inspectPartition}. */
export interface InspectedCursor extends Cursor {
  /**
   * Frames that the reactor has still to read: fewer than those behind the stored cursor if some hold nothing for it.
   */
  readonly lag: number
}

/** The state of a partition, for an operator. See {@link Engine.Operator.inspectPartition}. */
export interface PartitionInspection {
  readonly partition: number
  readonly status: Status
  readonly head: Head
  /** Undefined when the log does not answer. */
  readonly log: LogState | undefined
  readonly checkpoint: CheckpointRecord | undefined
  readonly cursors: ReadonlyArray<InspectedCursor>
  readonly mailboxDepth: number
  readonly actorsInMemory: number
  readonly changedSinceCheckpoint: number
  readonly timersInMemory: number
  /** Organizations out of service because some of their stored data cannot be read (docs/architecture.md, rule 17). */
  readonly quarantined: ReadonlyArray<{ readonly organization: string; readonly reason: string }>
  readonly lastRecords: ReadonlyArray<InspectedRecord>
}

/** The state of an actor, for an operator. See {@link Engine.Operator.inspectActor}. */
export interface ActorInspection extends ActorAddress {
  readonly partition: number
  readonly status: Status
  /** The state as JSON; undefined when it is neither in memory nor in a checkpoint. */
  readonly state: unknown
  readonly inMemory: boolean
  /** The frame that changed it last, or the one of its checkpoint row; 0 for never. */
  readonly sequence: number
  readonly wakeAt: number | undefined
  readonly checkpoint: CheckpointRecord | undefined
  readonly lastRecords: ReadonlyArray<InspectedRecord>
}

/** The figures of a partition, for a list of all. See {@link Engine.Operator.inspectPartition}. */
export type PartitionSummary = Omit<PartitionInspection, "lastRecords">

/** A whole frame of the log. See {@link Engine.Operator.inspectFrame}. */
export interface InspectedFrame {
  readonly partition: number
  readonly sequence: number
  readonly hash: string
  readonly frame: Frame
}

const lookup = <A, E>(effect: Effect.Effect<A, E>) => deadline(effect, lookupDeadlineMillis, () => "late" as const)

/**
 * Frames that a reactor has still to read. Its stored cursor stays behind frames that hold nothing for it, which it has
 * read.
 */
export const lagOf = ({ core, feed }: Partition, reactor: string, stored: number): number =>
  Math.max(0, core.head.sequence - Math.max(stored, feed.readBy(reactor)))

/** Never fails: unreadable parts are left out. */
export const summarizePartition = Effect.fnUntraced(function* (
  partition: Partition
): Effect.fn.Return<PartitionSummary> {
  const log = partition.log === undefined ? undefined : yield* Effect.option(partition.log.state)
  const { core } = partition
  const cursors = yield* Effect.option(lookup(partition.context.cursors.list(partition.id)))
  const { actors, changedActors, commands, stalledCommands, timers } = core.probe.counts
  return {
    partition: partition.id,
    status: partition.status,
    head: core.head,
    log: log?._tag === "Some" ? log.value : undefined,
    checkpoint: core.newestCheckpoint,
    cursors: Option.getOrElse(cursors, () => []).map((cursor) => ({
      ...cursor,
      lag: lagOf(partition, cursor.reactor, cursor.sequence)
    })),
    mailboxDepth: commands + stalledCommands,
    actorsInMemory: actors,
    changedSinceCheckpoint: changedActors,
    timersInMemory: timers,
    quarantined: [...partition.quarantine].map(([organization, reason]) => ({ organization, reason }))
  }
})

/** Never fails: unreadable parts are left out. */
export const inspectPartition = Effect.fnUntraced(function* (
  partition: Partition
): Effect.fn.Return<PartitionInspection> {
  return { ...(yield* summarizePartition(partition)), lastRecords: yield* lastRecords(partition, () => true) }
})

/** A frame; undefined if the log has none of this sequence, or no longer, or does not answer. */
export const inspectFrame = Effect.fnUntraced(function* (
  partition: Partition,
  sequence: number
): Effect.fn.Return<InspectedFrame | undefined> {
  const { log } = partition
  if (log === undefined) return undefined
  const read = Effect.gen(function* () {
    const { firstSequence, lastSequence } = yield* log.state
    if (sequence < firstSequence || sequence > lastSequence) return undefined
    const batches = yield* Stream.runCollect(log.read(sequence, sequence))
    const stored = batches.flat().find((one) => one.sequence === sequence)
    return (
      stored && {
        partition: partition.id,
        sequence,
        hash: hashOf(stored.bytes),
        frame: decodeFrame(stored.bytes)
      }
    )
  })
  const found = yield* Effect.exit(lookup(read))
  return found._tag === "Success" ? found.value : undefined
})

/** Never fails: unreadable parts are left out. */
export const inspectActor = Effect.fnUntraced(function* (
  partition: Partition,
  address: ActorAddress
): Effect.fn.Return<ActorInspection> {
  const index = partition.context.registry.actorIndex(address.kind)
  const found = yield* stateOf(partition, address, partition.core.probe.actor(address.organization, index, address.key))
  return {
    ...address,
    partition: partition.id,
    status: partition.status,
    ...found,
    checkpoint: partition.core.newestCheckpoint,
    lastRecords: yield* lastRecords(
      partition,
      (record) =>
        record.organization === address.organization && record.kind === address.kind && record.key === address.key
    )
  }
})

const stateOf = Effect.fnUntraced(function* (
  partition: Partition,
  address: ActorAddress,
  inMemory: ProbedActor | undefined
) {
  const { registry } = partition.context
  if (inMemory?.isLoaded === true) {
    let state: unknown
    try {
      state = registry.actors[registry.actorIndex(address.kind)]!.encodeState(inMemory.state)
    } catch (cause) {
      state = `the state cannot be encoded: ${describe(cause)}`
    }
    const wakeAt = inMemory.wakeAt === Number.POSITIVE_INFINITY ? undefined : inMemory.wakeAt
    return { state, inMemory: true, sequence: inMemory.changedAt, wakeAt }
  }
  const through = partition.core.newestCheckpoint?.sequence
  const rows =
    through === undefined
      ? undefined
      : yield* Effect.option(lookup(partition.context.checkpoints.load(partition.id, [address], through)))
  const row = rows?._tag === "Some" ? rows.value[0] : undefined
  return {
    state: row === undefined || row.state === null ? undefined : (JSON.parse(row.state) as unknown),
    inMemory: false,
    sequence: row?.sequence ?? 0,
    wakeAt: row?.wakeAt ?? undefined
  }
})

const lastRecords = (
  partition: Partition,
  wanted: (record: InspectedRecord) => boolean
): Effect.Effect<ReadonlyArray<InspectedRecord>> =>
  Effect.gen(function* () {
    const { log } = partition
    if (log === undefined) return []
    const state = yield* log.state
    const found: Array<InspectedRecord> = []
    const from = Math.max(state.firstSequence, state.lastSequence - inspectedFrames + 1)
    yield* Stream.runForEach(log.read(from, state.lastSequence), (batch) =>
      Effect.sync(() => {
        for (const stored of batch) {
          const frame = decodeFrame(stored.bytes)
          for (const [index, { actor, event, fact }] of frame.records.entries()) {
            const { key, kind, organization } = actor
            const place = { organization, kind, key, sequence: stored.sequence, index, now: frame.now }
            const record = { ...place, record: event ?? fact, isEvent: event !== undefined }
            if (!wanted(record)) continue
            found.push(record)
            if (found.length > inspectedFacts) found.shift()
          }
        }
      })
    )
    return found
  }).pipe(Effect.catchCause(() => Effect.succeed<ReadonlyArray<InspectedRecord>>([])))
