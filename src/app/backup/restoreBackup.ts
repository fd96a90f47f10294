/**
 * Restores a backup into empty stores (docs/backup.md). Nothing is changed before everything was checked. Then the
 * streams are filled, and the tables in one transaction at the end. A restore that was cut short leaves streams that
 * carry a mark, which the next one fills again, or logs beside a database that does not know them, which a start
 * refuses. Needs `NatsConnection` and `PgClient`.
 */
import { join } from "node:path"
import { Clock, Effect, Redacted, Stream } from "effect"
import { NatsConnection } from "../../nats/connection.ts"
import * as Api from "../../nats/jetStreamApi.ts"
import * as Requests from "../../nats/requests.ts"
import { fillStream, finishStream, type RestoreOptions } from "../../nats/streamRestore.ts"
import { hold } from "../../postgres/advisoryLock.ts"
import { DayPartitions } from "../../postgres/dayPartitions.ts"
import { migrate } from "../../postgres/migrate.ts"
import { placementLock } from "../../postgres/PlacementPostgres.ts"
import { type Filling, openFilling } from "../../postgres/tableCopy.ts"
import { migrations } from "../migrations.ts"
import { findBackup } from "./backupFolder.ts"
import type { BackupStream, BackupTable, Manifest } from "./backupManifest.ts"
import { filledInOrder } from "./backupRules.ts"
import { fileFailure, unlessStalled } from "./copyPace.ts"
import {
  besideDatabase,
  besideLog,
  requireEmptyDatabase,
  requireKnownVersion,
  requireNoStreams
} from "./emptyStores.ts"
import { BackupBroken, BackupRefused } from "./errors.ts"
import { recordsOf } from "./messageRecords.ts"
import { readSealed } from "./sealedFile.ts"
import { type BackupPlace, verifyBackup } from "./verifyBackup.ts"

/** The stores that are restored. The other one stays as it is. */
export type RestoredStores = "both" | "postgres" | "nats"

export interface RestoreTarget extends BackupPlace {
  /** The backup; the newest one where it is undefined. */
  readonly at: string | undefined
  readonly stores: RestoredStores
  readonly databaseUrl: Redacted.Redacted<string>
  readonly namespace: string | undefined
  /** Copies of each stream; as many as it had where it is undefined. */
  readonly replicas: number | undefined
  /** Called with progress, one line at a time. */
  readonly progress: (line: string) => Effect.Effect<void>
}

/** The result of a restore. */
export interface RestoreReport {
  readonly manifest: Manifest
  readonly rows: number
  readonly messages: number
  readonly millis: number
  /** Sentences about frames that neither store has. Only beside a store that stayed. */
  readonly lacks: ReadonlyArray<string>
  /** Frames that a start replays, because the log is newer than the database. */
  readonly replayed: number
}

const requireNamespace = ({ namespace }: Manifest, given: string | undefined): Effect.Effect<void, BackupRefused> =>
  namespace === (given ?? null)
    ? Effect.void
    : Effect.fail(
        new BackupRefused({
          message:
            namespace === null
              ? `The backed up platform has no namespace: leave SLUICE_LOG_NAMESPACE out, which is ${given}`
              : `The streams of the backed up platform are named under the namespace ${namespace}: set SLUICE_LOG_NAMESPACE=${namespace}`
        })
      )

const messagesOf = ({ folder, keys }: BackupPlace, { segments }: BackupStream) =>
  Stream.flatMap(Stream.fromIterable(segments), ({ file }) =>
    Stream.fromAsyncIterable(
      recordsOf(readSealed(join(folder, file), file, Redacted.value(keys))),
      fileFailure(`${file} was not read`)
    )
  )

const optionsOf = ({ config, first, last, newestTime }: BackupStream, replicas: number | undefined): RestoreOptions => {
  // It was one when it was backed up.
  const found = config as unknown as Api.StreamConfig
  return {
    config: { ...found, num_replicas: replicas ?? found.num_replicas },
    first,
    last,
    newestTime
  }
}

const fillStreams = Effect.fnUntraced(function* (
  target: RestoreTarget,
  manifest: Manifest,
  half: ReadonlyArray<string>
) {
  const { client } = yield* NatsConnection
  const requests = yield* Requests.make(client)
  const api = Api.make(requests)
  for (const name of half)
    yield* Effect.mapError(
      api.deleteStream(name),
      ({ message }) => new BackupRefused({ message: `The stream ${name} cannot be removed: ${message}` })
    )
  let messages = 0
  for (const stream of manifest.streams) {
    const before = messages
    yield* fillStream(
      requests,
      api,
      optionsOf(stream, target.replicas),
      Stream.tap(messagesOf(target, stream), (batch) =>
        Effect.sync(() => {
          messages += batch.length
        })
      )
    )
    yield* target.progress(`${stream.name}: ${messages - before} messages, up to ${stream.last}`)
  }
  const finish = Effect.forEach(manifest.streams, (stream) => finishStream(api, optionsOf(stream, target.replicas)), {
    discard: true
  })
  return { messages, finish }
})

