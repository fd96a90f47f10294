/**
 * `sluice serve`: the whole platform in one process. Starts what it needs and is not given (PostgreSQL and NATS as
 * supervised children on loopback), migrates, loads the bundled data into an empty directory, listens, and stops
 * everything in the opposite order on SIGINT and SIGTERM.
 */
import { createServer } from "node:net"
import { Clock, Console, Context, Data, Effect, Layer, Option, Redacted, Scope, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { HttpServer, HttpServerError } from "effect/http"
import { layerEngineHealth } from "../app/engine.ts"
import { layerDelivery, layerNatsHealth, layerServices, layerStores } from "../app/layers.ts"
import { layerMail, layerMailHealth } from "../app/mail.ts"
import { layerAdmin, layerProbes, layerPublic } from "../app/server.ts"
import { builtInCatalogue } from "../billing/index.ts"
import type { SecretsKeys } from "../common/secretsKeys.ts"
import { version } from "../common/version.ts"
import { layerObservability } from "../config/observability.ts"
import { type Config, demoWanted, mailboxWanted } from "../config/settings.ts"
import { Directory } from "../directory/Directory.ts"
import { healthReport } from "../directory/health.ts"
import { Ingestions } from "../directory/Ingestions.ts"
import { openDataFolder } from "../embedded/dataFolder.ts"
import { startEmbedded } from "../embedded/EmbeddedServers.ts"
import { Engine } from "../engine/Engine.ts"
import { parseNatsAddress } from "../nats/address.ts"
import { connectNats, NatsConnection } from "../nats/connection.ts"
import { ConsoleLinks } from "../platform/ConsoleSessions.ts"
import { layerDiskHealth } from "../platform/DiskSpace.ts"
import { ensureDemo, findDemo } from "../platform/demo.ts"
import type { Health } from "../platform/Health.ts"
import { services } from "../platform/model.ts"
import { checkServer } from "../postgres/server.ts"
import { Domains } from "../send/domains/Domains.ts"
import { unsubscribePage } from "../send/http/unsubscribePage.ts"
import { listenForBounces } from "../send/inbound/BounceListener.ts"
import { modes } from "../send/index.ts"
import { mailboxPages } from "../send/mailbox/http.ts"
import { parseRelayAddress, relayName } from "../send/mailer/relayAddress.ts"
import { VerificationMail } from "../send/senders/VerificationMail.ts"
import { engineSettings, folderAdminKey } from "./admin.ts"
import { configuration, settingFlags } from "./flags.ts"
import { handOver, layerOwnDecisions, whileMoving } from "./node.ts"
import { explained } from "./output.ts"
import { requireSecretsKey, secretsKeys } from "./secretsKeys.ts"

/** Where a listener listens, and the settings that say so. */
interface Address {
  readonly host: string
  readonly port: number
  readonly settings: { readonly host: string; readonly port: string }
}

/** What the system's error code means, and which setting to change. */
const faults: Readonly<Record<string, readonly [reason: string, setting: "host" | "port"]>> = {
  EADDRINUSE: ["another program is listening there", "port"],
  EACCES: ["this user may not use that port", "port"],
  EADDRNOTAVAIL: ["this machine has no such address", "host"],
  ENOTFOUND: ["its name is not known", "host"]
}

/** A listener's address is taken, or does not belong to this machine. */
export class AddressUnavailable extends Data.TaggedError("AddressUnavailable")<Address & { readonly code: string }> {
  override get message(): string {
    const [reason, setting] = faults[this.code] ?? [this.code, "port"]
    return `Cannot listen on ${this.host}:${this.port}: ${reason}. Choose another ${setting} with ${this.settings[setting]}.`
  }
}

const addressOf = (host: string, port: number, which: "" | "ADMIN_"): Address => ({
  host,
  port,
  settings: { host: `SLUICE_${which}HOST`, port: `SLUICE_${which}PORT` }
})

const unavailable = (address: Address, cause: unknown) => {
  const code = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined
  return new AddressUnavailable({ ...address, code: code ?? String(cause) })
}

/** Checks the address before anything is started. The listener itself still decides. */
const requireAddress = (address: Address): Effect.Effect<void, AddressUnavailable> =>
  Effect.callback((resume) => {
    const probe = createServer()
    probe.once("error", (error) => resume(Effect.fail(unavailable(address, error))))
    probe.listen({ host: address.host, port: address.port, exclusive: true }, () =>
      probe.close(() => resume(Effect.void))
    )
  })

const seconds = (millis: number) => `${(millis / 1000).toFixed(1)} s`

const progress = (line: string) => Console.error(`  ${line}`)

/** Checks the configured servers before any embedded one is started, so that a mistake shows at once. */
const requireNamed = Effect.fnUntraced(function* (config: Config) {
  if (config.databaseUrl !== undefined) {
    const { version, target } = yield* checkServer({ url: config.databaseUrl })
    yield* progress(`Using PostgreSQL ${version} at ${target.host}:${target.port}`)
  }
  if (config.natsUrl === undefined) return undefined
  const { servers } = yield* Effect.fromResult(parseNatsAddress(config.natsUrl))
  yield* progress(`Connecting to NATS at ${servers.join(", ")} …`)
  return yield* connectNats({ url: config.natsUrl, weakSync: config.natsWeakSync })
})

/** Checks what was configured, holds the data folder and starts the servers that are not given. */
const begin = Effect.fnUntraced(function* (config: Config) {
  const startedMillis = yield* Clock.currentTimeMillis
  const api = addressOf(config.host, config.port, "")
  const isAdministered =
    config.adminKey !== undefined || config.databaseUrl === undefined || config.natsUrl === undefined
  // Undefined where there is no admin listener.
  const admin = isAdministered ? addressOf(config.adminHost, config.adminPort, "ADMIN_") : undefined

  yield* requireSecretsKey(config)
  yield* requireAddress(api)
  if (admin !== undefined) yield* requireAddress(admin)
  const folder = yield* openDataFolder(config.dataDir)
  yield* folder.hold({ purpose: "sluice serve" })
  const named = yield* requireNamed(config)

  const embedded = yield* startEmbedded(folder, {
    postgres: config.databaseUrl === undefined ? { bin: config.postgresBin } : undefined,
    nats: config.natsUrl === undefined ? { program: config.natsServer } : undefined,
    progress
  })
  const databaseUrl = config.databaseUrl ?? embedded.postgresUrl!
  const natsUrl = config.natsUrl ?? embedded.natsUrl!
  // Where clients reach the API is known once it listens, and asked for later.
  const reached = { url: "" }
  // Who runs on one machine loads nothing of this.
  const cluster = config.placement === "cluster" ? yield* Effect.promise(() => import("../app/cluster.ts")) : undefined
  const engine = engineSettings(config, cluster !== undefined && named !== undefined ? cluster.replicasOf(named) : 1)
  return { config, folder, startedMillis, api, admin, databaseUrl, natsUrl, named, reached, cluster, engine }
})

/** A start, and what it has opened so far. */
type Start = Effect.Success<ReturnType<typeof begin>>

/** The configured speech service; undefined without one. */
const speechServiceOf = ({ talkKey, talkModel, talkUrl, talkVoices }: Config) =>
  talkUrl === undefined ? undefined : { url: talkUrl, key: talkKey, model: talkModel, voices: talkVoices }

const dayMillis = 24 * 60 * 60 * 1000

/** What is sold, and how it is paid. */
const billingOf = (config: Config) => ({
  ...soldBy(config),
  allowsLoopback: config.billingPayments === "automatic",
  stripe:
    config.stripeKey === undefined || config.stripeWebhookSecret === undefined
      ? undefined
      : { key: config.stripeKey, webhookSecret: config.stripeWebhookSecret, url: config.stripeUrl }
})

const soldBy = ({ billingDueDays, billingGraceDays, billingPayments, billingPrices }: Config) => ({
  catalogue: billingPrices ?? builtInCatalogue,
  terms: {
    settlement: billingPayments === "automatic" ? ("at once" as const) : ("by operator" as const),
    graceMillis: billingGraceDays * dayMillis,
    dueMillis: billingDueDays * dayMillis
  }
})
/** The configured relay; undefined without one. */
const relayOf = (
  config: Config,
  keys: { readonly secretsKeys: Redacted.Redacted<SecretsKeys>; readonly publicUrl: () => string }
) =>
  config.smtpUrl === undefined
    ? undefined
    : {
        url: config.smtpUrl,
        tls: config.smtpTls,
        connections: config.smtpConnections,
        mailsPerSecond: config.smtpRate,
        attachmentTargets: config.webhookTargets,
        bounceDomain: config.bounceDomain,
        ...keys
      }

/** Where live mail goes, in a sentence. */
const mailSentence = (config: Config): string => {
  if (config.smtpUrl !== undefined) {
    const relay = relayName(parseRelayAddress(Redacted.value(config.smtpUrl))!)
    return `Live mail goes to the relay ${relay}`
  }
  return mailboxWanted(config)
    ? "Live mail goes to the local mailbox, /dev/mailbox, because there is no relay (SLUICE_SMTP_URL)"
    : "Live mail waits, because there is no relay (SLUICE_SMTP_URL)"
}

/** Builds the platform's services, and loads the bundled data before there is a directory. */
const buildPlatform = Effect.fnUntraced(function* (start: Start) {
  const { cluster, config, databaseUrl, folder, named, natsUrl, reached } = start
  const options = {
    databaseUrl,
    maxConnections: config.databasePool,
    secretsKeys: yield* secretsKeys(config, folder),
    nameServers: config.nameServers,
    publicUrl: () => reached.url,
    webhookTargets: config.webhookTargets,
    webhookRetryDelays: config.webhookRetryDelays,
    webhookTimeoutMillis: config.webhookTimeout,
    upgradeUrl:
      config.upgradeUrl ?? `${(config.publicUrl ?? `http://${config.host}:${config.port}`).replace(/\/+$/, "")}/docs`,
    billing: billingOf(config),
    talk: { upstream: speechServiceOf(config) }
  }
  const stores = Layer.succeedContext(yield* Layer.build(layerStores(options)))
  // This comes first: if another platform runs on this database, this one is refused.
  const decisions = yield* Layer.build(
    layerOwnDecisions(start).pipe(
      Layer.provideMerge(
        named === undefined
          ? NatsConnection.layer({ url: natsUrl, weakSync: config.natsWeakSync })
          : Layer.succeed(NatsConnection, named)
      ),
      Layer.provideMerge(stores)
    )
  )
  // Before the directory is built, because it would load an index after every file.
  yield* (cluster === undefined ? loadBundled : cluster.alone(loadBundled)).pipe(
    Effect.provide(Ingestions.layer({ databaseUrl })),
    Effect.provide(stores)
  )
  const layerNodeHealth = (cluster?.layerNodeHealth ?? Layer.empty) as Layer.Layer<never, never, Engine | Health>
  return yield* Layer.build(
    Layer.mergeAll(
      layerNatsHealth,
      layerEngineHealth,
      layerMailHealth,
      layerDiskHealth(folder.path),
      layerNodeHealth
    ).pipe(
      Layer.provideMerge(layerServices(options)),
      Layer.provideMerge(VerificationMail.layer),
      Layer.provideMerge(
        layerMail({
          mailbox: mailboxWanted(config),
          noticesFrom: config.mailFrom,
          relay: relayOf(config, { secretsKeys: options.secretsKeys, publicUrl: options.publicUrl }),
          stream: { ...start.engine, maximumBytes: config.contentsMaxBytes }
        })
      ),
      Layer.provideMerge(layerDelivery(options)),
      Layer.provideMerge(Layer.succeedContext(decisions))
    )
  )
})

/** Opens the listeners, writes their addresses into the data folder and answers the API's. */
const openListeners = Effect.fnUntraced(function* (start: Start) {
  const { admin, api, config, databaseUrl, folder, natsUrl, reached } = start
  // Both listeners stop in parallel, because each may wait some seconds for requests under way.
  const listeners = yield* Scope.fork(yield* Effect.scope, "parallel")
  const common = {
    maxBodyBytes: config.maxBodyBytes,
    accessLog: config.accessLog === "on",
    fastLane: config.fastLane === "on"
  }
  const adminKeys = [yield* folderAdminKey(folder), ...(config.adminKey === undefined ? [] : [config.adminKey])]
  const adminUrl =
    admin === undefined
      ? undefined
      : yield* listen(
          listeners,
          admin,
          layerAdmin({ ...admin, ...common, keys: adminKeys, publicUrl: () => reached.url })
        )
  const published = (apiUrl: string) =>
    folder.publish({
      version,
      apiUrl,
      ...(adminUrl === undefined ? {} : { adminUrl }),
      postgresUrl: databaseUrl,
      natsUrl
    })
  const metricsReaders = config.metrics === "open" ? ("anybody" as const) : adminKeys
  if (config.role === "engine") {
    const probesUrl = yield* listen(listeners, api, layerProbes({ ...api, ...common, metricsReaders }))
    yield* published(probesUrl)
    return probesUrl
  }
  const apiUrl = yield* listen(
    listeners,
    api,
    layerPublic({
      ...api,
      ...common,
      metricsReaders,
      pages: [
        yield* unsubscribePage(yield* secretsKeys(config, folder)),
        ...(mailboxWanted(config) ? yield* mailboxPages : [])
      ]
    })
  )
  yield* published(apiUrl)
  return apiUrl
})

/** How long the address is good that a start on one's own machine prints, in seconds. */
const printedLinkSeconds = 3_600

/**
 * Where the console is. On one's own machine, with both servers embedded, the address opens it signed in, once: who starts it there has all of its data anyway.
 */
const consoleAddress = Effect.fnUntraced(function* (config: Config, publicUrl: string) {
  const address = `${publicUrl}/console`
  const organizationId = mailboxWanted(config) && demoWanted(config) ? yield* findDemo : undefined
  if (organizationId === undefined) return address
  const links = yield* ConsoleLinks
  const { link } = yield* links.create(organizationId, { mode: "live", services, scopes: ["*"] }, printedLinkSeconds)
  return `${address}#link=${link}   (opens signed in as demo, once, within the hour)`
})

/** Says that the platform is ready, and what is not well. */
const announce = Effect.fnUntraced(function* ({ config, reached: { url: publicUrl }, startedMillis }: Start) {
  const { faults } = yield* healthReport
  const consoleUrl = yield* consoleAddress(config, publicUrl)
  const took = seconds((yield* Clock.currentTimeMillis) - startedMillis)
  const lines = [
    ...(faults.length === 0
      ? [`Sluice ${version} is ready (${took})`]
      : [`Sluice ${version} serves, and not all is well (${took}):`, ...faults.map((fault) => `  - ${fault}`)]),
    "",
    `  API   ${publicUrl}`,
    `  Docs  ${publicUrl}/docs`,
    `  Console  ${consoleUrl}`,
    ""
  ]
  yield* Console.log(lines.join("\n"))
})

const run = Effect.fnUntraced(function* (config: Config, ready: () => void) {
  const start = yield* begin(config)
  const platform = yield* buildPlatform(start)
  if (config.webhookTargets === "any") {
    yield* progress("Webhooks may go to any address, http on this machine included (SLUICE_WEBHOOK_TARGETS=any)")
  }
  yield* progress(mailSentence(config))
  return yield* Effect.gen(function* () {
    const directory = yield* Directory
    yield* directory.refresh
    yield* awaitPartitions
    const apiUrl = yield* openListeners(start)
    yield* handOver(start)
    if (config.bouncePort !== undefined) {
      const port = yield* listenForBounces({
        host: config.bounceHost,
        port: config.bouncePort,
        domain: config.bounceDomain ?? "",
        tls:
          config.bounceTlsCert === undefined || config.bounceTlsKey === undefined
            ? undefined
            : { certificate: config.bounceTlsCert, key: config.bounceTlsKey }
      })
      yield* progress(`Bounces for ${config.bounceDomain} are taken on ${config.bounceHost}:${port}`)
    }
    start.reached.url = (config.publicUrl ?? apiUrl).replace(/\/+$/, "")
    // The key is shown before it is stored, and stored before the start counts as ready: so it is never lost, and works
    // once the platform is ready.
    const showKey = (key: Redacted.Redacted<string>) =>
      Console.log(`  Key   ${Redacted.value(key)}   (organization demo; shown this once)`)
    if (demoWanted(config)) yield* whileMoving(start, ensureDemo(config.demoKey, showKey, addDemoDomain))
    yield* announce(start)
    ready()
    return yield* Effect.never
  }).pipe(Effect.provide(platform))
})

/** The verified domain of the demo organization, in both modes (docs/platform.md, 2.7). */
const demoDomain = "demo.test"

const addDemoDomain = Effect.fnUntraced(function* (organizationId: string) {
  const domains = yield* Domains
  yield* Effect.forEach(modes, (mode) => domains.vouchFor({ organizationId, mode }, demoDomain), { discard: true })
})

/**
 * How long a start waits for its partitions. Those that do not serve then are named beside the address and in
 * `/readyz`.
 */
const partitionsTimeoutMillis = 10_000

const awaitPartitions = Effect.gen(function* () {
  const engine = yield* Engine
  yield* engine.ready.pipe(Effect.timeout(partitionsTimeoutMillis), Effect.ignore)
})

/** Loads the bundled files of every kind that was never ingested. */
const loadBundled = Effect.gen(function* () {
  const ingestions = yield* Ingestions
  yield* ingestions.runBundled.pipe(
    Stream.runForEach((event) => {
      switch (event._tag) {
        case "Progress":
          return Effect.void
        case "Ingested":
          return progress(
            `Loaded ${event.read.toLocaleString("en-US")} records of ${event.kind}${event.publicationDate === null ? "" : `, published ${event.publicationDate}`} (${seconds(event.durationMillis)})`
          )
        case "Skipped":
        case "Failed":
          return progress(
            `The bundled ${event.source} was not loaded: ${event._tag === "Failed" ? event.message : event.reason}`
          )
      }
    })
  )
})

/** Builds a listener that lives as long as the scope, and tells its address. */
const listen = <E, R>(scope: Scope.Scope, address: Address, layer: Layer.Layer<HttpServer.HttpServer, E, R>) =>
  Effect.flatMap(Scope.fork(scope), (own) => Layer.buildWithScope(layer, own)).pipe(
    Effect.mapError((error) =>
      error instanceof HttpServerError.ServeError ? unavailable(address, error.cause) : error
    ),
    Effect.map((context) => HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address))
  )

/** `--cluster` is short for `--placement cluster`. */
const cluster = Flag.Boolean("cluster").pipe(
  Flag.withDescription("Share the partitions with other machines; short for --placement cluster"),
  Flag.withDefault(false)
)

export const serve = Command.make("serve", { ...settingFlags, cluster }, ({ cluster, ...flags }) =>
  Effect.flatMap(configuration(cluster ? { ...flags, placement: Option.some("cluster") } : flags), (config) => {
    let starting = true
    const ready = () => {
      starting = false
    }
    return explained(
      Effect.scoped(
        run(config, ready).pipe(
          // Printed before the scope closes, because closing takes time.
          Effect.onInterrupt(() => progress("Stopping …"))
        )
      ),
      config.dataDir
    ).pipe(Effect.provide(layerObservability(config, () => starting)))
  })
).pipe(Command.withDescription("Start the platform: API, docs and the servers it needs"))
