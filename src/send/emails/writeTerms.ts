/**
 * Writes the rows of the search, as part of the SQL reactor's batch (docs/platform.md, 9.20). Needs `SqlClient`,
 * `DayPartitions` and `AcceptedTerms`.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { DayPartitions } from "../../postgres/dayPartitions.ts"
import { deferred } from "../../postgres/deferredStatements.ts"
import { unnest } from "../../postgres/unnest.ts"
import { AcceptedTerms } from "../search/AcceptedTerms.ts"
import { emailTermsTable, keptTermsMillis } from "./searchTable.ts"

/** An email that was accepted. */
export interface SearchedEmail {
  readonly organization_id: string
  readonly id: string
  readonly mode: string
  readonly accepted_at: number
}

/** An array of int4 as PostgreSQL reads it. */
export const arrayText = (digests: ReadonlyArray<number>): string => `{${digests.join(",")}}`

/** Writes a row for each, without terms where they are not at hand; `layerTermsSweep` adds those. */
export const writeTerms = Effect.fnUntraced(function* (emails: ReadonlyArray<SearchedEmail>) {
  const sql = yield* SqlClient.SqlClient
  const accepted = yield* AcceptedTerms
  const days = yield* DayPartitions
  // Facts of older emails come when the reactor is rebuilt.
  const oldest = (yield* Clock.currentTimeMillis) - keptTermsMillis
  const rows = emails.flatMap((email) => {
    const digests = accepted.take(email.id)
    return email.accepted_at < oldest ? [] : [{ ...email, terms: digests === undefined ? null : arrayText(digests) }]
  })
  if (rows.length === 0) return
  yield* days.ensureDays(
    emailTermsTable,
    rows.map(({ accepted_at }) => accepted_at)
  )
  if (rows.some(({ terms }) => terms === null)) yield* sql.afterCommit(Effect.sync(accepted.missed))
  yield* deferred(
    sql,
    sql`
      insert into ${sql(emailTermsTable)} (organization_id, mode, accepted_at, id, terms)
      select organization_id, mode, accepted_at, id, terms::int4[] from ${unnest(rows, {
        organization_id: "text",
        mode: "text",
        accepted_at: "int8",
        id: "text",
        terms: "text"
      })}
      on conflict do nothing`
  )
})
