/**
 * Reads a stream in order from a place on, pulling a bounded number of messages ahead: an ephemeral consumer that lives
 * as long as the scope. Every message arrives once and in order. Otherwise the reader stops with the reason, and its
 * user opens another one at the same place. Needs `Requests` and `JetStreamApi`.
 */
import type { Msg } from "@nats-io/transport-node"
import { nuid } from "@nats-io/transport-node"
import { Data, Duration, Effect, type Scope } from "effect"
import type { JetStreamApi } from "./jetStreamApi.ts"
import type { Requests } from "./requests.ts"

/** A pull ends by itself after this time and is renewed. */
const pullExpiryMillis = 20_000

/** The server gives a sign of life this often while a pull waits for messages. */
const heartbeatMillis = 2_000

/** After this long without a message or a sign of life the consumer counts as lost. */
const silenceMillis = 5_000

/** The server forgets a consumer that nobody pulls from after this time (its reader died with its process). */
const inactiveMillis = 30_000

/** Concurrent pulls: while the messages of one are processed, the next is under way. */
const pulls = 2

const nanosPerMilli = 1_000_000

export interface ReaderOptions {
  readonly stream: string
  /** Only messages stored under this subject, or one of these, which do not overlap; all when left out. */
  readonly filter?: string | ReadonlyArray<string>
  /** The first sequence to read; what is missing from there on is skipped by the server. */
  readonly from: number
  /** Messages and bytes of one pull; two pulls are held in memory at most. */
  readonly batch: number
  readonly maximumBytes: number
}

/** A stored message and its place in the stream. */
export interface Delivered {
  readonly sequence: number
  /** How many messages the consumer had behind this one. */
  readonly behind: number
  /** How often the reader had asked for nothing before this one, because earlier ones were not taken yet. */
  readonly pauses: number
  /** When it was stored, in nanoseconds since the Unix epoch, decimal. */
  readonly time: string
  readonly message: Msg
}

/** The reader can give no more; what it gave is complete and in order. */
export class ReaderStopped extends Data.TaggedError("ReaderStopped")<{
  readonly message: string
  readonly cause?: unknown
}> {}

export interface OrderedReader {
  /** Answers the messages since the last call, at least one. */
  readonly take: Effect.Effect<ReadonlyArray<Delivered>, ReaderStopped>
  /** The name of its consumer at the server, and how many messages were taken. */
  readonly consumer: string
  readonly taken: () => number
}

/** Opens a reader; its consumer goes with the scope. */
export const open = (
  requests: Requests,
  api: JetStreamApi,
  options: ReaderOptions
): Effect.Effect<OrderedReader, ReaderStopped, Scope.Scope> =>
  Effect.gen(function* () {
    const name = `sluice-${nuid.next()}`
    yield* Effect.acquireRelease(
      Effect.mapError(
        api.createConsumer(options.stream, {
          name,
          deliver_policy: "by_start_sequence",
          opt_start_seq: Math.max(1, options.from),
          ack_policy: "none",
          replay_policy: "instant",
          mem_storage: true,
          num_replicas: 1,
          inactive_threshold: inactiveMillis * nanosPerMilli,
          ...filterOf(options.filter)
        }),
        (cause) => new ReaderStopped({ message: cause.message, cause })
      ),
      // Not waited for, because the server forgets the consumer anyhow.
      () =>
        Effect.ignore(
          Effect.try(() => {
            if (requests.isConnected()) requests.connection.publish(`$JS.API.CONSUMER.DELETE.${options.stream}.${name}`)
          })
        )
    )
    const reader = yield* Effect.acquireRelease(
      Effect.sync(() => new Reader(requests, name, options)),
      (reader) => Effect.sync(() => reader.close())
    )
    yield* Effect.forkScoped(
      Effect.forever(Effect.andThen(Effect.sleep(Duration.millis(silenceMillis)), reader.listenForSilence))
    )
    return reader
  })

const filterOf = (filter: ReaderOptions["filter"]) =>
  filter === undefined ? {} : typeof filter === "string" ? { filter_subject: filter } : { filter_subjects: filter }

interface OpenPull {
  remaining: number
  readonly close: () => void
}

class Reader implements OrderedReader {
  private readonly requests: Requests
  readonly consumer: string
  private readonly nextSubject: string
  private readonly request: string
  private readonly options: ReaderOptions
  private readonly open = new Set<OpenPull>()
  private buffer: Array<Delivered> = []
  /** How many messages the consumer has sent: a jump means that one was lost on the way. */
  private delivered = 0
  private stopped: ReaderStopped | undefined
  private wake: (() => void) | undefined
  private waking = false
  private heard = true
  private pauses = 0

