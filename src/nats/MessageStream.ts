/**
 * Stores opaque messages in a stream, each found again by its sequence until it is too old: for data that is written
 * once and is too large for the logs. An acknowledged message is on disk. The stream is created at its first use. Needs
 * `NatsConnection`.
 */
import type { NatsConnection as Client, Msg } from "@nats-io/transport-node"
import { Data, Effect, type Scope, Semaphore } from "effect"
import * as Api from "./jetStreamApi.ts"
import { publishAnswerOf } from "./publishAnswer.ts"
import * as Requests from "./requests.ts"

/** The message was not stored, or it is not known whether it was; or nothing can be read now. */
export class MessagesUnavailable extends Data.TaggedError("MessagesUnavailable")<{
  readonly message: string
  /** The stream has no room for it: it was surely not stored. */
  readonly isFull: boolean
}> {}

export interface MessageStreamOptions {
  /** The name of the stream and its subject. */
  readonly name: string
  readonly description: string
  /** Put before the names, for several deployments on one account. */
  readonly namespace?: string | undefined
  readonly replicas?: 1 | 3 | 5 | undefined
  /**
   * The bound of a new stream, which the server sets aside: less, by halves, where its store has no room for so much.
   */
  readonly maximumBytes: number
  /** The smallest bound that is tried. */
  readonly leastBytes: number
  readonly maximumAgeMillis: number
  readonly publishTimeoutMillis: number
}

export interface MessageStream {
  /** Most bytes of one message. */
  readonly maximumMessageBytes: () => number
  /** Stores a message and answers its sequence. */
  readonly append: (data: Uint8Array) => Effect.Effect<number, MessagesUnavailable>
  /** Reads a message; undefined for one that is not there any more, or never was. */
  readonly read: (sequence: number) => Effect.Effect<Uint8Array | undefined, MessagesUnavailable>
}

const nanosPerMilli = 1_000_000

/** The server's minimum. Messages carry no ids, so the window is never used. */
const duplicateWindowNanos = 100_000_000

/** Left free of a message of the server's largest size, for its headers. */
const headerReserveBytes = 4 * 1024

const unavailable = ({ message }: { readonly message: string }): MessagesUnavailable =>
  new MessagesUnavailable({ message, isFull: false })

const settingsOf = (name: string, subject: string, options: MessageStreamOptions): Api.StreamConfig => ({
  name,
  subjects: [subject],
  description: options.description,
  retention: "limits",
  storage: "file",
  discard: "new",
  max_msgs: -1,
  max_msgs_per_subject: -1,
  max_bytes: options.maximumBytes,
  max_age: options.maximumAgeMillis * nanosPerMilli,
  max_msg_size: -1,
  max_consumers: -1,
  num_replicas: options.replicas ?? 1,
  duplicate_window: duplicateWindowNanos,
  deny_delete: false,
  deny_purge: false,
  allow_direct: true
})

const misfitOf = (found: Api.StreamConfig, wanted: Api.StreamConfig): string | undefined => {
  if (found.storage !== "file") return "keeps messages in memory and would lose them with the server"
  if (found.retention !== "limits") return `drops messages that consumers have read (${found.retention})`
  if (found.discard !== "new") return "drops its oldest messages when it is full"
  if (found.max_age !== 0 && found.max_age < wanted.max_age) return "drops messages too early (max_age)"
  if (found.num_replicas < wanted.num_replicas)
    return `has ${found.num_replicas} copies instead of ${wanted.num_replicas}`
  return undefined
}

/** The refusals of a server that has no room to set aside. */
const hasNoRoom = (error: Api.ApiRefused): boolean =>
  error.errorCode === Api.errorCodes.storageExceeded ||
  error.errorCode === Api.errorCodes.insufficientResources ||
  // Servers that hold copies for each other say it like this.
  (error.errorCode === Api.errorCodes.noSuitablePeers && error.description.includes("insufficient storage"))

