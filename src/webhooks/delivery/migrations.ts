/**
 * Creates the tables of deliveries: endpoints as the SQL reactor has folded them, one row per delivery with its
 * attempts, events that an endpoint missed while it was Paused or Disabled, and the work queue of pending deliveries.
 * Deliveries and skipped events are partitioned by the day of their event, so that they are dropped with it.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { setDayFillFactor } from "../../postgres/dayPartitions.ts"
import { addLines, createWorkQueue } from "../../postgres/workQueueTable.ts"
import { endpointsTable } from "../endpoint/model.ts"
import { deliveriesTable, jobsTable, replaysTable, skippedTable } from "./model.ts"

/**
 * How full the pages of deliveries are at first, in percent. Each row and its neighbours are written at least once
 * more, longer by an attempt. With this figure nine of ten outcomes change no index; with 65 it is four of ten, and the
 * table is no smaller.
 */
const deliveriesFillFactor = 45

/** How full they are once most rows are written with their outcome: an update is for what retries or takes long. */
const recordedFillFactor = 90

/** Fills the pages of deliveries of coming days. */
export const fillPagesOfDeliveries = setDayFillFactor(deliveriesTable, recordedFillFactor)

/** Leaves room on the pages of deliveries of coming days. */
export const leaveRoomForOutcomes = setDayFillFactor(deliveriesTable, deliveriesFillFactor)

export const createDeliveryTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* createWorkQueue(jobsTable)
  // `state` is the endpoint as JSON, null once it was deleted and until its pending deliveries are cancelled;
  // `sequence` is the frame of its last fact. Each page has room, because every batch of outcomes writes
  // `last_delivery_*`.
  yield* sql`
    create table ${sql(endpointsTable)} (
      id text collate "C" primary key,
      organization_id text collate "C" not null,
      partition int4 not null,
      sequence int8 not null,
      state text,
      last_delivery_at int8,
      last_delivery_status int4
    ) with (fillfactor = 50)`
  yield* sql`create index webhook_endpoints_of_organization on ${sql(endpointsTable)} (organization_id)`
  yield* sql`create index webhook_endpoints_deleted on ${sql(endpointsTable)} (partition, id) where state is null`
  yield* sql`
    create table ${sql(deliveriesTable)} (
      id text collate "C" not null,
      organization_id text collate "C" not null,
      endpoint_id text collate "C" not null,
      event_id text collate "C" not null,
      event_type text not null,
      event_created_at int8 not null,
      origin text not null,
      created_at int8 not null,
      status text not null,
      attempts int4 not null,
      attempt_log text not null,
      next_attempt_at int8,
      settled_at int8,
      primary key (id, event_created_at)
    ) partition by range (event_created_at)`
  yield* sql`
    create index webhook_deliveries_newest on ${sql(deliveriesTable)} (endpoint_id, created_at desc, id desc)`
  yield* sql`
    create table ${sql(skippedTable)} (
      organization_id text collate "C" not null,
      endpoint_id text collate "C" not null,
      event_id text collate "C" not null,
      event_type text not null,
      event_created_at int8 not null,
      sequence int8 not null,
      idx int4 not null,
      reason text not null,
      primary key (endpoint_id, event_created_at, sequence, idx)
    ) partition by range (event_created_at)`
})

/** Adds lines to the queue of deliveries, and to replays their place in the log, which is that of their deliveries. */
export const addDeliveryLines = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* addLines(jobsTable)
  yield* sql`alter table ${sql(replaysTable)} add sequence int8`
})
