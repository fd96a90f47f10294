import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Dataset } from "./datasets.ts"
import { keysOf, makeFragments, namesOf, type Scope } from "./difference.ts"
import type { ShownChange } from "./ingestionSchema.ts"

/**
 * Keeps what ingestions change (docs/directory.md, 6.6): each record before and after. The changes of a file are staged
 * in the transaction that compares it, before they are made. Needs `SqlClient`.
 */

/** Changes that a summary lists. */
export const listedChangesLimit = 100

/** How long changes are kept after their ingestion. */
export const keptChangesMillis = 400 * 24 * 60 * 60 * 1000

const stagedTable = "staged_changes"

/**
 * Creates the table of changes. Without it an ingestion keeps none.
 *
 * @example
 * ```ts
 * import { createDirectoryChanges, createDirectoryTables } from "sluice/directory"
 *
 * // two of the `migrations` of `Durable.layer`
 * export const migrations = [
 *   { number: 1, name: "directory", run: createDirectoryTables },
 *   { number: 2, name: "changes of the directory", run: createDirectoryChanges }
 * ]
 * ```
 */
export const createDirectoryChanges = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table directory_changes (
      ingestion bigint not null references directory_ingestions (id),
      key text collate "C" not null,
      change text not null check (change in ('added', 'changed', 'removed')),
      before jsonb,
      after jsonb,
      primary key (ingestion, key)
    )`
})

/** Programs that embed the directory may have made its tables without this one. */
const hasPlace = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly found: boolean }>`select to_regclass('directory_changes') is not null as found`
  return row?.found === true
})

/** A record without its key, as JSON, with the names that the API uses. */
const recordOf = (alias: "c" | "s", dataset: Dataset): string => {
  const keys = `array[${keysOf(dataset)
    .map((name) => `'${name}'`)
    .join(", ")}]`
  const whole = `to_jsonb(${alias}) - ${keys}`
  return namesOf(dataset).includes("company")
    ? `(${whole} - 'company') || jsonb_build_object('company_name', ${alias}.company)`
    : `(${whole})`
}

/** The key of a record as text: `212-556`, `212-556-0`, an OCN, an area code. */
const keyOf = (alias: "c" | "s", dataset: Dataset): string =>
  keysOf(dataset)
    .map((name) => `${alias}.${name}`)
    .join(" || '-' || ")

/** Stages what the staged file adds, changes and removes. The transaction drops the table. */
export const stageChanges = Effect.fnUntraced(function* (
  dataset: Dataset,
  scope: Scope
): Effect.fn.Return<void, SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const { added, changed, removed, staged, stored } = makeFragments(sql, dataset, scope)
  const [keyOfStored, keyOfStaged] = [sql.literal(keyOf("c", dataset)), sql.literal(keyOf("s", dataset))]
  const [before, after] = [sql.literal(recordOf("c", dataset)), sql.literal(recordOf("s", dataset))]
  yield* sql`
    create temporary table ${sql(stagedTable)} (key text collate "C", change text, before jsonb, after jsonb)
      on commit drop`
  yield* sql`
    insert into ${sql(stagedTable)}
    select ${keyOfStored}, 'removed', ${before}, null from ${stored} where ${removed}
    union all select ${keyOfStored}, 'changed', ${before}, ${after} from ${stored}, ${staged} where ${changed}
    union all select ${keyOfStaged}, 'added', null, ${after} ${added}`
})

/** The first staged changes, by key. */
export const firstChanges: Effect.Effect<
  ReadonlyArray<ShownChange>,
  SqlError.SqlError,
  SqlClient.SqlClient
> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<ShownChange>`
      select key, change, before, after from ${sql(stagedTable)} order by key limit ${listedChangesLimit}`
)

/** Keeps the staged changes as those of an ingestion, and drops those that are too old. */
export const keepChanges = Effect.fnUntraced(function* (
  ingestion: number,
  nowMillis: number
): Effect.fn.Return<void, SqlError.SqlError, SqlClient.SqlClient> {
  if (!(yield* hasPlace)) return
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into directory_changes (ingestion, key, change, before, after)
    select ${ingestion}::int8, key, change, before, after from ${sql(stagedTable)}`
  yield* sql`
    delete from directory_changes where ingestion in (
      select id from directory_ingestions where finished_at < ${new Date(nowMillis - keptChangesMillis)}
    )`
})
