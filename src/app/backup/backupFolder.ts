/**
 * Finds, adds and removes backups in their folder. A backup is a folder named by its time. It is written under another
 * name and renamed last, so what carries that name is complete. Needs no service.
 *
 *     lock                          held by the one command that writes here
 *     20260131T090500123Z/          a backup: manifest.json, tables/, streams/
 *     20260131T100500456Z.partial/  one that is being written, or was cut short
 */
import { constants, existsSync } from "node:fs"
import { access, mkdir, open, readdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Clock, Effect, Result, type Scope } from "effect"
import type { SecretsKeys } from "../../common/secretsKeys.ts"
import { holdFile } from "../../embedded/fileLock.ts"
import { decodeManifest, encodeManifest, type Manifest, type ManifestProblem } from "./backupManifest.ts"
import { filesOf, retired } from "./backupRules.ts"
import { BackupRefused } from "./errors.ts"

const idPattern = /^\d{8}T\d{9}Z$/
const partialSuffix = ".partial"
const manifestFile = "manifest.json"

/** Beside the files that later backups need of one that is no backup itself any more. */
const retiredFile = "retired"

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

const attempt = <A>(what: string, promise: () => Promise<A>): Effect.Effect<A, BackupRefused> =>
  Effect.tryPromise({
    try: promise,
    catch: (cause) => new BackupRefused({ message: `${what}: ${reasonOf(cause)}` })
  })

/** A backup in the folder, with its manifest or the reason why that cannot be used. */
export interface BackupEntry {
  readonly id: string
  readonly manifest: Result.Result<Manifest, ManifestProblem>
}

/** The complete backups of a folder, oldest first. A folder that is not there has none. */
export const listBackups = (
  folder: string,
  keys: SecretsKeys
): Effect.Effect<ReadonlyArray<BackupEntry>, BackupRefused> =>
  attempt(`The folder ${folder} cannot be read`, async () => {
    const names = await readdir(folder).catch((cause: NodeJS.ErrnoException) =>
      cause.code === "ENOENT" ? [] : Promise.reject(cause)
    )
    const textOf = (id: string, file: string) => readFile(join(folder, id, file), "utf8").catch(() => undefined)
    const found = await Promise.all(
      names
        .filter((name) => idPattern.test(name))
        .toSorted()
        .map(async (id): Promise<ReadonlyArray<BackupEntry>> => {
          const text = await textOf(id, manifestFile)
          if (text !== undefined) return [{ id, manifest: decodeManifest(text, keys) }]
          if ((await textOf(id, retiredFile)) !== undefined) return []
          const message = `the file ${id}/${manifestFile} is missing`
          return [{ id, manifest: Result.fail({ kind: "damaged", message }) }]
        })
    )
    return found.flat()
  })

/** The manifest of a backup: the newest one, or the one that `at` names. */
export const findBackup = Effect.fnUntraced(function* (
  folder: string,
  keys: SecretsKeys,
  at: string | undefined
): Effect.fn.Return<Manifest, BackupRefused> {
  const all = yield* listBackups(folder, keys)
  const ids = all.map(({ id }) => id)
  if (all.length === 0)
    return yield* new BackupRefused({
      message: `There is no complete backup in ${resolve(folder)}: make one with sluice backup`
    })
  const entry = at === undefined ? all.at(-1)! : all.find(({ id }) => id === at)
  if (entry === undefined)
    return yield* new BackupRefused({
      message: `There is no backup ${at} in ${resolve(folder)}: it has ${ids.join(", ")}`
    })
  if (Result.isFailure(entry.manifest))
    return yield* new BackupRefused({
      message: `The backup ${entry.id} cannot be used: ${entry.manifest.failure.message}`
    })
  return entry.manifest.success
})

const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** A backup that is being written. */
export interface PartialBackup {
  readonly id: string
  /** The path at which a file is written now, by the name that it will have in the folder. */
  readonly pathOf: (name: string) => string
  /** Writes the manifest and gives the backup its name: from then on it is complete. */
  readonly complete: (manifest: Manifest, keys: SecretsKeys) => Effect.Effect<void, BackupRefused>
}

