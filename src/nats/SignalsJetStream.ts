/**
 * Stores external signals on JetStream: publishers write to `signal.<organization>.<kind>`, and the stream stores them
 * under `signals.<partition>.<organization>.<kind>`, because its subject transform computes the same partition as the
 * engine (docs/architecture.md, "External signals"). Needs `NatsConnection`.
 */
import { type NatsConnection as Client, headers } from "@nats-io/transport-node"
import { Data, Effect, Layer, Schedule, type Scope, Stream } from "effect"
import { isSubjectToken } from "../engine/address.ts"
import { maximumSignalBytes, type Signal, Signals, SignalsUnavailable } from "../engine/ports/Signals.ts"
import { NatsConnection } from "./connection.ts"
import * as Api from "./jetStreamApi.ts"
import * as OrderedReader from "./orderedReader.ts"
import * as Requests from "./requests.ts"

/** Most bytes of signals that wait for their partitions, by default: 1 GiB. Beyond that publishers are refused. */
export const defaultMaximumBytes = 1024 * 1024 * 1024

/** How long a repeated id is recognized. */
export const duplicateWindowMillis = 120_000

/** How long a publisher waits for the answer. */
const publishTimeoutMillis = 2_000

/** Messages of one pull. Two pulls are read ahead: 256 signals. */
const pullSignals = 128
const pullBytes = 4 * 1024 * 1024

/** Headers of a signal, beside its data. */
const headerReserveBytes = 4 * 1024

const nanosPerMilli = 1_000_000

export interface SignalsOptions {
  /** The deployment's number of partitions; fixed once the stream is there. */
  readonly partitions: number
  /** Copies of the stream: 1 on one machine (the default), 3 in a cluster. */
  readonly replicas?: 1 | 3 | 5 | undefined
  readonly maximumBytes?: number | undefined
  /** Put before the stream's name and subjects, for several deployments on one account. */
  readonly namespace?: string | undefined
}

/** The stream of signals does not fit this deployment. Terminal; the message says what an operator can do. */
export class SignalsRefused extends Data.TaggedError("SignalsRefused")<{ readonly message: string }> {}

/** Attempts to open the stream at a start, and the pause between them. */
const openAttempts = 10
const openPauseMillis = 500

export const make = (
  client: Client,
  options: SignalsOptions
): Effect.Effect<Signals["Service"], SignalsRefused | SignalsUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const requests = yield* Requests.make(client)
    const api = Api.make(requests)
    const prefix = options.namespace === undefined ? "" : `${options.namespace}.`
    const stream = options.namespace === undefined ? "signals" : `${options.namespace}-signals`
    // A cluster that elects a leader answers nothing for a while, so a start waits for it.
    yield* Effect.retry(openStream(api, settingsOf(stream, prefix, options)), {
      while: (error) => error._tag === "SignalsUnavailable",
      schedule: Schedule.spaced(openPauseMillis),
      times: openAttempts - 1
    })
    const storedUnder = (partition: number) => `${prefix}signals.${partition}.`

    const subscribe = (partition: number, after: number): Stream.Stream<Signal, SignalsUnavailable> => {
      const prefixLength = storedUnder(partition).length
      return Stream.unwrap(
        Effect.gen(function* () {
          const { state } = yield* api.streamInfo(stream)
          if (state.last_seq < after) {
            return yield* new SignalsUnavailable({
              message: `the stream ${stream} ends at ${state.last_seq}, but partition ${partition} has processed signals up to ${after}: it was made anew or has lost its end. What is in it now cannot be told from what was processed; after looking, let it go on with: nats stream purge ${stream} --seq=${after + 1}`
            })
          }
          const reader = yield* OrderedReader.open(requests, api, {
            stream,
            filter: `${storedUnder(partition)}>`,
            from: after + 1,
            batch: pullSignals,
            maximumBytes: pullBytes
          })
          return Stream.fromIterableEffectRepeat(
            Effect.map(reader.take, (delivered) => delivered.map((one) => signalOf(one, prefixLength)))
          )
        })
      ).pipe(Stream.mapError(unavailable))
    }

    const publish = (signal: Parameters<Signals["Service"]["publish"]>[0]) =>
      Effect.gen(function* () {
        const { data, id, kind, organization } = signal
        if (!isSubjectToken(organization) || !isSubjectToken(kind)) {
          return yield* new SignalsUnavailable({
            message: "an organization and a kind of signal are each one word of visible ASCII without dot, * and >"
          })
        }
        if (data.length > maximumSignalBytes) {
          return yield* new SignalsUnavailable({
            message: `a signal of ${data.length} bytes is larger than ${maximumSignalBytes}`
          })
        }
        const messageHeaders = id === undefined ? undefined : headers()
        if (id !== undefined) messageHeaders?.set("Nats-Msg-Id", id)
        const message = yield* requests.request(`${prefix}signal.${organization}.${kind}`, data, {
          timeoutMillis: publishTimeoutMillis,
          headers: messageHeaders,
          whenDisconnected: "wait"
        })
        const { error } = message.json<{ readonly error?: { readonly description?: string } }>()
        if (error !== undefined) {
          return yield* new SignalsUnavailable({ message: `the signal was not stored: ${error.description}` })
        }
      }).pipe(Effect.catchTag("RequestFailed", (failure) => Effect.fail(unavailable(failure))))

    /** The server would take a purge below 2 for one of everything; `forgetSignals` never asks for one. */
    const forget = (partition: number, through: number) =>
      Number.isSafeInteger(through) && through >= 1
        ? Effect.mapError(api.purge(stream, { filter: `${storedUnder(partition)}>`, seq: through + 1 }), unavailable)
        : Effect.void

    return Signals.of({ subscribe, publish, forget })
  })