  constructor(requests: Requests, consumer: string, options: ReaderOptions) {
    this.requests = requests
    this.options = options
    this.consumer = consumer
    this.nextSubject = `$JS.API.CONSUMER.MSG.NEXT.${options.stream}.${consumer}`
    this.request = JSON.stringify({
      batch: options.batch,
      max_bytes: options.maximumBytes,
      expires: pullExpiryMillis * nanosPerMilli,
      idle_heartbeat: heartbeatMillis * nanosPerMilli
    })
    this.pull()
  }

  readonly listenForSilence: Effect.Effect<void> = Effect.sync(() => {
    if (!this.heard && this.open.size > 0) this.stop(`nothing was heard from NATS for ${silenceMillis} ms`)
    this.heard = false
  })

  readonly take: Effect.Effect<ReadonlyArray<Delivered>, ReaderStopped> = Effect.callback((resume) => {
    const look = () => {
      if (this.buffer.length > 0) {
        const taken = this.buffer
        this.buffer = []
        this.wake = undefined
        this.pull()
        resume(Effect.succeed(taken))
      } else if (this.stopped !== undefined) {
        this.wake = undefined
        resume(Effect.fail(this.stopped))
      } else {
        this.wake = look
      }
    }
    look()
    return Effect.sync(() => {
      this.wake = undefined
    })
  })

  readonly taken = (): number => this.delivered - this.buffer.length

  close(): void {
    for (const pull of this.open) pull.close()
    this.open.clear()
  }

  private stop(message: string): void {
    this.stopped ??= new ReaderStopped({ message })
    this.close()
    this.wakeSoon()
  }

  /** Wakes the taker after all messages of the current chunk have come in. */
  private wakeSoon(): void {
    if (this.waking || this.wake === undefined) return
    this.waking = true
    queueMicrotask(() => {
      this.waking = false
      this.wake?.()
    })
  }

  /**
   * Tops up the pulls under way. Only called while memory holds no messages, so that it never holds more than `pulls`
   * pulls.
   */
  private pull(): void {
    while (this.stopped === undefined && this.open.size < pulls) {
      if (!this.requests.isConnected()) {
        this.stop("there is no connection to NATS")
        return
      }
      try {
        this.open.add(this.openPull())
      } catch (cause) {
        // The connection is being closed.
        this.stop(cause instanceof Error ? cause.message : String(cause))
      }
    }
  }

  private openPull(): OpenPull {
    const conversation = this.requests.listen({
      onMessage: (message) => this.receive(pull, message),
      onDisconnect: () => this.stop("the connection to NATS was lost")
    })
    const pull: OpenPull = { remaining: this.options.batch, close: conversation.close }
    this.requests.connection.publish(this.nextSubject, this.request, { reply: conversation.reply })
    return pull
  }

  private end(pull: OpenPull): void {
    pull.close()
    this.open.delete(pull)
    if (this.buffer.length === 0) this.pull()
    else if (this.open.size === 0) this.pauses++
  }

  private receive(pull: OpenPull, message: Msg): void {
    this.heard = true
    const place = placeOf(message.reply ?? "")
    if (place === undefined) {
      this.status(pull, message)
      return
    }
    if (place.delivered !== this.delivered + 1) {
      this.stop(`a message was lost on its way: number ${place.delivered} came after ${this.delivered}`)
      return
    }
    this.delivered = place.delivered
    const { behind, sequence, time } = place
    this.buffer.push({ sequence, behind, pauses: this.pauses, time, message })
    pull.remaining--
    if (pull.remaining === 0) this.end(pull)
    this.wakeSoon()
  }

  private status(pull: OpenPull, message: Msg): void {
    const code = message.headers?.code ?? 0
    if (code === 100) return
    const description = message.headers?.description ?? ""
    const isOver = code === 404 || code === 408 || (code === 409 && /max ?bytes/i.test(description))
    if (isOver) this.end(pull)
    else this.stop(`NATS ended the reading: ${code} ${description}`)
  }
}

/**
 * Reads the place of a delivered message: its reply subject is
 * `$JS.ACK.<stream>.<consumer>.<times>.<sequence>.<delivered>.<time>.<pending>`, or the same with domain and account
 * before the stream.
 */
export const placeOf = (
  reply: string
):
  | { readonly sequence: number; readonly delivered: number; readonly behind: number; readonly time: string }
  | undefined => {
  if (!reply.startsWith("$JS.ACK.")) return undefined
  const tokens = reply.split(".")
  const at = tokens.length === 9 ? 5 : 7
  const sequence = Number(tokens[at])
  const delivered = Number(tokens[at + 1])
  const behind = Number(tokens[at + 3])
  return [sequence, delivered, behind].every(Number.isSafeInteger)
    ? { sequence, delivered, behind, time: tokens[at + 2]! }
    : undefined
}
