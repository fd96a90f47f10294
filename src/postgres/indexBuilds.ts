/**
 * Builds indexes on large tables while readers and writers go on (docs/upgrade.md, "Indexes of large tables"). A
 * migration makes an index itself where its table is small; otherwise the index is built afterwards, one at a time and
 * by one node. The catalog shows the rest of an earlier build: a finished partition is kept, an index that was cut
 * short is dropped and built again. Needs `PgClient`, and a direct connection, as advisory locks do.
 */
import { Cause, Data, Duration, Effect, Exit, Layer, Metric } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { lockKey } from "./advisoryLock.ts"
import { sqlState } from "./errors.ts"
import { PgClient } from "./PgClient.ts"
import type { PgSession } from "./PgSession.ts"

/** An index that a migration has asked for. */
export interface IndexBuild {
  readonly name: string
  readonly table: string
  /** The text behind `on table`: columns, and a condition. */
  readonly definition: string
}

/** Below this size of a table and its indexes a migration makes an index itself: it takes a moment. */
export const largeTableBytes = 128 * 1024 * 1024

/** How often the progress of a build is shown. */
const progressMillis = 10_000

/** How long a node waits until it looks whether another one has built everything. */
const otherBuilderMillis = 60_000

/** The role does not own the table. */
export class IndexNotAllowed extends Data.TaggedError("IndexNotAllowed")<{ readonly index: string }> {
  override get message(): string {
    return `The index ${this.index} is missing, and the role may not make it: run \`sluice migrate\` as the owner of the tables. Until then lists that need it are slow`
  }
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Makes indexes in a migration, those of tables from a size on left out. */
export const createSmallIndexes = (builds: ReadonlyArray<IndexBuild>, largeBytes: number = largeTableBytes) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const { definition, name, table } of builds) {
      const [size] = yield* sql<{ readonly bytes: number }>`
        select coalesce(sum(pg_total_relation_size(relid)), 0)::float8 as bytes
        from pg_partition_tree(${table}::text::regclass)`
      const [plain] = yield* sql<{ readonly bytes: number }>`
        select pg_total_relation_size(${table}::text::regclass)::float8 as bytes`
      if (Math.max(size!.bytes, plain!.bytes) < largeBytes)
        yield* sql.unsafe(`create index ${quoted(name)} on ${quoted(table)} ${definition}`)
      else yield* Effect.logInfo(`The index ${name} is built while the platform runs, because ${table} is large`)
    }
  })

/** A table to be indexed: one of its own, or a partition; `parent` is the index that it is attached to. */
interface Missing {
  readonly build: IndexBuild
  readonly table: string
  readonly index: string
  readonly parent: string | undefined
  /** A build was cut short: its index is there and cannot be used. */
  readonly isLeft: boolean
}

const missingPlain = `
  select c.relkind = 'p' as "isPartitioned", i.indexrelid is not null as "isThere", coalesce(i.indisvalid, false) as "isValid"
  from pg_class c
  left join pg_class x on x.relname = $2 and x.relnamespace = c.relnamespace
  left join pg_index i on i.indexrelid = x.oid
  where c.oid = to_regclass($1)`

const missingPartitions = `
  select p.relname as "table", x.relname is not null as "isThere"
  from pg_inherits h
  join pg_class p on p.oid = h.inhrelid
  left join pg_class x on x.relname = left(p.relname || $3, 63) and x.relnamespace = p.relnamespace
  where h.inhparent = to_regclass($1) and not exists (
    select from pg_index i join pg_inherits a on a.inhrelid = i.indexrelid
    where i.indrelid = p.oid and a.inhparent = to_regclass($2) and i.indisvalid
  )
  order by p.relname`

/** The tables that an index is missing on. */
const missingOf = Effect.fnUntraced(function* (
  query: PgSession["query"],
  build: IndexBuild
): Effect.fn.Return<ReadonlyArray<Missing>, SqlError.SqlError> {
  const { name, table } = build
  const [plain] = (yield* query(missingPlain, [quoted(table), name])) as ReadonlyArray<{
    readonly isPartitioned: boolean
    readonly isThere: boolean
    readonly isValid: boolean
  }>
  if (plain === undefined || plain.isValid) return []
  if (!plain.isPartitioned) return [{ build, table, index: name, parent: undefined, isLeft: plain.isThere }]
  // Of the partitions that come from now on, PostgreSQL indexes each as it is attached.
  if (!plain.isThere) yield* query(`create index ${quoted(name)} on only ${quoted(table)} ${build.definition}`)
  const suffix = `_${name}`
  const rows = (yield* query(missingPartitions, [quoted(table), quoted(name), suffix])) as ReadonlyArray<{
    readonly table: string
    readonly isThere: boolean
  }>
  return rows.map((row) => ({
    build,
    table: row.table,
    index: `${row.table}${suffix}`.slice(0, 63),
    parent: name,
    isLeft: row.isThere
  }))
})

