/**
 * Keeps the figures of emails by the hour in PostgreSQL (docs/platform.md, 9.19). The transaction that writes the rows
 * of emails adds them, so nothing is counted twice. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { bucketsOf } from "../../common/DurationHistogram.ts"
import { deferred } from "../../postgres/deferredStatements.ts"
import { type UnnestType, unnest } from "../../postgres/unnest.ts"
import { deliveryTimeBounds, type EmailHour, emailMeasures } from "./countEmails.ts"

export const emailHoursTable = "send_hours"

/** The columns of the buckets of times: t0 for the shortest. */
export const timeColumns: ReadonlyArray<string> = Array.from(
  { length: bucketsOf(deliveryTimeBounds) },
  (_, bucket) => `t${bucket}`
)

const countColumns: ReadonlyArray<string> = [...emailMeasures, ...timeColumns]

const keyColumns = { organization_id: "text", mode: "text", hour: "int8", domain: "text" } as const

/** Each page has room: the rows of the present hour are written again and again, and no index changes with it. */
export const createEmailHours = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table ${sql(emailHoursTable)} (
      organization_id text collate "C" not null,
      mode text collate "C" not null,
      hour int8 not null,
      domain text collate "C" not null,
      ${sql.literal(countColumns.map((column) => `${column} int4 not null`).join(", "))},
      primary key (organization_id, mode, hour, domain)
    ) with (fillfactor = 50)`
  yield* sql`create index send_hours_old on ${sql(emailHoursTable)} (hour)`
})

const listed = countColumns.join(", ")
const sums = countColumns.map((column) => `${column} = h.${column} + excluded.${column}`).join(", ")

// The names of the columns are the keys of what is given, so all of them have their type.
const types = {
  ...keyColumns,
  ...Object.fromEntries(countColumns.map((column) => [column, "int4"]))
} as Readonly<Record<string, UnnestType>>

/** Adds figures, as part of the caller's transaction. */
export const addEmailHours = (sql: SqlClient.SqlClient, hours: ReadonlyArray<EmailHour>) => {
  if (hours.length === 0) return Effect.void
  const rows = hours.map(({ counts, domain, hour, mode, organization, times }) => ({
    organization_id: organization,
    mode,
    hour,
    domain,
    ...counts,
    ...Object.fromEntries(timeColumns.map((column, bucket) => [column, times[bucket]]))
  }))
  return deferred(
    sql,
    sql`
      insert into ${sql(emailHoursTable)} as h (organization_id, mode, hour, domain, ${sql.literal(listed)})
      select * from ${unnest(rows, types)}
      on conflict (organization_id, mode, hour, domain) do update set ${sql.literal(sums)}`
  )
}
