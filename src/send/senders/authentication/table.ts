/** Makes room for the verdicts about SPF and DMARC in the rows of domains. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The last check of a domain: its time and its verdicts. */
export const addDomainAuthentication = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table send_domains add column authentication jsonb`
})
