/**
 * Copies the streams of the platform up to the positions that they have now, as segments. The logs' positions are taken
 * first: contents of an email are stored before its frame, and a signal before the frame that decides it. Needs
 * `NatsConnection`.
 */
import { Effect, Schedule, Stream } from "effect"
import { NatsConnection } from "../../nats/connection.ts"
import * as Api from "../../nats/jetStreamApi.ts"
import { deploymentOf, streamNameOf } from "../../nats/logStream.ts"
import { streamsOf } from "../../nats/replicas.ts"
import * as Requests from "../../nats/requests.ts"
import { copyMessages, type StoredMessage } from "../../nats/streamCopy.ts"
import type { BackupSegment, BackupStream, BackupWitness } from "./backupManifest.ts"
import { followCopy, neededFrom, planCopy } from "./backupRules.ts"
import { fileFailure, unlessStalled } from "./copyPace.ts"
import type { CopyTarget } from "./copyTables.ts"
import { BackupRefused } from "./errors.ts"
import { encodeRecord } from "./messageRecords.ts"
import { writeSealed } from "./sealedFile.ts"

/** Bytes of messages after which a segment ends, so that old ones can go while later ones stay. */
const segmentBytes = 128 * 1024 * 1024

/** How often NATS is asked again, and the pause between: a cluster that elects a leader does not answer. */
const attempts = 20
const pauseMillis = 500

/** Takes messages one by one, and shows the next one before it is taken. */
class MessageQueue {
  private readonly iterator: AsyncIterator<ReadonlyArray<StoredMessage>>
  private batch: ReadonlyArray<StoredMessage> = []
  private at = 0
  /** Messages that were taken. */
  count = 0

  constructor(source: AsyncIterable<ReadonlyArray<StoredMessage>>) {
    this.iterator = source[Symbol.asyncIterator]()
  }

  /** The next message; undefined at the end. */
  async peek(): Promise<StoredMessage | undefined> {
    while (this.at >= this.batch.length) {
      const next = await this.iterator.next()
      if (next.done === true) return undefined
      this.batch = next.value
      this.at = 0
    }
    return this.batch[this.at]
  }

  take(): void {
    this.at++
    this.count++
  }

  readonly close = async (): Promise<void> => void (await this.iterator.return?.())
}

/** Writes the next segment of a stream, which begins with `first`. */
const writeSegment = Effect.fnUntraced(function* (
  { key, partial }: CopyTarget,
  stream: string,
  queue: MessageQueue,
  first: StoredMessage
) {
  const file = `${partial.id}/streams/${stream}.${first.sequence}`
  const before = queue.count
  let last = first
  const records = async function* () {
    let bytes = 0
    for (let next = await queue.peek(); next !== undefined && bytes < segmentBytes; next = await queue.peek()) {
      queue.take()
      last = next
      bytes += next.data.length
      yield encodeRecord(next)
    }
  }
  const written = yield* Effect.tryPromise({
    try: (signal) => writeSealed({ path: partial.pathOf(file), name: file, key, signal }, records()),
    catch: fileFailure(`${file} was not written`)
  })
  const segment: BackupSegment = {
    ...written,
    file,
    first: first.sequence,
    last: last.sequence,
    messages: queue.count - before
  }
  return { segment, newestTime: last.time }
})

/** A stream as it is found after the tables were read. */
interface Position {
  readonly name: string
  readonly info: Api.StreamInfo
}

/** The copy of a stream: messages that were copied now, and those that an earlier backup had. */
interface CopiedStream {
  readonly stream: BackupStream
  readonly copied: number
  readonly reused: number
}

