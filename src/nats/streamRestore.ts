/**
 * Creates a stream again from copied messages, with the sequences that they had. While it is filled it listens to a
 * subject of its own, so that neither the platform nor a publisher can write into it, and carries a mark; its last step
 * gives it the settings that it had. Sequences without a message get a filler, which is removed at the end, so that
 * they stay empty. The server gives the messages new times. Needs `Requests` and `JetStreamApi`.
 */
import { type Msg, type MsgHdrs, headers as newHeaders } from "@nats-io/transport-node"
import { Data, Duration, Effect, Schedule, Stream } from "effect"
import {
  type ApiRefused,
  apiTimeoutMillis,
  errorCodes,
  isTerminal,
  type JetStreamApi,
  type StreamConfig
} from "./jetStreamApi.ts"
import { publishAnswerOf } from "./publishAnswer.ts"
import type { RequestFailed, Requests } from "./requests.ts"
import type { StoredMessage } from "./streamCopy.ts"

/** A stream cannot be created or filled. */
export class StreamNotRestored extends Data.TaggedError("StreamNotRestored")<{ readonly message: string }> {}

/** Messages and bytes that are sent before the server has acknowledged them. */
const groupMessages = 256
const groupBytes = 4 * 1024 * 1024

/** How long the server may take to store a group. */
const groupMillis = 60_000

/** The entry of a stream's metadata that marks it as not yet complete. */
const markEntry = "sluice.restore"

const fillerSubject = "sluice-restore-filler"
const prefixOf = (stream: string): string => `sluice-restore.${stream}.`

/** Whether a restore was cut short here. */
export const isHalfRestored = ({ metadata }: StreamConfig): boolean => metadata?.[markEntry] !== undefined

/** The settings without entries of the server's own. */
const plain = (config: StreamConfig, first: number): StreamConfig => ({
  ...config,
  first_seq: first,
  metadata: Object.fromEntries(Object.entries(config.metadata ?? {}).filter(([name]) => !name.startsWith("_nats.")))
})

/** The settings of a stream that is being filled. */
const filling = (config: StreamConfig, first: number): StreamConfig => {
  const { metadata, ...rest } = plain(config, first)
  const source = `${prefixOf(config.name)}>`
  return {
    ...rest,
    metadata: { ...metadata, [markEntry]: "not complete" },
    subjects: [source],
    subject_transform: { src: source, dest: ">" },
    // It cannot be lifted once it is set, and the fillers have to go.
    deny_delete: false,
    max_age: 0
  }
}

/**
 * Headers that tell the server what to do with a message say nothing once it is stored, and would be obeyed again.
 * These two stay: frames name the sequence before them, which is the same again; and ids of messages recognize a
 * repeat, which may still come for the newest ones. Ids of older ones would meet each other within the server's window.
 */
const headersOf = (message: StoredMessage, keepsId: boolean): MsgHdrs | undefined => {
  if (message.headers === undefined) return undefined
  const headers = newHeaders()
  for (const [name, values] of Object.entries(message.headers)) {
    const lower = name.toLowerCase()
    const isKept =
      lower === "nats-expected-last-sequence"
        ? values.length === 1 && values[0] === String(message.sequence - 1)
        : lower === "nats-msg-id"
          ? keepsId
          : !lower.startsWith("nats-")
    if (isKept) for (const value of values) headers.append(name, value)
  }
  return headers
}

/** A message, or an empty place. */
interface Slot {
  readonly sequence: number
  readonly message: StoredMessage | undefined
}

/** Sends a group, and completes when the server has stored each at its sequence. */
const publishGroup = (
  requests: Requests,
  stream: string,
  slots: ReadonlyArray<Slot>,
  keepsId: (time: string) => boolean
) =>
  Effect.callback<void, StreamNotRestored>((resume) => {
    let stored = 0
    const finish = (problem: string | undefined) => {
      conversation.close()
      resume(
        problem === undefined
          ? Effect.void
          : Effect.fail(
              new StreamNotRestored({
                message: `the stream ${stream} could not be filled at ${slots[stored]?.sequence ?? "its end"}: ${problem}`
              })
            )
      )
    }
    const take = (message: Msg) => {
      if (message.data.length === 0 && message.headers?.code === 503) return finish("nobody answers at NATS")
      const answer = publishAnswerOf(message)
      if (answer._tag !== "Acked") return finish(answer._tag === "Refused" ? answer.message : answer._tag)
      if (answer.sequence !== slots[stored]!.sequence) return finish(`the server has stored it at ${answer.sequence}`)
      if (++stored === slots.length) finish(undefined)
    }
    const conversation = requests.listen({
      onMessage: take,
      onDisconnect: () => finish("the connection to NATS was lost")
    })
    try {
      for (const { message } of slots) {
        const headers = message === undefined ? undefined : headersOf(message, keepsId(message.time))
        requests.connection.publish(
          `${prefixOf(stream)}${message?.subject ?? fillerSubject}`,
          message?.data ?? new Uint8Array(),
          { reply: conversation.reply, ...(headers === undefined ? {} : { headers }) }
        )
      }
    } catch (cause) {
      finish(cause instanceof Error ? cause.message : String(cause))
    }
    return Effect.sync(conversation.close)
  }).pipe(
    Effect.timeoutOrElse({
      duration: Duration.millis(groupMillis),
      orElse: () =>
        Effect.fail(
          new StreamNotRestored({
            message: `the stream ${stream} was not filled: the server has not answered for ${groupMillis} ms`
          })
        )
    })
  )