/** The signals of a deployment. */
export const layer = (
  options: SignalsOptions
): Layer.Layer<Signals, SignalsRefused | SignalsUnavailable, NatsConnection> =>
  Layer.effect(
    Signals,
    Effect.flatMap(NatsConnection, ({ client }) => make(client, options))
  )

const unavailable = (cause: { readonly message: string }): SignalsUnavailable =>
  cause instanceof SignalsUnavailable ? cause : new SignalsUnavailable({ message: cause.message, cause })

const signalOf = ({ behind, message, sequence }: OrderedReader.Delivered, prefixLength: number): Signal => {
  const [organization = "", kind = ""] = message.subject.slice(prefixLength).split(".")
  return { sequence, organization, kind, data: message.data, behind }
}

const settingsOf = (stream: string, prefix: string, options: SignalsOptions): Api.StreamConfig => ({
  name: stream,
  subjects: [`${prefix}signal.*.*`],
  description: "Signals from outside, by partition, until their partition has taken them in",
  subject_transform: {
    src: `${prefix}signal.*.*`,
    dest: `${prefix}signals.{{partition(${options.partitions},1)}}.{{wildcard(1)}}.{{wildcard(2)}}`
  },
  retention: "limits",
  storage: "file",
  discard: "new",
  max_msgs: -1,
  max_msgs_per_subject: -1,
  max_bytes: options.maximumBytes ?? defaultMaximumBytes,
  max_age: 0,
  max_msg_size: maximumSignalBytes + headerReserveBytes,
  max_consumers: -1,
  num_replicas: options.replicas ?? 1,
  duplicate_window: duplicateWindowMillis * nanosPerMilli,
  deny_delete: true,
  deny_purge: false,
  allow_direct: false
})

const openStream = (
  api: Api.JetStreamApi,
  wanted: Api.StreamConfig
): Effect.Effect<void, SignalsRefused | SignalsUnavailable> =>
  Effect.gen(function* () {
    const found = yield* Effect.catchIf(
      api.streamInfo(wanted.name),
      (error) => error._tag === "ApiRefused" && error.errorCode === Api.errorCodes.streamNotFound,
      () =>
        Effect.catchIf(
          api.createStream(wanted),
          (error) => error._tag === "ApiRefused" && error.errorCode === Api.errorCodes.streamNameInUse,
          () => api.streamInfo(wanted.name)
        )
    ).pipe(
      Effect.mapError((error) =>
        error._tag === "ApiRefused" && Api.isTerminal(error)
          ? new SignalsRefused({ message: `the stream ${wanted.name} cannot be opened: ${error.description}` })
          : unavailable(error)
      )
    )
    const misfit = misfitOf(found.config, wanted)
    if (misfit !== undefined) {
      return yield* new SignalsRefused({ message: `the stream ${wanted.name} ${misfit}` })
    }
  })

const misfitOf = (found: Api.StreamConfig, wanted: Api.StreamConfig): string | undefined => {
  const expected = wanted.subject_transform!
  if (found.subject_transform?.dest !== expected.dest || found.subject_transform.src !== expected.src) {
    const partitions = /partition\((\d+),1\)/.exec(found.subject_transform?.dest ?? "")?.[1]
    return partitions === undefined
      ? "does not store signals by partition; move it away and start again"
      : `was made for ${partitions} partitions, and the number of partitions is fixed at the first start; start with ${partitions}`
  }
  if (found.storage !== "file") return "keeps signals in memory and would lose them with the server; move it away"
  if (found.retention !== "limits") return `drops signals that consumers have read (${found.retention}); move it away`
  if (found.discard !== "new") {
    return `drops signals that nobody has taken in when it is full; change it with: nats stream edit ${wanted.name} --discard=new`
  }
  if (found.num_replicas < wanted.num_replicas) {
    return `has ${found.num_replicas} copies instead of ${wanted.num_replicas}; change it with: nats stream edit ${wanted.name} --replicas=${wanted.num_replicas}`
  }
  return undefined
}
