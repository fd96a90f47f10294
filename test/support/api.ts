/** The public API in this process on a database of its own and an engine in memory, for tests of one product. Its clock is the machine's. */
import { randomBytes } from "node:crypto"
import { Context, Effect, Layer, Logger, Redacted, Scope } from "effect"
import { HttpServer } from "effect/http"
import { layerMatching } from "../../src/app/dispatch.ts"
import { actors, lanes, projections } from "../../src/app/engine.ts"
import { layerServices, layerStores, type ServiceOptions } from "../../src/app/layers.ts"
import { layerAdmin, layerPublic } from "../../src/app/server.ts"
import { parseSecretsKeys } from "../../src/common/secretsKeys.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import { layerLocal } from "../../src/engine/ports/Placement.ts"
import { TestEvents } from "../../src/events/TestEvents.ts"
import { EngineOnDemand } from "../../src/platform/EngineOnDemand.ts"
import { OrganizationPlans } from "../../src/platform/OrganizationPlans.ts"
import { MemberMail, type PersonalMail } from "../../src/platform/people/MemberMail.ts"
import { RequestRate } from "../../src/platform/RequestRate.ts"
import { layerSiteRate } from "../../src/platform/SiteRate.ts"
import * as CursorsPostgres from "../../src/postgres/CursorsPostgres.ts"
import { MessageContents } from "../../src/send/emails/contents/MessageContents.ts"
import { SendRate } from "../../src/send/emails/SendRate.ts"
import { HandoffFeed } from "../../src/send/handoff/HandoffFeed.ts"
import { SendOperator } from "../../src/send/index.ts"
import { AcceptedTerms } from "../../src/send/search/AcceptedTerms.ts"
import { type VerificationLink, VerificationMail } from "../../src/send/senders/addresses/VerificationMail.ts"
import { WhatIf } from "../../src/send/whatIf/WhatIf.ts"
import { DispatchFeed } from "../../src/webhooks/delivery/DispatchFeed.ts"
import { ReplaySignal } from "../../src/webhooks/replay/ReplaySignal.ts"
import { WebhookSecrets } from "../../src/webhooks/secret/WebhookSecrets.ts"
import { type MakeDatabase, makeDatabase } from "./database.ts"

const layerEngine = Engine.layer({ actors, lanes, reactors: [projections], config: { partitions: 2 } }).pipe(
  Layer.provide(Layer.mergeAll(JournalMemory.layer, CheckpointsMemory.layer, CursorsPostgres.layer, layerLocal)),
  Layer.provide(layerMatching),
  Layer.provideMerge(Layer.mergeAll(ReplaySignal.layer, DispatchFeed.layer, HandoffFeed.layer, AcceptedTerms.layer))
)

export interface ApiOptions extends Partial<ServiceOptions> {
  /** By default requests are not limited. */
  readonly requestRate?: Layer.Layer<RequestRate, never, Engine.Engine>
  /** Gets the links for addresses that are to become senders. */
  readonly mails?: Array<VerificationLink>
  /** Gets the mails with links for people; without it the platform mails none. */
  readonly memberMails?: Array<PersonalMail>
  /** By default an empty one. */
  readonly database?: MakeDatabase
  /** Opens the admin API too, for this credential. */
  readonly adminKey?: string
}

const layerMemberMails = (mails: Array<PersonalMail> | undefined): Layer.Layer<never> =>
  mails === undefined
    ? Layer.empty
    : Layer.succeed(MemberMail, { isPossible: true, send: (mail) => Effect.sync(() => void mails.push(mail)) })

/** Builds it until the scope ends; answers its services and where it listens. */
export const buildApi = (
  scope: Scope.Scope,
  {
    adminKey,
    database: made = makeDatabase,
    mails = [],
    memberMails,
    requestRate = RequestRate.layerUnlimited,
    ...given
  }: ApiOptions = {}
) =>
  Effect.gen(function* () {
    const database = yield* made
    const reached = { url: "" }
    const options: ServiceOptions = {
      databaseUrl: database.url,
      maxConnections: 10,
      secretsKeys: Redacted.make(parseSecretsKeys(randomBytes(32).toString("hex"))!),
      webhookTargets: "public",
      publicUrl: () => reached.url,
      ...given
    }
    const services = yield* Layer.build(
      layerServices(options).pipe(
        Layer.provideMerge(WebhookSecrets.layer(options.secretsKeys)),
        Layer.provideMerge(
          Layer.mergeAll(OrganizationPlans.layer, TestEvents.layer, requestRate, SendRate.layer, layerSiteRate)
        ),
        Layer.provideMerge(Layer.merge(MessageContents.layerMemory, VerificationMail.layerMemory(mails))),
        Layer.provideMerge(layerMemberMails(memberMails)),
        Layer.provideMerge(Layer.merge(SendOperator.layer, WhatIf.layer).pipe(Layer.provide(EngineOnDemand.layer))),
        Layer.provideMerge(layerEngine),
        Layer.provideMerge(layerStores(options))
      )
    )
    yield* Context.get(services, Engine.Engine).ready
    const place = { host: "127.0.0.1", port: 0, maxBodyBytes: 262_144, accessLog: false }
    const listener = yield* Layer.build(layerPublic(place).pipe(Layer.provide(Layer.succeedContext(services))))
    reached.url = HttpServer.formatAddress(Context.get(listener, HttpServer.HttpServer).address)
    const adminUrl =
      adminKey === undefined
        ? undefined
        : yield* Layer.build(
            layerAdmin({ ...place, keys: [Redacted.make(adminKey)] }).pipe(
              Layer.provide(Layer.succeedContext(services))
            )
          ).pipe(Effect.map((built) => HttpServer.formatAddress(Context.get(built, HttpServer.HttpServer).address)))
    return { services, url: reached.url, adminUrl, databaseUrl: Redacted.value(database.url) }
  }).pipe(Scope.provide(scope), Effect.provide(Logger.layer([])))

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of every shape.
  readonly body: any
}

/** Asks with a key: method, path, body, headers. */
export type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>

/** Asks with a bearer's text. */
export const askAt =
  (url: string, bearer: string): Ask =>
  async (method, path, body, headers = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await answer.text()
    const isJson = answer.headers.get("content-type")?.includes("json") === true
    return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text }
  }
