/**
 * Reads and writes the program's own JetStream streams (docs/streams.md): an ephemeral consumer without
 * acknowledgements for each partition and ingest, and publishes with their deadline. It changes no stream. Needs
 * `NatsConnection`.
 */
import { type NatsConnection as Client, headers, type MsgHdrs, nuid } from "@nats-io/transport-node"
import { Duration, Effect, Layer, Option, type Scope, Stream } from "effect"
import {
  type FollowRequest,
  lostPlace,
  ProgramStreams,
  type PublishedMessage,
  PublishRefused,
  type StreamBatch,
  type StreamMessage,
  StreamPlaceLost,
  StreamUnavailable
} from "../engine/ports/ProgramStreams.ts"
import { NatsConnection } from "./connection.ts"
import * as Api from "./jetStreamApi.ts"
import * as OrderedReader from "./orderedReader.ts"
import * as Requests from "./requests.ts"

/** How long a publish waits for its answer. */
const publishTimeoutMillis = 5_000

/** Messages of one pull, and its bytes; two pulls are read ahead, and a message always fits one. */
const pullMessages = 128
const pullBytes = 1024 * 1024
const messageOverheadBytes = 64 * 1024

/** After this long without a message it is asked how far the stream has come without one. */
const quietMillis = 5_000

const nanosPerMilli = 1_000_000

const unavailable = (cause: { readonly message: string }): StreamUnavailable =>
  cause instanceof StreamUnavailable ? cause : new StreamUnavailable({ message: cause.message, cause })

const headersOf = (found: MsgHdrs | undefined): Readonly<Record<string, string>> =>
  found === undefined ? {} : Object.fromEntries(found.keys().map((name) => [name, found.get(name)]))

const messageOf = ({ behind, message, sequence, time }: OrderedReader.Delivered): StreamMessage => ({
  sequence,
  subject: message.subject,
  time: Number(BigInt(time) / BigInt(nanosPerMilli)),
  headers: headersOf(message.headers),
  data: message.data,
  behind
})

/** Follows one stream, and says when it cannot be continued. */
class Follower {
  private readonly requests: Requests.Requests
  private readonly api: Api.JetStreamApi
  private readonly request: FollowRequest
  /** The last message that was given, how many were behind it, and the pauses of the reader before it. */
  private last: number
  private behind = Number.POSITIVE_INFINITY
  private pauses = 0

  constructor(requests: Requests.Requests, api: Api.JetStreamApi, request: FollowRequest) {
    this.requests = requests
    this.api = api
    this.request = request
    this.last = request.after
  }

  /** Opens the reader behind the place, which must be there. */
  readonly open = Effect.fnUntraced(function* (this: Follower) {
    const { after, stream, subjects } = this.request
    const { config } = yield* this.check()
    if (config.retention !== "limits")
      return yield* new StreamPlaceLost({
        stream,
        place: after,
        message: `the stream ${stream} drops messages that its consumers have read (retention ${config.retention}), so that it cannot be followed: give it the retention "limits", or a mirror that has it`
      })
    const reader = yield* OrderedReader.open(this.requests, this.api, {
      stream,
      from: this.last + 1,
      batch: pullMessages,
      maximumBytes: Math.max(pullBytes, (this.requests.connection.info?.max_payload ?? 0) + messageOverheadBytes),
      ...(subjects.length === 0 ? {} : { filter: subjects })
    })
    return Stream.fromEffectRepeat(this.next(reader))
  })

  /** Looks whether the stream still has what comes behind the last message. */
  private readonly check = Effect.fnUntraced(function* (this: Follower) {
    const info = yield* this.api.streamInfo(this.request.stream)
    const problem = lostPlace({ ...this.request, after: this.last }, info.state.first_seq, info.state.last_seq)
    return problem === undefined ? info : yield* problem
  })

  private readonly next = Effect.fnUntraced(function* (this: Follower, reader: OrderedReader.OrderedReader) {
    const taken = yield* Effect.timeoutOption(reader.take, Duration.millis(quietMillis))
    if (Option.isNone(taken)) return yield* this.quiet(reader)
    const messages = taken.value.map(messageOf)
    const newest = messages[messages.length - 1]!
    // A reader that lags, or paused, may be overtaken by the stream's own retention: its gaps look like other subjects.
    const hasGap = newest.sequence - this.last > messages.length
    const { pauses } = taken.value[messages.length - 1]!
    if (hasGap && (this.behind > 0 || pauses !== this.pauses)) yield* this.check()
    this.pauses = pauses
    this.last = newest.sequence
    this.behind = newest.behind ?? 0
    return { messages, through: newest.sequence } satisfies StreamBatch
  })

