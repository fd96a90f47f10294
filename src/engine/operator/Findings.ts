/**
 * Collects the findings of a recovery about a partition whose log does not fit, and the steps that its repairs share.
 * Needs `Log`.
 */
import { Clock, Data, Effect, Random, Stream } from "effect"
import { decodeFrame, encodeClaim, type Head, hashOf, headAfter, identityOf, placesOf } from "../frame.ts"
import type { CheckpointRecord } from "../ports/Checkpoints.ts"
import type { Cursor } from "../ports/Cursors.ts"
import type { Log, LogState } from "../ports/Journal.ts"
import { append } from "../shell/partition/append.ts"
import { readClocks } from "../shell/readClocks.ts"

/** The operation could not be done; the message says why. */
export class RecoverFailed extends Data.TaggedError("RecoverFailed")<{ readonly message: string }> {}

/** Epochs that `acceptLoss` skips, so that ids of lost frames are never derived again. */
export const lostEpochs = 1_000

/** The result of `acceptLoss`: what it found and did, or with `dryRun` would do. */
export interface LossReport {
  readonly partition: number
  /** Nothing is wrong: nothing was done. */
  readonly fits: boolean
  /** Sentences for the operator. */
  readonly lines: ReadonlyArray<string>
  /** The time whose decisions are lost, if any; without an end until the log was last written. */
  readonly lost?: { readonly sinceMillis: number; readonly untilMillis: number | undefined } | undefined
}

/** A log once it is mended: its head, the end up to which its chain can be followed, and the lost time. */
export interface Mended {
  readonly head: Head
  readonly end: Head | undefined
  readonly lost: LossReport["lost"]
}

/**
 * The findings about a partition whose log has lost something. Without `dryRun` it is mended; `lines` name the losses.
 */
export interface Findings {
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

/** A time as written in sentences for operators. */
export const time = (millis: number): string => new Date(millis).toISOString()

/** Follows a log's chain from `base` to its end and returns the head there; undefined when the chain is broken. */
export const followChain = Effect.fnUntraced(function* (log: Log, state: LogState, base: Head) {
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

/** Appends a frame without facts behind a head; returns its hash. */
export const appendClaim = Effect.fnUntraced(function* (
  log: Log,
  head: Head,
  epoch: number,
  now: number,
  acceptsClock: boolean
) {
  const header = { epoch, number: head.number + 1, now, previousHash: head.hash, ...placesOf(head) }
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
