/**
 * The public API in this process, on PostgreSQL and with the engine's log in memory: what the webhook endpoints answer over HTTP, while a test can
 * ask the actors itself (an endpoint pauses by failed deliveries, and nothing is delivered here).
 */
import { Context, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { expect } from "vitest"
import * as Engine from "../../src/engine/Engine.ts"
import { ApiKeys } from "../../src/platform/ApiKeys.ts"
import type { Scope as KeyScope } from "../../src/platform/model.ts"
import { Organizations } from "../../src/platform/Organizations.ts"
import type { DayPartitions } from "../../src/postgres/dayPartitions.ts"
import type { EndpointCommand } from "../../src/webhooks/endpoint/model.ts"
import { WebhookEndpoint } from "../../src/webhooks/endpoint/rules.ts"
import { type Reply, request } from "../http/harness.ts"
import { type SharedApi, useSharedApi } from "../support/sharedApi.ts"

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
  /** The key that `ask` asks with. */
  readonly key: string
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

const platformOf = ({ databaseUrl, services, url }: SharedApi): WebhookPlatform => {
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
      const key = await keyOf(organization.id, manageAndRead)
      const ask = askAt(url, key)
      const tell: Tenant["tell"] = async (endpointId, command) => {
        const target = { organization: organization.id, key: endpointId }
        await run(Context.get(services, Engine.Engine).ask(WebhookEndpoint, target, command))
      }
      let failed = 0
      return {
        organization: organization.id,
        key,
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

/** The worker's API for the tests of the file; to be asked for inside tests and hooks only. */
export const useWebhookPlatform = (): (() => WebhookPlatform) => useSharedApi(platformOf)
