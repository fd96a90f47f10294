/**
 * The public API in this process on two listeners that share everything but their way: one has the fast lane, the other has
 * not. Each has an organization of its own with the same keys, limits and endpoints, and a metric registry of its own, so that what
 * both answered and counted can be compared. A minute of its clock lasts for hours, and a test can let ownership of the partitions grow
 * stale and the log fall silent.
 */
import { randomBytes } from "node:crypto"
import { Clock, Context, Effect, Layer, Logger, Metric, Redacted, Scope } from "effect"
import { HttpServer } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { docsPages } from "../../src/api/docs.ts"
import { SluiceApi } from "../../src/api/SluiceApi.ts"
import { layerSystem } from "../../src/api/systemHttp.ts"
import { layerMatching } from "../../src/app/dispatch.ts"
import { actors, lanes, projections } from "../../src/app/engine.ts"
import { layerServices, layerStores } from "../../src/app/layers.ts"
import { layerBilling } from "../../src/billing/http/billingHttp.ts"
import { layerUsage, layerUsageReports } from "../../src/billing/http/usageHttp.ts"
import { parseSecretsKeys } from "../../src/common/secretsKeys.ts"
import { Directory } from "../../src/directory/Directory.ts"
import { layerDirectory } from "../../src/directory/directoryHttp.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import { Journal } from "../../src/engine/ports/Journal.ts"
import { layerLocal } from "../../src/engine/ports/Placement.ts"
import { EventStreams } from "../../src/events/EventStreams.ts"
import { layerEvents } from "../../src/events/eventsHttp.ts"
import { grantsAccess, middleware, middlewareMarkOf } from "../../src/http/fast/marks.ts"
import { layerServer } from "../../src/http/server.ts"
import { ApiKeys } from "../../src/platform/ApiKeys.ts"
import { DirectoryAccess, WebhooksAccess } from "../../src/platform/access.ts"
import { layerAudit } from "../../src/platform/audit/auditHttp.ts"
import { layerConsole } from "../../src/platform/consoleHttp.ts"
import { layerKeys } from "../../src/platform/keysHttp.ts"
import {
  layerBillingAccess,
  layerDirectoryAccess,
  layerEventsAccess,
  layerKeysAccess,
  layerSendAccess,
  layerTalkAccess,
  layerTelcoAccess,
  layerWebhooksAccess
} from "../../src/platform/layerAccess.ts"
import { layerSiteAccess } from "../../src/platform/layerSiteAccess.ts"
import { OrganizationPlans } from "../../src/platform/OrganizationPlans.ts"
import { Organizations } from "../../src/platform/Organizations.ts"
import { layerMembers } from "../../src/platform/people/membersHttp.ts"
import { RequestRate } from "../../src/platform/RequestRate.ts"
import { layerRequests } from "../../src/platform/requests/requestsHttp.ts"
import * as CursorsPostgres from "../../src/postgres/CursorsPostgres.ts"
import { SendAccount, SendSender, senderKey } from "../../src/send/account/actors/index.ts"
import { MessageContents } from "../../src/send/emails/contents/MessageContents.ts"
import { SendRate } from "../../src/send/emails/SendRate.ts"
import { HandoffFeed } from "../../src/send/handoff/HandoffFeed.ts"
import { layerSendDomains } from "../../src/send/http/domainsHttp.ts"
import { layerSendEmailsAccess } from "../../src/send/http/emailsAccess.ts"
import { SendEmailsAccess } from "../../src/send/http/emailsApi.ts"
import { layerEmails } from "../../src/send/http/emailsHttp.ts"
import { layerSendFeedback, layerSendSiteAccess } from "../../src/send/http/feedbackHttp.ts"
import { layerSendMetrics } from "../../src/send/http/metricsHttp.ts"
import { layerSendSenders } from "../../src/send/http/sendersHttp.ts"
import { layerSendSuppressions } from "../../src/send/http/suppressionsHttp.ts"
import { layerSendTenants } from "../../src/send/http/tenantsHttp.ts"
import { AcceptedTerms } from "../../src/send/search/AcceptedTerms.ts"
import { VerificationMail } from "../../src/send/senders/addresses/VerificationMail.ts"
import { layerTalk } from "../../src/talk/talkHttp.ts"
import { layerTelco } from "../../src/telco/telcoHttp.ts"
import { DispatchFeed } from "../../src/webhooks/delivery/DispatchFeed.ts"
import { layerEventDeliveries } from "../../src/webhooks/http/eventDeliveriesHttp.ts"
import { layerWebhooks, layerWebhookUrlRequired } from "../../src/webhooks/http/webhooksHttp.ts"
import { ReplaySignal } from "../../src/webhooks/replay/ReplaySignal.ts"
import { WebhookSecrets } from "../../src/webhooks/secret/WebhookSecrets.ts"
import { code, listed } from "../directory/records.ts"
import { makeDatabase } from "../support/database.ts"

