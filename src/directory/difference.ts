import { Effect } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import type { Dataset } from "./datasets.ts"
import type { Unread } from "./files/DatasetReader.ts"

/**
 * Computes a staged file's changes of the stored records, in the database: `compare` counts the changes, `apply`
 * makes them and touches no other row. Both run in the transaction of the staging table. Needs `SqlClient`.
 */
export interface Difference {
  readonly added: number
  readonly changed: number
  readonly removed: number
}

/** The removals that a file may make. */
export interface Scope {
  /** The area codes that the file covers; null when it covers all records of its kind. */
  readonly areaCodes: ReadonlyArray<string> | null
  /** The records that its malformed lines may be about; they stay. */
  readonly unread: Unread
  /** Area codes to remove because the file leaves them out. */
  readonly retired: ReadonlyArray<string>
}

/** The temporary table that a file of the dataset is staged in. */
export const stagingTable = (dataset: Dataset): string => `staged_${dataset.table}`

/** The columns. */
export const namesOf = (dataset: Dataset) => dataset.columns.map(([name]) => name)
/** The columns of the key. */
export const keysOf = (dataset: Dataset) => namesOf(dataset).slice(0, dataset.keyLength)
const valuesOf = (dataset: Dataset) => namesOf(dataset).slice(dataset.keyLength)
const of = (alias: string, names: ReadonlyArray<string>) => names.map((name) => `${alias}.${name}`).join(", ")

/** Parts of the statements on a staged file: `c` is a stored record, `s` a staged one. */
export const makeFragments = (sql: SqlClient.SqlClient, dataset: Dataset, scope: Scope) => {
  const stored = sql`${sql(dataset.table)} c`
  const staged = sql`${sql(stagingTable(dataset))} s`
  const sameKey = sql.literal(
    keysOf(dataset)
      .map((name) => `c.${name} = s.${name}`)
      .join(" and ")
  )
  const values = valuesOf(dataset)
  const { areaCodes, retired, unread } = scope
  const ours = dataset.country === null ? sql`true` : sql`c.country = ${dataset.country}`
  const spokenFor = areaCodes === null ? sql`true` : sql`c.npa = any(${areaCodes}::text[])`
  const absent = sql`(${ours} and ${spokenFor} and not exists (select 1 from ${staged} where ${sameKey}))`
  const key = sql.literal(
    keysOf(dataset)
      .map((name) => `c.${name}`)
      .join(" || ")
  )
  const isUnread = unread.unknown > 0 ? sql`true` : sql`${key} = any(${unread.keys}::text[])`
  const isRetired = areaCodes === null ? sql`false` : sql`(${ours} and c.npa = any(${retired}::text[]))`
  return {
    ours,
    stored,
    staged,
    kept: sql`${absent} and ${isUnread}`,
    absent: sql`${absent} and not ${isUnread}`,
    retired: isRetired,
    removed: sql`((${absent} and not ${isUnread}) or ${isRetired})`,
    changed: sql`${sameKey} and (${sql.literal(of("c", values))}) is distinct from (${sql.literal(of("s", values))})`,
    added: sql`from ${staged} where not exists (select 1 from ${stored} where ${sameKey})`
  }
}

const count = (statement: Statement.Statement<{ readonly count: number }>): Effect.Effect<number, SqlError.SqlError> =>
  Effect.map(statement, (rows) => Number(rows[0]!.count))

/** Counts what `apply` would do. */
export const compare = Effect.fnUntraced(function* (
  dataset: Dataset,
  scope: Scope
): Effect.fn.Return<Difference, SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const { added, changed, removed, staged, stored } = makeFragments(sql, dataset, scope)
  return {
    removed: yield* count(sql`select count(*) from ${stored} where ${removed}`),
    changed: yield* count(sql`select count(*) from ${stored}, ${staged} where ${changed}`),
    added: yield* count(sql`select count(*) ${added}`)
  }
})

/** The file's removals, for the rules in `admission.ts` to judge. */
export interface Removals {
  /** Records of the file's kind that are stored. */
  readonly stored: number
  /** Records that the file covers and does not have, without retired ones. */
  readonly removed: number
  /** Records that the file does not have and that stay, because malformed lines may be about them. */
  readonly kept: number
  /**
   * For each area code that loses records, how many it has and how many it loses. Empty for files without area codes.
   */
  readonly areaCodes: ReadonlyArray<{ readonly npa: string; readonly stored: number; readonly removed: number }>
  /** Stored area codes that the file does not name, ascending. */
  readonly leftOut: ReadonlyArray<string>
}

/** Counts what would be removed, before anything is. */
export const removals = Effect.fnUntraced(function* (
  dataset: Dataset,
  scope: Scope
): Effect.fn.Return<Removals, SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const { absent, kept, ours, stored } = makeFragments(sql, dataset, scope)
  const npa = scope.areaCodes === null ? sql`null::text` : sql`c.npa`
  const rows = yield* sql<{
    readonly npa: string | null
    readonly stored: number
    readonly removed: number
    readonly kept: number
  }>`
    select npa, sum(stored)::int as stored, sum(removed)::int as removed, sum(kept)::int as kept from (
      select ${npa} as npa, 1 as stored, (${absent})::int as removed, (${kept})::int as kept from ${stored} where ${ours}
    ) as looked group by npa order by npa`
  const named = new Set(scope.areaCodes)
  const codes = rows.flatMap(({ npa, removed, stored }) => (npa === null ? [] : [{ npa, stored, removed }]))
  return {
    stored: rows.reduce((sum, row) => sum + row.stored, 0),
    removed: rows.reduce((sum, row) => sum + row.removed, 0),
    kept: rows.reduce((sum, row) => sum + row.kept, 0),
    areaCodes: codes.filter(({ removed }) => removed > 0),
    leftOut: codes.flatMap(({ npa }) => (named.has(npa) ? [] : [npa]))
  }
})

/** Replaces the stored records that the file covers by the file's. */
export const apply = Effect.fnUntraced(function* (
  dataset: Dataset,
  scope: Scope
): Effect.fn.Return<Difference, SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const { added, changed, removed, staged, stored } = makeFragments(sql, dataset, scope)
  const names = sql.literal(namesOf(dataset).join(", "))
  const assignments = sql.literal(
    valuesOf(dataset)
      .map((name) => `${name} = s.${name}`)
      .join(", ")
  )
  return {
    removed: yield* count(sql`
      with touched as (delete from ${stored} where ${removed} returning 1) select count(*) from touched`),
    changed: yield* count(sql`
      with touched as (update ${stored} set ${assignments} from ${staged} where ${changed} returning 1)
      select count(*) from touched`),
    added: yield* count(sql`
      with touched as (insert into ${sql(dataset.table)} (${names}) select ${names} ${added} returning 1)
      select count(*) from touched`)
  }
})

/** The codes of a staged file that are stored as another country's: their number, and some of them as NPA-NXX. */
export const conflicts = Effect.fnUntraced(function* (
  dataset: Dataset,
  atMost: number
): Effect.fn.Return<
  { readonly count: number; readonly examples: ReadonlyArray<string> },
  SqlError.SqlError,
  SqlClient.SqlClient
> {
  if (dataset.country === null) return { count: 0, examples: [] }
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly code: string; readonly count: number }>`
    select c.npa || '-' || c.nxx as code, count(*) over () as count
    from ${sql(dataset.table)} c join ${sql(stagingTable(dataset))} s using (npa, nxx)
    where c.country <> ${dataset.country} order by code limit ${atMost}`
  return { count: Number(rows[0]?.count ?? 0), examples: rows.map((row) => row.code) }
})
