/**
 * Creates the event log's table (docs/platform.md, 5.4): a projection of the decisions' events, partitioned by day.
 * `body` is the event as it is shown and delivered (`encodeEvent`). Within one organization the order of events is
 * (created_at, sequence, idx): time never goes back in a partition of the engine, and an organization lives in one.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createDayPartitioned } from "../postgres/dayPartitions.ts"
import type { IndexBuild } from "../postgres/indexBuilds.ts"
import { eventsTable } from "./table.ts"

export const createEventTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* createDayPartitioned(eventsTable, {
    column: "created_at",
    columns: `
      organization_id text collate "C" not null,
      event_id text collate "C" not null,
      type text collate "C" not null,
      service text collate "C" not null,
      livemode boolean not null,
      created_at int8 not null,
      sequence int8 not null,
      idx int4 not null,
      body text not null,
      primary key (organization_id, created_at, sequence, idx)`
  })
  yield* sql`create index events_by_id on events (event_id)`
})

/** Tells an operator's test events from those that a test key caused: replays need it. */
export const addReachOfEvents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table ${sql(eventsTable)} add for_both_modes bool not null default false`
})

/**
 * Adds the object of an event (docs/platform.md, 5.4), which is stored from this version on: older events leave the log
 * within 30 days. Changes no row, so that the lock that it needs is short.
 */
export const addObjectOfEvents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table ${sql(eventsTable)} add object text collate "C"`
})

/** The indexes by which lists find events by type, by mode and by object, newest first. Rows are written once, so each costs one entry. */
export const eventIndexes: ReadonlyArray<IndexBuild> = [
  {
    name: "events_by_type",
    table: eventsTable,
    definition: "(organization_id, type, livemode, created_at, sequence, idx)"
  },
  {
    name: "events_by_object",
    table: eventsTable,
    definition: "(organization_id, object, created_at, sequence, idx) where object is not null"
  }
]
