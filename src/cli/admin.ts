/**
 * Connects a command to the platform: the one that `SLUICE_ADMIN_URL` names; else the running one of the data folder,
 * by its admin API; else the database that `DATABASE_URL` names; else the embedded database, started for as long as the
 * command runs.
 */
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { Clock, Console, Data, Effect, Layer, Option, Redacted, Result } from "effect"
import { type AdminClient, layerRemote } from "../admin/AdminClient.ts"
import { type Config, settings } from "../config/settings.ts"
import { type DataFolder, findRunning, openDataFolder, type RunningPlatform } from "../embedded/dataFolder.ts"
import { startEmbedded } from "../embedded/EmbeddedServers.ts"
import { configuration, type GivenFlags } from "./flags.ts"
import { explained } from "./output.ts"

/** The file among the data folder's secrets with the credential for commands. */
const adminSecret = "admin"

/** How long a command waits for another one, or for a platform that is starting. */
const holderWaitMillis = 60_000
/** How often it looks again. */
const holderPollMillis = 200

/** The credential for commands on this data folder. Its readers can read the whole folder anyway. */
export const folderAdminKey = Effect.fnUntraced(function* (folder: DataFolder) {
  const secret = yield* folder.secret(adminSecret)
  return Redacted.make(`adm_${Redacted.value(secret).replaceAll(/[^A-Za-z0-9]/g, "")}`)
})

/** With what it needs of the platform, which takes half of the time of a command to load. */
const overDatabase = (
  config: Config,
  databaseUrl: Redacted.Redacted<string>,
  natsUrl: Redacted.Redacted<string> | undefined
) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./overDatabase.ts")),
      (module) => module.overDatabase(config, databaseUrl, natsUrl)
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

/** Whether a platform runs that commands are to be sent to. */
export const isRunning = (config: Config) =>
  config.adminUrl !== undefined
    ? Effect.succeed(true)
    : Effect.map(
        findRunning(config.dataDir),
        (running) => Option.isSome(running) && running.value.adminUrl !== undefined && isMeant(config, running.value)
      )

/** Nothing has run in the data folder, and the command would find nothing there. */
export class NoPlatform extends Data.TaggedError("NoPlatform")<{ readonly folder: string }> {
  override get message(): string {
    return `There is no platform in ${this.folder}. Start one with sluice serve, or name the folder of another one with --data-dir (${settings.dataDir.env})`
  }
}

const layerFor = (config: Config, begins: boolean) =>
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
        const path = resolve(config.dataDir)
        if (!begins && !existsSync(join(path, "folder.json"))) return yield* new NoPlatform({ folder: path })
        const folder = yield* openDataFolder(config.dataDir)
        const held = yield* Effect.result(folder.hold({ purpose: "a sluice command", waitMillis: holderPollMillis }))
        if (Result.isSuccess(held)) {
          // Nobody is about to make one.
          if (!begins && !existsSync(join(path, "postgres"))) return yield* new NoPlatform({ folder: path })
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

/**
 * Runs a command's effect against the platform, and turns expected failures into one sentence. A command that `begins`
 * makes a platform's database in an empty data folder; for others there is none to look at.
 */
export const withAdmin = <A, E, R = never>(
  flags: GivenFlags,
  effect: Effect.Effect<A, E, AdminClient | R>,
  { begins = false }: { readonly begins?: boolean } = {}
) =>
  Effect.flatMap(configuration(flags), (config) =>
    explained(
      effect.pipe(Effect.provide(layerFor(config, begins)), Effect.scoped),
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
