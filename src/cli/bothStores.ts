/**
 * Finds the two stores for a command that reads or fills them itself: those of the running platform of the data folder,
 * those that `DATABASE_URL` and `NATS_URL` name, or the embedded ones, started for as long as the command runs.
 */
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Console, Data, Effect, Option, Redacted } from "effect"
import { parseSecretsKeys, type SecretsKeys } from "../common/secretsKeys.ts"
import type { Config } from "../config/settings.ts"
import { findRunning, openDataFolder } from "../embedded/dataFolder.ts"
import { startEmbedded } from "../embedded/EmbeddedServers.ts"
import { NoPlatform } from "./admin.ts"
import { SecretsKeyDamaged, SecretsKeyNotConfigured, secretsKeyFile } from "./secretsKeys.ts"

/** The addresses of both stores. */
export interface StoreAddresses {
  readonly databaseUrl: Redacted.Redacted<string>
  readonly natsUrl: Redacted.Redacted<string>
}

/** A platform runs on the data folder. */
export class PlatformRuns extends Data.TaggedError("PlatformRuns")<{ readonly folder: string; readonly pid: number }> {
  override get message(): string {
    return `The platform runs on ${this.folder} (process ${this.pid}): stop it first, or name another data folder with --data-dir`
  }
}

/** The key's file is not there, and a new key would open nothing. */
export class SecretsKeyMissing extends Data.TaggedError("SecretsKeyMissing")<{ readonly file: string }> {
  override get message(): string {
    return `There is no secrets key: put the one of the platform that was backed up into ${this.file} (readable by its owner only), or set SLUICE_SECRETS_KEY`
  }
}

/** The keys in force, which are not made here: a backup under a new one could not be opened again. */
export const existingSecretsKeys = (
  config: Config
): Effect.Effect<Redacted.Redacted<SecretsKeys>, SecretsKeyMissing | SecretsKeyDamaged | SecretsKeyNotConfigured> =>
  Effect.gen(function* () {
    if (config.secretsKey !== undefined) return config.secretsKey
    if (config.databaseUrl !== undefined) return yield* new SecretsKeyNotConfigured()
    const file = join(resolve(config.dataDir), "secrets", secretsKeyFile)
    const text = yield* Effect.promise(() => readFile(file, "utf8").catch(() => undefined))
    if (text === undefined) return yield* new SecretsKeyMissing({ file })
    const keys = parseSecretsKeys(text.trim())
    return keys === undefined ? yield* new SecretsKeyDamaged({ file }) : Redacted.make(keys)
  })

/** Starts the embedded servers that no setting names. */
const started = Effect.fnUntraced(function* (config: Config, purpose: string) {
  const folder = yield* openDataFolder(config.dataDir)
  yield* folder.hold({ purpose })
  const embedded = yield* startEmbedded(folder, {
    postgres: config.databaseUrl === undefined ? { bin: config.postgresBin } : undefined,
    nats: config.natsUrl === undefined ? { program: config.natsServer } : undefined,
    progress: (line) => Console.error(`  ${line}`)
  })
  const addresses: StoreAddresses = {
    databaseUrl: config.databaseUrl ?? embedded.postgresUrl!,
    natsUrl: config.natsUrl ?? embedded.natsUrl!
  }
  return addresses
})

/** The stores of a platform that runs or has run. */
export const usedStores = Effect.fnUntraced(function* (config: Config, purpose: string) {
  const { databaseUrl, natsUrl } = config
  const running = yield* findRunning(config.dataDir)
  const isMeant = (own: Redacted.Redacted<string>): boolean =>
    databaseUrl === undefined || Redacted.value(databaseUrl) === Redacted.value(own)
  if (Option.isSome(running) && isMeant(running.value.postgresUrl)) {
    const own = running.value
    return { databaseUrl: own.postgresUrl, natsUrl: natsUrl ?? own.natsUrl } satisfies StoreAddresses
  }
  if (databaseUrl !== undefined && natsUrl !== undefined) return { databaseUrl, natsUrl } satisfies StoreAddresses
  const path = resolve(config.dataDir)
  const isMade = ["postgres", "nats"].some((name) => existsSync(join(path, name)))
  if (!isMade) return yield* new NoPlatform({ folder: path })
  return yield* started(config, purpose)
})

/** The stores of a platform that is to be: no platform runs there. */
export const unusedStores = Effect.fnUntraced(function* (config: Config, purpose: string) {
  const { databaseUrl, natsUrl } = config
  const running = yield* findRunning(config.dataDir)
  if (databaseUrl !== undefined && natsUrl !== undefined) return { databaseUrl, natsUrl } satisfies StoreAddresses
  if (Option.isSome(running))
    return yield* new PlatformRuns({ folder: resolve(config.dataDir), pid: running.value.pid })
  return yield* started(config, purpose)
})
