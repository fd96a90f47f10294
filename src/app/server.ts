/**
 * Assembles the platform's two listeners as layers (`sluice/server`): the public API and, apart from it, the admin API.
 * An embedder provides the stores and services of `layers.ts`, or replaces them.
 */
import "../common/checkedNodePeers.ts"

import { Effect, Layer, type Redacted, Scope } from "effect"
import { HttpServer } from "effect/http"
import { AdminActs } from "../admin/AdminActs.ts"
import { AdminApi } from "../admin/adminApi.ts"
import { layerAdminAccess, layerAdminHandlers } from "../admin/adminHttp.ts"
import { ClusterView } from "../admin/ClusterView.ts"
import { PublicAddress } from "../admin/consoleHttp.ts"
import { Inspection } from "../admin/Inspection.ts"
import { OperatorSessions } from "../admin/OperatorSessions.ts"
import { ParkedRecords } from "../admin/ParkedRecords.ts"
import { consolePages } from "../api/consolePages.ts"
import { docsPages } from "../api/docs.ts"
import { guidesPages } from "../api/guides/guidesPages.ts"
import { landingPage } from "../api/landingPage.ts"
import { SluiceApi } from "../api/SluiceApi.ts"
import { SystemApi } from "../api/systemApi.ts"
import { layerSystem, type MetricsReaders } from "../api/systemHttp.ts"
import { layerBilling } from "../billing/http/billingHttp.ts"
import { checkoutPage } from "../billing/http/checkoutPage.ts"
import { invoiceDocuments } from "../billing/http/documents.ts"
import { stripeNotices } from "../billing/http/stripeNotices.ts"
import { layerUsage, layerUsageReports } from "../billing/http/usageHttp.ts"
import { layerDirectory } from "../directory/directoryHttp.ts"
import { EventStreams } from "../events/EventStreams.ts"
import { layerEvents } from "../events/eventsHttp.ts"
import { baseApi } from "../http/baseApi.ts"
import { type ServerOptions as ListenerOptions, layerServer, type Page } from "../http/server.ts"
import { layerCurrentAuditLog } from "../platform/audit/AuditLog.ts"
import { layerAudit } from "../platform/audit/auditHttp.ts"
import { layerConsole } from "../platform/consoleHttp.ts"
import { EngineOnDemand } from "../platform/EngineOnDemand.ts"
import { Health, stopping } from "../platform/Health.ts"
import { layerKeys } from "../platform/keysHttp.ts"
import {
  layerBillingAccess,
  layerDirectoryAccess,
  layerEventsAccess,
  layerKeysAccess,
  layerSendAccess,
  layerTalkAccess,
  layerTelcoAccess,
  layerWebhooksAccess
} from "../platform/layerAccess.ts"
import { layerSiteAccess } from "../platform/layerSiteAccess.ts"
import { layerMembers } from "../platform/people/membersHttp.ts"
import { layerCurrentRequestRecorder } from "../platform/requests/RequestWriter.ts"
import { layerRequests } from "../platform/requests/requestsHttp.ts"
import { mailboxPath } from "../send/handoff/mailbox/mailShapes.ts"
import { confirmationPage } from "../send/http/confirmationPage.ts"
import { layerSendDomains } from "../send/http/domainsHttp.ts"
import { layerSendEmailsAccess } from "../send/http/emailsAccess.ts"
import { layerEmails } from "../send/http/emailsHttp.ts"
import { layerSendFeedback, layerSendSiteAccess } from "../send/http/feedbackHttp.ts"
import { layerSendMetrics } from "../send/http/metricsHttp.ts"
import { layerSendSenders } from "../send/http/sendersHttp.ts"
import { layerSendSuppressions } from "../send/http/suppressionsHttp.ts"
import { layerSendTenants } from "../send/http/tenantsHttp.ts"
import { layerTalk } from "../talk/talkHttp.ts"
import { layerTelco } from "../telco/telcoHttp.ts"
import { layerEventDeliveries } from "../webhooks/http/eventDeliveriesHttp.ts"
import { layerWebhooks, layerWebhookUrlRequired } from "../webhooks/http/webhooksHttp.ts"
import { actors } from "./engine.ts"

export {
  layerDecisions,
  layerDelivery,
  layerServices,
  layerStores,
  type StoreOptions,
  type WebhookOptions
} from "./layers.ts"

/** The address of the public API, and its extra pages. See {@link layerPublic}. */
export interface ServerOptions extends ListenerOptions {
  /** The permitted readers of `/metrics`: anybody by default. */
  readonly metricsReaders?: MetricsReaders | undefined
  /** The text of `/metrics`; default: what this process counts. */
  readonly metrics?: Effect.Effect<string> | undefined
  /** Whether `/` says where to go on; it does by default. */
  readonly landing?: boolean
  /** Pages beside those of the API, such as the local mailbox; default: none. */
  readonly pages?: ReadonlyArray<Page>
}

/** Where the local mailbox is, if it is among the pages. */
const mailboxIn = ({ pages = [] }: Pick<ServerOptions, "pages">): string | undefined =>
  pages.find(({ path }) => path === mailboxPath)?.path

/**
 * Runs before the listener stops, which waits for requests under way: it makes `/readyz` fail for load balancers, and
 * ends the event streams and those of the pages.
 */
const layerStopping = ({ pages = [] }: Pick<ServerOptions, "pages">) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      yield* HttpServer.HttpServer
      const streams = yield* EventStreams
      const health = yield* Health
      // The check stays until the process ends, so its scope is never closed.
      yield* Effect.addFinalizer(() => health.register(stopping).pipe(Scope.provide(Scope.makeUnsafe())))
      yield* Effect.addFinalizer(() => streams.stop)
      for (const { stop } of pages) if (stop !== undefined) yield* Effect.addFinalizer(() => stop)
    })
  )

