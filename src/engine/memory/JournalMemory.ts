/**
 * Keeps the log in memory: for the library without servers, for tests and under the simulator's faults. Shared by
 * everything that is built from one `makeStore`, so that two engines can fight over one log as two processes do. Needs
 * no service.
 */
import { Effect, Layer, Stream } from "effect"
import {
  Journal,
  JournalGap,
  JournalRefused,
  type Log,
  type LogFound,
  type PublishAnswer,
  type PublishRequest,
  type StoredFrame
} from "../ports/Journal.ts"

/** Bytes after which a log in memory is full, by default: 1 GiB. */
export const defaultMaximumBytes = 1024 * 1024 * 1024

/** The most frames and bytes in one batch of `read`. */
const readBatchFrames = 256
const readBatchBytes = 8 * 1024 * 1024

/**
 * The content of a partition's log. Tests and simulations may change it, as a failing disk would. See
 * {@link engineCheckers}.
 */
export interface MemoryLog {
  /** The sequence that `frames[0]` has, or would have. */
  firstSequence: number
  frames: Array<StoredFrame>
  bytes: number
  /** The id of the deployment that the log belongs to. */
  deployment?: string | undefined
}

/** The logs of a deployment. See {@link engineCheckers}. */
export interface JournalStore {
  /** A partition's log, made when it is not there. */
  readonly log: (partition: number) => MemoryLog
  readonly has: (partition: number) => boolean
  readonly maximumBytes: number
}

/**
 * `deployment` is the owner of the logs from the beginning; without it they belong to the deployment that opens them
 * first.
 */
export const makeStore = (options?: { readonly maximumBytes?: number; readonly deployment?: string }): JournalStore => {
  const logs = new Map<number, MemoryLog>()
  return {
    maximumBytes: options?.maximumBytes ?? defaultMaximumBytes,
    has: (partition) => logs.has(partition),
    log: (partition) => {
      let log = logs.get(partition)
      if (log === undefined) {
        log = { firstSequence: 1, frames: [], bytes: 0, deployment: options?.deployment }
        logs.set(partition, log)
      }
      return log
    }
  }
}

/** The last sequence ever used in a log. */
export const lastSequenceOf = (log: MemoryLog): number => log.firstSequence + log.frames.length - 1

/**
 * Makes a publish attempt on a log and returns its answer. Synchronous, so that a faulty log can make it and lose the
 * answer.
 */
export const publishTo = (log: MemoryLog, request: PublishRequest, maximumBytes: number): PublishAnswer => {
  const last = lastSequenceOf(log)
  if (request.expectedLast !== last) return { _tag: "WrongSequence", last }
  if (log.bytes + request.bytes.length > maximumBytes) return { _tag: "Full" }
  const sequence = last + 1
  log.frames.push({ sequence, identity: request.identity, bytes: request.bytes })
  log.bytes += request.bytes.length
  return { _tag: "Acked", sequence, duplicate: false }
}

const homeOf = (partition: number): string => `the log ${partition} in memory`

/** The owner of a log when it is opened. A new log belongs to the deployment that opens it. */
export const ownerOf = (store: JournalStore, partition: number, deployment: string | undefined): string | undefined => {
  const isNew = !store.has(partition)
  const log = store.log(partition)
  if (isNew) log.deployment ??= deployment
  return log.deployment
}

/** Gives a log to a deployment. */
export const adoptLog = (
  store: JournalStore,
  partition: number,
  deployment: string
): Effect.Effect<void, JournalRefused> =>
  Effect.suspend(() => {
    const log = store.log(partition)
    log.deployment ??= deployment
    return log.deployment === deployment
      ? Effect.void
      : Effect.fail(new JournalRefused({ message: `${homeOf(partition)} belongs to the deployment ${log.deployment}` }))
  })

/** The existing logs of a store. */
export const surveyLogs = (store: JournalStore, partitions: number): ReadonlyArray<LogFound> => {
  const found: Array<LogFound> = []
  for (let partition = 0; partition < partitions; partition++) {
    if (!store.has(partition)) continue
    const log = store.log(partition)
    found.push({ partition, home: homeOf(partition), deployment: log.deployment, lastSequence: lastSequenceOf(log) })
  }
  return found
}

/**
 * Removes the frames below a sequence, as the server does: with a sequence past the end it empties the log and moves
 * its last sequence.
 */
export const purgeLog = (log: MemoryLog, below: number): void => {
  const last = lastSequenceOf(log)
  const kept = log.frames.filter((frame) => frame.sequence >= below)
  log.bytes = kept.reduce((sum, frame) => sum + frame.bytes.length, 0)
  log.frames = kept
  log.firstSequence = kept[0]?.sequence ?? Math.max(below, last + 1)
}

/** A port onto one log of a store. */
export const openLog = (store: JournalStore, partition: number, deployment?: string): Log => {
  const owner = ownerOf(store, partition, deployment)
  const log = store.log(partition)
  const frameAt = (sequence: number) => log.frames[sequence - log.firstSequence]
  return {
    partition,
    leaderMayBeDeposed: false,
    home: homeOf(partition),
    deployment: owner,
    adopt: (id) => adoptLog(store, partition, id),
    publish: (request) => Effect.sync(() => publishTo(log, request, store.maximumBytes)),
    frameAt: (sequence) => Effect.sync(() => frameAt(sequence)),
    state: Effect.sync(() => ({
      firstSequence: log.firstSequence,
      lastSequence: lastSequenceOf(log),
      bytes: log.bytes,
      maximumBytes: store.maximumBytes
    })),
    read: (from, through) =>
      Stream.unfold(from, (at) =>
        Effect.suspend(() => {
          if (at > through) return Effect.undefined
          const end = Math.min(through, at + readBatchFrames - 1)
          const batch: Array<StoredFrame> = []
          let bytes = 0
          let sequence = at
          for (; sequence <= end; sequence++) {
            const frame = frameAt(sequence)
            if (frame === undefined) {
              return Effect.fail(
                new JournalGap({ partition, sequence, message: `frame ${sequence} is not in the log` })
              )
            }
            bytes += frame.bytes.length
            if (batch.length > 0 && bytes > readBatchBytes) break
            batch.push(frame)
          }
          return Effect.succeed([batch as ReadonlyArray<StoredFrame>, sequence] as const)
        })
      ),
    purgeBelow: (sequence) =>
      Effect.sync(() => {
        if (!Number.isSafeInteger(sequence) || sequence < 2 || sequence > lastSequenceOf(log))
          throw new Error(`purge below ${sequence} would empty or move the log`)
        const removed = log.frames.splice(0, Math.max(0, sequence - log.firstSequence))
        log.firstSequence += removed.length
        for (const frame of removed) log.bytes -= frame.bytes.length
      }),
    restartAfter: (sequence) =>
      Effect.sync(() => {
        if (sequence < lastSequenceOf(log)) throw new Error(`the log is already past ${sequence}`)
        log.frames = []
        log.firstSequence = sequence + 1
        log.bytes = 0
      })
  }
}

/** The journal over a store. */
export const layerOf = (store: JournalStore): Layer.Layer<Journal> =>
  Layer.succeed(
    Journal,
    Journal.of({
      maximumMessageBytes: 1024 * 1024,
      survey: (partitions) => Effect.sync(() => surveyLogs(store, partitions)),
      open: (partition, deployment) => Effect.sync(() => openLog(store, partition, deployment))
    })
  )

/** A journal of its own, lost with the process. */
export const layer: Layer.Layer<Journal> = Layer.suspend(() => layerOf(makeStore()))
