/**
 * Implements `sluice backup` and `sluice backup verify` (docs/backup.md). Both stores are read while the platform runs;
 * a verification needs neither.
 */
import { resolve } from "node:path"
import { Clock, Console, Data, Effect, Option, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { findBackup } from "../app/backup/backupFolder.ts"
import { BackupBroken } from "../app/backup/errors.ts"
import { type BackupReport, takeBackup } from "../app/backup/takeBackup.ts"
import { verifyBackup } from "../app/backup/verifyBackup.ts"
import type { Config } from "../config/settings.ts"
import { NatsConnection } from "../nats/connection.ts"
import { existingSecretsKeys, usedStores } from "./bothStores.ts"
import { configuration, json, settingFlags } from "./flags.ts"
import { natsOptions } from "./natsOptions.ts"
import { explained, printJson } from "./output.ts"

const mebibyte = 1024 * 1024

/** The folder and the backup in it, which a restore names too. */
export const backupPlace = {
  folder: Argument.String("folder").pipe(
    Argument.withDescription("The folder of backups; a new one is readable by its owner only")
  ),
  at: Flag.String("at").pipe(
    Flag.withDescription("The backup, by the name of its folder; default: the newest"),
    Flag.optional
  )
}

/** A number of a flag is out of its bounds. */
export class FlagOutOfBounds extends Data.TaggedError("FlagOutOfBounds")<{
  readonly flag: string
  readonly least: number
}> {
  override get message(): string {
    return `--${this.flag} is a whole number of at least ${this.least}`
  }
}

const requireLeast = (flag: string, value: number, least: number): Effect.Effect<void, FlagOutOfBounds> =>
  value >= least ? Effect.void : Effect.fail(new FlagOutOfBounds({ flag, least }))

/** Bytes as a person reads them. */
export const shownBytes = (bytes: number): string =>
  bytes >= mebibyte ? `${(bytes / mebibyte).toFixed(1)} MiB` : `${Math.ceil(bytes / 1024)} KiB`

const sentences = (folder: string, report: BackupReport, millis: number) => {
  const { bytes, copied, manifest, removed, reused } = report
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  const kept = reused === 0 ? "" : `, and ${reused} that earlier backups have`
  return [
    `Backed up to ${resolve(folder, manifest.id)} in ${(millis / 1000).toFixed(1)} s: ${shownBytes(bytes)}.`,
    `PostgreSQL as of ${manifest.createdAt}: ${rows} rows of ${manifest.tables.length} tables.`,
    `NATS as of ${manifest.positionsAt}: ${copied} messages of ${manifest.streams.length} streams${kept}.`,
    ...(removed === undefined
      ? [`No earlier backup was removed: ${report.kept ?? "the manifest of one cannot be read"}.`]
      : removed.map((id) => `Removed: ${id}.`)),
    `A restore needs the secrets key ${manifest.keyId}: keep a copy of it elsewhere.`
  ]
}

interface BackupFlags {
  readonly folder: string
  readonly keep: number
  readonly rate: number
  readonly full: boolean
  readonly json: boolean
}

const take = Effect.fnUntraced(function* (config: Config, { folder, full, json, keep, rate }: BackupFlags) {
  yield* requireLeast("keep", keep, 1)
  yield* requireLeast("rate", rate, 1)
  const begunAt = yield* Clock.currentTimeMillis
  const stores = yield* usedStores(config, "sluice backup")
  const report = yield* takeBackup({
    folder,
    databaseUrl: stores.databaseUrl,
    namespace: config.logNamespace,
    keys: yield* existingSecretsKeys(config),
    keep,
    bytesPerSecond: rate * mebibyte,
    full
  }).pipe(Effect.provide(NatsConnection.layer(natsOptions(config, stores.natsUrl))))
  const millis = (yield* Clock.currentTimeMillis) - begunAt
  const { bytes, copied, manifest, removed, reused } = report
  if (json) return yield* printJson({ id: manifest.id, millis, bytes, copied, reused, removed: removed ?? null })
  yield* Console.log(sentences(folder, report, millis).join("\n"))
}, Effect.scoped)

const verify = Command.make("verify", { ...settingFlags, ...backupPlace, json }, ({ at, folder, json, ...flags }) =>
  Effect.flatMap(configuration(flags), (config) =>
    explained(
      Effect.gen(function* () {
        const keys = yield* existingSecretsKeys(config)
        const manifest = yield* findBackup(folder, Redacted.value(keys), Option.getOrUndefined(at))
        const { id } = manifest
        const found = yield* verifyBackup({ folder, keys }, manifest)
        const { bytes, files, messages, problems, rows } = found
        if (json) yield* printJson({ id, ...found })
        if (problems.length > 0) return yield* new BackupBroken({ id, problems })
        if (!json)
          yield* Console.log(
            `The backup ${id} is whole: ${rows} rows and ${messages} messages in ${files} files, ${shownBytes(bytes)}.`
          )
      })
    )
  )
).pipe(Command.withDescription("Read a backup whole, and name what is missing or changed"))

export const backup = Command.make(
  "backup",
  {
    ...settingFlags,
    folder: backupPlace.folder,
    keep: Flag.Int("keep").pipe(
      Flag.withDescription("How many complete backups stay in the folder, this one included; default: 7"),
      Flag.withDefault(7)
    ),
    rate: Flag.Int("rate").pipe(
      Flag.withDescription("Most MiB that are read in a second, of both stores together; default: 64"),
      Flag.withDefault(64)
    ),
    full: Flag.Boolean("full").pipe(
      Flag.withDescription("Copy everything, also messages that an earlier backup in the folder has"),
      Flag.withDefault(false)
    ),
    json
  },
  ({ folder, full, json, keep, rate, ...flags }) =>
    Effect.flatMap(configuration(flags), (config) =>
      explained(take(config, { folder, full, json, keep, rate }), config.dataDir)
    )
).pipe(
  Command.withDescription("Back up both stores while the platform runs, encrypted under the secrets key"),
  Command.withSubcommands([verify])
)
