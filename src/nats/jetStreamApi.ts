/**
 * Calls the few methods of JetStream's API that the adapters need, each one request and one answer from the stream's
 * leader. They bypass the client library's calls, which resend, wait and throw in ways of their own. Needs `Requests`.
 */
import { Data, Effect } from "effect"
import type { RequestFailed, Requests } from "./requests.ts"

/** How long a call waits for its answer. */
export const apiTimeoutMillis = 1_000

/** Creating a stream in a cluster includes electing its leader. */
export const createTimeoutMillis = 5_000

/** The server refused a call. `errorCode` is JetStream's number, such as 10059; `code` the class, such as 404. */
export class ApiRefused extends Data.TaggedError("ApiRefused")<{
  readonly call: string
  readonly code: number
  readonly errorCode: number
  readonly description: string
}> {
  override get message(): string {
    return `NATS refused ${this.call}: ${this.description} (${this.errorCode})`
  }
}

/** JetStream's error numbers that mean something to the adapters. */
export const errorCodes = {
  noSuitablePeers: 10005,
  insufficientResources: 10023,
  clusterNotAvailable: 10008,
  clusterNotLeader: 10009,
  messageNotFound: 10037,
  storageExceeded: 10047,
  messageTooLarge: 10054,
  streamNameInUse: 10058,
  streamNotFound: 10059,
  wrongLastSequence: 10071,
  replicasWithoutCluster: 10074,
  /** Nothing could be stored; the description says why. */
  storeFailed: 10077,
  /** Like 10071, from a cluster in which another message is under way, without the sequence. */
  wrongLastSequenceUnknown: 10164
} as const

/** Refusals that waiting does not mend: these, and every 4xx. */
const terminal = new Set<number>([errorCodes.storageExceeded, errorCodes.replicasWithoutCluster])

/** Whether the same call would be refused again until an operator changes something. */
export const isTerminal = (error: ApiRefused): boolean =>
  terminal.has(error.errorCode) || (error.code >= 400 && error.code < 500)

/** A stream's settings as the API has them; durations in nanoseconds, 0 or -1 for none. */
export interface StreamConfig {
  readonly name: string
  readonly subjects: ReadonlyArray<string>
  readonly retention: "limits" | "interest" | "workqueue"
  readonly storage: "file" | "memory"
  readonly discard: "old" | "new"
  readonly max_msgs: number
  readonly max_msgs_per_subject: number
  readonly max_bytes: number
  readonly max_age: number
  readonly max_msg_size: number
  readonly max_consumers: number
  readonly num_replicas: number
  readonly duplicate_window: number
  /** The sequence of the first message of a new stream; 1 when left out. */
  readonly first_seq?: number
  readonly deny_delete: boolean
  readonly deny_purge: boolean
  readonly allow_direct: boolean
  readonly allow_rollup_hdrs?: boolean
  readonly no_ack?: boolean
  readonly sealed?: boolean
  readonly persist_mode?: string
  readonly mirror?: unknown
  readonly sources?: unknown
  readonly allow_msg_ttl?: boolean
  readonly subject_transform?: { readonly src: string; readonly dest: string }
  readonly description?: string
  /** The server adds entries of its own, whose names begin with `_nats.`. */
  readonly metadata?: Readonly<Record<string, string>>
}

/** The account's usage and limits, in bytes; -1 for no limit of its own. */
export interface AccountInfo {
  readonly reserved_storage?: number
  readonly storage: number
  readonly limits?: { readonly max_storage: number }
}

export interface StreamState {
  readonly messages: number
  readonly bytes: number
  readonly first_seq: number
  readonly last_seq: number
}

export interface StreamInfo {
  readonly config: StreamConfig
  readonly created: string
  readonly state: StreamState
  /** For a stream of clustered servers: its leader, and the other copies. */
  readonly cluster?: {
    readonly leader?: string
    readonly replicas?: ReadonlyArray<{ readonly name: string; readonly current: boolean; readonly offline?: boolean }>
  }
}

/** A stored message as `STREAM.MSG.GET` gives it; `data` and `hdrs` in base64. */
export interface StoredMessage {
  readonly subject: string
  readonly seq: number
  readonly data?: string
  readonly hdrs?: string
}

