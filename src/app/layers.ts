/**
 * Assembles the platform as layers, from its stores to its services, without listeners. The server, commands that run
 * on their own, and embedders (`sluice/server`) all build on these.
 */

import { Effect, Layer, Redacted, Result } from "effect"
import type { SqlClient } from "effect/sql"
import {
  Billing,
  type BillingProvider,
  type BuiltInCheckouts,
  builtInCatalogue,
  Invoices,
  layerBuiltIn,
  layerCallCounts,
  layerStripe,
  layerUsageKeeper,
  type PriceCatalogue,
  type StripeMissing,
  type StripeOptions,
  Subscriptions,
  type Terms,
  Usage
} from "../billing/index.ts"
import { keptFiguresMillis } from "../common/figuresPeriod.ts"
import { KeptTimes, type KeptTimesShape } from "../common/KeptTimes.ts"
import type { SecretsKeys } from "../common/secretsKeys.ts"
import { Directory } from "../directory/Directory.ts"
import { DirectoryChanges } from "../directory/DirectoryChanges.ts"
import { Ingestions } from "../directory/Ingestions.ts"
import type { Engine } from "../engine/Engine.ts"
import { EventLog } from "../events/EventLog.ts"
import { EventOrigins } from "../events/EventOrigins.ts"
import { EventWakeups } from "../events/EventWakeups.ts"
import { eventRetentionMillis } from "../events/event.ts"
import { TestEvents } from "../events/TestEvents.ts"
import { eventsTable } from "../events/table.ts"
import { PageCursors } from "../http/PageCursors.ts"
import { NatsConnection } from "../nats/connection.ts"
import { ApiKeys } from "../platform/ApiKeys.ts"
import { Authentication } from "../platform/Authentication.ts"
import { AuditLog, auditTable, keptAuditMillis } from "../platform/audit/AuditLog.ts"
import { ConsoleLinks, ConsoleSessions } from "../platform/ConsoleSessions.ts"
import { EngineOnDemand } from "../platform/EngineOnDemand.ts"
import { Health } from "../platform/Health.ts"
import { IdempotentRequests } from "../platform/IdempotentRequests.ts"
import { OrganizationPlans } from "../platform/OrganizationPlans.ts"
import { Organizations } from "../platform/Organizations.ts"
import { PortalLinks } from "../platform/PortalLinks.ts"
import { ConsoleAddress } from "../platform/people/MemberMail.ts"
import { Members } from "../platform/people/Members.ts"
import { memberLinksTable } from "../platform/people/memberTables.ts"
import { keptLinkMillis } from "../platform/people/rules.ts"
import { SessionList } from "../platform/people/SessionList.ts"
import { SignInLinks } from "../platform/people/SignInLinks.ts"
import { RequestRate } from "../platform/RequestRate.ts"
import { RequestLog } from "../platform/requests/RequestLog.ts"
import { type RequestLogRates, RequestWriter } from "../platform/requests/RequestWriter.ts"
import { requestsTable } from "../platform/requests/requestsTable.ts"
import { SiteCredentials } from "../platform/SiteCredentials.ts"
import { layerSiteRate } from "../platform/SiteRate.ts"
import { type AgedTable, layerAgedRows } from "../postgres/agedRows.ts"
import { requireFormats } from "../postgres/clusterFormats.ts"
import { DatabaseWatch } from "../postgres/DatabaseWatch.ts"
import { DayPartitions, type KeptTable, layerKeeper } from "../postgres/dayPartitions.ts"
import { layerIndexBuilds } from "../postgres/indexBuilds.ts"
import { migrate } from "../postgres/migrate.ts"
import * as Notifications from "../postgres/Notifications.ts"
import * as PgClient from "../postgres/PgClient.ts"
import { SuppressionList } from "../send/account/suppressions/SuppressionList.ts"
import { Tenants } from "../send/account/tenants/Tenants.ts"
import { AcceptEmails } from "../send/emails/AcceptEmails.ts"
import { sealedContentKeys } from "../send/emails/contents/ContentKeys.ts"
import { Emails } from "../send/emails/Emails.ts"
import { layerTermsSweep } from "../send/emails/layerTermsSweep.ts"
import { SendRate } from "../send/emails/SendRate.ts"
import { emailTermsTable, keptTermsMillis } from "../send/emails/searchTable.ts"
import { FeedbackIntake } from "../send/feedback/intake/FeedbackIntake.ts"
import { SiteFeedback } from "../send/feedback/intake/SiteFeedback.ts"
import { returnPathKeys } from "../send/feedback/parse/returnPathKeys.ts"
import { layerMemberMail } from "../send/handoff/memberMail.ts"
import { accountFactsMillis, accountFactsTable, RiskSignals, SendOperator } from "../send/index.ts"
import { EmailFigures } from "../send/metrics/EmailFigures.ts"
import { emailHoursTable } from "../send/metrics/emailHours.ts"
import { Senders, type SendersOptions } from "../send/senders/addresses/Senders.ts"
import { DomainChecks, type DomainChecksOptions } from "../send/senders/domains/DomainChecks.ts"
import { Domains } from "../send/senders/domains/Domains.ts"
import { sealedDomainKeys, sealedNextKeys } from "../send/senders/domains/domainKeys.ts"
import { DomainReports } from "../send/senders/reports/DomainReports.ts"
import { keptReportsMillis } from "../send/senders/reports/limits.ts"
import { ReportIntake } from "../send/senders/reports/ReportIntake.ts"
import { reportsTable, sessionsTable, sourcesTable } from "../send/senders/reports/tables.ts"
import { WhatIf } from "../send/whatIf/WhatIf.ts"
import { layerSpeechEngine, type TalkOptions } from "../talk/engines.ts"
import { Talk } from "../talk/Talk.ts"
import { layerDirectoryNotices } from "../telco/DirectoryNotices.ts"
import { Inventory } from "../telco/Inventory.ts"
import { Telco } from "../telco/Telco.ts"
import { Deliveries } from "../webhooks/delivery/Deliveries.ts"
import { deliveriesTable, skippedTable } from "../webhooks/delivery/model.ts"
import { Endpoints } from "../webhooks/endpoint/Endpoints.ts"
import { PortalAddress } from "../webhooks/http/PortalAddress.ts"
import { SourceAddresses } from "../webhooks/http/SourceAddresses.ts"
import { AttemptFigures } from "../webhooks/metrics/AttemptFigures.ts"
import { attemptHoursTable } from "../webhooks/metrics/attemptHours.ts"
import { Replays } from "../webhooks/replay/Replays.ts"
import * as ReplaySending from "../webhooks/replay/runReplays.ts"
import { PublicKeys } from "../webhooks/secret/PublicKeys.ts"
import * as Resealing from "../webhooks/secret/Resealer.ts"
import { layerSealing, WebhookSecrets } from "../webhooks/secret/WebhookSecrets.ts"
import { checkUrl, refusedAddress, type TargetPolicy } from "../webhooks/target/targets.ts"
import { type DispatchOptions, layerDispatcher } from "./dispatch.ts"
import { type EngineSettings, layerEngine } from "./engine.ts"
import { indexBuilds, migrations } from "./migrations.ts"

