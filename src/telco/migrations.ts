/**
 * Creates the table of organizations' numbers (docs/platform.md, 4.4): reference data that operators import, so it is
 * in PostgreSQL only.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The key sorts numbers by their digits, so the numbers of an area code are a range of it. */
export const createTelcoTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table telco_numbers (
      organization_id text collate "C" not null,
      tn text collate "C" not null check (tn ~ '^[0-9]{10}$'),
      added_at int8 not null,
      primary key (organization_id, tn)
    )`
})