/** How far a consumer has come. */
export interface ConsumerInfo {
  readonly delivered: { readonly consumer_seq: number; readonly stream_seq: number }
  readonly num_pending: number
}

export interface JetStreamApi {
  readonly accountInfo: Effect.Effect<AccountInfo, RequestFailed | ApiRefused>
  readonly streamInfo: (stream: string) => Effect.Effect<StreamInfo, RequestFailed | ApiRefused>
  readonly createStream: (config: StreamConfig) => Effect.Effect<StreamInfo, RequestFailed | ApiRefused>
  readonly updateStream: (config: StreamConfig) => Effect.Effect<StreamInfo, RequestFailed | ApiRefused>
  readonly deleteStream: (stream: string) => Effect.Effect<void, RequestFailed | ApiRefused>
  /** Reads one message from the stream's leader; undefined when it has none there. */
  readonly message: (
    stream: string,
    sequence: number
  ) => Effect.Effect<StoredMessage | undefined, RequestFailed | ApiRefused>
  readonly purge: (
    stream: string,
    request: { readonly seq?: number; readonly filter?: string }
  ) => Effect.Effect<void, RequestFailed | ApiRefused>
  readonly createConsumer: (
    stream: string,
    config: Readonly<Record<string, unknown>> & { readonly name: string }
  ) => Effect.Effect<void, RequestFailed | ApiRefused>
  readonly consumerInfo: (stream: string, consumer: string) => Effect.Effect<ConsumerInfo, RequestFailed | ApiRefused>
  readonly deleteConsumer: (stream: string, consumer: string) => Effect.Effect<void, RequestFailed | ApiRefused>
}

interface Answer {
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description?: string }
}

export const make = (requests: Requests): JetStreamApi => {
  const call = <A>(name: string, body: unknown, timeoutMillis = apiTimeoutMillis) =>
    Effect.flatMap(
      requests.request(`$JS.API.${name}`, body === undefined ? "" : JSON.stringify(body), {
        timeoutMillis,
        whenDisconnected: "wait"
      }),
      (message): Effect.Effect<A, ApiRefused> => {
        const answer = message.json<Answer>()
        if (answer.error === undefined) return Effect.succeed(answer as A)
        const { code, err_code, description } = answer.error
        return Effect.fail(
          new ApiRefused({ call: name, code, errorCode: err_code ?? 0, description: description ?? "no reason given" })
        )
      }
    )
  return {
    accountInfo: Effect.suspend(() => call<AccountInfo>("INFO", undefined)),
    streamInfo: (stream) => call<StreamInfo>(`STREAM.INFO.${stream}`, undefined),
    createStream: (config) => call<StreamInfo>(`STREAM.CREATE.${config.name}`, config, createTimeoutMillis),
    updateStream: (config) => call<StreamInfo>(`STREAM.UPDATE.${config.name}`, config, createTimeoutMillis),
    deleteStream: (stream) => Effect.asVoid(call(`STREAM.DELETE.${stream}`, undefined, createTimeoutMillis)),
    message: (stream, sequence) =>
      call<{ readonly message: StoredMessage }>(`STREAM.MSG.GET.${stream}`, { seq: sequence }).pipe(
        Effect.map((answer): StoredMessage | undefined => answer.message),
        Effect.catchIf(
          (error) => error._tag === "ApiRefused" && error.errorCode === errorCodes.messageNotFound,
          () => Effect.undefined
        )
      ),
    purge: (stream, request) => Effect.asVoid(call(`STREAM.PURGE.${stream}`, request)),
    createConsumer: (stream, config) =>
      Effect.asVoid(
        call(
          `CONSUMER.CREATE.${stream}.${config.name}`,
          { stream_name: stream, config, action: "create" },
          createTimeoutMillis
        )
      ),
    consumerInfo: (stream, consumer) => call<ConsumerInfo>(`CONSUMER.INFO.${stream}.${consumer}`, undefined),
    deleteConsumer: (stream, consumer) => Effect.asVoid(call(`CONSUMER.DELETE.${stream}.${consumer}`, undefined))
  }
}