/** The tables that are kept by day. */
const keptTables = ({ eventsMillis, requestsMillis }: KeptTimesShape): ReadonlyArray<KeptTable> => [
  { table: eventsTable, retentionMillis: eventsMillis },
  ...[deliveriesTable, skippedTable].map((table) => ({ table, retentionMillis: eventRetentionMillis })),
  { table: accountFactsTable, retentionMillis: accountFactsMillis },
  { table: requestsTable, retentionMillis: requestsMillis },
  { table: emailTermsTable, retentionMillis: keptTermsMillis }
]

/** The tables whose rows go by their age. */
const agedTables: ReadonlyArray<AgedTable> = [
  { table: auditTable, column: "at", retentionMillis: keptAuditMillis },
  { table: memberLinksTable, column: "made_at", retentionMillis: keptLinkMillis },
  { table: emailHoursTable, column: "hour", retentionMillis: keptFiguresMillis },
  { table: attemptHoursTable, column: "hour", retentionMillis: keptFiguresMillis },
  ...[reportsTable, sourcesTable, sessionsTable].map((table) => ({
    table,
    column: "day",
    retentionMillis: keptReportsMillis
  }))
]

/** One in this many connections to PostgreSQL is shared by the short statements of requests. */
const connectionsPerShared = 5

/** The address of PostgreSQL, and its use. See {@link layerStores}. */
export interface StoreOptions {
  readonly databaseUrl: Redacted.Redacted<string>
  readonly maxConnections: number
  /** Whether this process has started the server, on its own machine. */
  readonly isOwnServer?: boolean | undefined
}