/** Largest body of both listeners. */
export const maxBodyBytes = 20_000
/** Keys that nobody has used yet. */
export const coldKeys = 40
/** Requests per minute of the organization whose limit is reached. */
const narrowLimit = 30

/** One of the two: its address, what stands for `{name}` in a raw request, and what it has counted. */
export interface Way {
  readonly url: string
  readonly values: Readonly<Record<string, string>>
  /** Requests by method, route and status; and how many were timed by route. */
  readonly counted: () => Readonly<Record<string, number>>
  /** How many requests the fast lane has counted at the limiter. */
  readonly taken: () => number
}

/** A fault of the fast lane, planted from outside. */
export interface Fault {
  readonly counts?: number
  readonly forgetsServices?: boolean
  readonly answersStale?: boolean
}

export interface BothWays {
  readonly fast: Way
  readonly ordinary: Way
  /** A further listener with the fast lane and this fault, on the organizations of neither. */
  readonly faulty: (fault: Fault) => Promise<Way>
  /** A further one without the lane, to compare it with. */
  readonly another: () => Promise<Way>
  /** Lets the partitions' last confirmation grow too old. */
  readonly age: () => void
  /** Whether the log says nothing. */
  readonly silence: (silent: boolean) => void
}

const realClock = Context.get(Context.empty(), Clock.Clock)

/** The system's clock with slow minutes; its monotonic time can be moved on. */
const makeClock = () => {
  const startedAt = Date.now()
  const started = realClock.currentTimeNanosUnsafe()
  let ahead = 0n
  const millis = () => startedAt + Math.floor((Date.now() - startedAt) / 1_000)
  const nanos = () => started + (realClock.currentTimeNanosUnsafe() - started) / 1_000n
  const monotonic = () => realClock.monotonicTimeNanosUnsafe() + ahead
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: monotonic,
    monotonicTimeNanos: Effect.sync(monotonic),
    sleep: (duration) => realClock.sleep(duration)
  }
  const age = () => {
    ahead += 6_000_000_000n
  }
  return { clock, age }
}

/** The log in memory, which can fall silent. */
const makeJournal = () => {
  let silent = false
  const heard = <A, E>(answer: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => (silent ? Effect.andThen(Effect.sleep(20), heard(answer)) : answer))
  const layer = Layer.effect(
    Journal,
    Effect.map(Journal, (journal) =>
      Journal.of({
        ...journal,
        open: (partition) =>
          Effect.map(journal.open(partition), (log) => ({
            ...log,
            state: heard(log.state),
            publish: (request) => heard(log.publish(request))
          }))
      })
    )
  ).pipe(Layer.provide(JournalMemory.layer))
  return {
    layer,
    silence: (wanted: boolean) => {
      silent = wanted
    }
  }
}

const directoryRecords = (company: string) => ({
  codes: [
    ...Array.from({ length: 120 }, (_, number) => code(`212-${200 + number}`, { company })),
    code("213-200", { state: "CA", ocn: "0007" }),
    code("416-200", { country: "CA", state: "ON", ocn: "8051", company: "BELL CANADA É" })
  ],
  carrierTypes: [listed("9104", { type: "ILEC", commonName: "Verizon" }), listed("0007")]
})

const accessMarkOf = (access: object) => {
  const mark = middlewareMarkOf(access)
  if (mark?._tag !== "Access") throw new Error("the access is none for the fast lane")
  return mark.access
}

