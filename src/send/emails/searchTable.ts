/**
 * Names the table by which emails are found by their texts (docs/platform.md, 9.20). A row has encrypted terms, which
 * nobody reads without the data key of the organization.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createDayPartitioned } from "../../postgres/dayPartitions.ts"
import { maximumScheduleMillis } from "../limits.ts"
import { keptContentMillis } from "./contents/limits.ts"

export const emailTermsTable = "send_email_terms"

const dayMillis = 24 * 60 * 60 * 1000

/** How long rows are kept: no content of an older email is kept, even if the email waited for its time and a relay. */
export const keptTermsMillis = maximumScheduleMillis + keptContentMillis + 3 * dayMillis

/** `terms` is null until a process has read the email's content for them. Times are Unix milliseconds. */
export const createEmailTerms = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const table = sql(emailTermsTable)
  yield* createDayPartitioned(emailTermsTable, {
    column: "accepted_at",
    columns: `
      organization_id text collate "C" not null,
      mode text collate "C" not null,
      accepted_at int8 not null,
      id text collate "C" not null,
      terms int4[],
      primary key (organization_id, mode, accepted_at, id)`
  })
  yield* sql`create index send_email_terms_by_term on ${table} using gin (terms)`
  yield* sql`create index send_email_terms_missing on ${table} (accepted_at) where terms is null`
})