/** The options of sending webhooks, and the keys of their secrets. See {@link layerDelivery}. */
export interface WebhookOptions extends DispatchOptions {
  /** The keys under which signing secrets are stored; the first one encrypts new secrets. */
  readonly secretsKeys: Redacted.Redacted<SecretsKeys>
}

export interface SenderOptions extends DomainChecksOptions, SendersOptions {
  /** The keys under which private keys of domains are stored; the first one encrypts new ones. */
  readonly secretsKeys: Redacted.Redacted<SecretsKeys>
}

/** The prices on sale, and the way of payment. */
export interface BillingSettings {
  readonly catalogue: PriceCatalogue
  readonly terms: Terms
  /** Whether customers may be sent back to http addresses of this machine; by default where invoices pay themselves. */
  readonly allowsLoopback?: boolean
  /** With it Stripe takes the payments. */
  readonly stripe?: Pick<StripeOptions, "key" | "webhookSecret" | "url"> | undefined
}

const dayMillis = 24 * 60 * 60 * 1000

const defaultBilling: BillingSettings = {
  catalogue: builtInCatalogue,
  terms: { settlement: "by operator", graceMillis: 7 * dayMillis, dueMillis: 14 * dayMillis }
}

/** The options of a node's services. */
export interface ServiceOptions
  extends StoreOptions,
    SenderOptions,
    Pick<WebhookOptions, "webhookTargets" | "webhookSources"> {
  /** How long keys that were verified before keep working while PostgreSQL is away; by default 10 minutes. */
  readonly keyGraceMillis?: number | undefined
  /** The page on which accounts find a larger plan. */
  readonly upgradeUrl?: string | undefined
  /**
   * The prices on sale, and the way of payment; without it the built-in catalogue, and an operator confirms payments.
   */
  readonly billing?: BillingSettings | undefined
  /** How many requests of an organization the request log keeps in a second; by default 5 successes and 25 failures. */
  readonly requestLog?: Partial<RequestLogRates> | undefined
  /** How long events and the request log are kept; by default 30 and 7 days. */
  readonly kept?: KeptTimesShape | undefined
  /** The speech engine; without it the programs of this machine. */
  readonly talk?: TalkOptions | undefined
}

/**
 * PostgreSQL, brought to this version's schema before anything uses it.
 *
 * @example
 * ```ts
 * import { Redacted } from "effect"
 * import { layerStores } from "sluice/server"
 *
 * export const stores = layerStores({ databaseUrl: Redacted.make("postgres://app@127.0.0.1/app"), maxConnections: 10 })
 * ```
 */
export const layerStores = (options: StoreOptions) =>
  Layer.mergeAll(DayPartitions.layer, EventWakeups.layer).pipe(
    Layer.provideMerge(
      Notifications.layer(options.isOwnServer === true ? { watch: Notifications.ownServerWatch } : undefined)
    ),
    Layer.provideMerge(layerIndexBuilds(indexBuilds)),
    Layer.provideMerge(Layer.effectDiscard(Effect.andThen(migrate(migrations), requireFormats))),
    Layer.provideMerge(
      PgClient.layer({
        url: options.databaseUrl,
        maxConnections: options.maxConnections,
        sharedConnections: Math.floor(options.maxConnections / connectionsPerShared)
      })
    )
  )

/**
 * The engine of one machine and the services that rest on its decisions. Needs the stores and `NatsConnection`.
 *
 * @example
 * ```ts
 * import { Layer } from "effect"
 * import { layerDecisions, layerStores, type StoreOptions } from "sluice/server"
 *
 * export const node = (settings: Parameters<typeof layerDecisions>[0], stores: StoreOptions) =>
 *   Layer.provideMerge(layerDecisions(settings), layerStores(stores))
 * ```
 */
export const layerDecisions = (settings: EngineSettings) => layerDecisionsOn(layerEngine(settings))

