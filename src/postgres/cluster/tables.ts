/** The tables in which the nodes of a deployment show themselves (`nodes.ts`). Needs `SqlClient`. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

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
