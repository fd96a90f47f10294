/**
 * Implements the log on JetStream: one stream per partition, fenced by the expected last sequence, read from its leader
 * (docs/architecture.md, rules 1, 2 and 14). It reports the server's answer; the engine (`append.ts`) decides its
 * meaning. Needs `NatsConnection`.
 */
import { type NatsConnection as Client, headers, type Msg } from "@nats-io/transport-node"
import { Clock, Duration, Effect, Layer, Schedule, type Scope, Stream } from "effect"
import { maximumFrameBytes } from "../engine/limits.ts"
import {
  Journal,
  JournalGap,
  JournalRefused,
  JournalUnavailable,
  type Log,
  type LogState,
  type PublishAnswer,
  type StoredFrame
} from "../engine/ports/Journal.ts"
import { NatsConnection } from "./connection.ts"
import * as Api from "./jetStreamApi.ts"
import { apiTimeoutMillis } from "./jetStreamApi.ts"
import {
  adoptLogStream,
  deploymentOf,
  type LogStreamOptions,
  openLogStream,
  streamNameOf,
  subjectOf
} from "./logStream.ts"
import { surveyLogStreams } from "./logSurvey.ts"
import * as OrderedReader from "./orderedReader.ts"
import { publishAnswerOf } from "./publishAnswer.ts"
import * as Requests from "./requests.ts"

// Waits until a log that was just opened has a leader that accepts its frames. A cluster reports that a stream is
// created before every server has heard who leads it, and then says "no responders" for some milliseconds; under load,
// or during an election, for longer.

/** Longer than a cluster takes to elect a leader where the old one was killed. */
export const leaderPatienceMillis = 10_000

const retryMillis = 20

/** No log gets that far, so nothing is ever stored behind it. */
const neverLast = Number.MAX_SAFE_INTEGER

/** An attempt that must be refused: by whom it is, takes frames. */
const attempt = (log: Pick<Log, "publish">): Effect.Effect<PublishAnswer> =>
  log.publish({
    bytes: new Uint8Array(),
    identity: "",
    expectedLast: neverLast,
    timeoutMillis: apiTimeoutMillis
  })

const isSilence = ({ _tag }: PublishAnswer): boolean => _tag === "NoLeader" || _tag === "NoAnswer" || _tag === "NotSent"

/** Returns once a leader answers, and stores nothing. */
export const awaitLeader = (log: Pick<Log, "partition" | "publish">): Effect.Effect<void, JournalUnavailable> =>
  attempt(log).pipe(
    Effect.repeat({ while: isSilence, schedule: Schedule.spaced(Duration.millis(retryMillis)) }),
    Effect.asVoid,
    Effect.timeoutOrElse({
      duration: Duration.millis(leaderPatienceMillis),
      orElse: () =>
        Effect.fail(
          new JournalUnavailable({
            partition: log.partition,
            message: `the log of partition ${log.partition} cannot be opened now: nobody has taken frames for ${leaderPatienceMillis} ms`
          })
        )
    })
  )

export type JournalOptions = Omit<LogStreamOptions, "newBytes">

/** The header of a frame's identity. */
const frameHeader = "Sluice-Frame"
const expectedHeader = "Nats-Expected-Last-Sequence"

/** Bytes of the server's `max_payload` that are left for headers, which take about 120. */
const headerReserveBytes = 1024

/** How long a read waits for a frame before it gives up. */
const readPatienceMillis = 5_000

/** How long a reader may get nothing before it is replaced and the leader is asked whether the frame exists. */
const readStallMillis = 1_000

/** Pause before a reader is opened again. */
const readRetryMillis = 50

/** Up to this many frames are fetched one by one, which is faster than a consumer and reads from the leader. */
const fetchedFrames = 8

/** One pull of a reader. */
const pullFrames = 500
const pullBytes = 4 * 1024 * 1024

/** Builds the journal on a connected client. */
export const make = (
  client: Client,
  options: JournalOptions = {}
): Effect.Effect<Journal["Service"], JournalRefused, Scope.Scope> =>
  Effect.gen(function* () {
    const maximumMessageBytes = (client.info?.max_payload ?? 0) - headerReserveBytes
    if (maximumMessageBytes < maximumFrameBytes) {
      return yield* new JournalRefused({
        message: `the NATS server takes messages of ${client.info?.max_payload ?? 0} bytes and a frame needs ${maximumFrameBytes + headerReserveBytes}: set "max_payload: 1MB" in its configuration`
      })
    }
    const requests = yield* Requests.make(client)
    const api = Api.make(requests)
    let newBytes: number | undefined
    return Journal.of({
      maximumMessageBytes,
      survey: (partitions) =>
        Effect.map(surveyLogStreams(requests, api, partitions, options), (survey) => {
          newBytes = survey.newBytes
          return survey.logs
        }),
      open: (partition, deployment, mustExist = false) =>
        Effect.suspend(() => openLogStream(api, partition, { ...options, newBytes, mustExist }, deployment)).pipe(
          Effect.map((found) => makeLog(requests, api, partition, options, deploymentOf(found))),
          // Nothing is sent to what belongs to others.
          Effect.tap((log) => (log.deployment === deployment ? awaitLeader(log) : Effect.void))
        )
    })
  })

