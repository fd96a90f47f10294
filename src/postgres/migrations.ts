/**
 * Creates the tables of the engine's adapters: checkpoints, cursors, parked records. To decide, the engine needs
 * nothing of them beyond the checkpoint that the log continues from (docs/architecture.md, rule 1). Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createClusterTables, createFormatLevels } from "./cluster/tables.ts"
import type { Migration } from "./migrate.ts"
import { createProgramTable } from "./program.ts"
import { addLines, createWorkQueue } from "./workQueueTable.ts"

/** The work queue of all workers of an engine. */
export const workerJobsTable = "engine_jobs"

/** Names sort by bytes, which the index must agree with; the engine sorts a page again when its own order counts. */
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

/** Gives every deployment its id: an existing database now, a new one together with its number of partitions. */
export const addDeploymentId = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table engine_deployment add column id uuid not null default gen_random_uuid()`
})

/**
 * Counts parked records in the transaction that parks them or takes them off, so that nobody scans half a million
 * records to find out who has any.
 */
export const countParked = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table engine_parked_counts (
      partition int4 not null,
      reactor text collate "C" not null,
      organization text collate "C" not null,
      count int8 not null,
      primary key (partition, reactor, organization)
    )`
  yield* sql`
    create table engine_parked_totals (
      partition int4 not null,
      reactor text collate "C" not null,
      count int8 not null,
      primary key (partition, reactor)
    ) with (fillfactor = 50)`
  yield* sql`
    insert into engine_parked_counts
    select partition, reactor, organization, count(*) from engine_parked group by partition, reactor, organization`
  yield* sql`
    insert into engine_parked_totals
    select partition, reactor, sum(count) from engine_parked_counts group by partition, reactor`
})

/**
 * Puts another index in the place of the one by checkpoint. The old one fits every statement that names a partition and
 * bounds a sequence, those that look actors up among them, and while PostgreSQL knows nothing of a table it takes it
 * for as good as the primary key: each absent actor then costs a walk over its partition. Every sequence is above 0, so
 * the new index holds the same rows, but a statement that does not say so cannot be planned with it. It is made before
 * the old one is dropped, so that nothing is locked against readers meanwhile.
 */
export const keepLookupsOnPrimaryKey = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create index engine_actors_by_sequence on engine_actors (partition, sequence) where sequence > 0`
  yield* sql`drop index engine_actors_by_checkpoint`
})

/** Rows that mean nothing after some time are found by it and go, without a fact or a wake of their actors. */
export const addExpiryOfActors = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table engine_actors add column expires_at float8`
  yield* sql`
    create index engine_actors_by_expiry on engine_actors (partition, expires_at) where expires_at is not null`
})

/**
 * Takes rows that go by themselves out of the index by sequence, by which superseded ones are found: none of them is,
 * and there may be thousands a second. The new index is made before the old one is dropped, and each query by sequence
 * states that it means the other rows.
 */
export const keepExpiringRowsApart = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create index engine_actors_lasting on engine_actors (partition, sequence) where sequence > 0 and expires_at is null`
  yield* sql`drop index engine_actors_by_sequence`
})

/** Keeps the places of ingests with each checkpoint, as JSON; null where there are none. */
export const addIngestPlaces = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table engine_checkpoints add column ingests json`
})

/** Keeps the progress of a reactor that is rebuilt from states beside its cursor, as JSON; null for others. */
export const addRebuilds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table engine_cursors add column rebuild json`
})

/** Keeps the jobs of workers (docs/workers.md), each in the line of its organization, so that a worker may be ordered. */
export const createWorkerJobs = Effect.andThen(createWorkQueue(workerJobsTable), addLines(workerJobsTable))

/** All steps of the engine's tables, in order: for a database that has nothing but an engine. */
export const engineMigrations: ReadonlyArray<Migration> = [
  { number: 1, name: "engine", run: createEngineTables },
  { number: 2, name: "id of the deployment", run: addDeploymentId },
  { number: 3, name: "counts of parked records", run: countParked },
  { number: 4, name: "look-ups of actors", run: keepLookupsOnPrimaryKey },
  { number: 5, name: "expiry of actors", run: addExpiryOfActors },
  { number: 6, name: "expiring rows apart", run: keepExpiringRowsApart },
  { number: 7, name: "nodes", run: createClusterTables },
  { number: 8, name: "levels of formats", run: createFormatLevels },
  { number: 9, name: "the program", run: createProgramTable },
  { number: 10, name: "places of ingests", run: addIngestPlaces },
  { number: 11, name: "jobs of workers", run: createWorkerJobs },
  { number: 12, name: "rebuilds from states", run: addRebuilds }
]
