/**
 * Erases the rows of one organization in every table, a batch at a time. Remaining deliveries of endpoints that were
 * deleted before go with their day (docs/platform.md, 5.4). Needs `SqlClient`.
 */
import { Clock, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { eventsTable } from "../events/table.ts"
import { auditTable } from "../platform/audit/AuditLog.ts"
import { memberLinksTable } from "../platform/people/memberTables.ts"
import { requestsTable } from "../platform/requests/requestsTable.ts"
import { accountFactsTable } from "../send/account/operator/accountFacts.ts"
import { accountsTable } from "../send/account/operator/accountStages.ts"
import { emailTermsTable } from "../send/emails/searchTable.ts"
import { emailsTable } from "../send/emails/table.ts"
import { sendJobsTable } from "../send/handoff/tables.ts"
import { emailHoursTable } from "../send/metrics/emailHours.ts"
import {
  reportsKey,
  reportsTable,
  sessionsKey,
  sessionsTable,
  sourcesKey,
  sourcesTable
} from "../send/senders/reports/tables.ts"
import { deliveriesTable, jobsTable, replaysTable, skippedTable } from "../webhooks/delivery/model.ts"
import { endpointsTable } from "../webhooks/endpoint/model.ts"
import { attemptHoursTable } from "../webhooks/metrics/attemptHours.ts"

/** Rows that one statement erases. */
const batchRows = 5_000

/** Tables whose rows name their organization, and the columns of a key that begins with it or is short. */
const tables: ReadonlyArray<{ readonly table: string; readonly key: string }> = [
  { table: emailsTable, key: "organization_id, id" },
  { table: emailTermsTable, key: "organization_id, mode, accepted_at, id" },
  { table: emailHoursTable, key: "organization_id, mode, hour, domain" },
  { table: "send_waiting", key: "organization_id, email_id" },
  { table: "send_suppressions", key: "organization_id, mode, id" },
  // Before their domains, with which the rest of them would go in one statement.
  { table: sourcesTable, key: sourcesKey },
  { table: sessionsTable, key: sessionsKey },
  { table: reportsTable, key: reportsKey },
  { table: "send_domains", key: "id" },
  { table: "send_senders", key: "id" },
  { table: accountsTable, key: "organization_id, mode" },
  { table: accountFactsTable, key: "organization_id, mode, decided_at, sequence, idx" },
  { table: "webhook_idempotency", key: "organization_id, livemode, key" },
  { table: "webhook_secrets", key: "id" },
  { table: "telco_numbers", key: "organization_id, tn" },
  { table: "site_credentials", key: "id" },
  { table: "console_links", key: "digest" },
  { table: "portal_links", key: "digest" },
  { table: memberLinksTable, key: "digest" },
  { table: "members", key: "id" },
  { table: "billing_checkouts", key: "id" },
  { table: "invoices", key: "id" },
  { table: auditTable, key: "organization_id, at, id" },
  { table: requestsTable, key: "organization_id, at, id" },
  { table: "usage_hours", key: "organization_id, hour, product, usage_type" },
  { table: eventsTable, key: "organization_id, created_at, sequence, idx" },
  // Behind their deliveries, which are found by them.
  { table: endpointsTable, key: "id" }
]

/** Tables whose rows are found by their endpoint, and the column that names it. */
const endpointTables = [
  // Waiting jobs come first: no one attempts them any more.
  { table: jobsTable, key: "id", endpoint: "group_key" },
  { table: deliveriesTable, key: "id, event_created_at", endpoint: "endpoint_id" },
  { table: attemptHoursTable, key: "endpoint_id, hour", endpoint: "endpoint_id" },
  { table: skippedTable, key: "endpoint_id, event_created_at, sequence, idx", endpoint: "endpoint_id" },
  { table: replaysTable, key: "id", endpoint: "endpoint_id" }
] as const

/** Tables of work and notices, whose ids begin with the organization's. */
const prefixedTables = [sendJobsTable, "send_notices"] as const

type Erased = Effect.Effect<boolean, SqlError.SqlError>

export const organizationRows = (sql: SqlClient.SqlClient) => {
  /** Erases until nothing is left, or until the time is over; which of them. */
  const inBatches = (batch: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>, until: number): Erased =>
    Effect.gen(function* () {
      for (;;) {
        if ((yield* batch).length < batchRows) return true
        if ((yield* Clock.currentTimeMillis) >= until) return false
      }
    })

  const ofOrganization = (organization: string, until: number) =>
    tables.map(({ key, table }) =>
      inBatches(
        sql`
          delete from ${sql(table)} where (${sql.literal(key)}) in (
            select ${sql.literal(key)} from ${sql(table)}
            where organization_id = ${organization} limit ${batchRows})
          returning 1`,
        until
      )
    )

  const ofEndpoints = (endpointIds: ReadonlyArray<string>, until: number) =>
    endpointTables.map(({ endpoint, key, table }) =>
      inBatches(
        sql`
          delete from ${sql(table)} where (${sql.literal(key)}) in (
            select ${sql.literal(key)} from ${sql(table)} where ${sql(endpoint)} = any(${[...endpointIds]}::text[])
            limit ${batchRows})
          returning 1`,
        until
      )
    )

  const prefixed = (organization: string, until: number) =>
    prefixedTables.map((table) =>
      inBatches(
        sql`
          delete from ${sql(table)} where id in (
            select id from ${sql(table)} where id >= ${`${organization}/`} and id < ${`${organization}0`} limit ${batchRows})
          returning 1`,
        until
      )
    )

  /** One after the other, as long as they come to their end. */
  const inOrder = (all: ReadonlyArray<Erased>): Erased =>
    Effect.gen(function* () {
      for (const each of all) if (!(yield* each)) return false
      return true
    })

  return {
    /** The endpoints whose rows are still there. */
    endpointIds: (organization: string) =>
      Effect.map(
        sql<{ readonly id: string }>`select id from ${sql(endpointsTable)} where organization_id = ${organization}`,
        (rows) => rows.map(({ id }) => id)
      ),

    /** Without it nobody reads the organization's contents, wherever a copy of them is. */
    forgetContentKey: (organization: string) =>
      sql`delete from send_content_keys where organization_id = ${organization}`,

    /** Whether nothing is left. */
    erase: Effect.fnUntraced(function* (organization: string, until: number) {
      // Rows that recorded the person; the act and its time stay.
      yield* sql`
        update admin_acts set detail = '{}'::jsonb where subject = ${organization} and act = 'organization.created'`
      const all = [
        ...ofOrganization(organization, until),
        // Behind the emails that wait, which become jobs.
        ...prefixed(organization, until)
      ]
      return yield* inOrder(all)
    }),

    /** Whether no delivery of these endpoints is left. */
    eraseDeliveries: (endpointIds: ReadonlyArray<string>, until: number) => inOrder(ofEndpoints(endpointIds, until))
  }
}
