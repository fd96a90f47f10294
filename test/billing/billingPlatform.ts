/**
 * The public API in this process on a database of its own, for tests of billing: what is sold and how it is paid is the test's. Its clock is the machine's.
 */
import { randomBytes } from "node:crypto"
import { Context, Effect, Exit, Layer, Logger, Redacted, Scope } from "effect"
import { HttpServer } from "effect/http"
import type { SqlClient } from "effect/sql"
import { afterAll, beforeAll } from "vitest"
import { layerMatching } from "../../src/app/dispatch.ts"
import { actors, lanes, projections } from "../../src/app/engine.ts"
import { type BillingSettings, layerServices, layerStores } from "../../src/app/layers.ts"
import { layerPublic } from "../../src/app/server.ts"
import type { Invoices, Subscriptions } from "../../src/billing/index.ts"
import { parseSecretsKeys } from "../../src/common/secretsKeys.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import { layerLocal } from "../../src/engine/Placement.ts"
import { TestEvents } from "../../src/events/TestEvents.ts"
import { ApiKeys, type NewApiKey } from "../../src/platform/ApiKeys.ts"
import { OrganizationPlans } from "../../src/platform/OrganizationPlans.ts"
import { Organizations } from "../../src/platform/Organizations.ts"
import { RequestRate } from "../../src/platform/RequestRate.ts"
import type { SiteCredentials } from "../../src/platform/SiteCredentials.ts"
import { layerSiteRate } from "../../src/platform/SiteRate.ts"
import * as CursorsPostgres from "../../src/postgres/CursorsPostgres.ts"
import { MessageContents } from "../../src/send/contents/MessageContents.ts"
import { SendRate } from "../../src/send/emails/SendRate.ts"
import { HandoffFeed } from "../../src/send/handoff/HandoffFeed.ts"
import { VerificationMail } from "../../src/send/senders/VerificationMail.ts"
import { DispatchFeed } from "../../src/webhooks/delivery/DispatchFeed.ts"
import { ReplaySignal } from "../../src/webhooks/replay/ReplaySignal.ts"
import { WebhookSecrets } from "../../src/webhooks/secret/WebhookSecrets.ts"
import { makeDatabase } from "../support/database.ts"

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of every shape.
  readonly body: any
}

/** Asks with a key: method, path, body, headers. */
export type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>

export interface Tenant {
  readonly organization: string
  /** With a live key for everything. */
  readonly ask: Ask
  readonly askAs: (key: Partial<NewApiKey>) => Promise<Ask>
}

type Needed =
  | Subscriptions
  | Invoices
  | SiteCredentials
  | OrganizationPlans
  | TestEvents
  | SqlClient.SqlClient
  | Engine.Engine

export interface BillingPlatform {
  readonly url: string
  readonly run: <A, E>(effect: Effect.Effect<A, E, Needed>) => Promise<A>
  readonly tenant: (name?: string) => Promise<Tenant>
}

const layerEngine = Engine.layer({ actors, lanes, reactors: [projections], config: { partitions: 2 } }).pipe(
  Layer.provide(Layer.mergeAll(JournalMemory.layer, CheckpointsMemory.layer, CursorsPostgres.layer, layerLocal)),
  Layer.provide(layerMatching),
  Layer.provideMerge(Layer.mergeAll(ReplaySignal.layer, DispatchFeed.layer, HandoffFeed.layer))
)

const build = (scope: Scope.Scope, billing: BillingSettings) =>
  Effect.gen(function* () {
    const database = yield* makeDatabase
    const reached = { url: "" }
    const options = {
      databaseUrl: database.url,
      maxConnections: 10,
      secretsKeys: Redacted.make(parseSecretsKeys(randomBytes(32).toString("hex"))!),
      webhookTargets: "public" as const,
      nameServers: ["127.0.0.1:1"],
      publicUrl: () => reached.url,
      billing
    }
    const services = yield* Layer.build(
      layerServices(options).pipe(
        Layer.provideMerge(WebhookSecrets.layer(options.secretsKeys)),
        Layer.provideMerge(
          Layer.mergeAll(OrganizationPlans.layer, TestEvents.layer, RequestRate.layer, SendRate.layer, layerSiteRate)
        ),
        Layer.provideMerge(Layer.merge(MessageContents.layerMemory, VerificationMail.layerMemory([]))),
        Layer.provideMerge(layerEngine),
        Layer.provideMerge(layerStores(options))
      )
    )
    yield* Context.get(services, Engine.Engine).ready
    const listener = yield* Layer.build(
      layerPublic({ host: "127.0.0.1", port: 0, maxBodyBytes: 262_144, accessLog: false }).pipe(
        Layer.provide(Layer.succeedContext(services))
      )
    )
    const url = HttpServer.formatAddress(Context.get(listener, HttpServer.HttpServer).address)
    reached.url = url
    return { services, url }
  }).pipe(Scope.provide(scope), Effect.provide(Logger.layer([])))

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

const platformOf = ({ services, url }: Effect.Success<ReturnType<typeof build>>): BillingPlatform => {
  const run: BillingPlatform["run"] = (effect) => Effect.runPromise(Effect.provideContext(effect, services))
  const keyOf = async (organization: string, key: Partial<NewApiKey>) => {
    const made: NewApiKey = {
      name: null,
      mode: "live",
      services: ["directory", "send", "telco", "talk"],
      scopes: ["*"],
      expiresAtMillis: null,
      ...key
    }
    return (await run(Context.get(services, ApiKeys).create(organization, made))).key!
  }
  return {
    url,
    run,
    tenant: async (name = "Acme") => {
      const { organization } = await run(
        Context.get(services, Organizations).create({
          name,
          email: "billing@example.com",
          plan: "free",
          sendPlan: "hobby",
          risk: "standard"
        })
      )
      return {
        organization: organization.id,
        ask: askAt(url, await keyOf(organization.id, {})),
        askAs: async (key) => askAt(url, await keyOf(organization.id, key))
      }
    }
  }
}

/** Starts the API for the tests of the file; to be asked for inside tests and hooks only. */
export const useBillingPlatform = (billing: BillingSettings): (() => BillingPlatform) => {
  let platform: BillingPlatform | undefined
  const scope = Scope.makeUnsafe()
  beforeAll(async () => {
    platform = platformOf(await Effect.runPromise(build(scope, billing)))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return () => platform!
}
