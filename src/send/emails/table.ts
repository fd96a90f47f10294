/**
 * Names the table of emails (docs/platform.md, 9.11). A row is a projection of its email's facts and lives as long as
 * the actor: from the email's acceptance until it is forgotten, 30 days after its final state.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { IndexBuild } from "../../postgres/indexBuilds.ts"

export const emailsTable = "send_emails"

/**
 * `history` has a line of JSON for each thing that happened, `[state, at]` or `[state, at, recipient]`; `sequence` is
 * the frame of the last of them. Times are Unix milliseconds. Each page has room for later versions of its rows, which
 * change no index.
 */
export const createEmailsTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table ${sql(emailsTable)} (
      organization_id text collate "C" not null,
      id text collate "C" not null,
      mode text collate "C" not null,
      accepted_at int8 not null,
      state text not null,
      pointer text collate "C" not null,
      scheduled_at int8,
      sequence int8 not null,
      history text not null,
      primary key (organization_id, id)
    ) with (fillfactor = 60)`
  yield* sql`
    create index send_emails_newest on ${sql(emailsTable)} (organization_id, mode, accepted_at desc, id desc)`
})

/** Reports of other mail systems name an email alone (docs/handoff.md, 6). */
export const findEmailsById = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create index send_emails_by_id on ${sql(emailsTable)} (id)`
})

/**
 * Adds the domain of an email's sender, which is stored from this version on: older emails are found without it until
 * they are forgotten. Changes no row, so that the lock that it needs is short.
 */
export const addDomainOfEmails = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table ${sql(emailsTable)} add domain text collate "C"`
})

/** The indexes by which lists find emails by state and by domain, newest first. */
export const emailIndexes: ReadonlyArray<IndexBuild> = [
  {
    name: "send_emails_by_state",
    table: emailsTable,
    definition: "(organization_id, mode, state, accepted_at, id)"
  },
  {
    name: "send_emails_by_domain",
    table: emailsTable,
    definition: "(organization_id, mode, domain, state, accepted_at, id) where domain is not null"
  }
]
