import { Clock, Effect, Ref } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { withStatementTimeout } from "../postgres/deadlines.ts"
import { storableText } from "../postgres/errorText.ts"
import { isOutOfSpace } from "../postgres/transactions.ts"
import { firstChanges, keepChanges, stageChanges } from "./changes.ts"
import { batchQuery, datasetAsStored, datasets } from "./datasets.ts"
import { apply, compare, conflicts, type Difference, removals, type Scope, stagingTable } from "./difference.ts"
import { type Admission, judgeAge, judgeRemovals, judgeRetired } from "./fileAdmission.ts"
import { type DirectoryFile, type FileSummary, readFile } from "./files/read.ts"
import {
  ConflictingCodes,
  type IngestionError,
  type IngestionPhase,
  IngestionProgress,
  IngestionStopped,
  IngestionSummary,
  type StopReason
} from "./ingestionSchema.ts"

/**
 * Puts one file into the database (docs/directory.md, 6.2): its records stream into a temporary table, the database
 * computes what they add, change and remove, and applies just that, with a line of history and a notice to every node,
 * in one transaction. Whatever goes wrong, readers keep the old records. Needs `SqlClient`.
 */
export interface IngestOptions extends Admission {
  /** Works out the difference and stores nothing. */
  readonly dryRun: boolean
  /** Called at every phase, and within a phase at most every `progressIntervalMillis`. */
  readonly onProgress: (progress: IngestionProgress) => Effect.Effect<void>
}

/** Channel on which nodes hear that something was ingested. See {@link Ingestions}. */
export const directoryChannel = "sluice_directory"

/** Least time between two reports of progress within a phase. */
export const progressIntervalMillis = 100

/** How long an ingestion waits for another one to end. */
export const lockTimeoutMillis = 60_000

/** The statement timeout: a statement compares or stores a whole file, and may wait for another ingestion. */
const statementTimeoutMillis = 10 * 60 * 1000

/** Least columns of the key of those kinds whose records belong to area codes: NPA and NXX. */
const codeKeyLength = 2

/** Conflicting codes that an error names. */
const conflictExamples = 5

/** Key of the advisory lock under which an ingestion compares and stores: "sluicdir" in ASCII. */
export const ingestionLockKey = "8317151707346004338"

/** Memory the server may use to compare, so that it need not write to disk. */
const workMemory = "64MB"

/** Ingests one file of an opened source. Interrupting it leaves nothing behind. */
export const ingestFile = Effect.fn("directory.ingestFile")(function* (
  file: DirectoryFile,
  options: IngestOptions
): Effect.fn.Return<IngestionSummary, IngestionError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const startedAt = yield* Clock.currentTimeMillis
  const report = yield* makeReporter(file, options)
  const { changes, difference, scope, seen, refusal, summary } = yield* Effect.gen(function* () {
    yield* sql`set local work_mem = ${sql.literal(`'${workMemory}'`)}`
    yield* sql`set local lock_timeout = ${sql.literal(`${lockTimeoutMillis}`)}`
    yield* sql`set local jit = off`
    const summary = yield* stage(file, report)
    yield* report("comparing", summary.records)
    // The lock starts here: files are read side by side, but each is compared with what the one before has stored.
    yield* takeLock((holder) => report("waiting", summary.records, holder))
    yield* refuseConflicts(file)
    const dataset = yield* datasetAsStored(datasets[file.kind])
    const named = dataset.keyLength >= codeKeyLength ? summary.coverage.areaCodes : null
    const { kind, publicationDate, unread } = summary
    const candidate = { name: file.name, kind, publicationDate }
    const first = yield* removals(dataset, { areaCodes: named, unread, retired: [] })
    const scope: Scope = {
      areaCodes: named,
      unread,
      retired: first.leftOut.filter((npa) => options.retire.includes(npa))
    }
    const refusal =
      (yield* judgeAge(candidate, options)) ??
      judgeRetired(candidate, named ?? [], options) ??
      judgeRemovals(candidate, first, options)
    // The first file of a kind changes nothing: all of it is new.
    const isFirst = first.stored === 0
    if (!isFirst) yield* stageChanges(dataset, scope)
    const changes = isFirst ? [] : yield* firstChanges
    const found = { changes, summary, scope, seen: first, refusal: refusal?.message ?? null }
    if (options.dryRun) return { ...found, difference: yield* compare(dataset, scope) }
    if (refusal !== null) return yield* refusal
    yield* report("storing", summary.records)
    const difference = yield* apply(dataset, scope)
    const ingestion = yield* remember(summary, difference, startedAt)
    if (!isFirst) yield* keepChanges(ingestion, yield* Clock.currentTimeMillis)
    return { ...found, difference }
  }).pipe(
    (statements) => sql.withTransaction(withStatementTimeout(sql, statementTimeoutMillis, statements)),
    Effect.catchTag("SqlError", (error) => Effect.fail(stopped(file.name, error)))
  )
  return IngestionSummary.make({
    source: summary.source,
    kind: summary.kind,
    publicationDate: summary.publicationDate,
    sha256: summary.sha256,
    read: summary.records,
    ...difference,
    changes,
    malformed: summary.malformed,
    kept: seen.kept,
    leftOut: seen.leftOut.filter((npa) => scope.areaCodes !== null && !scope.retired.includes(npa)),
    retired: scope.retired,
    refusal,
    durationMillis: (yield* Clock.currentTimeMillis) - startedAt,
    dryRun: options.dryRun
  })
})

type Reporter = (phase: IngestionPhase, rows: number, detail?: string) => Effect.Effect<void>

