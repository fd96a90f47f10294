/** Makes the table of the request log (docs/platform.md, 2.12), for its migration. Needs `SqlClient`. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createDayPartitioned } from "../../postgres/dayPartitions.ts"

export const requestsTable = "api_requests"

export const createRequestsTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* createDayPartitioned(requestsTable, {
    column: "at",
    columns: `
      organization_id text collate "C" not null,
      at int8 not null,
      id text collate "C" not null,
      mode text collate "C" not null,
      api_key_id text collate "C" not null,
      method text collate "C" not null,
      path text collate "C" not null,
      route text collate "C" not null,
      status int4 not null,
      code text collate "C",
      duration_millis int4 not null,
      request_id text collate "C" not null,
      address text collate "C",
      count int4 not null,
      request_body text,
      answer_body text,
      facts jsonb,
      primary key (organization_id, at, id)`
  })
  yield* sql`create index on ${sql(requestsTable)} (organization_id, request_id)`
  yield* sql`create index on ${sql(requestsTable)} (organization_id, route, at, id)`
  yield* sql`create index on ${sql(requestsTable)} (organization_id, path, at, id) where path <> route`
  yield* sql`create index on ${sql(requestsTable)} (organization_id, at, id) where status >= 400`
})