/** The same on a given engine. */
export const layerDecisionsOn = <P, E, R>(engine: Layer.Layer<P | Engine, E, R>) =>
  Layer.mergeAll(
    OrganizationPlans.layer,
    TestEvents.layer,
    RequestRate.layer,
    SendRate.layer,
    layerSiteRate,
    Layer.mergeAll(SendOperator.layer, WhatIf.layer).pipe(Layer.provide(EngineOnDemand.layer))
  ).pipe(Layer.provideMerge(engine))

/** Organizations, their keys, credentials, numbers and invoices. Needs the stores and `OrganizationPlans`. */
export const layerTenancy = Layer.mergeAll(
  ApiKeys.layer,
  ConsoleLinks.layer,
  Members.layer,
  PortalLinks.layer,
  SiteCredentials.layer,
  AuditLog.layer,
  RequestLog.layer,
  Inventory.layer,
  Invoices.layer
).pipe(
  Layer.provideMerge(Organizations.layer),
  Layer.provideMerge(PageCursors.layer),
  Layer.provide(PgClient.layerPipelined)
)

/** Webhook endpoints, their deliveries and replays. */
const layerWebhookServices = (options: ServiceOptions) =>
  Layer.mergeAll(
    Endpoints.layer({ targets: options.webhookTargets }),
    Layer.succeed(SourceAddresses, options.webhookSources ?? []),
    Layer.succeed(PortalAddress, options.publicUrl ?? (() => "")),
    Deliveries.layer,
    AttemptFigures.layer,
    PublicKeys.layer,
    Replays.layer,
    IdempotentRequests.layer.pipe(Layer.provide(layerSealing))
  ).pipe(Layer.provide(PgClient.layerPipelined), Layer.merge(ReplaySending.layer))

/** The default page on which accounts find a larger plan. */
const noUpgradeUrl = "/docs"

/** Why an attachment is not fetched from an address: the rules of webhooks' targets. */
const pathProblem =
  (policy: TargetPolicy) =>
  (path: string): string | undefined => {
    const checked = Result.flatMap(checkUrl(path, policy), (url) => {
      const refused = refusedAddress(url, policy)
      return refused === undefined ? Result.succeed(url) : Result.fail(refused)
    })
    if (Result.isSuccess(checked)) return undefined
    return checked.failure.reason === "not_https" ? "Expected an https address" : checked.failure.message
  }

/** Emails, as they are taken and shown. Needs `MessageContents`. */
const layerSendServices = ({ secretsKeys, upgradeUrl = noUpgradeUrl, webhookTargets }: ServiceOptions) =>
  Layer.mergeAll(
    AcceptEmails.layer({ upgradeUrl, pathProblem: pathProblem(webhookTargets) }),
    Emails.layer,
    layerTermsSweep,
    EmailFigures.layer,
    ReportIntake.layer,
    DomainReports.layer,
    FeedbackIntake.layer(returnPathKeys(Redacted.value(secretsKeys))).pipe(Layer.provide(EngineOnDemand.layer))
  ).pipe(Layer.provide(PgClient.layerPipelined))

/**
 * The provider of payments. The pages of this server stay, for checkouts that were begun before; Stripe goes before
 * them.
 */
const layerPayments = (
  { catalogue, stripe, terms }: BillingSettings,
  publicUrl: () => string
): Layer.Layer<
  BillingProvider | BuiltInCheckouts,
  StripeMissing,
  SqlClient.SqlClient | Subscriptions | PageCursors
> => {
  const builtIn = layerBuiltIn({ terms, publicUrl })
  return stripe === undefined
    ? builtIn
    : Layer.merge(builtIn, layerStripe({ ...stripe, catalogue, terms: { ...terms, settlement: "by stripe" } }))
}

/** Subscriptions and what belongs to them. Needs the stores, `Organizations`, `Invoices` and `Engine`. */
const layerBillingServices = ({
  billing = defaultBilling,
  publicUrl = () => "http://127.0.0.1:8080"
}: ServiceOptions) =>
  Billing.layer({
    catalogue: billing.catalogue,
    // A platform whose invoices pay themselves is for development on this machine.
    allowsLoopback: billing.allowsLoopback ?? billing.terms.settlement === "at once",
    publicUrl
  }).pipe(
    Layer.merge(Usage.layer),
    Layer.merge(layerCallCounts),
    Layer.merge(layerUsageKeeper),
    Layer.provideMerge(layerPayments(billing, publicUrl)),
    Layer.provideMerge(Subscriptions.layer.pipe(Layer.provide(EngineOnDemand.layer)))
  )

