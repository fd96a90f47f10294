/**
 * Surveys the streams of a deployment's logs before any of them is opened: which exist, and whether the store has room
 * for the others, since the server reserves every log's bound (docs/architecture.md, rule 14). It changes nothing.
 * Needs `Requests`.
 */
import { Effect, Option, Schema } from "effect"
import { JournalRefused, JournalUnavailable, type LogFound } from "../engine/ports/Journal.ts"
import { errorCodes, type JetStreamApi, type StreamInfo } from "./jetStreamApi.ts"
import { defaultMaximumBytes, deploymentOf, type LogStreamOptions, platformNames, streamNameOf } from "./logStream.ts"
import type { Requests } from "./requests.ts"

/** Most concurrent queries about streams. */
const concurrentLooks = 16

/** The smallest useful log, 16 MiB. A smaller one would be full between two checkpoints. */
const leastBytes = 16 * 1024 * 1024

/**
 * The largest part of the store's room that new logs of the default size take. The rest is left for signals and later
 * needs.
 */
const shareOfRoom = 0.9

/** New logs of the default size are a multiple of this: 1 MiB. */
const roundBytes = 1024 * 1024

/** A server's own view of its JetStream; belongs to the system account, see nats.conf. */
const statusSubject = "$SYS.REQ.SERVER.PING.JSZ"
const statusTimeoutMillis = 1_000

const Status = Schema.fromJsonString(
  Schema.Struct({
    data: Schema.Struct({
      reserved_storage: Schema.optionalKey(Schema.Finite),
      config: Schema.optionalKey(Schema.Struct({ max_storage: Schema.optionalKey(Schema.Finite) }))
    })
  })
)

/** The result of a survey. */
export interface LogSurvey {
  readonly logs: ReadonlyArray<LogFound>
  /** The bound of the logs that have yet to be made; undefined where it is given. */
  readonly newBytes: number | undefined
}

/** The room of a store, and words for the limit that ends it. */
interface Room {
  readonly bytes: number
  readonly of: string
}

/** Looks at all logs. Refused when those that are still to be made, or are to be larger, do not fit the store. */
export const surveyLogStreams = Effect.fnUntraced(function* (
  requests: Requests,
  api: JetStreamApi,
  partitions: number,
  options: LogStreamOptions
): Effect.fn.Return<LogSurvey, JournalRefused | JournalUnavailable> {
  const look = (partition: number) => {
    const stream = streamNameOf(partition, options.namespace)
    return api.streamInfo(stream).pipe(
      Effect.map((found): { readonly partition: number; readonly found: StreamInfo } | undefined => ({
        partition,
        found
      })),
      Effect.catchIf(
        (error) => error._tag === "ApiRefused" && error.errorCode === errorCodes.streamNotFound,
        () => Effect.undefined
      ),
      Effect.mapError(
        (cause) => new JournalUnavailable({ partition, message: `the stream ${stream}: ${cause.message}`, cause })
      )
    )
  }
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  const there = (yield* Effect.forEach(all, look, { concurrency: concurrentLooks })).filter((one) => one !== undefined)
  const logs = there.map(
    ({ found, partition }): LogFound => ({
      partition,
      home: `the stream ${streamNameOf(partition, options.namespace)}`,
      deployment: deploymentOf(found),
      lastSequence: found.state.last_seq
    })
  )
  const missing = partitions - there.length
  const growth = there.reduce(
    (sum, { found }) => sum + Math.max(0, (options.maximumBytes ?? 0) - found.config.max_bytes),
    0
  )
  if (missing === 0 && growth === 0) return { logs, newBytes: undefined }
  const room = yield* roomOf(requests, api, options.replicas ?? 1)
  if (room === undefined) return { logs, newBytes: undefined }
  const needed = (options.maximumBytes ?? leastBytes) * missing + growth
  if (needed > room.bytes)
    return yield* new JournalRefused({ message: tooLarge(partitions, missing, needed, room, options) })
  if (options.maximumBytes !== undefined) return { logs, newBytes: undefined }
  const share = Math.floor((room.bytes * shareOfRoom) / missing / roundBytes) * roundBytes
  return { logs, newBytes: Math.min(defaultMaximumBytes, Math.max(leastBytes, share)) }
})

const tooLarge = (
  partitions: number,
  missing: number,
  needed: number,
  room: Room,
  { maximumBytes, words = platformNames }: LogStreamOptions
): string => {
  const most = Math.floor(room.bytes / Math.max(1, missing) / roundBytes) * roundBytes
  const smaller =
    maximumBytes !== undefined && most >= leastBytes ? `set ${words.maximumBytes} to at most ${most}, or ` : ""
  const fewer = `, or begin with fewer partitions (${words.partitions})`
  return `the logs of ${partitions} partitions do not fit the JetStream store: ${missing} new ones set aside ${needed} bytes together (${maximumBytes ?? leastBytes} each), and ${room.of} leaves ${room.bytes}. To mend it, ${smaller}raise the limit${fewer}`
}

/** How many bytes one copy of all logs together may still reserve; undefined when the server does not let us see. */
const roomOf = Effect.fnUntraced(function* (
  requests: Requests,
  api: JetStreamApi,
  replicas: number
): Effect.fn.Return<Room | undefined> {
  const rooms: Array<Room> = []
  const account = yield* Effect.option(api.accountInfo)
  const most = Option.isSome(account) ? (account.value.limits?.max_storage ?? -1) : -1
  if (Option.isSome(account) && most > 0) {
    const left = Math.max(0, most - (account.value.reserved_storage ?? 0))
    rooms.push({ bytes: Math.floor(left / replicas), of: `the account's limit of ${most} bytes (max_file)` })
  }
  // With more servers than copies nobody can say where a log will be.
  const servers = Math.max(1, requests.connection.info?.connect_urls?.length ?? 1)
  if (servers <= replicas) {
    const answer = yield* Effect.option(
      requests.request(statusSubject, "", { timeoutMillis: statusTimeoutMillis, whenDisconnected: "fail" })
    )
    const status = Option.flatMap(answer, (message) => Schema.decodeUnknownOption(Status)(message.string()))
    const limit = Option.isSome(status) ? status.value.data.config?.max_storage : undefined
    if (Option.isSome(status) && limit !== undefined && limit > 0) {
      const left = Math.max(0, limit - (status.value.data.reserved_storage ?? 0))
      rooms.push({ bytes: left, of: `the server's limit of ${limit} bytes (max_file_store in nats.conf)` })
    }
  }
  return rooms.sort((one, other) => one.bytes - other.bytes)[0]
})
