/**
 * The public API in this process on a database of its own, for tests of billing: what is sold and how it is paid is the test's. Its clock is the machine's.
 */
import { Context, Effect, Exit, Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { afterAll, beforeAll } from "vitest"
import type { BillingSettings } from "../../src/app/layers.ts"
import type { Invoices, Subscriptions } from "../../src/billing/index.ts"
import type * as Engine from "../../src/engine/Engine.ts"
import type { TestEvents } from "../../src/events/TestEvents.ts"
import { ApiKeys, type NewApiKey } from "../../src/platform/ApiKeys.ts"
import type { OrganizationPlans } from "../../src/platform/OrganizationPlans.ts"
import { Organizations } from "../../src/platform/Organizations.ts"
import { RequestRate } from "../../src/platform/RequestRate.ts"
import type { RequestWriter } from "../../src/platform/requests/RequestWriter.ts"
import type { SiteCredentials } from "../../src/platform/SiteCredentials.ts"
import type { WhatIf } from "../../src/send/whatIf/WhatIf.ts"
import { type Ask, askAt, buildApi } from "../support/api.ts"

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
  | RequestWriter
  | Organizations
  | WhatIf
  | SqlClient.SqlClient
  | Engine.Engine

export interface BillingPlatform {
  readonly url: string
  readonly adminUrl: string
  readonly run: <A, E>(effect: Effect.Effect<A, E, Needed>) => Promise<A>
  readonly tenant: (name?: string) => Promise<Tenant>
}

/** The credential of the admin API. */
export const adminKey = `adm_${"Ab1".repeat(10)}`

/** Requests are limited as they are in production; no name server answers. */
const build = (scope: Scope.Scope, billing: BillingSettings) =>
  buildApi(scope, { billing, nameServers: ["127.0.0.1:1"], requestRate: RequestRate.layer, adminKey })

const platformOf = ({ adminUrl, services, url }: Effect.Success<ReturnType<typeof build>>): BillingPlatform => {
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
    adminUrl: adminUrl!,
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
