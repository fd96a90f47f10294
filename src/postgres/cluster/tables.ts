/** Creates the tables in which the nodes of a deployment publish themselves (`nodes.ts`). Needs `SqlClient`. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { formatLevels } from "../../common/formatLevels.ts"

export const createClusterTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table cluster_nodes (
      name text primary key,
      version text not null,
      role text not null,
      started_at timestamptz not null default now(),
      seen_at timestamptz not null default now(),
      is_draining boolean not null default false
    )`
  yield* sql`
    create table cluster_partitions (
      partition integer primary key,
      node text not null,
      taken_at timestamptz not null default now()
    )`
})

/**
 * The level of formats in force (`postgres/formats.ts`), and the newest one that each node knows. Nodes of a program
 * that knows no levels show none, and count as the first one.
 */
export const createFormatLevels = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table deployment_formats (
      one boolean primary key default true check (one),
      level integer not null,
      raised_at timestamptz not null default now(),
      raised_by text
    )`
  yield* sql`insert into deployment_formats (level) values (${formatLevels.first})`
  yield* sql`alter table cluster_nodes add column level integer not null default 1`
})
