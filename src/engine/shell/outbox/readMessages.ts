/**
 * Reads messages of frames that the outbox did not get from memory (docs/outbox.md), and finds its beginning when a
 * partition recovers.
 */
import { Effect, Stream } from "effect"
import { decodeFrame, type Frame, hashOf, mayHoldMessages } from "../../frame.ts"
import type { MessageRecord } from "../../outbox.ts"
import type { Cursor } from "../../ports/Cursors.ts"
import type { Partition } from "../partition/Partition.ts"
import { hashAt } from "../witnesses.ts"

/** Frames that are read from the log together. */
const maximumReadFrames = 64

/** The messages of a frame, as the drain that made it gave them. */
export const messagesOf = (sequence: number, { epoch, now, records }: Frame): ReadonlyArray<MessageRecord> => {
  const messages: Array<MessageRecord> = []
  for (const [index, { actor, message }] of records.entries()) {
    if (message === undefined) continue
    const { key, kind, organization } = actor
    const bytes = Buffer.byteLength(JSON.stringify(message.command))
    messages.push({ origin: [epoch, sequence, index], now, sender: { organization, kind, key }, message, bytes })
  }
  return messages
}

/**
 * The beginning of the outbox: behind its cursor. A cursor that has never moved begins with the oldest frame of the
 * log, which an earlier program may have purged.
 */
export const outboxStart = Effect.fnUntraced(function* (partition: Partition, cursor: Cursor) {
  const log = partition.log!
  const position = { sequence: cursor.sequence, hash: cursor.hash }
  partition.outbox.foundCursor(position)
  if (cursor.sequence > 0) return position
  const state = yield* log.state
  const hash =
    state.firstSequence === 1 ? cursor.hash : ((yield* hashAt(log, state, state.firstSequence - 1)) ?? cursor.hash)
  return { sequence: state.firstSequence - 1, hash }
})

/** Reads frames behind the last one that was read, as many as there is room for. */
export const readMessages = Effect.fnUntraced(function* ({ core, log, outbox }: Partition) {
  const from = outbox.readThrough.sequence + 1
  const through = Math.min(core.head.sequence, from + maximumReadFrames - 1)
  yield* Stream.runForEach(log!.read(from, through), (batch) =>
    Effect.try({
      try: () => {
        for (const { bytes, sequence } of batch) {
          const frame = mayHoldMessages(bytes) ? decodeFrame(bytes) : undefined
          const messages = frame === undefined ? [] : messagesOf(sequence, frame)
          outbox.take({ sequence, hash: hashOf(bytes), now: frame?.now ?? 0, messages })
        }
      },
      catch: (cause) => cause
    })
  )
})