/** Marks an access anew, with what the fault makes of it; the general path is left as it is. */
const planted = <Access extends object>(
  access: Access,
  { counts = 1, forgetsServices = false }: Fault,
  counter: { taken: number },
  anyone: ReturnType<ReturnType<typeof accessMarkOf>["principalOf"]>
) => {
  const mark = accessMarkOf(access)
  return middleware(
    access,
    grantsAccess({
      ...mark,
      principalOf: (endpoint) => (forgetsServices ? anyone : mark.principalOf(endpoint)),
      takeOf: (endpoint) => (principal) => {
        const take = mark.takeOf(endpoint)
        counter.taken++
        for (let extra = 1; extra < counts; extra++) take(principal)
        return take(principal)
      }
    })
  )
}

const countedIn = (registry: Map<string, unknown>): Readonly<Record<string, number>> => {
  const context = Context.make(Metric.MetricRegistry, registry as typeof Metric.MetricRegistry.Service)
  const counted: Record<string, number> = {}
  for (const { attributes, id, state } of Metric.snapshotUnsafe(context)) {
    if (id.startsWith("sluice_http_request")) {
      counted[`${id} ${JSON.stringify(attributes)}`] = (state as { readonly count: number }).count
    }
  }
  return counted
}

/** Everything that both ways share, but for the directory. */
const buildServices = (journal: Layer.Layer<Journal>) =>
  Effect.gen(function* () {
    const layerEngine = Engine.layer({ actors, lanes, reactors: [projections], config: { partitions: 2 } }).pipe(
      Layer.provide(Layer.mergeAll(journal, CheckpointsMemory.layer, CursorsPostgres.layer, layerLocal)),
      Layer.provide(layerMatching),
      Layer.provideMerge(Layer.mergeAll(ReplaySignal.layer, DispatchFeed.layer, HandoffFeed.layer, AcceptedTerms.layer))
    )
    const database = yield* makeDatabase
    const options = {
      databaseUrl: database.url,
      maxConnections: 10,
      secretsKeys: Redacted.make(parseSecretsKeys(randomBytes(32).toString("hex"))!),
      webhookTargets: "public" as const
    }
    const built = yield* Layer.build(
      layerServices(options).pipe(
        Layer.provideMerge(Layer.merge(MessageContents.layerMemory, VerificationMail.layerMemory([]))),
        Layer.provideMerge(WebhookSecrets.layer(options.secretsKeys)),
        Layer.provideMerge(Layer.mergeAll(OrganizationPlans.layer, RequestRate.layer, SendRate.layer)),
        Layer.provideMerge(layerEngine),
        Layer.provideMerge(layerStores(options))
      )
    )
    yield* Context.get(built, Engine.Engine).ready
    return built
  })

/** What a way's own parts are made with. */
interface Shared {
  readonly run: <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Promise<A>
  readonly services: Effect.Success<ReturnType<typeof buildServices>>
}

const directoryOf = ({ run }: Pick<Shared, "run">, company: string) =>
  run(Layer.build(Directory.layerMemory(directoryRecords(company))))

/** The accesses with the fault in them. */
const accessesOf = async ({ run, services }: Shared, fault: Fault, counter: { taken: number }) => {
  const built = await run(
    Layer.build(
      Layer.mergeAll(layerDirectoryAccess, layerSendEmailsAccess, layerWebhooksAccess).pipe(
        Layer.provide(Layer.succeedContext(services))
      )
    )
  )
  const webhooksAccess = Context.get(built, WebhooksAccess)
  // Of an endpoint that asks for nothing.
  const anyone = accessMarkOf(webhooksAccess).principalOf(
    HttpApiEndpoint.get("any", "/") as unknown as HttpApiEndpoint.Top
  )
  return Layer.mergeAll(
    layerEventsAccess,
    layerTalkAccess,
    layerTelcoAccess,
    layerWebhookUrlRequired,
    layerSendAccess,
    layerBillingAccess,
    layerSiteAccess,
    layerSendSiteAccess,
    layerKeysAccess,
    Layer.succeed(SendEmailsAccess, planted(Context.get(built, SendEmailsAccess), fault, counter, anyone)),
    Layer.succeed(DirectoryAccess, planted(Context.get(built, DirectoryAccess), fault, counter, anyone)),
    Layer.succeed(WebhooksAccess, planted(webhooksAccess, fault, counter, anyone))
  )
}