const copyStream = Effect.fnUntraced(function* (
  target: CopyTarget,
  nats: { readonly requests: Requests.Requests; readonly api: Api.JetStreamApi },
  { info, name }: Position,
  earlier: BackupStream | undefined,
  needed: number | undefined
) {
  const { state } = info
  const found = { created: info.created, messages: state.messages, first: state.first_seq, last: state.last_seq }
  const plan = planCopy(found, earlier, needed)
  const follow = followCopy(plan)
  const source = yield* Stream.toAsyncIterableEffect(
    Stream.tap(
      copyMessages(nats.requests, nats.api, { stream: name, from: plan.from, through: state.last_seq }),
      Effect.fnUntraced(function* (batch: ReadonlyArray<StoredMessage>) {
        yield* target.pace(batch.reduce((sum, { data }) => sum + data.length, 0))
        for (const { sequence } of batch) {
          const missing = follow(sequence)
          if (missing !== undefined)
            return yield* new BackupRefused({
              message: `The messages ${missing} to ${sequence - 1} of the stream ${name} were removed while it was read. Try again; for a log, raise SLUICE_LOG_KEEP`
            })
        }
      })
    )
  )
  const queue = new MessageQueue(source)
  yield* Effect.addFinalizer(() => Effect.promise(queue.close))
  const next = Effect.tryPromise({ try: () => queue.peek(), catch: fileFailure(`The stream ${name} was not copied`) })
  const segments = [...plan.kept]
  let newestTime = plan.kept.length === 0 ? undefined : earlier?.newestTime
  yield* unlessStalled(
    () => queue.count,
    `The stream ${name} was not copied`,
    Effect.gen(function* () {
      for (let first = yield* next; first !== undefined; first = yield* next) {
        const written = yield* writeSegment(target, name, queue, first)
        segments.push(written.segment)
        newestTime = written.newestTime
      }
    })
  )
  const stream: BackupStream = {
    name,
    created: info.created,
    config: { ...info.config },
    first: segments[0]?.first ?? state.last_seq + 1,
    last: state.last_seq,
    // The newest messages may be gone by now, where all were too old.
    isWhole: plan.isWhole && (segments.at(-1)?.last ?? state.last_seq) === state.last_seq,
    segments,
    ...(newestTime === undefined ? {} : { newestTime })
  }
  return {
    stream,
    copied: queue.count,
    reused: plan.kept.reduce((sum, segment) => sum + segment.messages, 0)
  } satisfies CopiedStream
}, Effect.scoped)

/** The streams that are there, in the order in which their positions count. */
const positionsOf = Effect.fnUntraced(function* (
  api: Api.JetStreamApi,
  { deployment, namespace, partitions }: CopyOptions
) {
  const positions: Array<Position> = []
  for (const name of streamsOf(partitions, namespace)) {
    const info = yield* api.streamInfo(name).pipe(
      Effect.retry({
        while: (error) => error._tag === "RequestFailed" || !Api.isTerminal(error),
        schedule: Schedule.spaced(pauseMillis),
        times: attempts
      }),
      Effect.catchIf(
        (error) => error._tag === "ApiRefused" && error.errorCode === Api.errorCodes.streamNotFound,
        () => Effect.undefined
      ),
      Effect.mapError(
        ({ message }) => new BackupRefused({ message: `The stream ${name} cannot be looked at: ${message}` })
      )
    )
    if (info === undefined) continue
    const owner = deploymentOf(info)
    if (owner !== undefined && owner !== deployment)
      return yield* new BackupRefused({
        message: `The stream ${name} belongs to the deployment ${owner}, and the database to ${deployment}: name the two stores of one platform (DATABASE_URL, NATS_URL, SLUICE_LOG_NAMESPACE)`
      })
    positions.push({ name, info })
  }
  return positions
})

export interface CopyOptions {
  readonly deployment: string
  readonly partitions: number
  readonly namespace: string | undefined
  readonly witnesses: ReadonlyArray<BackupWitness>
  /** The streams of an earlier backup, whose segments are used again. */
  readonly earlier: ReadonlyArray<BackupStream>
}

/** Copies every stream. */
export const copyStreams = Effect.fnUntraced(function* (target: CopyTarget, options: CopyOptions) {
  const { client } = yield* NatsConnection
  const requests = yield* Requests.make(client)
  const nats = { requests, api: Api.make(requests) }
  const { earlier, namespace, partitions, witnesses } = options
  const partitionOfStream = new Map(
    Array.from({ length: partitions }, (_, partition) => [streamNameOf(partition, namespace), partition])
  )
  const copies: Array<CopiedStream> = []
  for (const position of yield* positionsOf(nats.api, options)) {
    const partition = partitionOfStream.get(position.name)
    const needed =
      partition === undefined ? undefined : neededFrom(witnesses.filter((one) => one.partition === partition))
    const before = earlier.find(({ name }) => name === position.name)
    copies.push(yield* copyStream(target, nats, position, before, needed))
  }
  return copies
}, Effect.scoped)
