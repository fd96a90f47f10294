/**
 * How a command reaches the platform: the running one found through the data folder, by its admin API; else the database
 * that `DATABASE_URL` names; else the embedded one, started for the command's own duration.
 */
import { Console, Effect, Layer, Option, Redacted } from "effect"
import { type AdminClient, layerLocal, layerRemote } from "../admin/AdminClient.ts"
import type { Config } from "../config.ts"
import { findRunning, openDataFolder } from "../embedded/dataFolder.ts"
import { startEmbedded } from "../embedded/EmbeddedServers.ts"
import { layerServices, layerStores } from "../platform.ts"
import { configuration, type GivenFlags } from "./flags.ts"
import { explained } from "./output.ts"

/** Name of the admin credential among the data folder's secrets. */
export const adminSecret = "admin"

/** The admin credential: the configured one, else the data folder's. */
export const adminKeyOf = (config: Config, secret: Redacted.Redacted<string>): Redacted.Redacted<string> =>
  config.adminKey ?? Redacted.make(`adm_${Redacted.value(secret).replaceAll(/[^A-Za-z0-9]/g, "")}`)

const overDatabase = (config: Config, databaseUrl: Redacted.Redacted<string>) => {
  const options = { databaseUrl, maxConnections: config.databasePool }
  return layerLocal.pipe(Layer.provide(layerServices(options)), Layer.provide(layerStores(options)))
}

const layerFor = (config: Config) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const running = yield* findRunning(config.dataDir)
      if (Option.isSome(running) && running.value.adminUrl !== undefined) {
        const folder = yield* openDataFolder(config.dataDir)
        return layerRemote({
          url: running.value.adminUrl,
          key: adminKeyOf(config, yield* folder.secret(adminSecret))
        })
      }
      if (Option.isSome(running)) return overDatabase(config, running.value.postgresUrl)
      if (config.databaseUrl !== undefined) return overDatabase(config, config.databaseUrl)
      const folder = yield* openDataFolder(config.dataDir)
      yield* folder.hold({ purpose: "a sluice command" })
      const { postgresUrl } = yield* startEmbedded(folder, {
        postgres: { bin: config.postgresBin },
        nats: undefined,
        progress: (line) => Console.error(line)
      })
      return overDatabase(config, postgresUrl!)
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