/** The journal of a deployment. */
export const layer = (options: JournalOptions = {}): Layer.Layer<Journal, JournalRefused, NatsConnection> =>
  Layer.effect(
    Journal,
    Effect.flatMap(NatsConnection, ({ client }) => make(client, options))
  )

/** A partition's stream on the server. */
interface LogPlace {
  readonly requests: Requests.Requests
  readonly api: Api.JetStreamApi
  readonly partition: number
  readonly stream: string
}

const unavailableOf = (partition: number, cause: { readonly message: string }): JournalUnavailable =>
  new JournalUnavailable({ partition, message: `the log of partition ${partition}: ${cause.message}`, cause })

/** Sends a frame, fenced, and tells what the server answered. */
const publishing =
  (requests: Requests.Requests, subject: string): Log["publish"] =>
  (request) => {
    const frameHeaders = headers()
    frameHeaders.set(expectedHeader, String(request.expectedLast))
    frameHeaders.set(frameHeader, request.identity)
    return Effect.match(
      requests.request(subject, request.bytes, {
        headers: frameHeaders,
        timeoutMillis: request.timeoutMillis,
        whenDisconnected: "fail"
      }),
      {
        onSuccess: publishAnswerOf,
        onFailure: ({ reason }): PublishAnswer => {
          if (reason === "no-responders") return { _tag: "NoLeader" }
          if (reason === "not-sent") return { _tag: "NotSent" }
          if (reason === "too-large") return { _tag: "TooLarge", maximumBytes: requests.connection.info?.max_payload }
          return { _tag: "NoAnswer", reason: reason === "timeout" ? "timeout" : "disconnected" }
        }
      }
    )
  }

/** The answers of the stream's leader. */
interface Leader {
  readonly frameAt: Log["frameAt"]
  readonly state: Log["state"]
  /** Fails when the leader itself has no frame there. If it has one, the reader only lags behind. */
  readonly assertNoGap: (sequence: number) => Effect.Effect<void, JournalUnavailable | JournalGap>
}

const askingLeader = ({ api, partition, stream }: LogPlace): Leader => {
  const unavailable = (cause: { readonly message: string }) => unavailableOf(partition, cause)

  const frameAt = (sequence: number) =>
    Effect.mapBoth(api.message(stream, sequence), {
      onFailure: unavailable,
      onSuccess: (message): StoredFrame | undefined =>
        message === undefined
          ? undefined
          : {
              sequence: message.seq,
              identity: identityIn(message.hdrs),
              bytes: Buffer.from(message.data ?? "", "base64")
            }
    })

  const state: Effect.Effect<LogState, JournalUnavailable> = Effect.mapBoth(api.streamInfo(stream), {
    onFailure: unavailable,
    onSuccess: ({ config, state: found }) => ({
      firstSequence: found.messages === 0 ? found.last_seq + 1 : found.first_seq,
      lastSequence: found.last_seq,
      bytes: found.bytes,
      maximumBytes: config.max_bytes
    })
  })

  const assertNoGap: Leader["assertNoGap"] = (sequence) =>
    Effect.gen(function* () {
      const { lastSequence } = yield* state
      if (lastSequence < sequence) return
      if ((yield* frameAt(sequence)) !== undefined) return
      return yield* new JournalGap({
        partition,
        sequence,
        message: `frame ${sequence} is not in the log of partition ${partition}`
      })
    })

  return { frameAt, state, assertNoGap }
}

const fetchAll = Effect.fnUntraced(function* ({ frameAt }: Leader, from: number, through: number) {
  const frames: Array<StoredFrame> = []
  for (let sequence = from; sequence <= through; sequence++) {
    const frame = yield* frameAt(sequence)
    if (frame === undefined) break
    frames.push(frame)
  }
  return frames
})

