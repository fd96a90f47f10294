/**
 * Checks a NATS server before the engine uses it: it must be new enough, have JetStream and room for a frame, and not
 * visibly acknowledge before it has synced (docs/architecture.md, rule 14). Needs no service.
 */
import { type JetStreamApiError, jetstreamManager } from "@nats-io/jetstream"
import type { NatsConnection as Client, Msg } from "@nats-io/transport-node"
import { Effect, Option, Schedule, Schema } from "effect"
import { NatsPayloadTooSmall, NatsTooOld, NatsUnreachable, NatsWeakSync, NatsWithoutJetStream } from "./errors.ts"
import { isOldNats } from "./version.ts"

/** A frame of at most 512 KiB and its headers (docs/architecture.md, rule 8), rounded up generously. */
export const neededPayloadBytes = 576 * 1024

/**
 * The known sync policy of a server: `always` before it acknowledges, `interval` some time after, `unknown` where it
 * does not let us see. A server shows this in its JetStream status, which belongs to the system account. nats.conf
 * shows how to export that to the platform's account, and the embedded server does so.
 */
export type SyncSetting = "always" | "interval" | "unknown"

export interface ServerFacts {
  readonly version: string
  readonly name: string
  readonly maxPayloadBytes: number
  readonly sync: SyncSetting
}

const statusSubject = "$SYS.REQ.SERVER.PING.JSZ"

/**
 * In a cluster every server answers, and their number is not known, so the check listens this long after each answer.
 */
const statusStallMillis = 200
const statusWaitMillis = 1_000

/** A cluster that has just started takes some seconds to elect the server that answers for JetStream. */
const jetstreamWaitMillis = 10_000
const jetstreamTryMillis = 2_000

const Status = Schema.fromJsonString(
  Schema.Struct({
    server: Schema.Struct({ name: Schema.String, ver: Schema.String }),
    data: Schema.Struct({
      disabled: Schema.optionalKey(Schema.Boolean),
      config: Schema.optionalKey(
        Schema.Struct({
          sync_always: Schema.optionalKey(Schema.Boolean),
          /** Nanoseconds. */
          sync_interval: Schema.optionalKey(Schema.Finite)
        })
      )
    })
  })
)

/** Checks the server, or all servers of the cluster as far as they can be seen. */
export const checkServer = Effect.fnUntraced(function* (
  client: Client,
  servers: string,
  weakSync: "refuse" | "accept"
): Effect.fn.Return<
  ServerFacts,
  NatsTooOld | NatsWithoutJetStream | NatsWeakSync | NatsPayloadTooSmall | NatsUnreachable
> {
  const info = client.info
  if (info === undefined) return yield* new NatsUnreachable({ servers, reason: "the connection was lost" })
  if (isOldNats(info.version)) return yield* new NatsTooOld({ server: info.server_name, version: info.version })
  if (info.jetstream !== true) {
    return yield* new NatsWithoutJetStream({ servers, reason: "the server runs without a jetstream block" })
  }
  if (info.max_payload < neededPayloadBytes) {
    return yield* new NatsPayloadTooSmall({
      servers,
      maxPayloadBytes: info.max_payload,
      neededBytes: neededPayloadBytes
    })
  }
  yield* checkJetStream(client, servers)
  const statuses = yield* askStatuses(client, (info.connect_urls?.length ?? 1) > 1)
  const using = statuses.filter((status) => status.data.disabled !== true && status.data.config !== undefined)
  for (const { server, data } of using) {
    if (isOldNats(server.ver)) return yield* new NatsTooOld({ server: server.name, version: server.ver })
    if (data.config?.sync_always === true || weakSync === "accept") continue
    const intervalSeconds = Math.round((data.config?.sync_interval ?? 0) / 1e9)
    return yield* new NatsWeakSync({ server: server.name, intervalSeconds })
  }
  const sync =
    using.length === 0
      ? "unknown"
      : using.every(({ data }) => data.config?.sync_always === true)
        ? "always"
        : "interval"
  return { version: info.version, name: info.server_name, maxPayloadBytes: info.max_payload, sync }
})

/** Checks that JetStream answers for this account. */
const checkJetStream = (client: Client, servers: string) =>
  Effect.tryPromise({
    try: async () => {
      const manager = await jetstreamManager(client, { checkAPI: false, timeout: jetstreamTryMillis })
      await manager.getAccountInfo()
    },
    catch: (cause) => jetStreamFailure(cause)
  }).pipe(
    Effect.retry({
      schedule: Schedule.spaced("250 millis").pipe(Schedule.upTo({ duration: jetstreamWaitMillis })),
      while: (failure) => failure.passing
    }),
    Effect.mapError(({ reason }) => new NatsWithoutJetStream({ servers, reason }))
  )

const jetStreamFailure = (cause: unknown): { readonly reason: string; readonly passing: boolean } => {
  // A request that is not permitted fails with that as its cause.
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause.name : ""
  const name = inner === "PermissionViolationError" ? inner : cause instanceof Error ? cause.name : ""
  if (name === "JetStreamNotEnabled") return { reason: "it is not enabled for this user's account", passing: false }
  if (name === "PermissionViolationError") {
    return { reason: "this user may not publish to $JS.API.> and subscribe to its inbox", passing: false }
  }
  if (name === "JetStreamApiError") {
    const { code, message } = cause as JetStreamApiError
    return { reason: message, passing: code >= 500 }
  }
  return { reason: "its API does not answer (has the cluster a leader?)", passing: true }
}

/** The statuses that the servers show; none when the account may not ask. */
const askStatuses = (client: Client, cluster: boolean) =>
  Effect.tryPromise(async () => {
    const answers: Array<Msg> = []
    const iterator = await client.requestMany(
      statusSubject,
      "",
      cluster
        ? { strategy: "stall", stall: statusStallMillis, maxWait: statusWaitMillis }
        : { strategy: "count", maxMessages: 1, maxWait: statusWaitMillis }
    )
    for await (const answer of iterator) answers.push(answer)
    return answers
  }).pipe(
    Effect.catch(() => Effect.succeed<ReadonlyArray<Msg>>([])),
    Effect.map((answers) =>
      answers.flatMap((answer) => Option.toArray(Schema.decodeUnknownOption(Status)(answer.string())))
    )
  )
