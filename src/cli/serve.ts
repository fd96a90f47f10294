/**
 * Implements `sluice serve`: the whole platform in one process. It starts the servers that it is not given (PostgreSQL
 * and NATS as supervised children on loopback), migrates, loads the bundled data into an empty directory, listens, and
 * stops everything in the opposite order on SIGINT and SIGTERM.
 */

import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { Clock, Console, Context, Data, Effect, Layer, Option, Redacted, Scope } from "effect"
import { Command, Flag } from "effect/cli"
import { HttpServer, HttpServerError } from "effect/http"
import { mailboxShell } from "../api/consolePages.ts"
import { layerEngineHealth } from "../app/engine.ts"
import { layerDelivery, layerNatsHealth, layerServices, layerStores } from "../app/layers.ts"
import { layerMail, layerMailHealth } from "../app/mail.ts"
import { layerAdmin, layerOperatorActs, layerProbes, layerPublic } from "../app/server.ts"
import { builtInCatalogue } from "../billing/index.ts"
import { keptDays } from "../common/KeptTimes.ts"
import type { SecretsKeys } from "../common/secretsKeys.ts"
import { version } from "../common/version.ts"
import { layerObservability, logsAsJson, watchStart } from "../config/observability.ts"
import { type Config, demoWanted, isPlainSubmission, mailboxWanted, settings } from "../config/settings.ts"
import { Directory } from "../directory/Directory.ts"
import { healthReport } from "../directory/health.ts"
import { Ingestions } from "../directory/Ingestions.ts"
import { openDataFolder } from "../embedded/dataFolder.ts"
import { startEmbedded } from "../embedded/EmbeddedServers.ts"
import type { Engine } from "../engine/Engine.ts"
import { nearestName } from "../http/unknownNames.ts"
import { parseNatsAddress } from "../nats/address.ts"
import { connectNats, NatsConnection } from "../nats/connection.ts"
import { ConsoleLinks } from "../platform/ConsoleSessions.ts"
import { layerDiskHealth, watchRefusals } from "../platform/DiskSpace.ts"
import { ensureDemo, findDemo } from "../platform/demo.ts"
import type { Health } from "../platform/Health.ts"
import { layerHealthMetrics } from "../platform/HealthMetrics.ts"
import { services } from "../platform/model.ts"
import { layerProcessMetrics } from "../platform/ProcessMetrics.ts"
import { layerConnectionMetrics } from "../postgres/ConnectionMetrics.ts"
import { checkServer, isMigrated } from "../postgres/databaseServer.ts"
import { listenForBounces } from "../send/feedback/intake/BounceListener.ts"
import { mailboxPages } from "../send/handoff/mailbox/mailboxPages.ts"
import { parseRelayAddress, relayName } from "../send/handoff/smtp/relayAddress.ts"
import { unsubscribePage } from "../send/http/unsubscribePage.ts"
import { VerificationMail } from "../send/senders/addresses/VerificationMail.ts"
import { reportAddressesOf } from "../send/senders/authentication/reportAddresses.ts"
import { listenForSubmission } from "../send/submission/SubmissionListener.ts"
import { makeTargetGuard } from "../webhooks/target/targets.ts"
import { type Address, addressesOf, isEverywhere, reachableUrl, requireAddress, unavailable } from "./addresses.ts"
import { folderAdminKey } from "./admin.ts"
import { banner, bannerLine, onStdout } from "./banner.ts"
import { engineSettings } from "./engineSettings.ts"
import { addDemoDomain, awaitPartitions, loadBundled, ProgressIsLogged, progress, seconds } from "./firstStart.ts"
import { resolvedQuietly, settingFlags, tellUnknown } from "./flags.ts"
import { natsOptions } from "./natsOptions.ts"
import { handOver, layerOwnDecisions, nodeName, untilOutdated, whileMoving } from "./node.ts"
import { explained } from "./output.ts"
import { requireSecretsKey, secretsKeys } from "./secretsKeys.ts"
import type { Ready, WorkerSeat } from "./workers/messages.ts"
import { superviseWorkers } from "./workers/superviseWorkers.ts"
import { allMetrics, giveMetrics, isWorker, takeSeat, tellReady } from "./workers/worker.ts"

