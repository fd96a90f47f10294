/**
 * Finds the key that encrypts webhooks' signing secrets: the configured one, or, with the embedded PostgreSQL, one in
 * the data folder, created at the first start beside the database that needs it.
 */
import { Data, Effect, Redacted } from "effect"
import { parseSecretsKeys, type SecretsKeys, secretsKeyBytes } from "../common/secretsKeys.ts"
import type { Config } from "../config/settings.ts"
import type { DataFolder } from "../embedded/dataFolder.ts"
import type { DataFolderUnusable } from "../embedded/errors.ts"

/** Its name among the data folder's secrets. */
export const secretsKeyFile = "secrets.key"

/**
 * No key is configured for an external database: its secrets would be encrypted under a key that only this folder has.
 */
export class SecretsKeyNotConfigured extends Data.TaggedError("SecretsKeyNotConfigured") {
  override get message(): string {
    return "Webhooks' signing secrets are stored encrypted, and with a PostgreSQL of your own the key has to be yours too: set SLUICE_SECRETS_KEY, for example to what `openssl rand -base64 32` prints, and keep it"
  }
}

/** The key's file is damaged. */
export class SecretsKeyDamaged extends Data.TaggedError("SecretsKeyDamaged")<{ readonly file: string }> {
  override get message(): string {
    return `The key of webhooks' signing secrets in ${this.file} is damaged: put it back from a backup`
  }
}

/** Checks, before anything is started, that the configuration gives a key where one is needed. */
export const requireSecretsKey = (config: Config): Effect.Effect<void, SecretsKeyNotConfigured> =>
  config.secretsKey === undefined && config.databaseUrl !== undefined
    ? Effect.fail(new SecretsKeyNotConfigured())
    : Effect.void

/** The keys in force. */
export const secretsKeys = (
  config: Config,
  folder: DataFolder
): Effect.Effect<Redacted.Redacted<SecretsKeys>, DataFolderUnusable | SecretsKeyDamaged> =>
  config.secretsKey !== undefined
    ? Effect.succeed(config.secretsKey)
    : Effect.flatMap(folder.secret(secretsKeyFile, secretsKeyBytes), (text) => {
        const keys = parseSecretsKeys(Redacted.value(text))
        return keys === undefined
          ? Effect.fail(new SecretsKeyDamaged({ file: folder.file("secrets", secretsKeyFile) }))
          : Effect.succeed(Redacted.make(keys))
      })
