import { Effect } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import type { Dataset } from "./datasets.ts"
import type { Coverage } from "./files/reader.ts"

/**
 * What a staged file changes in the stored records, worked out by the database: `compare` counts it, `apply` does it
 * and touches no row that stays as it is. Both run in the transaction of the staging table. Needs `SqlClient`.
 */
export interface Difference {
  readonly added: number
  readonly changed: number
  readonly removed: number
}

/** The temporary table that a file of the dataset is staged in. */
export const stagingTable = (dataset: Dataset): string => `staged_${dataset.table}`

const namesOf = (dataset: Dataset) => dataset.columns.map(([name]) => name)
const keysOf = (dataset: Dataset) => namesOf(dataset).slice(0, dataset.keyLength)
const valuesOf = (dataset: Dataset) => namesOf(dataset).slice(dataset.keyLength)
const of = (alias: string, names: ReadonlyArray<string>) => names.map((name) => `${alias}.${name}`).join(", ")

const makeFragments = (sql: SqlClient.SqlClient, dataset: Dataset, coverage: Coverage) => {
  const stored = sql`${sql(dataset.table)} c`
  const staged = sql`${sql(stagingTable(dataset))} s`
  const sameKey = sql.literal(
    keysOf(dataset)
      .map((name) => `c.${name} = s.${name}`)
      .join(" and ")
  )
  const values = valuesOf(dataset)
  const conditions: Array<Statement.Fragment> = []
  if (dataset.country !== null) conditions.push(sql`c.country = ${dataset.country}`)
  // A file that is not whole speaks for its own area codes only.
  if (!coverage.whole) conditions.push(sql`c.npa = any(${coverage.areaCodes}::text[])`)
  return {
    stored,
    staged,
    removed: sql`${sql.and([...conditions, sql`not exists (select 1 from ${staged} where ${sameKey})`])}`,
    changed: sql`${sameKey} and (${sql.literal(of("c", values))}) is distinct from (${sql.literal(of("s", values))})`,
    added: sql`from ${staged} where not exists (select 1 from ${stored} where ${sameKey})`
  }
}

const count = (statement: Statement.Statement<{ readonly count: number }>): Effect.Effect<number, SqlError.SqlError> =>
  Effect.map(statement, (rows) => Number(rows[0]!.count))

/** Counts what `apply` would do. */
export const compare = Effect.fnUntraced(function* (
  dataset: Dataset,
  coverage: Coverage
): Effect.fn.Return<Difference, SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const { added, changed, removed, staged, stored } = makeFragments(sql, dataset, coverage)
  return {
    removed: yield* count(sql`select count(*) from ${stored} where ${removed}`),
    changed: yield* count(sql`select count(*) from ${stored}, ${staged} where ${changed}`),
    added: yield* count(sql`select count(*) ${added}`)
  }
})

/** Makes the stored records those of the file, as far as it covers them. */
export const apply = Effect.fnUntraced(function* (
  dataset: Dataset,
  coverage: Coverage
): Effect.fn.Return<Difference, SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const { added, changed, removed, staged, stored } = makeFragments(sql, dataset, coverage)
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

/** Codes of a staged file that are stored as another country's: how many, and some of them as NPA-NXX. */
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