  /** Moves over messages of other subjects: the end of the stream, if nothing before it is still to come. */
  private readonly quiet = Effect.fnUntraced(function* (this: Follower, reader: OrderedReader.OrderedReader) {
    const { stream } = this.request
    const taken = reader.taken()
    const { state } = yield* this.api.streamInfo(stream)
    const { delivered, num_pending } = yield* this.api.consumerInfo(stream, reader.consumer)
    if (num_pending === 0 && delivered.consumer_seq === taken) {
      // A reader that lagged and gets nothing more: the stream may have dropped the rest.
      if (this.behind > 0) yield* this.check()
      this.last = Math.max(this.last, state.last_seq)
      this.behind = 0
    }
    return { messages: [], through: this.last } satisfies StreamBatch
  })
}

const publishing = (requests: Requests.Requests) =>
  Effect.fnUntraced(function* ({ data, headers: named = {}, id, stream, subject }: PublishedMessage) {
    const messageHeaders = headers()
    yield* Effect.try({
      try: () => {
        for (const [name, value] of Object.entries(named)) messageHeaders.set(name, value)
        if (id !== undefined) messageHeaders.set("Nats-Msg-Id", id)
        if (stream !== undefined) messageHeaders.set("Nats-Expected-Stream", stream)
      },
      catch: (cause) => new PublishRefused({ message: `its headers cannot be sent: ${cause}` })
    })
    const answer = yield* Effect.mapError(
      requests.request(subject, data, {
        timeoutMillis: publishTimeoutMillis,
        headers: messageHeaders,
        whenDisconnected: "wait"
      }),
      (failed) =>
        failed.reason === "too-large" ? new PublishRefused({ message: failed.message }) : unavailable(failed)
    )
    const stored = yield* Effect.try({
      try: () => answer.json<{ readonly stream?: string; readonly error?: Refusal }>(),
      catch: () => new StreamUnavailable({ message: `what answered to ${subject} is no stream` })
    })
    const { error } = stored
    if (error !== undefined) {
      const message = `${subject} was not stored: ${error.description} (${error.err_code})`
      return yield* error.err_code !== undefined && refusedForGood.has(error.err_code)
        ? new PublishRefused({ message })
        : new StreamUnavailable({ message })
    }
    if (typeof stored.stream !== "string")
      return yield* new StreamUnavailable({ message: `what answered to ${subject} is no stream` })
  })

/** Codes of nats-server about the message itself: its size, its headers, what they ask of the stream. */
const refusedForGood: ReadonlySet<number> = new Set([Api.errorCodes.messageTooLarge, 10_097, 10_111, 10_165, 10_166])

interface Refusal {
  readonly err_code?: number
  readonly description?: string
}

export const make = (client: Client): Effect.Effect<ProgramStreams["Service"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests = yield* Requests.make(client)
    const api = Api.make(requests)
    const publish = publishing(requests)
    const before = Effect.fnUntraced(function* (stream: string, timeMillis: number) {
      const name = `sluice-${nuid.next()}`
      yield* api.createConsumer(stream, {
        name,
        deliver_policy: "by_start_time",
        opt_start_time: new Date(timeMillis).toISOString(),
        ack_policy: "none",
        mem_storage: true,
        num_replicas: 1,
        inactive_threshold: publishTimeoutMillis * nanosPerMilli
      })
      const { delivered } = yield* api.consumerInfo(stream, name)
      yield* Effect.ignore(api.deleteConsumer(stream, name))
      return delivered.stream_seq
    })
    return ProgramStreams.of({
      follow: (request) =>
        Stream.unwrap(new Follower(requests, api, request).open()).pipe(
          Stream.mapError((error) => (error instanceof StreamPlaceLost ? error : unavailable(error)))
        ),
      ends: (stream) =>
        Effect.mapBoth(api.streamInfo(stream), {
          onSuccess: ({ state }) => ({ first: Math.max(1, state.first_seq), last: state.last_seq }),
          onFailure: unavailable
        }),
      before: (stream, timeMillis) => Effect.mapError(before(stream, timeMillis), unavailable),
      publish
    })
  })

/** The streams of the program on the connection's account. */
export const layer: Layer.Layer<ProgramStreams, never, NatsConnection> = Layer.effect(
  ProgramStreams,
  Effect.flatMap(NatsConnection, ({ client }) => make(client))
)
