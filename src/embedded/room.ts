/**
 * Checks the room on the disk of the data folder. Servers that run out of room in the middle of a start give long and
 * unhelpful messages, so this checks before, and again when something has failed. Needs no service.
 */
import { stat, statfs } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { DataFolderFull } from "./errors.ts"

const mebibyte = 1024 * 1024

/** The bytes that a first start writes: the cluster, its log and the bundled data. */
export const firstStartBytes = 256 * mebibyte

/** The least bytes that a later start writes; a disk with less room counts as full. */
export const laterStartBytes = 16 * mebibyte

/** Bytes free to this user; undefined if unknown. */
const freeBytes = (folder: string): Effect.Effect<number | undefined> =>
  Effect.promise(() =>
    statfs(folder).then(
      ({ bavail, bsize }) => bavail * bsize,
      () => undefined
    )
  )

/** Fails when there is too little room to start the servers. `postgres` and `nats` say whether each will be started. */
export const requireRoom = Effect.fnUntraced(function* (
  folder: string,
  wanted: { readonly postgres: boolean; readonly nats: boolean }
) {
  if (!wanted.postgres && !wanted.nats) return
  const made = yield* Effect.promise(() =>
    stat(join(folder, "postgres", "cluster", "PG_VERSION")).then(
      () => true,
      () => false
    )
  )
  const neededBytes = wanted.postgres && !made ? firstStartBytes : laterStartBytes
  const free = yield* freeBytes(folder)
  if (free !== undefined && free < neededBytes)
    return yield* new DataFolderFull({ folder, freeBytes: free, neededBytes })
})

/** The error to show when something has failed because the disk is full; undefined when the disk has room. */
export const explainFull = (folder: string): Effect.Effect<DataFolderFull | undefined> =>
  Effect.map(freeBytes(folder), (free) =>
    free === undefined || free >= laterStartBytes
      ? undefined
      : new DataFolderFull({ folder, freeBytes: free, neededBytes: laterStartBytes })
  )
