/**
 * Makes the shared connection to NATS: checked at boot, kept for ever, its state visible. The client reconnects without
 * end, and only a fault that waiting cannot mend stops the boot. Needs no service.
 */
import {
  type NatsConnection as Client,
  connect,
  type NodeConnectionOptions,
  type Status
} from "@nats-io/transport-node"
import {
  Clock,
  Context,
  Effect,
  Layer,
  Metric,
  PubSub,
  Redacted,
  Schedule,
  type Scope,
  Stream,
  SubscriptionRef
} from "effect"
import { accessOptions, checkFiles, type NatsFiles, needsTls } from "./access.ts"
import { type NatsAddress, parseNatsAddress } from "./address.ts"
import { checkServer, type ServerFacts } from "./bootCheck.ts"
import { NatsAuthenticationFailed, type NatsBootError, NatsUnreachable } from "./errors.ts"

export interface NatsConnectionOptions {
  /** NATS_URL: see `parseNatsAddress`. */
  readonly url: Redacted.Redacted<string>
  /** Files of NKeys, credentials and certificates, read for each connection; default none. */
  readonly files?: NatsFiles
  /** Shown by the server's monitoring; default `sluice`. */
  readonly name?: string
  /** How long a boot waits for a server that is not there yet; default 10 s. */
  readonly connectTimeoutMillis?: number
  /** Whether a server that visibly acknowledges before it syncs is used; default `refuse`. */
  readonly weakSync?: "refuse" | "accept"
}

export type NatsStatus =
  | { readonly _tag: "Connected"; readonly server: string; readonly sinceMillis: number }
  | { readonly _tag: "Disconnected"; readonly sinceMillis: number }

/**
 * The connection works again. A message that was published before and not acknowledged may be lost and must be sent
 * again.
 */
export interface Reconnected {
  readonly server: string
  readonly atMillis: number
}

export class NatsConnection extends Context.Service<
  NatsConnection,
  {
    readonly client: Client
    /** The server as the boot found it. */
    readonly server: ServerFacts
    readonly status: Effect.Effect<NatsStatus>
    /** The status now and every later one. */
    readonly statusChanges: Stream.Stream<NatsStatus>
    /** Each reconnection after the subscription. A slow subscriber gets the latest 16. */
    readonly reconnects: Stream.Stream<Reconnected>
  }
>()("sluice/nats/NatsConnection") {
  static readonly layer = (options: NatsConnectionOptions): Layer.Layer<NatsConnection, NatsBootError> =>
    Layer.effect(NatsConnection, connectNats(options))
}

const connectTimeoutMillis = 10_000
const connectPauseMillis = 100

/** The timeout of one attempt, which includes TLS and authentication. */
const dialTimeoutMillis = 5_000

/** How long buffered messages may take to be written at the end. */
const drainTimeoutMillis = 2_000

const reconnectsKept = 16

const connectedGauge = Metric.gauge("sluice_nats_connected", {
  description: "1 while the connection to NATS is there"
})

const reconnectsCounter = Metric.counter("sluice_nats_reconnects_total", {
  description: "Times the connection to NATS was lost and made again",
  incremental: true
})

/** The client's defaults wait 2 s between attempts, give up after ten and take minutes to notice a silent server. */
const clientOptions = (
  address: NatsAddress,
  files: NatsFiles,
  name: string,
  dialMillis: number
): NodeConnectionOptions => ({
  servers: [...address.servers],
  name,
  timeout: dialMillis,
  reconnect: true,
  reconnectTimeWait: 50,
  reconnectJitter: 50,
  reconnectJitterTLS: 50,
  maxReconnectAttempts: -1,
  // Credentials may be refused for a moment while a cluster's servers are reloaded one by one.
  ignoreAuthErrorAbort: true,
  pingInterval: 1_000,
  // Saves a third of the CPU of each publish.
  noAsyncTraces: true,
  // We wait for the first connection ourselves: the client (`waitOnFirstConnect`) would wait for ever and could not be
  // interrupted.
  waitOnFirstConnect: false,
  ...accessOptions(files, address.tls),
  ...(address.credentials._tag === "User"
    ? { user: address.credentials.user, pass: Redacted.value(address.credentials.password) }
    : {}),
  ...(address.credentials._tag === "Token" ? { token: Redacted.value(address.credentials.token) } : {})
})

/** Connects, checks the server and keeps the connection until the scope closes. */
export const connectNats = Effect.fnUntraced(function* (
  options: NatsConnectionOptions
): Effect.fn.Return<NatsConnection["Service"], NatsBootError, Scope.Scope> {
  const address = yield* Effect.fromResult(parseNatsAddress(options.url))
  const servers = address.servers.join(", ")
  const files = options.files ?? {}
  yield* checkFiles(files)
  const client = yield* firstConnection(
    address,
    files,
    options.name ?? "sluice",
    options.connectTimeoutMillis ?? connectTimeoutMillis
  )
  // Starts here, so that a connection lost during the checks is seen.
  const reports = client.status()
  const server = yield* checkServer(client, servers, options.weakSync ?? "refuse")
  if (server.sync === "unknown") {
    yield* Effect.logWarning(
      `NATS at ${servers} does not show whether it syncs before it acknowledges: make sure that it runs with "sync_interval: always" (nats.conf shows how to let Sluice see it)`
    )
  } else if (server.sync === "interval") {
    yield* Effect.logWarning(
      `NATS at ${servers} acknowledges before it syncs, which was accepted: a power failure loses data`
    )
  }
  const sinceMillis = yield* Clock.currentTimeMillis
  const status = yield* SubscriptionRef.make<NatsStatus>({
    _tag: "Connected",
    server: client.getServer(),
    sinceMillis
  })
  yield* Metric.update(connectedGauge, 1)
  yield* Metric.update(reconnectsCounter, 0)
  const reconnects = yield* PubSub.sliding<Reconnected>(reconnectsKept)
  yield* Effect.addFinalizer(() => PubSub.shutdown(reconnects))
  // Only added here: before, nothing was published, and a server that failed its check may not answer.
  yield* Effect.addFinalizer(() =>
    SubscriptionRef.getUnsafe(status)._tag === "Connected" ? drain(client) : Effect.void
  )
  yield* Effect.forkScoped(watch(reports, servers, status, reconnects))
  return NatsConnection.of({
    client,
    server,
    status: SubscriptionRef.get(status),
    statusChanges: SubscriptionRef.changes(status),
    reconnects: Stream.fromPubSub(reconnects)
  })
})

