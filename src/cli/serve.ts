/**
 * `sluice serve`: the whole platform in one process. Starts what it needs and is not given (PostgreSQL and NATS as
 * supervised children on loopback), migrates, loads the bundled data into an empty directory, listens, and stops
 * everything in the opposite order on SIGINT and SIGTERM.
 */
import { createServer } from "node:net"
import { Clock, Console, Context, Data, Effect, Layer, Option, Redacted, Stream } from "effect"
import { Command } from "effect/cli"
import { HttpServer } from "effect/http"
import { type Config, demoWanted } from "../config.ts"
import { Directory } from "../directory/Directory.ts"
import { Ingestions } from "../directory/Ingestions.ts"
import { openDataFolder } from "../embedded/dataFolder.ts"
import { startEmbedded } from "../embedded/EmbeddedServers.ts"
import { layerObservability } from "../observability.ts"
import { ensureDemo } from "../platform/demo.ts"
import { layerNats, layerServices, layerStores } from "../platform.ts"
import { checkServer } from "../postgres/server.ts"
import { layerAdmin, layerPublic } from "../server.ts"
import { version } from "../version.ts"
import { adminKeyOf, adminSecret } from "./admin.ts"
import { configuration, settingFlags } from "./flags.ts"
import { explained } from "./output.ts"

/** The address the API should listen on is taken, or is not this machine's. */
export class AddressUnavailable extends Data.TaggedError("AddressUnavailable")<{
  readonly host: string
  readonly port: number
  readonly setting: string
  readonly code: string
}> {
  override get message(): string {
    const why =
      this.code === "EADDRINUSE"
        ? "another program is listening there"
        : this.code === "EACCES"
          ? "this user may not use that port"
          : this.code
    return `Cannot listen on ${this.host}:${this.port}: ${why}. Choose another with ${this.setting}.`
  }
}

/** Finds out before anything is started; the listener itself still decides. */
const requireAddress = (host: string, port: number, setting: string): Effect.Effect<void, AddressUnavailable> =>
  port === 0
    ? Effect.void
    : Effect.callback((resume) => {
        const probe = createServer()
        probe.once("error", (error: Error & { readonly code?: string }) =>
          resume(Effect.fail(new AddressUnavailable({ host, port, setting, code: error.code ?? error.message })))
        )
        probe.listen({ host, port, exclusive: true }, () => probe.close(() => resume(Effect.void)))
      })

const seconds = (millis: number) => `${(millis / 1000).toFixed(1)} s`

const run = Effect.fnUntraced(function* (config: Config) {
  const started = yield* Clock.currentTimeMillis
  const progress = (line: string) => Console.error(`  ${line}`)

  yield* requireAddress(config.host, config.port, "SLUICE_PORT")
  if (config.adminPort !== 0) yield* requireAddress(config.adminHost, config.adminPort, "SLUICE_ADMIN_PORT")
  const folder = yield* openDataFolder(config.dataDir)
  yield* folder.hold({ purpose: "sluice serve" })

  const embedded = yield* startEmbedded(folder, {
    postgres: config.databaseUrl === undefined ? { bin: config.postgresBin } : undefined,
    nats: config.natsUrl === undefined ? { program: config.natsServer } : undefined,
    progress
  })
  const databaseUrl = config.databaseUrl ?? embedded.postgresUrl!
  const natsUrl = config.natsUrl ?? embedded.natsUrl!

  const stores = { databaseUrl, maxConnections: config.databasePool }
  if (config.databaseUrl !== undefined) {
    const server = yield* checkServer({ url: databaseUrl })
    yield* progress(`Using PostgreSQL ${server.version} at ${server.target.host}:${server.target.port}`)
  }
  const platform = yield* Layer.build(
    layerNats({ url: natsUrl, weakSync: config.natsWeakSync }).pipe(
      Layer.provideMerge(layerServices(stores)),
      Layer.provideMerge(layerStores(stores))
    )
  )

  return yield* Effect.gen(function* () {
    yield* loadBundled(progress)
    const adminOn = config.adminKey !== undefined || config.databaseUrl === undefined || config.natsUrl === undefined
    const adminUrl = adminOn
      ? yield* listen(
          layerAdmin({
            host: config.adminHost,
            port: config.adminPort,
            maxBodyBytes: config.maxBodyBytes,
            accessLog: config.accessLog === "on",
            key: adminKeyOf(config, yield* folder.secret(adminSecret))
          })
        )
      : undefined
    const apiUrl = yield* listen(
      layerPublic({
        host: config.host,
        port: config.port,
        maxBodyBytes: config.maxBodyBytes,
        accessLog: config.accessLog === "on"
      })
    )
    const publicUrl = config.publicUrl ?? apiUrl
    // As late as can be: its key is shown once, and must not be lost with a start that fails.
    const demo = demoWanted(config) ? yield* ensureDemo(config.demoKey) : Option.none()
    yield* folder.publish({
      version,
      apiUrl,
      ...(adminUrl === undefined ? {} : { adminUrl }),
      postgresUrl: databaseUrl,
      natsUrl
    })

    const lines = [
      `Sluice ${version} is ready (${seconds((yield* Clock.currentTimeMillis) - started)})`,
      "",
      `  API   ${publicUrl}`,
      `  Docs  ${publicUrl}/docs`,
      ...(Option.isSome(demo) ? [`  Key   ${Redacted.value(demo.value)}   (organization demo; shown this once)`] : []),
      ""
    ]
    yield* Console.log(lines.join("\n"))
    return yield* Effect.never
  }).pipe(Effect.provide(platform))
})

/** Loads what is bundled of what was never ingested, and waits until it can be read. */
const loadBundled = Effect.fnUntraced(function* (progress: (line: string) => Effect.Effect<void>) {
  const ingestions = yield* Ingestions
  const directory = yield* Directory
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
  yield* directory.refresh
})

/** Builds a listener in the current scope and tells its address. */
const listen = <E, R>(layer: Layer.Layer<HttpServer.HttpServer, E, R>) =>
  Effect.map(Layer.build(layer), (context) => {
    const { address } = Context.get(context, HttpServer.HttpServer)
    return HttpServer.formatAddress(address)
  })

export const serve = Command.make("serve", settingFlags, (flags) =>
  Effect.flatMap(configuration(flags), (config) =>
    explained(Effect.scoped(run(config))).pipe(Effect.provide(layerObservability(config)))
  )
).pipe(Command.withDescription("Start the platform: API, docs and the servers it needs"))
