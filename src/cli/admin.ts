/**
 * How a command reaches the platform. It takes the platform that `SLUICE_ADMIN_URL` names; else the running one of the
 * data folder, by its admin API; else the database that `DATABASE_URL` names; else the embedded database, started for
 * as long as the command runs.
 */
import { Clock, Console, Data, Effect, Layer, Option, Redacted, Result } from "effect"
import { type AdminClient, layerLocal, layerRemote } from "../admin/AdminClient.ts"
import { ClusterView } from "../admin/ClusterView.ts"
import { Inspection } from "../admin/Inspection.ts"
import { ParkedRecords } from "../admin/ParkedRecords.ts"
import { type EngineSettings, layerEngine } from "../app/engine.ts"
import { layerStores, layerTenancy } from "../app/layers.ts"
import { Subscriptions } from "../billing/index.ts"
import type { Config } from "../config/settings.ts"
import { Ingestions } from "../directory/Ingestions.ts"
import { type DataFolder, findRunning, openDataFolder, type RunningPlatform } from "../embedded/dataFolder.ts"
import { startEmbedded } from "../embedded/EmbeddedServers.ts"
import { Engine } from "../engine/Engine.ts"
import { TestEvents } from "../events/TestEvents.ts"
import { NatsConnection } from "../nats/connection.ts"
import type { NatsBootError } from "../nats/errors.ts"
import { EngineWhenNeeded } from "../platform/lazyEngine.ts"
import { OrganizationPlans } from "../platform/OrganizationPlans.ts"
import { checkServer } from "../postgres/server.ts"
import { DomainChecks } from "../send/domains/DomainChecks.ts"
import { FeedbackIntake } from "../send/inbound/FeedbackIntake.ts"
import { SendOperator } from "../send/index.ts"
import { configuration, type GivenFlags } from "./flags.ts"
import { explained } from "./output.ts"

/** The file among the data folder's secrets with the credential for commands. */
const adminSecret = "admin"

/** How long a command waits for another one, or for a platform that is starting. */
const holderWaitMillis = 60_000
/** How often it looks again. */
const holderPollMillis = 200

/** The credential for commands on this data folder. Whoever can read it can read the whole folder anyway. */
export const folderAdminKey = Effect.fnUntraced(function* (folder: DataFolder) {
  const secret = yield* folder.secret(adminSecret)
  return Redacted.make(`adm_${Redacted.value(secret).replaceAll(/[^A-Za-z0-9]/g, "")}`)
})

/** The engine as configured. `replicas` counts where the configuration does not say. */
export const engineSettings = (config: Config, replicas: EngineSettings["replicas"] = 1): EngineSettings => ({
  partitions: config.partitions,
  replicas: config.logReplicas === undefined ? replicas : (Number(config.logReplicas) as EngineSettings["replicas"]),
  maximumLogBytes: config.logMaxBytes,
  bounds: {
    maximumActors: config.maximumActors,
    maximumLaneActors: config.maximumLaneActors,
    mailboxCapacity: config.mailboxCommands,
    mailboxBytes: config.mailboxBytes
  },
  namespace: config.logNamespace
})

/** A change of an organization is a decision, and the command names no log to write it to. */
export class LogNotNamed extends Data.TaggedError("LogNotNamed") {
  override get message(): string {
    return "Plans, limits and events are kept in the log: name its server with NATS_URL, or a running platform with SLUICE_ADMIN_URL"
  }
}

/** Another platform on this database makes the decisions, and this command cannot reach it. */
export class DecidedElsewhere extends Data.TaggedError("DecidedElsewhere") {
  override get message(): string {
    return "The platform that runs on this database decides plans, limits and events: start it with SLUICE_ADMIN_KEY, and give this command that key and SLUICE_ADMIN_URL"
  }
}

/**
 * The engine, for the few commands that make decisions. Starting it takes time, so it starts only when it is needed.
 */
const lazyDecisions = (config: Config, natsUrl: Redacted.Redacted<string> | undefined) => {
  const nats =
    natsUrl === undefined
      ? Layer.effect(NatsConnection, Effect.fail(new LogNotNamed()))
      : NatsConnection.layer({ url: natsUrl, weakSync: config.natsWeakSync })
  return Layer.mergeAll(
    OrganizationPlans.layerWhenNeeded,
    TestEvents.layerWhenNeeded,
    SendOperator.layer,
    Subscriptions.layer,
    DomainChecks.layer({ nameServers: config.nameServers })
  ).pipe(
    Layer.provideMerge(
      EngineWhenNeeded.layerLazy(
        layerEngine(engineSettings(config)).pipe(
          Layer.provide(nats as Layer.Layer<NatsConnection, NatsBootError | LogNotNamed>),
          Layer.catchTag("PlacementRefused", () => Layer.effect(Engine, Effect.fail(new DecidedElsewhere())))
        )
      )
    )
  )
}

