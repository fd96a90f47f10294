/**
 * The tables of the engine's adapters: checkpoints, cursors, parked records. Nothing in them is needed beyond the checkpoint that the log
 * continues from (architecture, rule 1). Run as a migration. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Names sort by bytes, as an index must know; the engine sorts pages again where its own order counts. */
export const createEngineTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table engine_deployment (
      one boolean primary key default true check (one),
      partitions int4 not null check (partitions > 0)
    )`
  yield* sql`
    create table engine_partitions (
      partition int4 primary key,
      newest_checkpoint int8 not null default 0,
      pruned_through int8 not null default 0
    )`
  yield* sql`
    create table engine_checkpoints (
      partition int4 not null,
      sequence int8 not null,
      hash text not null,
      epoch int8 not null,
      number int8 not null,
      now_millis int8 not null,
      signal_sequence int8 not null,
      primary key (partition, sequence)
    )`
  yield* sql`
    create table engine_actors (
      partition int4 not null,
      organization text collate "C" not null,
      kind text collate "C" not null,
      key text collate "C" not null,
      sequence int8 not null,
      version int4 not null,
      state text,
      wake_at float8,
      primary key (partition, organization, kind, key, sequence)
    ) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1)`
  yield* sql`
    create index engine_actors_by_timer on engine_actors (partition, wake_at, organization, kind, key)
    where wake_at is not null`
  yield* sql`create index engine_actors_by_checkpoint on engine_actors (partition, sequence)`
  yield* sql`
    create table engine_cursors (
      partition int4 not null,
      reactor text collate "C" not null,
      sequence int8 not null,
      hash text not null,
      primary key (partition, reactor)
    ) with (fillfactor = 50)`
  yield* sql`
    create table engine_parked (
      partition int4 not null,
      reactor text collate "C" not null,
      organization text collate "C" not null,
      sequence int8 not null,
      record_index int4 not null,
      record text not null,
      error text not null,
      parked_at timestamptz not null default now(),
      primary key (partition, reactor, organization, sequence, record_index)
    )`
})