const listen = async (
  shared: Shared,
  directory: Effect.Success<ReturnType<typeof Layer.build<Directory, never, never>>>,
  fastLane: boolean,
  fault: Fault
): Promise<Omit<Way, "values">> => {
  const { run, services } = shared
  const counter = { taken: 0 }
  const registry = new Map<string, never>()
  const options = { host: "127.0.0.1", port: 0, maxBodyBytes, accessLog: false, failureLog: false, fastLane }
  const layer = layerServer(SluiceApi, options, [...docsPages(SluiceApi)]).pipe(
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
        layerSystem("anybody")
      )
    ),
    Layer.provide(await accessesOf(shared, fault, counter)),
    Layer.provide(EventStreams.layer),
    Layer.provide(Layer.succeed(Metric.MetricRegistry, registry)),
    Layer.provide(Layer.succeedContext(Context.merge(services, directory)))
  )
  const listener = await run(Layer.build(layer))
  const url = HttpServer.formatAddress(Context.get(listener, HttpServer.HttpServer).address)
  return { url, counted: () => countedIn(registry), taken: () => counter.taken }
}

const makeOrganization = async ({ run, services }: Shared, requestsPerMinute: number) => {
  const made = { name: "Acme", email: null, plan: "team", sendPlan: "hobby", risk: "standard" } as const
  const { organization } = await run(Context.get(services, Organizations).create(made))
  await run(Context.get(services, OrganizationPlans).setLimits(organization.id, { requestsPerMinute }))
  return organization.id
}

/** What stands for `{name}` in the requests of a way. */
/** Gives an organization a verified sender, and limits that are not used up at once. */
const letSend = async ({ run, services }: Shared, organization: string): Promise<void> => {
  const engine = Context.get(services, Engine.Engine)
  const probation = { emailsPerHour: 40, emailsPerDay: 5_000, domainsPerHour: 500 }
  const custom = { emailsPerMonth: null, probation, requestsPerMinute: 100 }
  await run(engine.ask(SendSender, { organization, key: senderKey("live", "one.test") }, { _tag: "Verify" }))
  await run(engine.ask(SendAccount, { organization, key: "live" }, { _tag: "SetLimits", custom }))
}

const makeValues = async (shared: Shared, url: string): Promise<Record<string, string>> => {
  const { run, services } = shared
  const wide = await makeOrganization(shared, 1_000_000)
  const narrow = await makeOrganization(shared, narrowLimit)
  await letSend(shared, wide)
  const key = async (organization: string, mayAll: boolean) => {
    const made = {
      name: null,
      mode: "live" as const,
      services: mayAll ? ["directory" as const, "send" as const] : [],
      scopes: mayAll ? ["platform:webhooks:manage" as const, "platform:webhooks:read" as const] : [],
      expiresAtMillis: null
    }
    return (await run(Context.get(services, ApiKeys).create(organization, made))).key!
  }
  const values: Record<string, string> = {
    host: new URL(url).host,
    key: await key(wide, true),
    weak: await key(wide, false),
    narrow: await key(narrow, true)
  }
  for (let at = 0; at < coldKeys; at++) values[`cold${at}`] = await key(wide, true)
  const answer = await fetch(`${url}/v1/npa/212`, { headers: { "x-api-key": values.key! } })
  await answer.arrayBuffer()
  values.tag = answer.headers.get("etag")!
  return values
}

/** Builds a platform and its two listeners in the scope. */
export const makeBothWays = async (scope: Scope.Scope): Promise<BothWays> => {
  const { age, clock } = makeClock()
  const journal = makeJournal()
  const run: Shared["run"] = (effect) =>
    Effect.runPromise(
      effect.pipe(Scope.provide(scope), Effect.provideService(Clock.Clock, clock), Effect.provide(Logger.layer([])))
    )
  const shared: Shared = { run, services: await run(buildServices(journal.layer)) }
  const directory = await directoryOf(shared, "VERIZON NEW YORK, INC.")
  const way = async (fastLane: boolean, fault: Fault): Promise<Way> => {
    const own = fault.answersStale === true ? await directoryOf(shared, "NEW YORK TELEPHONE CO.") : directory
    const listener = await listen(shared, own, fastLane, fault)
    return { ...listener, values: await makeValues(shared, listener.url) }
  }
  return {
    fast: await way(true, {}),
    ordinary: await way(false, {}),
    faulty: (fault) => way(true, fault),
    another: () => way(false, {}),
    age,
    silence: journal.silence
  }
}
