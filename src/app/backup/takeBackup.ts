/**
 * Takes a backup while the platform runs: a snapshot of PostgreSQL first, then the streams up to the positions that they
 * have after it (docs/backup.md). In this order the log is never older than the database beside it: whatever a row
 * follows from was in the log before the row was written. A log that is newer does no harm, because a start replays what
 * the database lacks; a log that is older has lost what the database has seen. Needs `NatsConnection`.
 */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { Clock, Effect, Redacted, Result } from "effect"
import type { SecretsKeys } from "../../common/secretsKeys.ts"
import { version } from "../../common/version.ts"
import { beginBackup, listBackups, retireBackups } from "./backupFolder.ts"
import { backupFormat, type Manifest } from "./backupManifest.ts"
import { pairLacks } from "./backupRules.ts"
import { makePace } from "./copyPace.ts"
import { copyStreams } from "./copyStreams.ts"
import { copyTables } from "./copyTables.ts"
import { BackupRefused } from "./errors.ts"

export interface BackupOptions {
  readonly folder: string
  readonly databaseUrl: Redacted.Redacted<string>
  readonly namespace: string | undefined
  readonly keys: Redacted.Redacted<SecretsKeys>
  /** Complete backups that stay, this one included. */
  readonly keep: number
  /** Bytes that are read in a second, of both stores together. */
  readonly bytesPerSecond: number
  /** Whether everything is copied, also what an earlier backup has. */
  readonly full: boolean
}

/** The result of a backup. */
export interface BackupReport {
  readonly manifest: Manifest
  /** Bytes that were written. */
  readonly bytes: number
  /** Messages that were copied now, and those that an earlier backup had. */
  readonly copied: number
  readonly reused: number
  /** Backups that were removed; undefined where one cannot be read or removed. */
  readonly removed: ReadonlyArray<string> | undefined
  /** Why earlier ones could not be removed, although they could be read. */
  readonly kept?: string
}

/** Whether all files are there in their full length. Their content is for `sluice backup verify`. */
const isThere = async (folder: string, { streams, tables }: Manifest): Promise<boolean> => {
  const files = [...tables, ...streams.flatMap(({ segments }) => segments)]
  const sizes = await Promise.all(
    files.map(({ bytes, file }) =>
      stat(join(folder, file)).then(
        ({ size }) => size === bytes,
        () => false
      )
    )
  )
  return sizes.every(Boolean)
}

/**
 * The newest backup whose segments can be used again: of the same deployment, under the same key, since a key that is
 * given up later would take its files with it.
 */
const earlierStreams = Effect.fnUntraced(function* (folder: string, keys: SecretsKeys, deployment: string) {
  const newest = (yield* listBackups(folder, keys)).at(-1)
  if (newest === undefined || Result.isFailure(newest.manifest)) return []
  const manifest = newest.manifest.success
  const fits = manifest.deployment === deployment && manifest.keyId === keys[0].id && manifest.format === backupFormat
  return fits && (yield* Effect.promise(() => isThere(folder, manifest))) ? manifest.streams : []
})

const takeIn = Effect.fnUntraced(function* (options: BackupOptions) {
  const { folder } = options
  const keys = Redacted.value(options.keys)
  const partial = yield* beginBackup(folder)
  const target = { partial, key: keys[0], pace: makePace(options.bytesPerSecond) }
  const createdAt = new Date(yield* Clock.currentTimeMillis).toISOString()
  const { deployment, ...database } = yield* copyTables(target, options.databaseUrl, keys)
  const positionsAt = new Date(yield* Clock.currentTimeMillis).toISOString()
  const copies = yield* copyStreams(target, {
    deployment: deployment.id,
    partitions: deployment.partitions,
    namespace: options.namespace,
    witnesses: database.witnesses,
    earlier: options.full ? [] : yield* earlierStreams(folder, keys, deployment.id)
  })
  const manifest: Manifest = {
    format: backupFormat,
    id: partial.id,
    createdAt,
    positionsAt,
    program: version,
    keyId: keys[0].id,
    deployment: deployment.id,
    partitions: deployment.partitions,
    namespace: options.namespace ?? null,
    ...database,
    streams: copies.map(({ stream }) => stream)
  }
  const lacks = pairLacks(manifest)
  if (lacks.length > 0)
    return yield* new BackupRefused({
      message: `The log does not reach what the database needs, so this would be no backup: ${lacks.join("; ")}. Look at NATS_URL and SLUICE_LOG_NAMESPACE; where the log was purged while the tables were read, raise SLUICE_LOG_KEEP`
    })
  yield* partial.complete(manifest, keys)
  const own = [...manifest.tables, ...manifest.streams.flatMap(({ segments }) => segments)]
  // The backup is complete by now, whatever becomes of earlier ones.
  const retirement = yield* Effect.match(retireBackups(folder, keys, options.keep), {
    onSuccess: (removed): Pick<BackupReport, "kept" | "removed"> => ({ removed }),
    onFailure: ({ message }) => ({ removed: undefined, kept: message })
  })
  const report: BackupReport = {
    manifest,
    bytes: own.reduce((sum, { bytes, file }) => sum + (file.startsWith(`${manifest.id}/`) ? bytes : 0), 0),
    copied: copies.reduce((sum, { copied }) => sum + copied, 0),
    reused: copies.reduce((sum, { reused }) => sum + reused, 0),
    ...retirement
  }
  return report
})

/** Takes a backup. What is in the folder before stays whole, whatever happens meanwhile. */
export const takeBackup = (options: BackupOptions) => Effect.scoped(takeIn(options))
