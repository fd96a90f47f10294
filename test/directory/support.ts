/**
 * Helpers of the directory's tests on a real database: the tables, sample files cut from the bundled snapshot, and
 * waiting for a condition.
 */
import { randomUUID } from "node:crypto"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { Effect, Layer, Schedule, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { createDirectoryChanges } from "../../src/directory/changes.ts"
import { bundledSources } from "../../src/directory/files/bundledSources.ts"
import { Ingestions } from "../../src/directory/Ingestions.ts"
import type { IngestionEvent, IngestionFailure, IngestionSummary } from "../../src/directory/ingestionSchema.ts"
import {
  addDirectoryBlocks,
  addDirectoryDetails,
  createDirectoryTables,
  createIngestionFailures
} from "../../src/directory/migrations.ts"
import type { DatasetKind } from "../../src/directory/model.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"

const databaseWith = <E>(migration: Effect.Effect<unknown, E, SqlClient.SqlClient>) =>
  Ingestions.layerInThread.pipe(
    Layer.provideMerge(
      Layer.effectDiscard(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(migration)))
    ),
    Layer.provideMerge(freshDatabase({ maxConnections: 4 }))
  )

/** A database with the directory's tables, and what ingests into it in the test's own thread. */
export const directoryDatabase = databaseWith(
  Effect.all([
    createDirectoryTables,
    addDirectoryDetails,
    addDirectoryBlocks,
    createDirectoryChanges,
    createIngestionFailures
  ])
)

/** The same as the first version made it. */
export const firstDirectoryDatabase = databaseWith(createDirectoryTables)

/** Ingestion into the test's database from a worker thread. */
export const workerIngestions = Layer.unwrap(
  Effect.map(TestDatabase, ({ url }) => Ingestions.layer({ databaseUrl: url }))
)

/** Returns once the condition holds, fails the test when it never does. */
export const until = <E, R>(condition: Effect.Effect<boolean, E, R>): Effect.Effect<void, E | Error, R> =>
  condition.pipe(
    Effect.filterOrFail(
      (holds) => holds,
      () => new Error("the condition never came to hold")
    ),
    Effect.retry({ while: (error) => error instanceof Error, schedule: Schedule.spaced("10 millis"), times: 3_000 }),
    Effect.asVoid
  )

export const bundledPath = (kind: DatasetKind): string => bundledSources.find((source) => source.kind === kind)!.path

/** A bundled file as text. */
export const bundledText = (kind: DatasetKind): string => gunzipSync(readFileSync(bundledPath(kind))).toString("utf8")

const bundledLines = (kind: DatasetKind): ReadonlyArray<string> => bundledText(kind).split("\r\n")

/** Header and lines of one area code of the bundled US file. */
export const usLines = (npa: string): ReadonlyArray<string> => {
  const [header, ...lines] = bundledLines("NANPA")
  return [header!, ...lines.filter((line) => line.slice(6, 9) === npa)]
}

/** Header, date row and lines of one area code of the bundled Canadian file. */
export const canadianLines = (npa: string): ReadonlyArray<string> => {
  const [header, date, ...lines] = bundledLines("CNAC")
  return [header!, date!, ...lines.filter((line) => line.startsWith(`${npa},`))]
}

/** A temporary folder for the test's files, gone with the scope. */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = join(tmpdir(), `sluice-directory-${randomUUID()}`)
    mkdirSync(folder)
    return folder
  }),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

const write = (encoding: "latin1" | "utf8") => (folder: string, lines: ReadonlyArray<string>) => {
  const path = join(folder, `${randomUUID()}.txt`)
  writeFileSync(path, lines.map((line) => `${line}\r\n`).join(""), encoding)
  return path
}

/** Writes lines as the published files have them and tells the path. */
export const writeLines = write("latin1")

/** Writes lines with any characters and tells the path. */
export const writeUtf8 = write("utf8")

/** Ingests and answers every event. */
export const ingest = Effect.fnUntraced(function* (
  sources: ReadonlyArray<string>,
  options: { readonly dryRun?: boolean } = {}
) {
  const ingestions = yield* Ingestions
  return yield* Stream.runCollect(ingestions.run(sources, options))
})

export const summariesOf = (events: ReadonlyArray<IngestionEvent>): ReadonlyArray<IngestionSummary> =>
  events.filter((event) => event._tag === "Ingested")

export const failuresOf = (events: ReadonlyArray<IngestionEvent>): ReadonlyArray<IngestionFailure> =>
  events.filter((event) => event._tag === "Failed")

/** Added, changed and removed of the only file. */
export const differenceOf = (events: ReadonlyArray<IngestionEvent>) => {
  const [summary, ...others] = summariesOf(events)
  if (summary === undefined || others.length > 0) throw new Error(`not one summary: ${JSON.stringify(events)}`)
  return { added: summary.added, changed: summary.changed, removed: summary.removed }
}

/** A digest of everything stored, history and times aside. */
export const storedDigest = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly digest: string }>`
    select md5(concat(
      (select string_agg(c::text, E'\n' order by npa, nxx) from directory_codes c),
      (select string_agg(t::text, E'\n' order by ocn) from directory_carrier_types t),
      (select string_agg(a::text, E'\n' order by npa) from directory_area_codes a),
      (select generation from directory_generation)
    )) as digest`
  return row!.digest
})

export const ingestionCount = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly count: number }>`select count(*) from directory_ingestions`
  return Number(row!.count)
})