// Derives the options of the platform's parts from the configuration of `sluice serve`.

/** The configured speech service; undefined without one. */
export const speechServiceOf = ({ talkKey, talkModel, talkUrl, talkVoices }: Config) =>
  talkUrl === undefined ? undefined : { url: talkUrl, key: talkKey, model: talkModel, voices: talkVoices }

const dayMillis = 24 * 60 * 60 * 1000

/** The prices on sale, and the way of payment. */
export const billingOf = (config: Config) => ({
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
export const relayOf = (
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

/** The destination of live mail, in a sentence. */
export const mailSentence = (config: Config): string => {
  if (config.holdMail === "on") return "Live mail is held until a start without SLUICE_HOLD_MAIL=on"
  if (config.smtpUrl !== undefined) {
    const relay = relayName(parseRelayAddress(Redacted.value(config.smtpUrl))!)
    return `Live mail goes to the relay ${relay}`
  }
  return mailboxWanted(config)
    ? "Live mail goes to the local mailbox, /dev/mailbox, because there is no relay (SLUICE_SMTP_URL)"
    : "Live mail waits, because there is no relay (SLUICE_SMTP_URL)"
}

// Refuses unknown variables at a first start (docs/operating.md): it fixes some settings for ever, so a misspelt one
// must not get its default. Later starts only log them.

/** A first start was given variables that look like settings and are none. */
export class UnknownVariables extends Data.TaggedError("UnknownVariables")<{ readonly names: ReadonlyArray<string> }> {
  override get message(): string {
    const known = Object.values(settings).map(({ env }) => env)
    const shown = this.names.map((name) => {
      const near = nearestName(name, known)
      return near === undefined ? name : `${name} (did you mean ${near}?)`
    })
    const [is, them] = shown.length === 1 ? ["is no setting", "it"] : ["are no settings", "them"]
    return `${shown.join(", ")} ${is}. A first start refuses ${them}, because some settings, such as ${settings.partitions.env}, are fixed for ever by it.`
  }
}

/**
 * Whether a platform has run before on what is configured: on the embedded database of the data folder, or on the named
 * one.
 */
const hasRun = ({ databaseUrl, dataDir }: Config) =>
  databaseUrl === undefined
    ? Effect.sync(() => existsSync(join(resolve(dataDir), "postgres")))
    : isMigrated({ url: databaseUrl })

/**
 * Fails at a first start with unknown variables, and names them at a later one. To be asked before anything is made.
 */
export const requireKnownVariables = Effect.fnUntraced(function* (config: Config, unknown: ReadonlyArray<string>) {
  if (unknown.length === 0) return
  if (!(yield* hasRun(config))) return yield* new UnknownVariables({ names: unknown })
  yield* tellUnknown(unknown)
})

/** Checks the configured servers before any embedded one is started, so that a mistake shows immediately. */
const requireNamed = Effect.fnUntraced(function* (config: Config) {
  if (config.databaseUrl !== undefined) {
    const { version, target } = yield* checkServer({ url: config.databaseUrl })
    yield* progress(`Using PostgreSQL ${version} at ${target.host}:${target.port}`)
  }
  if (config.natsUrl === undefined) return undefined
  const { servers } = yield* Effect.fromResult(parseNatsAddress(config.natsUrl))
  yield* progress(`Connecting to NATS at ${servers.join(", ")} …`)
  return yield* connectNats(natsOptions(config, config.natsUrl))
})

/** Checks what was configured, holds the data folder and starts the servers that are not given. */
const prepare = Effect.fnUntraced(function* (config: Config) {
  const { admin, api } = addressesOf(config)
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
  return { config, folder, api, admin, databaseUrl, natsUrl, named, restartNats: restarting(embedded) }
})

/** Ends the embedded NATS server, which its supervisor starts again; undefined where the server is somebody else's. */
const restarting = (embedded: Effect.Success<ReturnType<typeof startEmbedded>>) =>
  embedded.nats === undefined
    ? undefined
    : Effect.map(embedded.states, (states) => {
        for (const { server, state } of states)
          if (server === "NATS" && state._tag === "Running") process.kill(state.pid, "SIGTERM")
      })

/** The same for a worker, for which all of this was done. */
const prepareSeat = Effect.fnUntraced(function* (given: Config, { name, number, ...seat }: WorkerSeat) {
  const config: Config = { ...given, placement: "cluster", node: name }
  const { admin, api } = addressesOf(config)
  const natsUrl = Redacted.make(seat.natsUrl)
  return {
    config,
    folder: yield* openDataFolder(config.dataDir),
    api,
    // Operators' sessions are in the memory of one process.
    admin: number === 1 ? admin : undefined,
    databaseUrl: Redacted.make(seat.databaseUrl),
    natsUrl,
    named: yield* connectNats(natsOptions(config, natsUrl)),
    // The process above the workers has the server.
    restartNats: undefined
  }
})

/** Opens what a start needs before there is a platform. */
const begin = Effect.fnUntraced(function* (given: Config, seat: WorkerSeat | undefined) {
  const startedMillis = yield* Clock.currentTimeMillis
  const prepared = yield* seat === undefined ? prepare(given) : prepareSeat(given, seat)
  const { config, named } = prepared
  // The API's address is known once it listens, and needed later.
  const reached = { url: "" }
  // One machine loads nothing of this.
  const cluster = config.placement === "cluster" ? yield* Effect.promise(() => import("../app/cluster.ts")) : undefined
  // Workers of one machine are one machine.
  const isOne = cluster === undefined || named === undefined || seat?.hasPeers === false
  const engine = engineSettings(config, isOne ? 1 : cluster.replicasOf(named))
  return { ...prepared, seat, startedMillis, reached, cluster, engine }
})

/** A start, and what it has opened so far. */
type Start = Effect.Success<ReturnType<typeof begin>>

/** How many requests of an organization the request log keeps in a second. */
const requestLogOf = ({ requestLogFailures, requestLogSuccesses }: Config) => ({
  successesPerSecond: requestLogSuccesses,
  failuresPerSecond: requestLogFailures
})

/** The page on which accounts find a larger plan. */
const upgradeUrlOf = ({ host, port, publicUrl, upgradeUrl }: Config): string =>
  upgradeUrl ?? `${(publicUrl ?? reachableUrl(`http://${host}:${port}`)).replace(/\/+$/, "")}/docs`

/** PostgreSQL, named in the settings or started by this process. */
const storesOf = (config: Config, databaseUrl: Redacted.Redacted<string>) => ({
  databaseUrl,
  maxConnections: config.databasePool,
  isOwnServer: config.databaseUrl === undefined
})

/** Builds the platform's services, and loads the bundled data before there is a directory. */
const buildPlatform = Effect.fnUntraced(function* (start: Start) {
  const { cluster, config, databaseUrl, folder, named, natsUrl, reached, seat } = start
  const options = {
    ...storesOf(config, databaseUrl),
    secretsKeys: yield* secretsKeys(config, folder),
    nameServers: config.nameServers,
    returnPath: config.bounceDomain,
    relaySpf: config.relaySpf,
    reportAddresses: reportAddressesOf(config),
    publicUrl: () => reached.url,
    webhookTargets: config.webhookTargets,
    webhookRetryDelays: config.webhookRetryDelays,
    webhookTimeoutMillis: config.webhookTimeout,
    webhookProxy: config.webhookProxy,
    webhookSources: config.webhookSources,
    keyGraceMillis: config.keyGrace,
    upgradeUrl: upgradeUrlOf(config),
    billing: billingOf(config),
    requestLog: requestLogOf(config),
    kept: keptDays({ events: config.eventsDays, requests: config.requestLogDays }),
    talk: { upstream: speechServiceOf(config) }
  }
  const stores = Layer.succeedContext(yield* Layer.build(layerStores(options)))
  // This comes first: if another platform runs on this database, this one is refused.
  const decisions = yield* Layer.build(
    layerOwnDecisions(start).pipe(
      Layer.provideMerge(
        named === undefined ? NatsConnection.layer(natsOptions(config, natsUrl)) : Layer.succeed(NatsConnection, named)
      ),
      Layer.provideMerge(stores)
    )
  )
  // Before the directory is built, because it would load an index after every file.
  yield* (cluster === undefined ? loadBundled : cluster.alone(loadBundled)).pipe(
    Effect.provide(Ingestions.layer({ databaseUrl })),
    Effect.provide(stores)
  )
  const layerNodeHealth = (
    cluster === undefined
      ? Layer.empty
      : seat?.hasPeers === false
        ? Layer.merge(cluster.layerNodeHealth, cluster.layerEveryPartition)
        : cluster.layerNodeHealth
  ) as Layer.Layer<never, never, Engine | Health>
  // Behind the checks, so that the first look sees all of them.
  const layerShown = Layer.mergeAll(layerHealthMetrics, layerProcessMetrics, layerConnectionMetrics)
  return yield* Layer.build(
    layerShown.pipe(
      Layer.provideMerge(
        Layer.mergeAll(
          layerNatsHealth,
          layerEngineHealth,
          layerMailHealth,
          layerDiskHealth(folder.path),
          layerNodeHealth
        )
      ),
      Layer.provideMerge(layerServices(options)),
      Layer.provideMerge(VerificationMail.layer),
      Layer.provideMerge(
        layerMail({
          mailboxFolder: mailboxFolderOf(start),
          isHeld: config.holdMail === "on",
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

/** The folder of the local mailbox; each worker keeps the mails that it hands over. Undefined without a mailbox. */
const mailboxFolderOf = ({ config, folder, seat }: Start): string | undefined =>
  mailboxWanted(config) ? folder.file("mailbox", String(seat?.number ?? 1)) : undefined

/** The pages of the local mailbox. */
const localMailbox = Effect.fnUntraced(function* ({ config, reached }: Start) {
  return yield* mailboxPages({
    page: yield* mailboxShell,
    guard: makeTargetGuard(config.webhookTargets),
    publicHost: () => URL.parse(reached.url)?.host
  })
})

/** Opens the listeners and answers their addresses. */
const openListeners = Effect.fnUntraced(function* (start: Start) {
  const { admin, api, cluster, config, folder, reached, seat } = start
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
          layerAdmin({ ...admin, ...common, exclusive: true, keys: adminKeys, publicUrl: () => reached.url })
        )
  // Commands that are sent to other nodes are carried out here too.
  if (adminUrl === undefined && cluster !== undefined) yield* Layer.build(layerOperatorActs)
  const measured = {
    metricsReaders: config.metrics === "open" ? ("anybody" as const) : adminKeys,
    metrics: seat === undefined ? undefined : allMetrics
  }
  if (config.role === "engine")
    return { apiUrl: yield* listen(listeners, api, layerProbes({ ...api, ...common, ...measured })), adminUrl }
  const apiUrl = yield* listen(
    listeners,
    api,
    layerPublic({
      ...api,
      ...common,
      ...measured,
      pages: [
        yield* unsubscribePage(yield* secretsKeys(config, folder)),
        ...(mailboxWanted(config) ? yield* localMailbox(start) : [])
      ]
    })
  )
  return { apiUrl, adminUrl }
})

/** Writes into the data folder where commands find the platform. */
const publish = (
  { databaseUrl, folder, natsUrl }: Pick<Start, "databaseUrl" | "folder" | "natsUrl">,
  { adminUrl, apiUrl }: Pick<Ready, "adminUrl" | "apiUrl">
) =>
  folder.publish({
    version,
    apiUrl,
    ...(adminUrl === undefined ? {} : { adminUrl }),
    postgresUrl: databaseUrl,
    natsUrl
  })

/** How long the address is good that a start on one's own machine prints, in seconds. */
const printedLinkSeconds = 3_600

/**
 * Where the console is. On one's own machine, with both servers embedded, the address opens it signed in, once: who
 * starts it there has all of its data anyway.
 */
const consoleAddress = Effect.fnUntraced(function* (config: Config, publicUrl: string) {
  const address = `${publicUrl}/console`
  const organizationId = mailboxWanted(config) && demoWanted(config) ? yield* findDemo : undefined
  if (organizationId === undefined) return address
  const links = yield* ConsoleLinks
  const { link } = yield* links.create(organizationId, { mode: "live", services, scopes: ["*"] }, printedLinkSeconds)
  return `${address}#link=${link}   (opens signed in as demo, once, within the hour)`
})

/** Reports that the platform is ready, and its warnings. */
const announcement = Effect.fnUntraced(function* ({ config, reached: { url: publicUrl }, seat, startedMillis }: Start) {
  const { faults } = yield* healthReport
  const consoleUrl = yield* consoleAddress(config, publicUrl)
  const took = seconds((yield* Clock.currentTimeMillis) - startedMillis)
  const title =
    faults.length === 0
      ? [`Sluice ${version} is ready (${took})`]
      : [`Sluice ${version} serves, and not all is well (${took}):`, ...faults.map((fault) => `  - ${fault}`)]
  // Workers end with the process above them.
  const pid = seat === undefined ? process.pid : process.ppid
  return banner({ title, url: publicUrl, console: consoleUrl, hasMailbox: mailboxWanted(config), pid })
})

/** Tells what the configuration means that one might not expect. */
const tellMeaning = Effect.fnUntraced(function* (config: Config) {
  if (config.development === "on")
    yield* progress(
      "Development mode, for this machine alone: a demo organization, mail in a local mailbox, checkouts that pay themselves (SLUICE_DEVELOPMENT=on)"
    )
  if (config.webhookTargets === "any") {
    yield* progress("Webhooks may go to any address, http on this machine included (SLUICE_WEBHOOK_TARGETS=any)")
  }
  yield* progress(mailSentence(config))
})

/** The files of a certificate, if both are set; the settings refuse one alone. */
const filesOf = (certificate: string | undefined, key: string | undefined) =>
  certificate === undefined || key === undefined ? undefined : { certificate, key }

/** Opens the listeners for bounces and for submitted mail, as far as they are wanted. */
const listenForMail = Effect.fnUntraced(function* (config: Config) {
  if (config.bouncePort !== undefined) {
    const port = yield* listenForBounces({
      host: config.bounceHost,
      port: config.bouncePort,
      domain: config.bounceDomain ?? "",
      feedbackAddresses: config.feedbackAddresses,
      tls: filesOf(config.bounceTlsCert, config.bounceTlsKey)
    })
    yield* progress(`Bounces for ${config.bounceDomain} are taken on ${config.bounceHost}:${port}`)
  }
  // A node with this role serves no customer.
  if (config.submissionPort === undefined || config.role === "engine") return
  const port = yield* listenForSubmission({
    host: config.submissionHost,
    port: config.submissionPort,
    name: config.publicUrl === undefined ? "localhost" : new URL(config.publicUrl).hostname,
    tls: filesOf(config.submissionTlsCert, config.submissionTlsKey),
    isPlainAllowed: isPlainSubmission(config)
  })
  yield* progress(`Mail may be submitted by SMTP on ${config.submissionHost}:${port}, with an API key as the password`)
})

const run = Effect.fnUntraced(function* (given: Config, ready: () => void, seat: WorkerSeat | undefined) {
  const start = yield* begin(given, seat)
  const { config } = start
  const platform = yield* buildPlatform(start)
  if (seat === undefined) yield* tellMeaning(config)
  else yield* giveMetrics
  return yield* Effect.gen(function* () {
    yield* watchRefusals(start.restartNats)
    const directory = yield* Directory
    yield* directory.refresh
    yield* awaitPartitions
    const addresses = yield* openListeners(start)
    if (seat === undefined) yield* publish(start, addresses)
    yield* handOver(start)
    yield* listenForMail(config)
    start.reached.url = (config.publicUrl ?? addresses.apiUrl).replace(/\/+$/, "")
    if (config.publicUrl === undefined && isEverywhere(config.host))
      yield* progress(`Links begin with ${start.reached.url}, which others cannot reach: set SLUICE_PUBLIC_URL`)
    // The key is shown before it is stored, and stored before the start counts as ready: so it is never lost, and works
    // once the platform is ready.
    const showKey = (key: Redacted.Redacted<string>) =>
      Console.log(onStdout(bannerLine("Key", `${Redacted.value(key)}   (organization demo; shown this once)`)))
    if (demoWanted(config)) yield* whileMoving(start, ensureDemo(config.demoKey, showKey, addDemoDomain))
    const text = yield* announcement(start)
    yield* seat === undefined ? Console.log(onStdout(text)) : tellReady({ ...addresses, announcement: text })
    ready()
    return yield* untilOutdated(start)
  }).pipe(Effect.provide(platform))
})

/** Starts what the workers share, and supervises them. */
const runWorkers = Effect.fnUntraced(function* (config: Config, ready: () => void) {
  const prepared = yield* prepare(config)
  const { databaseUrl, folder, natsUrl } = prepared
  // Made here, so that the workers find the same ones.
  yield* folderAdminKey(folder)
  yield* secretsKeys(config, folder)
  yield* tellMeaning(config)
  const scope = yield* Effect.scope
  return yield* superviseWorkers({
    count: config.workers,
    seatOf: (number) => ({
      number,
      name: `${nodeName(config)}.${number}`,
      databaseUrl: Redacted.value(databaseUrl),
      natsUrl: Redacted.value(natsUrl),
      hasPeers: config.placement === "cluster"
    }),
    // The first one has the admin API, at another address after each of its starts.
    serves: (number, addresses) =>
      number === 1 ? Effect.ignore(Scope.provide(publish(prepared, addresses), scope)) : Effect.void,
    allServe: (text) => Effect.andThen(Console.log(onStdout(text)), Effect.sync(ready)),
    progress
  })
})

/** Builds a listener that lives as long as the scope, and tells its address. */
const listen = <E, R>(scope: Scope.Scope, address: Address, layer: Layer.Layer<HttpServer.HttpServer, E, R>) =>
  Effect.flatMap(Scope.fork(scope), (own) => Layer.buildWithScope(layer, own)).pipe(
    Effect.mapError((error) =>
      error instanceof HttpServerError.ServeError ? unavailable(address, error.cause) : error
    ),
    Effect.map((context) => reachableUrl(HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)))
  )

/** `--cluster` is short for `--placement cluster`. */
const cluster = Flag.Boolean("cluster").pipe(
  Flag.withDescription("Share the partitions with other machines; short for --placement cluster"),
  Flag.withDefault(false)
)

export const serve = Command.make("serve", { ...settingFlags, cluster }, ({ cluster, ...flags }) =>
  Effect.flatMap(
    resolvedQuietly(cluster ? { ...flags, placement: Option.some("cluster") } : flags),
    ({ config, unknown }) => {
      const { isStarting, onReady, ready, watched } = watchStart()
      const served = Effect.gen(function* () {
        if (isWorker()) return yield* run(config, ready, yield* takeSeat)
        yield* requireKnownVariables(config, unknown)
        return yield* config.workers > 1 ? runWorkers(config, ready) : run(config, ready, undefined)
      }).pipe(
        // Printed before the scope closes, because closing takes time.
        Effect.onInterrupt(() => (isWorker() ? Effect.void : progress("Stopping …"))),
        watched
      )
      return explained(Effect.scoped(served), config.dataDir).pipe(
        Effect.provideService(ProgressIsLogged, logsAsJson(config) && config.development === "off"),
        Effect.provide(layerObservability(config, isStarting, onReady))
      )
    }
  )
).pipe(Command.withDescription("Start the platform: API, docs and the servers it needs"))
