/**
 * Reads the committed frames of a partition behind a place, for whoever follows its log: from memory, or from the log
 * where the follower lags (docs/architecture.md, rule 11).
 */
import { Effect, Stream } from "effect"
import { decodeFrame, hashOf } from "../../frame.ts"
import { type CommittedFrame, recordsOf } from "../../records.ts"
import type { Partition } from "../partition/Partition.ts"

/** Frames that are read from the log at once; they may be large, and their memory is beside the feed's. */
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
