import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { carrierTypes, countries, datasetKinds, exchangeStatuses } from "./model.ts"

const inList = (sql: SqlClient.SqlClient) => (values: ReadonlyArray<string>) =>
  sql.literal(values.map((value) => `'${value}'`).join(", "))

/** The kinds of file that the first tables knew. */
const firstKinds = ["NANPA", "CNAC", "CARRIER_TYPES", "NPA_REPORT"]

/**
 * Tables of the number directory: plain rows that an operator can query. The records as the files give them, one
 * table a kind; what was ingested when, which is never deleted; and the generation, which every change of the records
 * raises, so that a node knows whether its index is still the one of the database.
 *
 * @example
 * ```ts
 * import { createDirectoryTables } from "sluice/directory"
 *
 * // one of the `migrations` of `Durable.layer`
 * export const migration = { number: 1, name: "directory", run: createDirectoryTables }
 * ```
 */
export const createDirectoryTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const oneOf = inList(sql)
  yield* sql`
    create table directory_codes (
      npa text not null check (npa ~ '^[0-9]{3}$'),
      nxx text not null check (nxx ~ '^[0-9]{3}$'),
      country text not null check (country in (${oneOf(countries)})),
      state text,
      ocn text,
      company text,
      rate_center text,
      status text not null check (status in (${oneOf(exchangeStatuses)})),
      primary key (npa, nxx)
    )`
  yield* sql`
    create table directory_carrier_types (
      ocn text primary key,
      company_name text,
      common_name text,
      type text check (type in (${oneOf(carrierTypes)})),
      country text not null check (country in (${oneOf(countries)}))
    )`
  yield* sql`
    create table directory_area_codes (
      npa text primary key check (npa ~ '^[0-9]{3}$'),
      in_service boolean not null,
      use text check (use in ('G', 'N')),
      country text check (country in (${oneOf(countries)})),
      locations text[] not null
    )`
  yield* sql`
    create table directory_ingestions (
      id bigint generated always as identity primary key,
      kind text not null check (kind in (${oneOf(firstKinds)})),
      source text not null,
      publication_date date,
      sha256 text not null,
      started_at timestamptz not null,
      finished_at timestamptz not null,
      read integer not null,
      added integer not null,
      changed integer not null,
      removed integer not null,
      malformed integer not null,
      malformed_lines jsonb not null
    )`
  yield* sql`create index directory_ingestions_latest on directory_ingestions (kind, finished_at desc)`
  yield* sql`
    create table directory_generation (
      singleton boolean primary key default true check (singleton),
      generation bigint not null
    )`
  yield* sql`insert into directory_generation (generation) values (0)`
})

/**
 * Adds what later versions read from the same files: whether a code is pooled, and the details of an area code. Records
 * stored before have null, as if their file did not say, until the file is ingested again. Without these columns the
 * directory works as before.
 *
 * @example
 * ```ts
 * import { addDirectoryDetails, createDirectoryTables } from "sluice/directory"
 *
 * // two of the `migrations` of `Durable.layer`
 * export const migrations = [
 *   { number: 1, name: "directory", run: createDirectoryTables },
 *   { number: 2, name: "details of the directory", run: addDirectoryDetails }
 * ]
 * ```
 */
export const addDirectoryDetails = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table directory_codes add column pooled boolean`
  yield* sql`alter table directory_area_codes add column details jsonb`
})

/**
 * Adds the table of thousands blocks, and lets the history name their report. Without it the report is refused and the
 * directory works as before.
 *
 * @example
 * ```ts
 * import { addDirectoryBlocks, addDirectoryDetails, createDirectoryTables } from "sluice/directory"
 *
 * // the `migrations` of `Durable.layer`
 * export const migrations = [
 *   { number: 1, name: "directory", run: createDirectoryTables },
 *   { number: 2, name: "details of the directory", run: addDirectoryDetails },
 *   { number: 3, name: "thousands blocks", run: addDirectoryBlocks }
 * ]
 * ```
 */
export const addDirectoryBlocks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const oneOf = inList(sql)
  yield* sql`
    create table directory_blocks (
      npa text not null check (npa ~ '^[0-9]{3}$'),
      nxx text not null check (nxx ~ '^[0-9]{3}$'),
      block text not null check (block ~ '^[0-9]$'),
      status text not null check (status in (${oneOf(exchangeStatuses)})),
      ocn text,
      company text,
      primary key (npa, nxx, block)
    )`
  yield* sql`alter table directory_ingestions drop constraint directory_ingestions_kind_check`
  yield* sql`
    alter table directory_ingestions add constraint directory_ingestions_kind_check
      check (kind in (${oneOf(datasetKinds)}))`
})

/** The table of files that were not taken, the newest thousand (docs/directory.md, 6). See {@link createDirectoryTables}. */
export const createIngestionFailures = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table directory_ingestion_failures (
      id bigint generated always as identity primary key,
      at timestamptz not null,
      source text not null,
      code text not null,
      message text not null
    )`
})
