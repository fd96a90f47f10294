/** Copies the tables of the platform out of one snapshot of PostgreSQL, with the facts that the backup rests on. */
import { Effect, type Redacted, Stream } from "effect"
import type { SecretsKey, SecretsKeys } from "../../common/secretsKeys.ts"
import { openSnapshot, type Snapshot, type TableShape } from "../../postgres/tableCopy.ts"
import type { PartialBackup } from "./backupFolder.ts"
import type { BackupTable } from "./backupManifest.ts"
import { fileFailure, type Pace, unlessStalled } from "./copyPace.ts"
import { BackupRefused } from "./errors.ts"
import { writeSealed } from "./sealedFile.ts"
import { checkpointsQuery, cursorsQuery, type SeenCheckpoint, type SeenCursor, seenBy } from "./seenPositions.ts"

/** Where a backup is written, under which key, and how fast it reads. */
export interface CopyTarget {
  readonly partial: PartialBackup
  readonly key: SecretsKey
  readonly pace: Pace
}

/** Tables of effect/cluster: addresses of nodes that run now. It makes them by itself. */
const passing = /^sluice_cluster_/

/** The bounds of a table's day, in milliseconds (`postgres/dayPartitions.ts`). */
const dayBounds = /^FOR VALUES FROM \('?(\d+)'?\) TO /

const lineFeed = 10

/** In COPY's text format each row is a line, and no value holds a line feed. */
export const countRows = (bytes: Uint8Array): number => {
  let rows = 0
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) rows++
  return rows
}

const copyTable = Effect.fnUntraced(function* (
  { key, pace, partial }: CopyTarget,
  snapshot: Snapshot,
  table: TableShape
) {
  const file = `${partial.id}/tables/${table.name}`
  let rows = 0
  let bytes = 0
  const lines = yield* Stream.toAsyncIterableEffect(
    Stream.tap(snapshot.copy(table), (chunk) => {
      bytes += chunk.length
      rows += countRows(chunk)
      return pace(chunk.length)
    })
  )
  const written = yield* unlessStalled(
    () => bytes,
    `The table ${table.name} was not copied`,
    Effect.tryPromise({
      try: (signal) => writeSealed({ path: partial.pathOf(file), name: file, key, signal }, lines),
      catch: fileFailure(`${file} was not written`)
    })
  )
  return { ...written, file, rows, name: table.name, columns: table.columns } satisfies BackupTable
})

const witnessesIn = Effect.fnUntraced(function* ({ rows }: Snapshot, partitions: number) {
  return seenBy(partitions, yield* rows<SeenCheckpoint>(checkpointsQuery), yield* rows<SeenCursor>(cursorsQuery))
})

/** Tables with sealed texts, each beside the id of its key. */
const sealedTablesQuery = `
  select quote_ident(c.relname) as name from pg_class c
  join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()
  join pg_attribute a on a.attrelid = c.oid and a.attname = 'key_id' and not a.attisdropped
  where c.relkind in ('r', 'p') and not c.relispartition order by 1`

/**
 * Refuses keys that are not those of the platform: a backup under another key would be read by nobody who keeps the
 * platform's.
 */
const requireOwnKeys = Effect.fnUntraced(function* ({ rows }: Snapshot, keys: SecretsKeys) {
  const given = keys.map(({ id }) => id)
  for (const { name } of yield* rows<{ readonly name: string }>(sealedTablesQuery)) {
    const used = yield* rows<{ readonly id: string }>(
      `select distinct key_id as id from ${name} where key_id is not null`
    )
    const unknown = used.find(({ id }) => !given.includes(id))
    if (unknown !== undefined)
      return yield* new BackupRefused({
        message: `The platform's secrets are encrypted under the key ${unknown.id}, and the one given here is ${given.join(", ")}: set SLUICE_SECRETS_KEY to the platform's`
      })
  }
})

const readFacts = Effect.fnUntraced(function* (snapshot: Snapshot) {
  const { rows } = snapshot
  const [there] = yield* rows<{ readonly isThere: boolean }>(
    `select to_regclass('engine_deployment') is not null and to_regclass('deployment_formats') is not null as "isThere"`
  )
  const [deployment] =
    there?.isThere === true
      ? yield* rows<{ readonly id: string; readonly partitions: number }>(
          "select id, partitions from engine_deployment"
        )
      : []
  if (deployment === undefined)
    return yield* new BackupRefused({
      message: "No platform of this version has run on this database yet: there is nothing to back up"
    })
  const [migration] = yield* rows<{ readonly number: number; readonly name: string }>(
    "select number, name from schema_migrations order by number desc limit 1"
  )
  const [formats] = yield* rows<{ readonly level: number }>("select level from deployment_formats")
  const witnesses = yield* witnessesIn(snapshot, deployment.partitions)
  return { deployment, migration: migration!, formatLevel: formats!.level, witnesses }
})

/** Copies every table. The snapshot ends with the copy. */
export const copyTables = Effect.fnUntraced(function* (
  target: CopyTarget,
  databaseUrl: Redacted.Redacted<string>,
  keys: SecretsKeys
) {
  const snapshot = yield* openSnapshot({ url: databaseUrl })
  const facts = yield* readFacts(snapshot)
  yield* requireOwnKeys(snapshot, keys)
  const tables: Array<BackupTable> = []
  for (const shape of yield* snapshot.tables)
    if (!passing.test(shape.name)) tables.push(yield* copyTable(target, snapshot, shape))
  const days = (yield* snapshot.partitions).flatMap(({ bounds, table }) => {
    const millis = dayBounds.exec(bounds)?.[1]
    return millis === undefined ? [] : [{ table, millis: Number(millis) }]
  })
  return { ...facts, tables, days, sequences: yield* snapshot.sequences }
}, Effect.scoped)
