/**
 * Keeps a program's streams in memory, for tests and for programs without a server. It keeps all ids for as long as the
 * store lives, which a test can afford and a server cannot. Needs no service but the clock.
 */
import { Clock, Effect, Layer, Stream } from "effect"
import {
  type FollowRequest,
  lostPlace,
  ProgramStreams,
  type PublishedMessage,
  PublishRefused,
  type StreamBatch,
  type StreamMessage,
  type StreamPlaceLost,
  StreamUnavailable
} from "../ports/ProgramStreams.ts"

/** Messages in one batch. */
const batchSize = 64

/** The largest message, as a NATS server has it by default. */
const maximumDataBytes = 1024 * 1024

/** One stream: its subjects, and the messages that it holds. See {@link engineCheckers}. */
export interface MemoryStream {
  readonly subjects: ReadonlyArray<string>
  messages: Array<StreamMessage>
  last: number
  readonly ids: Set<string>
}

/** The streams of a program. Tests and simulations may change it. See {@link engineCheckers}. */
export interface ProgramStreamsStore {
  readonly streams: Map<string, MemoryStream>
  /** Followers that wait for the next message. */
  readonly waiting: Set<() => void>
}

/** Streams by their names, with the subjects of each. */
export const makeStore = (streams: Readonly<Record<string, ReadonlyArray<string>>>): ProgramStreamsStore => ({
  streams: new Map(
    Object.entries(streams).map(([name, subjects]) => [name, { subjects, messages: [], last: 0, ids: new Set() }])
  ),
  waiting: new Set()
})

/** Removes a stream's messages below a sequence, as a retention of its own would. */
export const purge = (store: ProgramStreamsStore, stream: string, below: number): void => {
  const found = store.streams.get(stream)
  if (found !== undefined) found.messages = found.messages.filter(({ sequence }) => sequence >= below)
}

/** Whether a subject is among those that a pattern names: `*` is one token, `>` all that follow. */
export const isUnder = (subject: string, pattern: string): boolean => {
  const tokens = subject.split(".")
  const wanted = pattern.split(".")
  for (const [index, token] of wanted.entries()) {
    if (token === ">") return tokens.length > index
    if (tokens[index] === undefined || (token !== "*" && token !== tokens[index])) return false
  }
  return tokens.length === wanted.length
}

const isWanted = (subject: string, subjects: ReadonlyArray<string>): boolean =>
  subjects.length === 0 || subjects.some((pattern) => isUnder(subject, pattern))

const firstOf = ({ last, messages }: MemoryStream): number => messages[0]?.sequence ?? last + 1

/** The port over a store. */
export const make = (store: ProgramStreamsStore): ProgramStreams["Service"] => {
  const named = (stream: string): Effect.Effect<MemoryStream, StreamUnavailable> =>
    Effect.suspend(() => {
      const found = store.streams.get(stream)
      return found === undefined
        ? Effect.fail(new StreamUnavailable({ message: `there is no stream ${stream}` }))
        : Effect.succeed(found)
    })
  return ProgramStreams.of({
    ends: (stream) => Effect.map(named(stream), (found) => ({ first: firstOf(found), last: found.last })),
    before: (stream, timeMillis) =>
      Effect.map(
        named(stream),
        ({ last, messages }) => (messages.find(({ time }) => time >= timeMillis)?.sequence ?? last + 1) - 1
      ),
    follow: (request) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const found = yield* named(request.stream)
          const problem = lostPlace(request, firstOf(found), found.last)
          if (problem !== undefined) return yield* problem
          return Stream.unfold(request.after, (at) =>
            Effect.map(nextBatch(store, found, { ...request, after: at }), (batch) => [batch, batch.through] as const)
          )
        })
      ),
    publish: (message) =>
      Effect.flatMap(
        Clock.currentTimeMillis,
        (time): Effect.Effect<void, StreamUnavailable | PublishRefused> => append(store, message, time) ?? Effect.void
      )
  })
}

/** Stores a message at a time, Unix milliseconds. Returns why it is not stored; undefined if it is. */
export const append = (
  store: ProgramStreamsStore,
  { data, headers = {}, id, stream, subject }: PublishedMessage,
  time: number
): StreamUnavailable | PublishRefused | undefined => {
  const taking = [...store.streams].filter(([, { subjects }]) => isWanted(subject, subjects))
  if (taking.length === 0 || (stream !== undefined && !taking.some(([name]) => name === stream)))
    return new StreamUnavailable({ message: `no stream ${stream ?? ""} takes ${subject}` })
  if (data.length > maximumDataBytes)
    return new PublishRefused({ message: `${data.length} bytes are more than ${maximumDataBytes}` })
  for (const [, one] of taking) {
    if (id !== undefined && one.ids.has(id)) continue
    if (id !== undefined) one.ids.add(id)
    const stored = id === undefined ? headers : { ...headers, "Nats-Msg-Id": id }
    one.messages.push({ sequence: ++one.last, subject, time, headers: stored, data })
  }
  for (const wake of [...store.waiting]) wake()
  return undefined
}

const nextBatch = (
  store: ProgramStreamsStore,
  found: MemoryStream,
  request: FollowRequest
): Effect.Effect<StreamBatch, StreamPlaceLost> =>
  Effect.callback<StreamBatch, StreamPlaceLost>((resume) => {
    const { after, subjects } = request
    const look = () => {
      if (found.last <= after) return
      store.waiting.delete(look)
      const problem = lostPlace(request, firstOf(found), found.last)
      if (problem !== undefined) return resume(Effect.fail(problem))
      const messages: Array<StreamMessage> = []
      let through = after
      // Sequences have no gaps here, so the place of the next message is known.
      const from = after + 1 - firstOf(found)
      for (let index = from; index < found.messages.length && messages.length < batchSize; index++) {
        const message = found.messages[index]!
        through = message.sequence
        if (isWanted(message.subject, subjects)) messages.push({ ...message, behind: found.last - through })
      }
      resume(Effect.succeed({ messages, through }))
    }
    store.waiting.add(look)
    look()
    return Effect.sync(() => void store.waiting.delete(look))
  })

export const layerOf = (store: ProgramStreamsStore): Layer.Layer<ProgramStreams> =>
  Layer.succeed(ProgramStreams, make(store))

/**
 * Streams in memory, by their names with the subjects of each; lost with the process.
 *
 * @example
 * ```ts
 * import { Streams } from "sluice"
 *
 * export const streams = Streams.layerMemory({ orders: ["orders.>"] })
 * ```
 */
export const layerMemory = (streams: Readonly<Record<string, ReadonlyArray<string>>>): Layer.Layer<ProgramStreams> =>
  Layer.suspend(() => layerOf(makeStore(streams)))