/** Only the services that commands use: no directory index, no watch over keys. */
const overDatabase = (
  config: Config,
  databaseUrl: Redacted.Redacted<string>,
  natsUrl: Redacted.Redacted<string> | undefined
) =>
  Layer.unwrap(
    Effect.as(
      checkServer({ url: databaseUrl }),
      layerLocal.pipe(
        Layer.provide(Ingestions.layer({ databaseUrl })),
        Layer.provide(
          Layer.mergeAll(Inspection.layerNone, ClusterView.layerNone, ParkedRecords.layerNone, FeedbackIntake.layerNone)
        ),
        Layer.provide(layerTenancy),
        Layer.provide(lazyDecisions(config, natsUrl)),
        Layer.provide(layerStores({ databaseUrl, maxConnections: config.databasePool }))
      )
    )
  )

const overRunning = Effect.fnUntraced(function* (config: Config, running: RunningPlatform) {
  if (running.adminUrl === undefined) return overDatabase(config, running.postgresUrl, running.natsUrl)
  const folder = yield* openDataFolder(config.dataDir)
  return layerRemote({ url: running.adminUrl, key: yield* folderAdminKey(folder) })
})

/** Whether the running platform of the data folder is the one meant; not when `DATABASE_URL` names another database. */
const isMeant = (config: Config, running: RunningPlatform): boolean =>
  config.databaseUrl === undefined || Redacted.value(config.databaseUrl) === Redacted.value(running.postgresUrl)

const layerFor = (config: Config) =>
  Layer.unwrap(
    Effect.gen(function* () {
      if (config.adminUrl !== undefined) {
        return layerRemote({ url: config.adminUrl, key: config.adminKey ?? Redacted.make("") })
      }
      const deadline = (yield* Clock.currentTimeMillis) + holderWaitMillis
      for (let told = false; ; told = true) {
        const running = yield* findRunning(config.dataDir)
        if (Option.isSome(running) && isMeant(config, running.value)) return yield* overRunning(config, running.value)
        if (config.databaseUrl !== undefined) return overDatabase(config, config.databaseUrl, config.natsUrl)
        const folder = yield* openDataFolder(config.dataDir)
        const held = yield* Effect.result(folder.hold({ purpose: "a sluice command", waitMillis: holderPollMillis }))
        if (Result.isSuccess(held)) {
          const { postgresUrl, natsUrl } = yield* startEmbedded(folder, {
            postgres: { bin: config.postgresBin },
            nats: config.natsUrl === undefined ? { program: config.natsServer } : undefined,
            progress: (line) => Console.error(`  ${line}`)
          })
          return overDatabase(config, postgresUrl!, config.natsUrl ?? natsUrl)
        }
        // Wait: the holder will end, or it is a platform that is starting and will say where it is.
        const busy = held.failure
        if (busy._tag !== "DataFolderInUse" || (yield* Clock.currentTimeMillis) >= deadline) return yield* busy
        if (!told) yield* Console.error(`  Waiting for process ${busy.pid ?? ""} (${busy.purpose ?? "starting"}) …`)
      }
    })
  )

/** Runs a command's effect against the platform, and turns expected failures into one sentence. */
export const withAdmin = <A, E, R = never>(flags: GivenFlags, effect: Effect.Effect<A, E, AdminClient | R>) =>
  Effect.flatMap(configuration(flags), (config) =>
    explained(
      effect.pipe(Effect.provide(layerFor(config)), Effect.scoped),
      config.adminUrl === undefined ? config.dataDir : undefined
    )
  )

interface PageOf<A> {
  readonly data: ReadonlyArray<A>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string | undefined }
}

/** All items of a cursor list, read page by page. */
export const everyPage = Effect.fnUntraced(function* <A, E>(
  page: (query: { readonly limit: number; readonly cursor?: string }) => Effect.Effect<PageOf<A>, E>
) {
  const items: Array<A> = []
  let cursor: string | undefined
  do {
    const { data, pagination } = yield* page({ limit: 100, ...(cursor === undefined ? {} : { cursor }) })
    items.push(...data)
    cursor = pagination.hasMore ? pagination.nextCursor : undefined
  } while (cursor !== undefined)
  return items
})
