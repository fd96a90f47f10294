/**
 * The public API in this process, on PostgreSQL and with the engine's log in memory: what the webhook endpoints answer over HTTP, while a test can
 * ask the actors itself (an endpoint pauses by failed deliveries, and nothing is delivered here).
 */
import { randomBytes } from "node:crypto"
import { Context, Effect, Exit, Layer, Logger, Redacted, Scope } from "effect"
import { HttpServer } from "effect/http"
import type { SqlClient } from "effect/sql"
import { afterAll, beforeAll, expect } from "vitest"
import { layerMatching } from "../../src/app/dispatch.ts"
import { actors, lanes, projections } from "../../src/app/engine.ts"
import { layerServices, layerStores } from "../../src/app/layers.ts"
import { layerPublic } from "../../src/app/server.ts"
import { parseSecretsKeys } from "../../src/common/secretsKeys.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import { layerLocal } from "../../src/engine/Placement.ts"
import { ApiKeys } from "../../src/platform/ApiKeys.ts"
import type { Scope as KeyScope } from "../../src/platform/model.ts"
import { OrganizationPlans } from "../../src/platform/OrganizationPlans.ts"
import { Organizations } from "../../src/platform/Organizations.ts"
import { RequestRate } from "../../src/platform/RequestRate.ts"
import * as CursorsPostgres from "../../src/postgres/CursorsPostgres.ts"
import type { DayPartitions } from "../../src/postgres/dayPartitions.ts"
import { MessageContents } from "../../src/send/contents/MessageContents.ts"
import { SendRate } from "../../src/send/emails/SendRate.ts"
import { HandoffFeed } from "../../src/send/handoff/HandoffFeed.ts"
import { VerificationMail } from "../../src/send/senders/VerificationMail.ts"
import { DispatchFeed } from "../../src/webhooks/delivery/DispatchFeed.ts"
import type { EndpointCommand } from "../../src/webhooks/endpoint/model.ts"
import { WebhookEndpoint } from "../../src/webhooks/endpoint/rules.ts"
import { ReplaySignal } from "../../src/webhooks/replay/ReplaySignal.ts"
import { WebhookSecrets } from "../../src/webhooks/secret/WebhookSecrets.ts"
import type { TargetPolicy } from "../../src/webhooks/target/targets.ts"
import { type Reply, request } from "../http/harness.ts"
import { makeDatabase } from "../support/database.ts"

/** Where endpoints of tests are. */
export const hookUrl = "https://hooks.example.com/in"

export const manageAndRead: ReadonlyArray<KeyScope> = ["platform:webhooks:manage", "platform:webhooks:read"]

export type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>

/** Asks an API with a key; a body that is a text is sent as it is. */
export const askAt =
  (url: string, key: string | undefined): Ask =>
  (method, path, body, headers = {}) =>
    request(`${url}${path}`, {
      method,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
    })

/** An organization of its own. */
export interface Tenant {
  readonly organization: string
  readonly ask: Ask
  /** Asks with a key of these scopes. */
  readonly askAs: (...scopes: ReadonlyArray<KeyScope>) => Promise<Ask>
  /** Makes an endpoint and answers its id. */
  readonly endpoint: (more?: object) => Promise<string>
  /** Tells the endpoint's actor something, as the dispatcher does. */
  readonly tell: (endpointId: string, command: EndpointCommand) => Promise<void>
  /** Lets deliveries fail one after the other. */
  readonly failures: (endpointId: string, count: number) => Promise<void>
}

export interface WebhookPlatform {
  readonly url: string
  readonly databaseUrl: string
  readonly run: <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient | DayPartitions>) => Promise<A>
  readonly tenant: () => Promise<Tenant>
}

const layerEngine = Engine.layer({ actors, lanes, reactors: [projections], config: { partitions: 2 } }).pipe(
  Layer.provide(Layer.mergeAll(JournalMemory.layer, CheckpointsMemory.layer, CursorsPostgres.layer, layerLocal)),
  Layer.provide(layerMatching),
  Layer.provideMerge(Layer.mergeAll(ReplaySignal.layer, DispatchFeed.layer, HandoffFeed.layer))
)

/** The API and what is behind it. */
export const buildApi = (scope: Scope.Scope, targets: TargetPolicy) =>
  Effect.gen(function* () {
    const database = yield* makeDatabase
    const options = {
      databaseUrl: database.url,
      maxConnections: 10,
      secretsKeys: Redacted.make(parseSecretsKeys(randomBytes(32).toString("hex"))!),
      webhookTargets: targets
    }
    const services = yield* Layer.build(
      layerServices(options).pipe(
        Layer.provideMerge(Layer.merge(MessageContents.layerMemory, VerificationMail.layerMemory([]))),
        Layer.provideMerge(WebhookSecrets.layer(options.secretsKeys)),
        Layer.provideMerge(Layer.mergeAll(OrganizationPlans.layer, RequestRate.layerUnlimited, SendRate.layer)),
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
    return { services, url, databaseUrl: Redacted.value(database.url) }
  }).pipe(Scope.provide(scope), Effect.provide(Logger.layer([])))

const platformOf = ({ databaseUrl, services, url }: Effect.Success<ReturnType<typeof buildApi>>): WebhookPlatform => {
  const run: WebhookPlatform["run"] = (effect) => Effect.runPromise(Effect.provideContext(effect, services))
  const keyOf = async (organization: string, scopes: ReadonlyArray<KeyScope>) => {
    const apiKeys = Context.get(services, ApiKeys)
    const made = { name: null, mode: "live", services: [], scopes, expiresAtMillis: null } as const
    return (await run(apiKeys.create(organization, made))).key!
  }
  return {
    url,
    databaseUrl,
    run,
    tenant: async () => {
      const { organization } = await run(
        Context.get(services, Organizations).create({
          name: "Acme",
          email: null,
          plan: "team",
          sendPlan: "hobby",
          risk: "standard"
        })
      )
      const ask = askAt(url, await keyOf(organization.id, manageAndRead))
      const tell: Tenant["tell"] = async (key, command) => {
        await run(
          Context.get(services, Engine.Engine).ask(WebhookEndpoint, { organization: organization.id, key }, command)
        )
      }
      let failed = 0
      return {
        organization: organization.id,
        ask,
        askAs: async (...scopes) => askAt(url, await keyOf(organization.id, scopes)),
        endpoint: async (more = {}) => {
          const made = await ask("POST", "/v1/webhooks", { url: hookUrl, enabled_events: ["telco.*"], ...more })
          expect(made.status, JSON.stringify(made.body)).toBe(201)
          return (made.body as { readonly id: string }).id
        },
        tell,
        failures: async (endpointId, count) => {
          for (let at = 0; at < count; at++) {
            const deliveryId = `dlv_${++failed}`
            await tell(endpointId, { _tag: "RecordFailure", deliveryId, origin: "event", status: 500 })
          }
        }
      }
    }
  }
}

/** Starts the API for the tests of the file; to be asked for inside tests and hooks only. */
export const useWebhookPlatform = (targets: TargetPolicy = "public"): (() => WebhookPlatform) => {
  let platform: WebhookPlatform | undefined
  const scope = Scope.makeUnsafe()
  beforeAll(async () => {
    platform = platformOf(await Effect.runPromise(buildApi(scope, targets)))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return () => platform!
}