const ratio = (index: string) =>
  Metric.gauge("sluice_index_build_ratio", {
    description: "Progress of an index that is being built, 0 to 1",
    attributes: { index }
  })

/** Shows how far the present build is, on another connection, until it is interrupted. */
const showProgress = (
  sql: SqlClient.SqlClient,
  { build, table }: Missing,
  tell: (line: string) => Effect.Effect<void>
) =>
  Effect.gen(function* () {
    yield* Effect.sleep(Duration.millis(progressMillis))
    const [row] = yield* sql<{ readonly phase: string; readonly done: number | null }>`
      select phase, blocks_done::float8 / nullif(blocks_total, 0) as done from pg_stat_progress_create_index
      where relid = to_regclass(${quoted(table)})`
    if (row === undefined) return
    if (row.done !== null) yield* Metric.update(ratio(build.name), row.done)
    const share = row.done === null ? "" : `, ${Math.round(row.done * 100)} %`
    yield* tell(`Building the index ${build.name} on ${table}: ${row.phase}${share}`)
  }).pipe(Effect.ignore, Effect.forever)

/** insufficient_privilege */
const notPermitted = "42501"

const buildOne = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  session: PgSession,
  missing: Missing,
  tell: (line: string) => Effect.Effect<void>
) {
  const { build, index, isLeft, parent, table } = missing
  if (isLeft) yield* session.query(`drop index concurrently if exists ${quoted(index)}`)
  const create = session.query(`create index concurrently ${quoted(index)} on ${quoted(table)} ${build.definition}`)
  yield* Effect.raceFirst(create, showProgress(sql, missing, tell))
  if (parent !== undefined) yield* session.query(`alter index ${quoted(parent)} attach partition ${quoted(index)}`)
})

/** The result of a round: everything is there, or another node builds. */
export type BuildResult = "built" | "elsewhere"

/** The names of those indexes that are not there, or not whole. */
export const missingIndexes = (
  builds: ReadonlyArray<IndexBuild>
): Effect.Effect<ReadonlyArray<string>, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ readonly name: string }>`
        select c.relname as name from pg_class c join pg_index i on i.indexrelid = c.oid
        where i.indisvalid and c.relname = any(${builds.map(({ name }) => name)}::text[])
          and c.relnamespace = current_schema()::regnamespace`,
      (rows) => {
        const there = new Set(rows.map(({ name }) => name))
        return builds.flatMap(({ name }) => (there.has(name) ? [] : [name]))
      }
    )
  )

/** Builds what is missing of these indexes, one at a time. `tell` gets a line at the beginning and the progress. */
export const buildIndexes = (
  builds: ReadonlyArray<IndexBuild>,
  tell: (line: string) => Effect.Effect<void> = Effect.logInfo
): Effect.Effect<BuildResult, IndexNotAllowed | SqlError.SqlError, PgClient | SqlClient.SqlClient> =>
  Effect.scoped(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // As after every start but the first of a version.
      if ((yield* missingIndexes(builds)).length === 0) return "built" as const
      const session = yield* (yield* PgClient).session("indexes")
      const [lock] = yield* session.query("SELECT pg_try_advisory_lock($1) AS taken", [lockKey("index builds")])
      if (lock?.taken !== true) return "elsewhere" as const
      // A build may take hours, and ends with the session.
      yield* session.query("SET statement_timeout = 0")
      for (const build of builds) {
        const refused = (error: SqlError.SqlError) =>
          sqlState(error.reason.cause) === notPermitted ? new IndexNotAllowed({ index: build.name }) : error
        for (const missing of yield* Effect.mapError(missingOf(session.query, build), refused)) {
          yield* tell(`Building the index ${build.name} on ${missing.table}`)
          yield* Effect.mapError(buildOne(sql, session, missing, tell), refused)
        }
      }
      return "built" as const
    })
  )

/** Builds what is missing in the background, and tries again after a failure, until everything is there. */
export const layerIndexBuilds = (
  builds: ReadonlyArray<IndexBuild>
): Layer.Layer<never, never, PgClient | SqlClient.SqlClient> =>
  Layer.effectDiscard(
    Effect.forkScoped(
      Effect.gen(function* () {
        while (true) {
          const exit = yield* Effect.exit(buildIndexes(builds))
          if (Exit.isSuccess(exit) && exit.value === "built") return
          if (Exit.isFailure(exit)) {
            if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.failCause(exit.cause as Cause.Cause<never>)
            const error = Cause.squash(exit.cause)
            if (error instanceof IndexNotAllowed) return yield* Effect.logWarning(error.message)
            yield* Effect.logWarning("An index could not be built, and is tried again in a minute", exit.cause)
          }
          yield* Effect.sleep(Duration.millis(otherBuilderMillis))
        }
      })
    )
  )