/** Passes a report on when it begins a phase, or enough time has passed since the last one. */
const makeReporter = Effect.fnUntraced(function* (file: DirectoryFile, options: IngestOptions) {
  const last = yield* Ref.make<{ readonly phase: IngestionPhase; readonly at: number } | null>(null)
  return Effect.fnUntraced(function* (phase: IngestionPhase, rows: number, detail?: string) {
    const at = yield* Clock.currentTimeMillis
    const before = yield* Ref.get(last)
    if (before !== null && before.phase === phase && at - before.at < progressIntervalMillis) return
    yield* Ref.set(last, { phase, at })
    const { readBytes, totalBytes } = file.progress()
    const fraction = phase === "reading" ? (totalBytes === 0 ? null : Math.min(1, readBytes / totalBytes)) : 1
    yield* options.onProgress(
      IngestionProgress.make({ source: file.name, phase, rows, fraction, ...(detail === undefined ? {} : { detail }) })
    )
  }) satisfies Reporter
})

/** Reads the file into the staging table. */
const stage = Effect.fnUntraced(function* (file: DirectoryFile, report: Reporter) {
  const sql = yield* SqlClient.SqlClient
  const dataset = datasets[file.kind]
  const table = sql(stagingTable(dataset))
  const columns = sql.literal(dataset.columns.map(([name, type]) => `${name} ${type}`).join(", "))
  yield* sql`create temporary table ${table} (${columns}) on commit drop`
  yield* report("reading", 0)
  let rows = 0
  const summary = yield* readFile(file, ({ data }) => {
    rows += data.records.length
    return Effect.andThen(sql`insert into ${table} ${batchQuery(sql, data)}`, report("reading", rows))
  })
  // Without statistics the server would guess, and compare row by row.
  yield* sql`analyze ${table}`
  return summary
})

/** Takes the lock under which one ingestion at a time compares and stores. If it must wait, it first says for whom. */
const takeLock = Effect.fnUntraced(function* (onWait: (holder: string) => Effect.Effect<void>) {
  const sql = yield* SqlClient.SqlClient
  const key = sql.literal(ingestionLockKey)
  const [tried] = yield* sql<{ readonly taken: boolean }>`select pg_try_advisory_xact_lock(${key}) as taken`
  if (tried?.taken === true) return
  const [holder] = yield* sql<{ readonly name: string; readonly seconds: number }>`
    select coalesce(nullif(application_name, ''), 'a session without a name') || ' (PostgreSQL process ' || l.pid || ')' as name,
      coalesce(extract(epoch from clock_timestamp() - xact_start), 0)::int as seconds
    from pg_locks l join pg_stat_activity a using (pid)
    where locktype = 'advisory' and granted and objsubid = 1
      and (classid::bigint << 32 | objid::bigint) = ${key} and l.database = a.datid limit 1`
  const other = holder === undefined ? "" : `, ${holder.name}, at work for ${holder.seconds} s`
  yield* onWait(`another ingestion is storing its records${other}`)
  yield* sql`select pg_advisory_xact_lock(${key})`
})

const refuseConflicts = Effect.fnUntraced(function* (file: DirectoryFile) {
  const { count, examples } = yield* conflicts(datasets[file.kind], conflictExamples)
  if (count === 0) return
  const named = `${examples.join(", ")}${count > examples.length ? ", …" : ""}`
  return yield* new ConflictingCodes({
    source: file.name,
    kind: file.kind,
    count,
    examples,
    message: `${file.name} is refused: ${count} of its codes are stored as codes of the other country (${named})`
  })
})

/** A line of a file may hold what PostgreSQL cannot. */
const storableTexts = (_: string, value: unknown): unknown => (typeof value === "string" ? storableText(value) : value)

/** Writes history and answers its id, raises the generation when records have changed, and tells every node once this is committed. */
const remember = Effect.fnUntraced(function* (summary: FileSummary, difference: Difference, startedAt: number) {
  const sql = yield* SqlClient.SqlClient
  const { added, changed, removed } = difference
  const finishedAt = yield* Clock.currentTimeMillis
  const [stored] = yield* sql<{ readonly id: number }>`
    insert into directory_ingestions (
      kind, source, publication_date, sha256, started_at, finished_at,
      read, added, changed, removed, malformed, malformed_lines
    ) values (
      ${summary.kind}, ${summary.source}, ${summary.publicationDate}, ${summary.sha256}, ${new Date(startedAt)},
      ${new Date(finishedAt)}, ${summary.records}, ${added}, ${changed}, ${removed}, ${summary.malformed.total},
      ${JSON.stringify(summary.malformed.listed, storableTexts)}::jsonb
    ) returning id`
  if (added + changed + removed > 0) yield* sql`update directory_generation set generation = generation + 1`
  yield* sql`select pg_notify(${directoryChannel}, ${summary.kind})`
  return Number(stored!.id)
})

const stopReasonOf = (error: SqlError.SqlError): readonly [StopReason, string] => {
  switch (error.reason._tag) {
    case "ConnectionError":
      return ["DatabaseAway", `the connection to the database failed (${error.reason.message})`]
    case "LockTimeoutError":
      return ["DatabaseBusy", `another ingestion has been running for ${lockTimeoutMillis / 1000} s`]
    default:
      if (isOutOfSpace(error)) return ["DatabaseFull", "the database has no room left, its disk is full"]
      return ["DatabaseRefused", `the database refused it: ${error.message}`]
  }
}

/** A failure of the database as the error of an ingestion. */
const stopped = (source: string, error: SqlError.SqlError): IngestionStopped => {
  const [reason, why] = stopReasonOf(error)
  const message = `${source} was not ingested: ${why}. A file is stored as a whole or not at all; try again.`
  return new IngestionStopped({ source, reason, message })
}
