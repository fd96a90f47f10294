/**
 * Reads the stored messages of a stream in order, with everything that a copy needs: sequence, subject, time, headers,
 * data. It disturbs nobody: a consumer in memory reads, and the stream stays as it is. Needs `Requests` and
 * `JetStreamApi`.
 */
import { Clock, Data, Duration, Effect, Stream } from "effect"
import type { JetStreamApi } from "./jetStreamApi.ts"
import * as OrderedReader from "./orderedReader.ts"
import type { Requests } from "./requests.ts"

/** A message as a stream holds it. */
export interface StoredMessage {
  readonly sequence: number
  readonly subject: string
  /** When it was stored, in nanoseconds since the Unix epoch, decimal. */
  readonly time: string
  readonly headers: Readonly<Record<string, ReadonlyArray<string>>> | undefined
  readonly data: Uint8Array
}

/** A stream cannot be read on. */
export class StreamUnread extends Data.TaggedError("StreamUnread")<{ readonly message: string }> {}

/** One pull of the reader. */
const pullMessages = 500
const pullBytes = 4 * 1024 * 1024

/** How long a reader may get nothing before the stream is looked at. */
const stallMillis = 2_000

/** How long nothing may come in all, over readers and servers that come and go. */
const patienceMillis = 30_000

/** Pause before a reader is opened again. */
const retryMillis = 100

const messageOf = ({ message, sequence, time }: OrderedReader.Delivered): StoredMessage => ({
  sequence,
  subject: message.subject,
  time,
  headers: message.headers === undefined ? undefined : Object.fromEntries(message.headers),
  data: message.data
})

/** The messages from one sequence to another, in order. Those that the stream does not hold any more are left out. */
export const copyMessages = (
  requests: Requests,
  api: JetStreamApi,
  { from, stream, through }: { readonly stream: string; readonly from: number; readonly through: number }
): Stream.Stream<ReadonlyArray<StoredMessage>, StreamUnread> =>
  Stream.suspend(() => {
    let next = from
    let progressAt: number | undefined
    const noteProgress = Effect.map(Clock.currentTimeMillis, (now) => {
      progressAt = now
    })

    const takeMore = (reader: OrderedReader.OrderedReader) =>
      Effect.gen(function* () {
        if (next > through) return undefined
        const delivered = yield* Effect.timeoutOrElse(reader.take, {
          duration: Duration.millis(stallMillis),
          orElse: () => Effect.fail(new OrderedReader.ReaderStopped({ message: "no message came" }))
        })
        yield* noteProgress
        const last = delivered.at(-1)!
        // With nothing behind the last one, whatever is missing up to the end was removed.
        next = last.behind === 0 ? through + 1 : last.sequence + 1
        return [delivered.filter(({ sequence }) => sequence <= through).map(messageOf), reader] as const
      })

    const session: Stream.Stream<ReadonlyArray<StoredMessage>, StreamUnread> = Stream.suspend(() =>
      next > through
        ? Stream.empty
        : Stream.unwrap(
            Effect.gen(function* () {
              if (progressAt === undefined) yield* noteProgress
              return yield* OrderedReader.open(requests, api, {
                stream,
                from: next,
                batch: Math.min(pullMessages, through - next + 1),
                maximumBytes: pullBytes
              })
            }).pipe(Effect.map((reader) => Stream.unfold(reader, takeMore)))
          ).pipe(Stream.catchTag("ReaderStopped", (stopped) => Stream.unwrap(Effect.as(lookAgain(stopped), session))))
    )

    /** Passes over messages that were removed before they were read. */
    const lookAgain = (stopped: OrderedReader.ReaderStopped) =>
      Effect.gen(function* () {
        const waited = (yield* Clock.currentTimeMillis) - (progressAt ?? 0)
        if (waited >= patienceMillis)
          return yield* new StreamUnread({ message: `the stream ${stream} cannot be read: ${stopped.message}` })
        yield* api.streamInfo(stream).pipe(
          Effect.match({
            onSuccess: ({ state }) => {
              next = state.messages === 0 ? through + 1 : Math.max(next, state.first_seq)
            },
            // It may be back at the next look.
            onFailure: () => {}
          })
        )
        yield* Effect.sleep(Duration.millis(retryMillis))
      })
    return session
  })
