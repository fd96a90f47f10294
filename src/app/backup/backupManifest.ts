/**
 * Defines the manifest of a backup: its versions, positions and files. It is JSON for people and programs, followed by
 * a line with its seal, a keyed digest under the secrets key, so that nobody without that key can change it unnoticed.
 * Pure.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto"
import { Result, Schema } from "effect"
import type { SecretsKey, SecretsKeys } from "../../common/secretsKeys.ts"

/** The layout of backups that this program writes. It reads every earlier one. */
export const backupFormat = 1

const written = {
  /** The path in the folder of backups; an incremental backup names files of earlier ones. */
  file: Schema.String,
  bytes: Schema.Int,
  sha256: Schema.String
}

export const BackupTable = Schema.Struct({
  ...written,
  name: Schema.String,
  columns: Schema.Array(Schema.String),
  rows: Schema.Int
})
export type BackupTable = typeof BackupTable.Type

/** A part of a stream: its messages from `first` to `last`. */
export const BackupSegment = Schema.Struct({
  ...written,
  first: Schema.Int,
  last: Schema.Int,
  messages: Schema.Int
})
export type BackupSegment = typeof BackupSegment.Type

export const BackupStream = Schema.Struct({
  name: Schema.String,
  /** Tells a stream from a later one of the same name. */
  created: Schema.String,
  config: Schema.Record(Schema.String, Schema.Unknown),
  /** The sequence of the first message here, and the one that the stream ended with. */
  first: Schema.Int,
  last: Schema.Int,
  /** Whether every sequence from `first` to `last` has its message. Otherwise some were removed one by one. */
  isWhole: Schema.Boolean,
  /** When the newest message was stored, nanoseconds since the Unix epoch. */
  newestTime: Schema.optionalKey(Schema.String),
  segments: Schema.Array(BackupSegment)
})
export type BackupStream = typeof BackupStream.Type

/** A place in a partition's log that the database has seen (`engine/shell/witnesses.ts`). */
export const BackupWitness = Schema.Struct({
  partition: Schema.Int,
  who: Schema.String,
  sequence: Schema.Int,
  hash: Schema.String,
  needsTail: Schema.Boolean
})
export type BackupWitness = typeof BackupWitness.Type

export const Manifest = Schema.Struct({
  format: Schema.Int,
  id: Schema.String,
  /** When the tables were read, and when the streams were. ISO 8601. */
  createdAt: Schema.String,
  positionsAt: Schema.String,
  program: Schema.String,
  formatLevel: Schema.Int,
  migration: Schema.Struct({ number: Schema.Int, name: Schema.String }),
  deployment: Schema.String,
  partitions: Schema.Int,
  namespace: Schema.NullOr(Schema.String),
  keyId: Schema.String,
  tables: Schema.Array(BackupTable),
  /** Tables that are kept by day, with a time of each day, Unix milliseconds. */
  days: Schema.Array(Schema.Struct({ table: Schema.String, millis: Schema.Int })),
  sequences: Schema.Array(Schema.Struct({ table: Schema.String, column: Schema.String, last: Schema.Int })),
  witnesses: Schema.Array(BackupWitness),
  streams: Schema.Array(BackupStream)
})
export type Manifest = typeof Manifest.Type

const Text = Schema.fromJsonString(Manifest)
const decode = Schema.decodeUnknownResult(Text)
/** Read before anything else, since later formats may have other fields. */
const decodeFormat = Schema.decodeUnknownResult(
  Schema.fromJsonString(Schema.Struct({ format: Schema.Int, keyId: Schema.String }))
)

const sealOf = (text: string, { bytes }: SecretsKey): Buffer =>
  createHmac("sha256", Buffer.from(hkdfSync("sha256", bytes, "", "sluice backup manifest", bytes.length)))
    .update(text)
    .digest()

export const encodeManifest = (manifest: Manifest, key: SecretsKey): string => {
  const text = JSON.stringify(manifest, undefined, 1)
  return `${text}\n${sealOf(text, key).toString("hex")}\n`
}

/** Why a manifest cannot be used, as a sentence. `key` and `newer` are no damage. */
export interface ManifestProblem {
  readonly kind: "damaged" | "key" | "newer"
  readonly message: string
}

/** Reads a manifest that `encodeManifest` wrote. */
export const decodeManifest = (content: string, keys: SecretsKeys): Result.Result<Manifest, ManifestProblem> => {
  const damaged = (message: string) => Result.fail<ManifestProblem>({ kind: "damaged", message })
  const end = content.trimEnd()
  const at = end.lastIndexOf("\n")
  const text = end.slice(0, Math.max(0, at))
  const head = decodeFormat(text)
  if (Result.isFailure(head)) return damaged("the manifest is cut or no manifest")
  const { format, keyId } = head.success
  if (format > backupFormat)
    return Result.fail({
      kind: "newer",
      message: `it has the format ${format}, and this version knows ${backupFormat}: restore it with the version that wrote it, or a later one`
    })
  const key = keys.find(({ id }) => id === keyId)
  if (key === undefined)
    return Result.fail({
      kind: "key",
      message: `it is encrypted under the secrets key ${keyId}, and the one given here is ${keys.map(({ id }) => id).join(", ")}: set SLUICE_SECRETS_KEY to the key of the platform that was backed up (with servers of its own, the text in secrets/secrets.key of its data folder)`
    })
  const seal = Buffer.from(end.slice(at + 1), "hex")
  const wanted = sealOf(text, key)
  if (seal.length !== wanted.length || !timingSafeEqual(seal, wanted))
    return damaged("the manifest is not the one that was written")
  return Result.mapError(decode(text), () => ({ kind: "damaged" as const, message: "the manifest lacks a field" }))
}
