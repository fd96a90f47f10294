/**
 * Stores contents durably (docs/handoff.md, 1). Those of concurrent requests share one message of a stream, which is on
 * disk before the requests are answered. Contents that are needed for longer than the stream keeps them are copied to
 * PostgreSQL. Needs `NatsConnection`, `SqlClient` and `ContentKeys`.
 */
import { Duration, Effect, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import * as GroupCommit from "../../../common/groupCommit.ts"
import { RecentlyUsed } from "../../../common/RecentlyUsed.ts"
import { NatsConnection } from "../../../nats/connection.ts"
import * as MessageStream from "../../../nats/MessageStream.ts"
import { unnest } from "../../../postgres/unnest.ts"
import type { Message } from "../../Message.ts"
import { termDigests } from "../../search/termDigests.ts"
import { ContentKeys } from "./ContentKeys.ts"
import { bytesInFrame, contentOf, encodeFrame, openContent, placeOf, pointerTo, sealContent } from "./contentFrames.ts"
import * as ContentSweep from "./contentSweep.ts"
import {
  contentPublishMillis,
  contentStreamBytes,
  contentStreamMillis,
  contentsAtOnce,
  contentTimeoutMillis,
  leastContentStreamBytes,
  maximumSharedBytes,
  maximumWaitingContentBytes,
  maximumWaitingContents,
  readsAtOnce,
  recentContentBytes
} from "./limits.ts"
import { ContentsUnavailable, type KeptContent, MessageContents } from "./MessageContents.ts"

export interface ContentStreamOptions {
  /** Put before the name of the stream, for several deployments on one account. */
  readonly namespace?: string | undefined
  /** Copies of the stream: 1 on one machine (the default), 3 in a cluster. */
  readonly replicas?: 1 | 3 | 5 | undefined
  /** Bound of a new stream in bytes. */
  readonly maximumBytes?: number | undefined
}

type Sealed = ReadonlyArray<Uint8Array>
type Written = Result.Result<ReadonlyArray<string>, ContentsUnavailable>

const unavailable = (error: { readonly message: string }): ContentsUnavailable =>
  error instanceof ContentsUnavailable
    ? error
    : new ContentsUnavailable({ message: `contents of emails cannot be reached: ${error.message}` })

/** Nobody waits for longer, whatever hangs. */
const bounded = <A, E extends { readonly message: string }>(
  effect: Effect.Effect<A, E>
): Effect.Effect<A, ContentsUnavailable> =>
  effect.pipe(Effect.timeout(Duration.millis(contentTimeoutMillis)), Effect.mapError(unavailable))

/** Contents in order, as many together as a message takes: each request's stay beside each other as far as they fit. */
const sharesOf = (contents: Sealed, maximumBytes: number): ReadonlyArray<Sealed> => {
  const shares: Array<Array<Uint8Array>> = []
  let bytes = Number.POSITIVE_INFINITY
  for (const content of contents) {
    bytes += bytesInFrame(content)
    if (bytes > maximumBytes) {
      shares.push([])
      bytes = bytesInFrame(content)
    }
    shares.at(-1)?.push(content)
  }
  return shares
}

/** Shared messages, written and read. */
const makeFrames = (stream: MessageStream.MessageStream) => {
  const recent = new RecentlyUsed<Uint8Array>(recentContentBytes)

  const append = Effect.fnUntraced(function* (contents: Sealed) {
    const frame = encodeFrame(contents)
    const sequence = yield* stream.append(frame)
    recent.set(String(sequence), frame, frame.length)
    return contents.map((content, index) => pointerTo(sequence, index, content))
  })

  /** Stores contents of several requests; one that cannot be stored leaves the others alone. */
  const write = Effect.fnUntraced(function* (requests: ReadonlyArray<Sealed>) {
    const maximumBytes = Math.min(maximumSharedBytes, stream.maximumMessageBytes())
    const pointers = new Map<Uint8Array, string>()
    let failure: ContentsUnavailable | undefined
    for (const share of sharesOf(requests.flat(), maximumBytes)) {
      const stored = yield* Effect.result(Effect.mapError(append(share), unavailable))
      if (Result.isFailure(stored)) {
        failure = stored.failure
        // The server is away or full: those behind would only wait for the same.
        break
      }
      for (const [index, content] of share.entries()) pointers.set(content, stored.success[index]!)
    }
    return requests.map((contents): Written => {
      const all = contents.map((content) => pointers.get(content))
      const isWhole = all.every((pointer) => pointer !== undefined)
      return isWhole ? Result.succeed(all) : Result.fail(failure ?? unavailable({ message: "nothing was stored" }))
    })
  })

  const read = Effect.fnUntraced(function* (sequence: number) {
    const known = recent.get(String(sequence))
    if (known !== undefined) return known
    const frame = yield* stream.read(sequence)
    if (frame !== undefined) recent.set(String(sequence), frame, frame.length)
    return frame
  })

  /** The encrypted contents that the stream has, by their pointers. */
  const contentsAt = Effect.fnUntraced(function* (pointers: ReadonlyArray<string>) {
    const places = pointers.flatMap((pointer) => {
      const place = placeOf(pointer)
      return place === undefined ? [] : [{ pointer, place }]
    })
    const sequences = [...new Set(places.map(({ place }) => place.sequence))]
    const frames = new Map(
      yield* Effect.forEach(
        sequences,
        (sequence) => Effect.map(read(sequence), (frame) => [sequence, frame] as const),
        { concurrency: readsAtOnce }
      )
    )
    const found = new Map<string, Uint8Array>()
    for (const { place, pointer } of places) {
      const frame = frames.get(place.sequence)
      const content = frame === undefined ? undefined : contentOf(frame, place)
      if (content !== undefined) found.set(pointer, content)
    }
    return found
  })

  return { write, contentsAt }
}

/** The copies that outlive the stream. */
const copiesOf = (sql: SqlClient.SqlClient, organization: string, pointers: ReadonlyArray<string>) =>
  pointers.length === 0
    ? Effect.succeed(new Map<string, Uint8Array>())
    : Effect.map(
        sql<{ readonly pointer: string; readonly content: Uint8Array }>`
          select w.pointer, w.content from send_waiting w
          join ${unnest(
            pointers.map((pointer) => ({ pointer })),
            { pointer: "text" }
          )} on w.pointer = batch.pointer
          where w.organization_id = ${organization} and w.content is not null`,
        (rows) => new Map(rows.map(({ content, pointer }) => [pointer, content] as const))
      )

const make = Effect.fnUntraced(function* (options: ContentStreamOptions) {
  const sql = yield* SqlClient.SqlClient
  const keys = yield* ContentKeys
  const { client } = yield* NatsConnection
  const stream = yield* MessageStream.make(client, {
    name: "contents",
    description: "Contents of emails, encrypted, until they are too old",
    namespace: options.namespace,
    replicas: options.replicas,
    maximumBytes: options.maximumBytes ?? contentStreamBytes,
    leastBytes: Math.min(leastContentStreamBytes, options.maximumBytes ?? contentStreamBytes),
    maximumAgeMillis: contentStreamMillis,
    publishTimeoutMillis: contentPublishMillis
  })
  const frames = makeFrames(stream)
  let waitingBytes = 0
  const group = yield* GroupCommit.make({
    write: frames.write,
    maximumBatch: contentsAtOnce,
    maximumWaiting: maximumWaitingContents
  })

  const store = (contents: Sealed) =>
    Effect.suspend((): Effect.Effect<ReadonlyArray<string>, ContentsUnavailable> => {
      const bytes = contents.reduce((sum, content) => sum + content.length, 0)
      if (waitingBytes + bytes > maximumWaitingContentBytes)
        return Effect.fail(new ContentsUnavailable({ message: "too many contents of emails wait to be stored" }))
      waitingBytes += bytes
      return Effect.ensuring(
        Effect.flatMap(group.submit(contents), (written) => Effect.fromResult(written)),
        Effect.sync(() => {
          waitingBytes -= bytes
        })
      )
    })

  const write = Effect.fn("MessageContents.write")(function* (organization: string, messages: ReadonlyArray<Message>) {
    if (messages.length === 0) return []
    const key = yield* keys.forWriting(organization)
    const sealed = messages.map((message) => sealContent(key, organization, message))
    const pointers = yield* bounded(store(sealed))
    return pointers.map((pointer, index): KeptContent => ({ pointer, bytes: sealed[index]!.length }))
  })

  const read = Effect.fn("MessageContents.read")(function* (organization: string, pointers: ReadonlyArray<string>) {
    const key = yield* keys.forReading(organization)
    if (key === undefined) return pointers.map(() => null)
    const streamed = yield* bounded(frames.contentsAt(pointers))
    const others = [...new Set(pointers)].filter((pointer) => !streamed.has(pointer))
    const copied = yield* bounded(copiesOf(sql, organization, others))
    return pointers.map((pointer) => {
      const sealed = streamed.get(pointer) ?? copied.get(pointer)
      return sealed === undefined ? null : (openContent(key, organization, sealed) ?? null)
    })
  })

  const digests = Effect.fnUntraced(function* (organization: string, terms: ReadonlyArray<string>) {
    const key = yield* keys.forReading(organization)
    return key === undefined ? [] : termDigests(key, terms)
  })

  yield* ContentSweep.start(sql, (pointers) => bounded(frames.contentsAt(pointers)))
  return MessageContents.of({ write, read, digests })
})

/** Contents on JetStream and PostgreSQL. */
export const layerDurable = (
  options: ContentStreamOptions = {}
): Layer.Layer<MessageContents, never, NatsConnection | SqlClient.SqlClient | ContentKeys> =>
  Layer.effect(MessageContents, make(options))