type FirstFailure = { readonly error: NatsUnreachable | NatsAuthenticationFailed; readonly passing: boolean }

const firstConnection = Effect.fnUntraced(function* (
  address: NatsAddress,
  files: NatsFiles,
  name: string,
  timeoutMillis: number
) {
  const servers = address.servers.join(", ")
  // An attempt cannot be cancelled, so a connection that comes too late is closed when it comes.
  let over = false
  let opened: Client | undefined
  yield* Effect.addFinalizer(() => {
    over = true
    return Effect.promise(async () => opened?.close().catch(() => {}))
  })
  const dialMillis = Math.min(dialTimeoutMillis, timeoutMillis)
  const attempt = Effect.callback<Client, FirstFailure>((resume) => {
    connect(clientOptions(address, files, name, dialMillis)).then(
      (client) => {
        if (over) return void client.close()
        opened = client
        resume(Effect.succeed(client))
      },
      (cause: unknown) => resume(Effect.fail(firstFailure(address, files, cause)))
    )
  })
  return yield* attempt.pipe(
    Effect.retry({
      schedule: Schedule.spaced(connectPauseMillis).pipe(Schedule.upTo({ duration: timeoutMillis })),
      while: (failure) => failure.passing
    }),
    Effect.mapError(({ error }) => error),
    // For a server that accepts a connection and says nothing.
    Effect.timeoutOrElse({
      duration: timeoutMillis + dialMillis,
      orElse: () => new NatsUnreachable({ servers, reason: silenceOf(address, files) })
    })
  )
})

/** The client does not tell a server that refuses a connection without a certificate from one that says nothing. */
const silenceOf = (address: NatsAddress, files: NatsFiles): string =>
  (address.tls || needsTls(files)) && files.certificate === undefined
    ? "it does not answer, or wants a certificate that it trusts (NATS_CERT and NATS_KEY)"
    : "it does not answer"

const firstFailure = (address: NatsAddress, files: NatsFiles, cause: unknown): FirstFailure => {
  const servers = address.servers.join(", ")
  const { name, message, code }: NodeJS.ErrnoException = cause instanceof Error ? cause : new Error(String(cause))
  if (name === "AuthorizationError" || name === "UserAuthenticationExpiredError") {
    return {
      error: new NatsAuthenticationFailed({
        servers,
        byFile: files.credentials !== undefined || files.nkey !== undefined
      }),
      passing: false
    }
  }
  const unreachable = (reason: string, passing: boolean) => ({
    error: new NatsUnreachable({ servers, reason }),
    passing
  })
  if (/does not support 'tls'/.test(message)) {
    return unreachable("it offers no TLS, which tls:// demands", false)
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return unreachable("its name is not known", true)
  if (code !== undefined && /^(CERT_|DEPTH_|UNABLE_|SELF_|ERR_TLS_)/.test(code)) {
    return unreachable(`its certificate is not trusted (${message})`, false)
  }
  return unreachable(name === "TimeoutError" ? silenceOf(address, files) : message, true)
}

/** Waits, for a bounded time, until published messages are written. A lost connection is not waited for. */
const drain = (client: Client): Effect.Effect<void> =>
  Effect.promise(() => client.drain().catch(() => {})).pipe(Effect.timeoutOption(drainTimeoutMillis), Effect.asVoid)

/** Turns the client's reports into the state that others read. */
const watch = (
  reports: AsyncIterable<Status>,
  servers: string,
  status: SubscriptionRef.SubscriptionRef<NatsStatus>,
  reconnects: PubSub.PubSub<Reconnected>
) =>
  Stream.fromAsyncIterable<Status, never>(reports, (cause) => {
    throw cause
  }).pipe(
    Stream.runForEach((report) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        switch (report.type) {
          case "disconnect":
          case "close":
            if (SubscriptionRef.getUnsafe(status)._tag === "Disconnected") return
            yield* SubscriptionRef.set(status, { _tag: "Disconnected", sinceMillis: now })
            yield* Metric.update(connectedGauge, 0)
            return yield* Effect.logWarning(`The connection to NATS at ${servers} was lost; reconnecting`)
          case "reconnect":
            yield* SubscriptionRef.set(status, { _tag: "Connected", server: report.server, sinceMillis: now })
            yield* Metric.update(connectedGauge, 1)
            yield* Metric.update(reconnectsCounter, 1)
            yield* PubSub.publish(reconnects, { server: report.server, atMillis: now })
            return yield* Effect.logInfo(`Connected to NATS at ${report.server} again`)
          case "error":
            return yield* Effect.logWarning(`NATS reported an error: ${report.error.message}`)
          case "slowConsumer":
            return yield* Effect.logWarning("A subscription to NATS does not keep up")
        }
      })
    )
  )
