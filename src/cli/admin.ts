/**
 * How a command reaches the platform: the running one found through the data folder, by its admin API; else the database
 * that `DATABASE_URL` names; else the embedded one, started for the command's own duration.
 */
import { Clock, Console, Effect, Layer, Option, Redacted, Result } from "effect"
import { type AdminClient, layerLocal, layerRemote } from "../admin/AdminClient.ts"
import type { Config } from "../config.ts"
import { Ingestions } from "../directory/Ingestions.ts"
import { type DataFolder, findRunning, openDataFolder, type RunningPlatform } from "../embedded/dataFolder.ts"
import { startEmbedded } from "../embedded/EmbeddedServers.ts"
import { layerStores, layerTenancy } from "../platform.ts"
import { checkServer } from "../postgres/server.ts"
import { configuration, type GivenFlags } from "./flags.ts"
import { explained } from "./output.ts"

/** Name of the credential among the data folder's secrets by which commands speak to the platform of that folder. */
const adminSecret = "admin"

/** How long a command waits for another one, or for a platform that is starting. */
const holderWaitMillis = 60_000
/** How often it looks again. */
const holderPollMillis = 200

/** The credential of the data folder's own commands. Whoever can read it can read the whole folder. */
export const folderAdminKey = Effect.fnUntraced(function* (folder: DataFolder) {
  const secret = yield* folder.secret(adminSecret)
  return Redacted.make(`adm_${Redacted.value(secret).replaceAll(/[^A-Za-z0-9]/g, "")}`)
})

/** Only what commands use: no index of the directory, no watch over keys. */
const overDatabase = (config: Config, databaseUrl: Redacted.Redacted<string>) =>
  Layer.unwrap(
    Effect.as(
      checkServer({ url: databaseUrl }),
      layerLocal.pipe(
        Layer.provide(Ingestions.layer({ databaseUrl })),
        Layer.provide(layerTenancy),
        Layer.provide(layerStores({ databaseUrl, maxConnections: config.databasePool }))
      )
    )
  )

const overRunning = Effect.fnUntraced(function* (config: Config, running: RunningPlatform) {
  if (running.adminUrl === undefined) return overDatabase(config, running.postgresUrl)
  const folder = yield* openDataFolder(config.dataDir)
  return layerRemote({ url: running.adminUrl, key: yield* folderAdminKey(folder) })
})

/** Where `DATABASE_URL` names another database than that of the platform in the data folder, it is the one meant. */
const isMeant = (config: Config, running: RunningPlatform): boolean =>
  config.databaseUrl === undefined || Redacted.value(config.databaseUrl) === Redacted.value(running.postgresUrl)

const layerFor = (config: Config) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const deadline = (yield* Clock.currentTimeMillis) + holderWaitMillis
      for (let told = false; ; told = true) {
        const running = yield* findRunning(config.dataDir)
        if (Option.isSome(running) && isMeant(config, running.value)) return yield* overRunning(config, running.value)
        if (config.databaseUrl !== undefined) return overDatabase(config, config.databaseUrl)
        const folder = yield* openDataFolder(config.dataDir)
        const held = yield* Effect.result(folder.hold({ purpose: "a sluice command", waitMillis: holderPollMillis }))
        if (Result.isSuccess(held)) {
          const { postgresUrl } = yield* startEmbedded(folder, {
            postgres: { bin: config.postgresBin },
            nats: undefined,
            progress: (line) => Console.error(`  ${line}`)
          })
          return overDatabase(config, postgresUrl!)
        }
        // Its holder ends, or is a platform that will say where it is once it is ready.
        const busy = held.failure
        if (busy._tag !== "DataFolderInUse" || (yield* Clock.currentTimeMillis) >= deadline) return yield* busy
        if (!told) yield* Console.error(`  Waiting for process ${busy.pid ?? ""} (${busy.purpose ?? "starting"}) …`)
      }
    })
  )

/** Runs a command's effect against the platform; expected failures become one sentence. */
export const withAdmin = <A, E>(flags: GivenFlags, effect: Effect.Effect<A, E, AdminClient>) =>
  Effect.flatMap(configuration(flags), (config) =>
    explained(effect.pipe(Effect.provide(layerFor(config)), Effect.scoped))
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