const fillTable = Effect.fnUntraced(function* (target: RestoreTarget, filling: Filling, table: BackupTable) {
  const { file } = table
  let bytes = 0
  const lines = async function* () {
    for await (const chunk of readSealed(join(target.folder, file), file, Redacted.value(target.keys))) {
      bytes += chunk.length
      yield chunk as Buffer
    }
  }
  yield* unlessStalled(() => bytes, `The table ${table.name} was not filled`, filling.fill(table, lines()))
})

/** Brings the database to the backup's schema, and fills it. `commit` makes that last. */
const fillTables = Effect.fnUntraced(function* (target: RestoreTarget, manifest: Manifest) {
  yield* migrate(migrations.filter(({ number }) => number <= manifest.migration.number))
  const filling = yield* openFilling({ url: target.databaseUrl })
  const there = new Set((yield* filling.tables).map(({ name }) => name))
  const days = yield* DayPartitions
  for (const [table, all] of Map.groupBy(manifest.days, (day) => day.table))
    if (there.has(table))
      yield* days.ensureDays(
        table,
        all.map(({ millis }) => millis)
      )
  const own = new Map(manifest.tables.map((table) => [table.name, table]))
  const others = [...own.keys()].filter((name) => !there.has(name))
  if (others.length > 0)
    yield* target.progress(`Left out, because they are no tables of the platform: ${others.join(", ")}`)
  const names = [...own.keys()].filter((name) => there.has(name))
  yield* filling.truncate(names)
  let rows = 0
  for (const name of filledInOrder(names, yield* filling.references)) {
    const table = own.get(name)!
    yield* fillTable(target, filling, table)
    rows += table.rows
  }
  for (const sequence of manifest.sequences) if (there.has(sequence.table)) yield* filling.setSequence(sequence)
  yield* target.progress(`PostgreSQL: ${rows} rows of ${names.length} tables`)
  // Without it PostgreSQL plans as for empty tables, until its autovacuum has come by.
  const analyze = Effect.ignore(filling.rows("analyze"))
  return { rows, commit: Effect.andThen(filling.commit, analyze) }
})

/** The backup to restore, which this version can read. It needs no store. */
const chosen = Effect.fnUntraced(function* ({ at, folder, keys, namespace }: RestoreTarget) {
  const manifest = yield* findBackup(folder, Redacted.value(keys), at)
  yield* requireKnownVersion(manifest)
  yield* requireNamespace(manifest, namespace)
  return manifest
})

/** Keeps every platform off the database. */
const holdDatabase = Effect.catchTag(hold(placementLock), "LockHeld", ({ message }) =>
  Effect.fail(
    new BackupRefused({
      message: `A platform runs on this database: stop it, or restore into other stores. Nothing was changed. ${message}`
    })
  )
)

/** The checks of stores and files before anything is changed. */
const check = Effect.fnUntraced(function* (target: RestoreTarget, manifest: Manifest) {
  const { stores } = target
  const api = Api.make(yield* Requests.make((yield* NatsConnection).client))
  if (stores !== "nats") yield* requireEmptyDatabase
  const half = stores === "postgres" ? [] : yield* requireNoStreams(api, manifest)
  const pair =
    stores === "postgres"
      ? yield* besideLog(api, manifest)
      : stores === "nats"
        ? yield* besideDatabase(manifest)
        : { lacks: [], replayed: 0 }
  yield* target.progress(`Reading the backup ${manifest.id} …`)
  const { problems } = yield* verifyBackup(target, manifest)
  if (problems.length > 0) return yield* new BackupBroken({ id: manifest.id, problems })
  return { half, pair }
})

/** Restores a backup. No platform can start on the database meanwhile. */
export const restoreBackup = Effect.fnUntraced(function* (target: RestoreTarget) {
  const { stores } = target
  const begunAt = yield* Clock.currentTimeMillis
  const manifest = yield* chosen(target)
  yield* holdDatabase
  const { half, pair } = yield* check(target, manifest)
  const streams =
    stores === "postgres" ? { messages: 0, finish: Effect.void } : yield* fillStreams(target, manifest, half)
  const tables = stores === "nats" ? { rows: 0, commit: Effect.void } : yield* fillTables(target, manifest)
  yield* streams.finish
  yield* tables.commit
  const report: RestoreReport = {
    manifest,
    rows: tables.rows,
    messages: streams.messages,
    millis: (yield* Clock.currentTimeMillis) - begunAt,
    ...pair
  }
  return report
}, Effect.scoped)
