/**
 * Makes the tables of reports about domains (docs/platform.md, 9.21). Rows go with their domain. `day` is the start of
 * a UTC day in Unix milliseconds.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Reports that were taken: each counts once. */
export const reportsTable = "send_domain_reports"
export const sourcesTable = "send_dmarc_sources"
export const sessionsTable = "send_tls_sessions"

/** The key of each table. */
export const reportsKey = "domain_id, kind, reporter, report_id"
export const sourcesKey = "domain_id, day, source"
export const sessionsKey = "domain_id, day, policy, result"

export const createReportTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const owner = `
    domain_id text collate "C" not null references send_domains (id) on delete cascade,
    organization_id text collate "C" not null,
    day int8 not null`
  yield* sql`
    create table ${sql(reportsTable)} (
      ${sql.literal(owner)},
      kind text collate "C" not null,
      reporter text collate "C" not null,
      report_id text collate "C" not null,
      network text collate "C" not null,
      received_at int8 not null,
      primary key (${sql.literal(reportsKey)})
    )`
  yield* sql`create index send_domain_reports_received on ${sql(reportsTable)} (domain_id, received_at)`
  yield* sql`
    create table ${sql(sourcesTable)} (
      ${sql.literal(owner)},
      source text collate "C" not null,
      messages int8 not null,
      passed int8 not null,
      dkim int8 not null,
      spf int8 not null,
      quarantined int8 not null,
      rejected int8 not null,
      primary key (${sql.literal(sourcesKey)})
    )`
  // `result` is the type of a failure, or `successful`.
  yield* sql`
    create table ${sql(sessionsTable)} (
      ${sql.literal(owner)},
      policy text collate "C" not null,
      result text collate "C" not null,
      sessions int8 not null,
      primary key (${sql.literal(sessionsKey)})
    )`
  for (const table of [reportsTable, sourcesTable, sessionsTable]) {
    yield* sql`create index ${sql(`${table}_old`)} on ${sql(table)} (day)`
    yield* sql`create index ${sql(`${table}_owner`)} on ${sql(table)} (organization_id)`
  }
  // A report names its domain alone, and not the organization.
  yield* sql`
    create index send_domains_by_name on send_domains (name) where mode = 'live' and status = 'verified'`
})