const create = (
  api: Api.JetStreamApi,
  wanted: Api.StreamConfig,
  leastBytes: number
): Effect.Effect<Api.StreamInfo, Api.ApiRefused | Requests.RequestFailed> =>
  Effect.catchIf(
    api.createStream(wanted),
    (error) => error._tag === "ApiRefused" && hasNoRoom(error) && wanted.max_bytes / 2 >= leastBytes,
    () => create(api, { ...wanted, max_bytes: Math.floor(wanted.max_bytes / 2) }, leastBytes)
  )

/** Finds the stream or makes it, and checks that it keeps what is promised. */
const open = Effect.fnUntraced(function* (api: Api.JetStreamApi, wanted: Api.StreamConfig, leastBytes: number) {
  const isRefused = (code: number) => (error: Api.ApiRefused | Requests.RequestFailed) =>
    error._tag === "ApiRefused" && error.errorCode === code
  const found = yield* api.streamInfo(wanted.name).pipe(
    Effect.catchIf(isRefused(Api.errorCodes.streamNotFound), () =>
      // Made by another process at the same time: look again.
      Effect.catchIf(create(api, wanted, leastBytes), isRefused(Api.errorCodes.streamNameInUse), () =>
        api.streamInfo(wanted.name)
      )
    ),
    Effect.mapError(unavailable)
  )
  const misfit = misfitOf(found.config, wanted)
  if (misfit !== undefined) return yield* unavailable({ message: `the stream ${wanted.name} ${misfit}` })
})

/** A stored message as a direct get answers it: undefined where there is none. */
const storedOf = (message: Msg, sequence: number): Uint8Array | undefined =>
  // An answer without the sequence is a status, such as 404.
  message.headers?.get("Nats-Sequence") === String(sequence) ? message.data : undefined

export const make = (client: Client, options: MessageStreamOptions): Effect.Effect<MessageStream, never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests = yield* Requests.make(client)
    const api = Api.make(requests)
    const { name, namespace, publishTimeoutMillis } = options
    const stream = namespace === undefined ? name : `${namespace}-${name}`
    const subject = namespace === undefined ? name : `${namespace}.${name}`
    const wanted = settingsOf(stream, subject, options)
    const opening = Semaphore.makeUnsafe(1)
    let isOpen = false
    const opened = Effect.suspend(() => {
      if (isOpen) return Effect.void
      return opening.withPermit(
        Effect.suspend(() =>
          isOpen
            ? Effect.void
            : Effect.map(open(api, wanted, options.leastBytes), () => {
                isOpen = true
              })
        )
      )
    })

    const append = Effect.fnUntraced(function* (data: Uint8Array) {
      yield* opened
      const message = yield* Effect.mapError(
        requests.request(subject, data, { timeoutMillis: publishTimeoutMillis, whenDisconnected: "fail" }),
        unavailable
      )
      const answer = publishAnswerOf(message)
      if (answer._tag === "Acked") return answer.sequence
      // A stream that was removed by hand has to be created again.
      isOpen = false
      return yield* new MessagesUnavailable({
        message: `the stream ${stream} has not stored a message: ${answer._tag === "Refused" ? answer.message : answer._tag}`,
        isFull: answer._tag === "Full"
      })
    })

    const read = Effect.fnUntraced(function* (sequence: number) {
      yield* opened
      const direct = yield* Effect.mapError(
        requests.request(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify({ seq: sequence }), {
          timeoutMillis: publishTimeoutMillis,
          whenDisconnected: "wait"
        }),
        unavailable
      )
      const stored = storedOf(direct, sequence)
      if (stored !== undefined || wanted.num_replicas === 1) return stored
      // A copy that lags behind may not have it yet; the leader has.
      const found = yield* Effect.mapError(api.message(stream, sequence), unavailable)
      return found === undefined ? undefined : new Uint8Array(Buffer.from(found.data ?? "", "base64"))
    })

    return {
      maximumMessageBytes: () => (client.info?.max_payload ?? 1024 * 1024) - headerReserveBytes,
      append,
      read
    }
  })