/**
 * The public API on its listener. Needs the services of `layerServices`.
 *
 * @example
 * ```ts
 * import { Layer } from "effect"
 * import { layerPublic, layerServices } from "sluice/server"
 *
 * const listener = { host: "127.0.0.1", port: 8080, maxBodyBytes: 65_536, accessLog: false }
 * export const api = (options: Parameters<typeof layerServices>[0]) =>
 *   Layer.provide(layerPublic(listener), layerServices(options))
 * ```
 */
export const layerPublic = (options: ServerOptions) =>
  layerStopping(options).pipe(
    Layer.provideMerge(
      Layer.unwrap(
        Effect.map(Effect.all([confirmationPage, checkoutPage, invoiceDocuments, stripeNotices]), (ownPages) =>
          layerServer(SluiceApi, options, [
            ...docsPages(SluiceApi),
            ...consolePages({ audience: "organization", mailbox: mailboxIn(options) }),
            guidesPages,
            ...ownPages.flat(),
            ...(options.landing === false ? [] : [landingPage]),
            ...(options.pages ?? [])
          ])
        )
      )
    ),
    Layer.provide(
      Layer.mergeAll(
        layerBilling,
        layerUsage,
        layerUsageReports,
        layerAudit,
        layerRequests,
        layerKeys,
        layerMembers,
        layerConsole,
        layerDirectory,
        layerEvents,
        layerTalk,
        layerTelco,
        layerWebhooks,
        layerEventDeliveries,
        layerEmails,
        layerSendDomains,
        layerSendFeedback,
        layerSendMetrics,
        layerSendSenders,
        layerSendSuppressions,
        layerSendTenants,
        layerSystem(options.metricsReaders ?? "anybody", options.metrics)
      )
    ),
    Layer.provide(
      Layer.mergeAll(
        layerBillingAccess,
        layerSiteAccess,
        layerSendSiteAccess,
        layerKeysAccess,
        layerDirectoryAccess,
        layerEventsAccess,
        layerTalkAccess,
        layerTelcoAccess,
        layerWebhooksAccess,
        layerSendAccess,
        layerSendEmailsAccess,
        layerWebhookUrlRequired
      ).pipe(Layer.provide(layerCurrentAuditLog))
    ),
    Layer.provide(layerCurrentRequestRecorder),
    Layer.provide(EventStreams.layer)
  )

/**
 * Probes and metrics alone, for a node that serves no requests. It needs less than the public API; no endpoint of it
 * has a middleware, and the types of the library take nothing for something unknown.
 *
 * @example
 * ```ts
 * import { layerProbes } from "sluice/server"
 *
 * // a node without requests, whose health is asked all the same
 * export const probes = layerProbes({ host: "127.0.0.1", port: 8080, maxBodyBytes: 1_024, accessLog: false })
 * ```
 */
export const layerProbes = (options: ServerOptions) =>
  layerStopping(options).pipe(
    Layer.provideMerge(layerServer(baseApi.add(SystemApi), options, [])),
    Layer.provide(layerSystem(options.metricsReaders ?? "anybody", options.metrics)),
    Layer.provide(EventStreams.layer)
  ) as unknown as ReturnType<typeof layerPublic>

/**
 * Carries out operators' acts on the partitions of this node; operators may ask any node. Needs `Engine` and
 * `SqlClient`.
 *
 * @example
 * ```ts
 * import { Layer } from "effect"
 * import { layerDecisions, layerOperatorActs } from "sluice/server"
 *
 * // a node that owns partitions and serves no admin API
 * export const owner = (settings: Parameters<typeof layerDecisions>[0]) =>
 *   Layer.provide(layerOperatorActs, layerDecisions(settings))
 * ```
 */
export const layerOperatorActs = ParkedRecords.layer.pipe(Layer.provide(AdminActs.layer))

/** The address of the admin API, and its permitted users. See {@link layerAdmin}. */
export interface AdminOptions extends ListenerOptions {
  /** The credentials, of which a request must carry one. */
  readonly keys: ReadonlyArray<Redacted.Redacted<string>>
  /** The address at which browsers reach the public API, for links into its console; default: unknown. */
  readonly publicUrl?: () => string
}

/**
 * The admin API on its listener. Needs `Organizations`, `ApiKeys`, `Ingestions`, `Inventory`, `TestEvents` and
 * `Engine`.
 *
 * @example
 * ```ts
 * import { Redacted } from "effect"
 * import { layerAdmin } from "sluice/server"
 *
 * const keys = [Redacted.make(process.env.ADMIN_KEY ?? "")]
 * export const admin = layerAdmin({ host: "127.0.0.1", port: 8081, maxBodyBytes: 65_536, accessLog: false, keys })
 * ```
 */
export const layerAdmin = (options: AdminOptions) =>
  layerServer(AdminApi, options, [...docsPages(AdminApi), ...consolePages({ audience: "operator" }), guidesPages]).pipe(
    Layer.provide(
      layerAdminHandlers.pipe(Layer.provide(Layer.succeed(PublicAddress)(options.publicUrl ?? (() => ""))))
    ),
    Layer.provide(EngineOnDemand.layer),
    Layer.provide(Layer.mergeAll(Inspection.layer(actors), ClusterView.layer, layerOperatorActs)),
    Layer.provide(layerAdminAccess),
    Layer.provide(OperatorSessions.layer(options.keys))
  )