/** Senders and what belongs to them. Needs the stores, `Organizations` and what `layerDecisions` gives. */
const layerSenderServices = (options: SenderOptions) =>
  Layer.mergeAll(
    Domains.layer(options.secretsKeys).pipe(Layer.provide(RiskSignals.layer(options))),
    Senders.layer(options),
    SuppressionList.layer,
    SiteFeedback.layer,
    Tenants.layer,
    DomainChecks.layerRounds
  ).pipe(Layer.provideMerge(DomainChecks.layer(options).pipe(Layer.provide(EngineOnDemand.layer))))

/**
 * Sends webhooks, and keeps their secrets under the first key. Needs the stores and what `layerDecisions` gives.
 *
 * @example
 * ```ts
 * import { Layer } from "effect"
 * import { layerDelivery, layerStores, type StoreOptions, type WebhookOptions } from "sluice/server"
 *
 * export const delivering = (webhooks: WebhookOptions, stores: StoreOptions) =>
 *   Layer.provideMerge(layerDelivery(webhooks), layerStores(stores))
 * ```
 */
export const layerDelivery = (options: WebhookOptions) =>
  Layer.mergeAll(
    layerDispatcher(options),
    Resealing.layer(options.secretsKeys, (sql, keyId) => [
      sealedDomainKeys(sql, keyId),
      sealedNextKeys(sql, keyId),
      sealedContentKeys(sql, keyId)
    ])
  ).pipe(Layer.provideMerge(WebhookSecrets.layer(options.secretsKeys)))

/**
 * All services behind a node's listeners. Needs the stores, what `layerDecisions` gives, `layerDelivery` or the secrets
 * alone, and `layerMail` with `VerificationMail.layer`, or `MessageContents` and `VerificationMail` alone.
 *
 * @example
 * ```ts
 * import { Layer } from "effect"
 * import { layerServices, layerStores } from "sluice/server"
 *
 * export const services = (options: Parameters<typeof layerServices>[0]) =>
 *   Layer.provideMerge(layerServices(options), layerStores(options))
 * ```
 */
export const layerServices = (options: ServiceOptions) =>
  Layer.mergeAll(
    Layer.merge(
      Layer.merge(SessionList.layer, SignInLinks.layer).pipe(
        Layer.provideMerge(ConsoleSessions.layer),
        Layer.provideMerge(Authentication.layer)
      ),
      Health.layer
    ).pipe(Layer.provide(DatabaseWatch.layer({ graceMillis: options.keyGraceMillis }))),
    Telco.layer.pipe(Layer.provideMerge(Layer.merge(Directory.layer, DirectoryChanges.layer))),
    layerDirectoryNotices,
    Talk.layer.pipe(Layer.provide(layerSpeechEngine(options.talk ?? { upstream: undefined }))),
    EventOrigins.layer.pipe(Layer.provideMerge(EventLog.layer.pipe(Layer.provide(PgClient.layerPipelined)))),
    layerWebhookServices(options),
    layerSendServices(options),
    layerSenderServices(options),
    layerBillingServices(options),
    RequestWriter.layer({ secretsKeys: options.secretsKeys, ...options.requestLog }),
    Layer.unwrap(Effect.map(KeptTimes, (kept) => layerKeeper(keptTables(kept)))),
    layerAgedRows(agedTables),
    Ingestions.layer({ databaseUrl: options.databaseUrl })
  ).pipe(
    Layer.provideMerge(layerTenancy),
    Layer.provide(Layer.succeed(KeptTimes, options.kept ?? KeptTimes.defaultValue())),
    Layer.provide(Layer.succeed(ConsoleAddress, options.publicUrl ?? (() => ""))),
    Layer.provide(layerMemberMail)
  )

/** Shows the state of the connection to NATS in `/readyz`. */
export const layerNatsHealth = Layer.effectDiscard(
  Effect.gen(function* () {
    const health = yield* Health
    const nats = yield* NatsConnection
    yield* health.register({
      name: "nats",
      // The platform goes on serving from memory without NATS.
      part: "note",
      check: Effect.map(nats.status, ({ _tag }) =>
        _tag === "Connected" ? { ok: true } : { ok: false, detail: "NATS does not answer" }
      )
    })
  })
)