/** Begins a backup; what an earlier one left half written goes. It is removed with the scope unless it is completed. */
export const beginBackup = Effect.fnUntraced(function* (
  folder: string
): Effect.fn.Return<PartialBackup, BackupRefused, Scope.Scope> {
  yield* attempt(`The folder ${folder} cannot be made`, () => mkdir(folder, { recursive: true, mode: 0o700 }))
  yield* attempt(`The folder ${folder} cannot be written to`, () => access(folder, constants.W_OK))
  yield* holdFile(join(folder, "lock")).pipe(
    Effect.catchTags({
      FileHeld: () => new BackupRefused({ message: `Another backup is being written to ${folder}: wait for its end` }),
      FileNotLockable: ({ reason }) => new BackupRefused({ message: `The folder ${folder} cannot be used: ${reason}` })
    })
  )
  const id = new Date(yield* Clock.currentTimeMillis).toISOString().replaceAll(/[-:.]/g, "")
  const newest = (yield* attempt(`The folder ${folder} cannot be read`, () => readdir(folder)))
    .filter((name) => idPattern.test(name))
    .toSorted()
    .at(-1)
  // Backups sort by their time: one that sorts behind another would be the first to be removed.
  if (newest !== undefined && newest >= id)
    return yield* new BackupRefused({
      message: `The folder ${folder} has a backup ${newest} of a later time than now (${id}): set the clock, or choose another folder`
    })
  const partial = join(folder, `${id}${partialSuffix}`)
  yield* attempt(`The folder ${folder} cannot be written to`, async () => {
    for (const name of await readdir(folder))
      if (name.endsWith(partialSuffix) && idPattern.test(name.slice(0, -partialSuffix.length)))
        await rm(join(folder, name), { recursive: true })
    for (const inside of ["tables", "streams"]) await mkdir(join(partial, inside), { recursive: true, mode: 0o700 })
  })
  yield* Effect.addFinalizer(() => Effect.promise(() => rm(partial, { recursive: true, force: true })))
  return {
    id,
    pathOf: (name) => join(partial, name.slice(id.length + 1)),
    complete: (manifest, [key]) =>
      attempt(`The backup ${id} cannot be completed`, async () => {
        await writeFile(join(partial, manifestFile), encodeManifest(manifest, key), {
          mode: 0o600,
          flag: "wx",
          flush: true
        })
        for (const inside of ["tables", "streams", "."]) await syncFolder(join(partial, inside))
        await rename(partial, join(folder, id))
        await syncFolder(folder)
      })
  }
})

/** Removes the files of a retired backup that no other one needs, and its folder with the last of them. */
const sweep = async (folder: string, id: string, needed: ReadonlySet<string>): Promise<void> => {
  for (const inside of ["tables", "streams"]) {
    const names = await readdir(join(folder, id, inside)).catch(() => [])
    for (const name of names)
      if (!needed.has(`${id}/${inside}/${name}`)) await rm(join(folder, id, inside, name), { force: true })
    await rmdir(join(folder, id, inside)).catch(() => {})
  }
  const left = await readdir(join(folder, id))
  if (left.every((name) => name === retiredFile)) await rm(join(folder, id), { recursive: true })
}

/**
 * Removes all but the newest backups. Manifests go first, so that a backup whose files go is none any more; files go
 * when no kept backup needs them, also those that an interrupted removal has left. Answers the ids that went; undefined
 * where a manifest cannot be read, since nobody knows then which files it needs.
 */
export const retireBackups = Effect.fnUntraced(function* (
  folder: string,
  keys: SecretsKeys,
  keep: number
): Effect.fn.Return<ReadonlyArray<string> | undefined, BackupRefused> {
  const all = yield* listBackups(folder, keys)
  const manifests = all.flatMap(({ manifest }) => (Result.isSuccess(manifest) ? [manifest.success] : []))
  if (manifests.length < all.length) return undefined
  const { ids, needed } = retired(
    manifests.map((manifest) => ({ id: manifest.id, files: filesOf(manifest) })),
    keep
  )
  yield* attempt(`Earlier backups in ${folder} cannot be removed`, async () => {
    for (const id of ids) {
      await writeFile(join(folder, id, retiredFile), "", { mode: 0o600 })
      await rm(join(folder, id, manifestFile), { force: true })
    }
    for (const id of await readdir(folder))
      if (idPattern.test(id) && existsSync(join(folder, id, retiredFile))) await sweep(folder, id, needed)
  })
  return ids
})
