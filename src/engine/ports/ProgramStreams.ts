/**
 * Defines the port of a program's own streams (docs/streams.md): JetStream streams that the program made, whose
 * messages ingests follow and to which its facts are published. The engine creates, changes and purges none of them.
 * Implementations: `ProgramStreamsMemory.ts` here, JetStream under `src/nats`.
 */
import { Context, Data, type Effect, type Stream } from "effect"

/** A message of a stream. See {@link Ingest.jetStream}. */
export interface StreamMessage {
  /** Its place in the stream, from 1, rising; gaps are allowed. */
  readonly sequence: number
  readonly subject: string
  /** When the stream stored it, milliseconds since the Unix epoch. */
  readonly time: number
  /** The first value of each header, by its name as it was sent. */
  readonly headers: Readonly<Record<string, string>>
  readonly data: Uint8Array
  /** Messages of the same subjects that the stream had behind this one when it was read, if it says so. */
  readonly behind?: number
}

/** A message to be stored. See {@link Streams.layerMemory}. */
export interface PublishedMessage {
  readonly subject: string
  readonly data: Uint8Array
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** A second message with the same id within the stream's duplicate window is not stored again. */
  readonly id?: string | undefined
  /** The stream that must store it; any one if left out. */
  readonly stream?: string | undefined
}

/** The messages to follow. See {@link Streams.layerMemory}. */
export interface FollowRequest {
  readonly stream: string
  /** Subjects of the stream, with wildcards; empty for all of them. They do not overlap. */
  readonly subjects: ReadonlyArray<string>
  /** The place behind which to begin. */
  readonly after: number
}

/**
 * Messages that were read together, in order. `through`: every message up to there that is wanted was given. See
 * {@link Streams.layerMemory}.
 */
export interface StreamBatch {
  readonly messages: ReadonlyArray<StreamMessage>
  readonly through: number
}

/** Where a stream begins and ends. See {@link Streams.layerMemory}. */
export interface StreamEnds {
  /** The oldest message; one above `last` if there is none. */
  readonly first: number
  readonly last: number
}

/** The stream cannot be reached, or is not there yet. Repeatable. See {@link Streams.layerMemory}. */
export class StreamUnavailable extends Data.TaggedError("StreamUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/**
 * The stream does not continue where it was left: it was purged past that place, has lost its end, or was made anew; or
 * it is of a kind that cannot be followed. Terminal until an operator acts. See {@link Ingest.resume}.
 */
export class StreamPlaceLost extends Data.TaggedError("StreamPlaceLost")<{
  readonly stream: string
  /** The place that was to be continued from. */
  readonly place: number
  readonly message: string
}> {}

/** Why a stream cannot be continued at a place; undefined if it can. */
export const lostPlace = (
  { after, stream }: FollowRequest,
  first: number,
  last: number
): StreamPlaceLost | undefined => {
  if (after > last)
    return new StreamPlaceLost({
      stream,
      place: after,
      message: `the stream ${stream} ends at ${last}, and ${after} was processed: it was made anew or has lost its end`
    })
  if (after + 1 < first)
    return new StreamPlaceLost({
      stream,
      place: after,
      message: `the stream ${stream} begins at ${first}, and ${after} was processed: messages between may be lost`
    })
  return undefined
}

/** The message will never be stored: it is too large, or the stream refuses its kind. See {@link Streams.layerMemory}. */
export class PublishRefused extends Data.TaggedError("PublishRefused")<{ readonly message: string }> {}

/**
 * The streams of a program, to read and to write.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Streams } from "sluice"
 *
 * // a test, or a program beside the engine, that writes what an ingest reads
 * export const order = (organization: string, cents: number) =>
 *   Effect.flatMap(Streams.ProgramStreams, (streams) =>
 *     streams.publish({ subject: `orders.${organization}`, data: Buffer.from(JSON.stringify({ cents })) })
 *   )
 * ```
 */
export class ProgramStreams extends Context.Service<
  ProgramStreams,
  {
    /**
     * Follows the messages of some subjects behind a place, in order, without an end. It reads ahead by a bounded
     * number of messages and acknowledges none. A batch without messages says that all up to `through` were others.
     * Fails with `StreamPlaceLost` if the stream does not reach the place any more.
     */
    readonly follow: (request: FollowRequest) => Stream.Stream<StreamBatch, StreamUnavailable | StreamPlaceLost>

    readonly ends: (stream: string) => Effect.Effect<StreamEnds, StreamUnavailable>

    /** The place before the first message that was stored at that time or later. */
    readonly before: (stream: string, timeMillis: number) => Effect.Effect<number, StreamUnavailable>

    /** Stores a message, acknowledged after the stream has it. Each call has a deadline of some seconds. */
    readonly publish: (message: PublishedMessage) => Effect.Effect<void, StreamUnavailable | PublishRefused>
  }
>()("sluice/engine/ProgramStreams") {}