/** The frames from one sequence to another, in order: few are asked of the leader, many come through readers. */
const framesOf = (
  { api, partition, requests, stream }: LogPlace,
  leader: Leader,
  from: number,
  through: number
): Stream.Stream<ReadonlyArray<StoredFrame>, JournalUnavailable | JournalGap> =>
  Stream.suspend(() => {
    let next = from
    let progressAt: number | undefined
    const noteProgress = Effect.map(Clock.currentTimeMillis, (now) => {
      progressAt = now
    })

    /** The delivered frames that continue where we are. Fewer than were delivered when one is missing. */
    const accept = (delivered: ReadonlyArray<OrderedReader.Delivered>): ReadonlyArray<StoredFrame> => {
      const frames: Array<StoredFrame> = []
      for (const { sequence, message } of delivered) {
        if (sequence !== next || next > through) break
        frames.push(frameOf(sequence, message))
        next++
      }
      return frames
    }

    const takeMore = (reader: OrderedReader.OrderedReader) =>
      Effect.gen(function* () {
        if (next > through) return undefined
        const delivered = yield* Effect.timeoutOrElse(reader.take, {
          duration: Duration.millis(readStallMillis),
          orElse: () => Effect.fail(new OrderedReader.ReaderStopped({ message: "no frame came" }))
        })
        const frames = accept(delivered)
        if (frames.length === 0) {
          return yield* new OrderedReader.ReaderStopped({ message: `frame ${next} did not come in its turn` })
        }
        yield* noteProgress
        return [frames, reader] as const
      })

    const session: Stream.Stream<ReadonlyArray<StoredFrame>, JournalUnavailable | JournalGap> = Stream.unwrap(
      Effect.gen(function* () {
        if (progressAt === undefined) yield* noteProgress
        return yield* OrderedReader.open(requests, api, {
          stream,
          from: next,
          batch: Math.min(pullFrames, through - next + 1),
          maximumBytes: pullBytes
        })
      }).pipe(Effect.map((reader) => Stream.unfold(reader, takeMore)))
    ).pipe(Stream.catchTag("ReaderStopped", (stopped) => Stream.unwrap(Effect.as(recover(stopped), session))))

    const recover = (stopped: OrderedReader.ReaderStopped) =>
      Effect.gen(function* () {
        const waited = (yield* Clock.currentTimeMillis) - (progressAt ?? 0)
        if (waited >= readPatienceMillis) return yield* unavailableOf(partition, stopped)
        // An unreachable leader is no reason to give up early.
        yield* Effect.catchTag(leader.assertNoGap(next), "JournalUnavailable", () => Effect.void)
        yield* Effect.sleep(Duration.millis(readRetryMillis))
      })

    const afterFetched = (frames: ReadonlyArray<StoredFrame>) => {
      next += frames.length
      const fetched = frames.length === 0 ? Stream.empty : Stream.succeed<ReadonlyArray<StoredFrame>>(frames)
      return next > through
        ? fetched
        : Stream.concat(fetched, Stream.unwrap(Effect.as(leader.assertNoGap(next), session)))
    }
    return through - from < fetchedFrames
      ? Stream.unwrap(Effect.map(fetchAll(leader, from, through), afterFetched))
      : session
  })

const makeLog = (
  requests: Requests.Requests,
  api: Api.JetStreamApi,
  partition: number,
  options: JournalOptions,
  deployment: string | undefined
): Log => {
  const stream = streamNameOf(partition, options.namespace)
  const place: LogPlace = { requests, api, partition, stream }
  const leader = askingLeader(place)
  const { frameAt, state } = leader
  const unavailable = (cause: { readonly message: string }) => unavailableOf(partition, cause)

  return {
    partition,
    leaderMayBeDeposed: (options.replicas ?? 1) > 1,
    home: `the stream ${stream}`,
    deployment,
    adopt: (id) => adoptLogStream(api, partition, options, id),
    publish: publishing(requests, subjectOf(partition, options.namespace)),
    frameAt,
    read: (from, through) => (from > through ? Stream.empty : framesOf(place, leader, from, through)),
    state,
    purgeBelow: (sequence) =>
      Effect.flatMap(state, ({ lastSequence }) =>
        Number.isSafeInteger(sequence) && sequence >= 2 && sequence <= lastSequence
          ? Effect.mapError(api.purge(stream, { seq: sequence }), unavailable)
          : Effect.die(
              new Error(`purge below ${sequence} would empty or move the log, whose last frame is ${lastSequence}`)
            )
      ),
    restartAfter: (sequence) =>
      Effect.flatMap(state, ({ lastSequence }) =>
        Number.isSafeInteger(sequence) && sequence >= lastSequence
          ? Effect.mapError(api.purge(stream, { seq: sequence + 1 }), unavailable)
          : Effect.die(new Error(`the log is at ${lastSequence} already, past ${sequence}`))
      )
  }
}

const frameOf = (sequence: number, message: Msg): StoredFrame => ({
  sequence,
  identity: message.headers?.get(frameHeader) ?? "",
  bytes: message.data
})

const identityLine = new RegExp(`^${frameHeader}:[ \\t]*(.*?)[ \\t]*$`, "im")

/** The identity in a stored message's headers (base64 of their text). */
const identityIn = (encoded: string | undefined): string =>
  encoded === undefined ? "" : (identityLine.exec(Buffer.from(encoded, "base64").toString("utf8"))?.[1] ?? "")
