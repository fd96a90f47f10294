/** Creates the table of a work queue (`WorkQueue.ts`), as a migration. Needs `SqlClient`. */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

const validTable = /^[a-z][a-z_]{0,40}$/

/** A queue's table in a statement. Throws on a malformed name, since the name becomes part of the text. */
export const tableOf = (sql: SqlClient.SqlClient, name: string) => {
  if (!validTable.test(name)) throw new Error(`${JSON.stringify(name)} is no name for a table`)
  return sql(name)
}

/**
 * The table of a queue, as a migration. An index finds groups, so a stopped group costs the others nothing. A
 * block index finds expired jobs, since jobs come in nearly in that order.
 */
export const createWorkQueue = (name: string): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const table = tableOf(sql, name)
    yield* sql`
      create table ${table} (
        id text collate "C" primary key,
        partition int4 not null,
        group_key text collate "C" not null,
        lane int2 not null,
        due_at int8,
        attempts int4 not null,
        expires_at int8,
        payload text not null,
        error text
      ) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1)`
    yield* sql`
      create index ${sql(`${name}_due`)} on ${table} (partition, group_key, lane, due_at) where due_at is not null`
    yield* sql`
      create index ${sql(`${name}_parked`)} on ${table} (partition, group_key) where due_at is null`
    yield* sql`
      create index ${sql(`${name}_expiry`)} on ${table} using brin (expires_at) with (pages_per_range = 16, autosummarize = on)`
  })

/** Adds lines to the table of a queue: the line of a job, its place there, and an index that finds the first of each. */
export const addLines = (name: string): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const table = tableOf(sql, name)
    yield* sql`alter table ${table} add line text collate "C", add place int8, add place_index int4`
    yield* sql`
      create index ${sql(`${name}_lines`)} on ${table} (partition, group_key, line, place, place_index)
      where line is not null`
  })