/** Every sequence from one on: those of the messages, and the empty places before and between them. */
function* slotsOf(messages: ReadonlyArray<StoredMessage>, from: number): Generator<Slot> {
  let next = from
  for (const message of messages) {
    while (next < message.sequence) yield { sequence: next++, message: undefined }
    yield { sequence: next++, message }
  }
}

/** The empty places up to the end. */
function* emptySlots(from: number, through: number): Generator<Slot> {
  for (let sequence = from; sequence <= through; sequence++) yield { sequence, message: undefined }
}

/** Groups for one sending. */
function* groupsOf(slots: Iterable<Slot>): Generator<ReadonlyArray<Slot>> {
  let group: Array<Slot> = []
  let bytes = 0
  for (const slot of slots) {
    group.push(slot)
    bytes += slot.message?.data.length ?? 0
    if (group.length < groupMessages && bytes < groupBytes) continue
    yield group
    group = []
    bytes = 0
  }
  if (group.length > 0) yield group
}

export interface RestoreOptions {
  /** The settings that the stream had, with its name. */
  readonly config: StreamConfig
  /** The sequence of the first message, and the one that the stream ended with. */
  readonly first: number
  readonly last: number
  /** When the newest message was stored, in nanoseconds since the Unix epoch, decimal; undefined where there is none. */
  readonly newestTime: string | undefined
}

/** Why a stream cannot be restored, with advice where an operator can change it. */
const failed = (stream: string) => (cause: RequestFailed | ApiRefused) => {
  const code = cause._tag === "ApiRefused" ? cause.errorCode : 0
  const advice =
    code === errorCodes.storageExceeded || code === errorCodes.insufficientResources
      ? ". Each stream sets its bound aside: allow the server as much as the old one had (max_file_store in nats.conf)"
      : code === errorCodes.replicasWithoutCluster || code === errorCodes.noSuitablePeers
        ? ". It had more copies than this NATS can keep: set SLUICE_LOG_REPLICAS, for example to 1"
        : ""
  return new StreamNotRestored({ message: `the stream ${stream} could not be restored: ${cause.message}${advice}` })
}

/** How often a call that got no answer is made again, and the pause between. All of them may be made twice. */
const attempts = 30
const pauseMillis = 500

const patiently = <A>(stream: string, call: Effect.Effect<A, RequestFailed | ApiRefused>) =>
  Effect.retry(call, {
    while: (error) => error._tag === "RequestFailed" || !isTerminal(error),
    schedule: Schedule.spaced(Duration.millis(pauseMillis)),
    times: attempts
  }).pipe(Effect.mapError(failed(stream)))

/** No stream gets that far, so a message that expects it is refused. A leader that refuses takes messages. */
const neverLast = String(Number.MAX_SAFE_INTEGER)

/** Waits until a stream that was just created has a leader, which a cluster elects after its answer. Stores nothing. */
const awaitLeader = (requests: Requests, stream: string) => {
  const headers = newHeaders()
  headers.set("Nats-Expected-Last-Sequence", neverLast)
  return patiently(
    stream,
    requests.request(`${prefixOf(stream)}${fillerSubject}`, "", {
      headers,
      timeoutMillis: apiTimeoutMillis,
      whenDisconnected: "wait"
    })
  )
}

/** Creates and fills a stream. It stays marked, and listens to nobody, until `finishStream`. */
export const fillStream = Effect.fnUntraced(function* <E>(
  requests: Requests,
  api: JetStreamApi,
  { config, first, last, newestTime }: RestoreOptions,
  messages: Stream.Stream<ReadonlyArray<StoredMessage>, E>
): Effect.fn.Return<void, StreamNotRestored | E> {
  const { name } = config
  // The same settings again change nothing, where the answer was lost.
  yield* patiently(name, api.createStream(filling(config, first)))
  yield* awaitLeader(requests, name)
  const window = BigInt(config.duplicate_window)
  const keepsId = (time: string) => newestTime !== undefined && BigInt(time) > BigInt(newestTime) - window
  let next = first
  let hasFillers = false
  const send = Effect.fnUntraced(function* (slots: Iterable<Slot>) {
    for (const group of groupsOf(slots)) {
      hasFillers ||= group.some(({ message }) => message === undefined)
      yield* publishGroup(requests, name, group, keepsId)
      next = group.at(-1)!.sequence + 1
    }
  })
  yield* Stream.runForEach(messages, (batch) =>
    // A segment may begin before the stream did.
    send(
      slotsOf(
        batch.filter(({ sequence }) => sequence >= next),
        next
      )
    )
  )
  yield* send(emptySlots(next, last))
  if (hasFillers) yield* patiently(name, api.purge(name, { filter: fillerSubject }))
})

/** Gives a filled stream the settings that it had, and takes the mark off. */
export const finishStream = (api: JetStreamApi, { config, first }: RestoreOptions) =>
  patiently(config.name, api.updateStream(plain(config, first)))
