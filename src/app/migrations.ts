/**
 * Lists every migration of the database, in order. A number is never reused and a released migration never changed; new
 * ones go to the end, whichever product they belong to.
 */
import { Effect } from "effect"
import { addModeOfCheckouts, addOperatorIndexesOfInvoices, createBillingTables } from "../billing/tables.ts"
import { createUsageTable } from "../billing/usage/projection.ts"
import { createDirectoryChanges } from "../directory/changes.ts"
import { createDirectoryImage } from "../directory/indexImage.ts"
import {
  addDirectoryBlocks,
  addDirectoryDetails,
  createDirectoryTables,
  createIngestionFailures
} from "../directory/migrations.ts"
import { addObjectOfEvents, addReachOfEvents, createEventTables, eventIndexes } from "../events/migrations.ts"
import { createAuditTable } from "../platform/audit/AuditLog.ts"
import {
  addDeletionOfOrganizations,
  addOperatorIndexes,
  addRequestRate,
  createConsoleTables,
  createPlatformTables,
  createPortalTables,
  createSiteCredentials
} from "../platform/migrations.ts"
import { createMemberTables } from "../platform/people/memberTables.ts"
import { createRequestsTable } from "../platform/requests/requestsTable.ts"
import { createClusterTables, createFormatLevels } from "../postgres/cluster/tables.ts"
import { createSmallIndexes, type IndexBuild } from "../postgres/indexBuilds.ts"
import type { Migration } from "../postgres/migrate.ts"
import {
  addDeploymentId,
  addExpiryOfActors,
  addIngestPlaces,
  addRebuilds,
  countParked,
  createEngineTables,
  keepExpiringRowsApart,
  keepLookupsOnPrimaryKey
} from "../postgres/migrations.ts"
import { createDayFunctions } from "../postgres/runtimeRole.ts"
import { createAccountsTable } from "../send/account/operator/accountsTable.ts"
import { createEmailTerms } from "../send/emails/searchTable.ts"
import { addDomainOfEmails, createEmailsTable, emailIndexes, findEmailsById } from "../send/emails/table.ts"
import { createHandoffTables } from "../send/handoff/tables.ts"
import { createEmailHours } from "../send/metrics/emailHours.ts"
import { addOperatorIndexesOfSenders, createAccountFacts, createSenderTables } from "../send/migrations.ts"
import { addDomainAuthentication } from "../send/senders/authentication/table.ts"
import { createNextDomainKeys } from "../send/senders/domains/domainKeys.ts"
import { createReportTables } from "../send/senders/reports/tables.ts"
import { createDirectoryNotices } from "../telco/DirectoryNotices.ts"
import { createTelcoTables } from "../telco/migrations.ts"
import {
  addDeliveryLines,
  createDeliveryTables,
  fillPagesOfDeliveries,
  leaveRoomForOutcomes
} from "../webhooks/delivery/migrations.ts"
import { createAttemptHours } from "../webhooks/metrics/attemptHours.ts"
import { addPublicKeys, addReplayOfDeliveries, addWebhookModes, createWebhookTables } from "../webhooks/migrations.ts"

export const migrations: ReadonlyArray<Migration> = [
  { number: 1, name: "organizations and API keys", run: createPlatformTables },
  { number: 2, name: "number directory", run: createDirectoryTables },
  { number: 3, name: "engine", run: createEngineTables },
  { number: 4, name: "custom request rates", run: addRequestRate },
  { number: 5, name: "event log", run: createEventTables },
  { number: 6, name: "webhook endpoints", run: createWebhookTables },
  { number: 7, name: "webhook deliveries", run: createDeliveryTables },
  { number: 8, name: "telco numbers", run: createTelcoTables },
  { number: 9, name: "room for outcomes of deliveries", run: leaveRoomForOutcomes },
  { number: 10, name: "id of the deployment", run: addDeploymentId },
  { number: 11, name: "counts of parked records", run: countParked },
  { number: 12, name: "modes of webhook endpoints", run: Effect.andThen(addWebhookModes, addReachOfEvents) },
  { number: 13, name: "replays of webhook deliveries", run: addReplayOfDeliveries },
  { number: 14, name: "look-ups of actors", run: keepLookupsOnPrimaryKey },
  { number: 15, name: "expiry of actors", run: addExpiryOfActors },
  { number: 16, name: "facts of accounts that send", run: createAccountFacts },
  { number: 17, name: "expiring rows apart", run: keepExpiringRowsApart },
  { number: 18, name: "contents and hand-off of mail", run: createHandoffTables },
  { number: 19, name: "emails", run: createEmailsTable },
  { number: 20, name: "domains, senders and suppressions", run: createSenderTables },
  { number: 21, name: "deletion of organizations", run: addDeletionOfOrganizations },
  { number: 22, name: "emails by their id alone", run: findEmailsById },
  { number: 23, name: "next keys of domains", run: createNextDomainKeys },
  { number: 24, name: "site credentials", run: createSiteCredentials },
  { number: 25, name: "checkouts and invoices", run: createBillingTables },
  { number: 26, name: "usage by the hour", run: createUsageTable },
  { number: 27, name: "sessions and links of the console", run: createConsoleTables },
  { number: 28, name: "nodes of a cluster", run: createClusterTables },
  { number: 29, name: "levels of formats", run: createFormatLevels },
  { number: 30, name: "image of the number directory", run: createDirectoryImage },
  { number: 31, name: "full pages of deliveries", run: fillPagesOfDeliveries },
  { number: 32, name: "details of the number directory", run: addDirectoryDetails },
  {
    number: 33,
    name: "thousands blocks, and changes of the number directory",
    run: Effect.all([addDirectoryBlocks, createDirectoryChanges, createDirectoryNotices])
  },
  { number: 34, name: "public keys of webhooks", run: addPublicKeys },
  { number: 35, name: "lines of webhook deliveries", run: addDeliveryLines },
  { number: 36, name: "portals of webhook endpoints", run: createPortalTables },
  { number: 38, name: "filters of events and emails", run: Effect.andThen(addObjectOfEvents, addDomainOfEmails) },
  { number: 39, name: "indexes of filters", run: createSmallIndexes([...eventIndexes, ...emailIndexes]) },
  { number: 40, name: "days made for a role that owns no tables", run: createDayFunctions },
  { number: 41, name: "figures by the hour", run: Effect.andThen(createEmailHours, createAttemptHours) },
  { number: 42, name: "places of ingests", run: addIngestPlaces },
  { number: 43, name: "audit log", run: createAuditTable },
  { number: 44, name: "rebuilds from states", run: addRebuilds },
  { number: 45, name: "SPF and DMARC of domains", run: addDomainAuthentication },
  { number: 46, name: "request log", run: createRequestsTable },
  { number: 47, name: "reports about domains", run: createReportTables },
  { number: 48, name: "search of emails", run: createEmailTerms },
  { number: 49, name: "members of organizations", run: createMemberTables },
  { number: 50, name: "modes of checkouts", run: addModeOfCheckouts },
  {
    number: 52,
    name: "lists of operators",
    run: Effect.all([
      addOperatorIndexesOfSenders,
      addOperatorIndexesOfInvoices,
      createIngestionFailures,
      // The last: it holds up every key until the end of the migration.
      addOperatorIndexes
    ])
  },
  { number: 53, name: "accounts by their standing", run: createAccountsTable }
]

/** The indexes that are built while the platform runs, where a migration has left them out. */
export const indexBuilds: ReadonlyArray<IndexBuild> = [...eventIndexes, ...emailIndexes]
