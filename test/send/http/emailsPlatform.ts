/**
 * The send endpoints over HTTP in this process, on PostgreSQL and with the engine's log in memory: a test can verify senders, set limits and pause accounts by
 * asking the actors itself.
 */
import { randomUUID } from "node:crypto"
import { Context, Effect } from "effect"
import { expect } from "vitest"
import * as Engine from "../../../src/engine/Engine.ts"
import { ApiKeys } from "../../../src/platform/ApiKeys.ts"
import type { Service } from "../../../src/platform/model.ts"
import { Organizations } from "../../../src/platform/Organizations.ts"
import { SiteCredentials } from "../../../src/platform/SiteCredentials.ts"
import {
  type Mode,
  SendAccount,
  type SendAccountCommand,
  SendEmail,
  SendSender,
  SendSuppressions,
  senderKey,
  suppressionPlace
} from "../../../src/send/account/actors/index.ts"
import type { Risk, SendPlan } from "../../../src/send/limits.ts"
import type { CustomLimits } from "../../../src/send/rules/account.ts"
import { query } from "../../cli/support.ts"
import { type SharedApi, useSharedApi } from "../../support/sharedApi.ts"
import { type Ask, askAt } from "../../webhooks/platform.ts"

/** The verified sender of every organization made here. */
export const senderDomain = "one.test"

/** A message that is accepted. */
export const mail = { from: `Ann <ann@${senderDomain}>`, to: "bob@two.test", subject: "Hello", text: "Hi Bob" }

export interface Account {
  readonly organization: string
  readonly mode: Mode
  readonly key: string
  readonly ask: Ask
  /** Sends one email, which is accepted, and answers its id. */
  readonly sent: (more?: object) => Promise<string>
  readonly tell: (command: SendAccountCommand) => Promise<void>
  readonly limits: (limits: Partial<CustomLimits>) => Promise<void>
  readonly suppress: (address: string) => Promise<void>
  /** A key of the organization with these services. */
  readonly newKey: (options?: { readonly services?: ReadonlyArray<Service>; readonly mode?: Mode }) => Promise<string>
  /** A new site credential of the organization. */
  readonly siteCredential: () => Promise<string>
  /** Asks with one. */
  readonly site: () => Promise<Ask>
  /** The state of an email as its actor has it. */
  readonly stateOf: (id: string) => Promise<string>
}

export interface AccountOptions {
  readonly mode?: Mode
  readonly plan?: SendPlan
  readonly risk?: Risk
  /** Whether it is of a version without an engine: then its plan is in its row alone. */
  readonly isOld?: boolean
  /** Whether the sender is; it is by default. */
  readonly verified?: boolean
}

export interface SendPlatform {
  readonly url: string
  readonly databaseUrl: string
  readonly engine: Engine.Engine["Service"]
  readonly account: (options?: AccountOptions) => Promise<Account>
}

const insertOld = async (databaseUrl: string, plan: SendPlan): Promise<string> => {
  const id = `org_${randomUUID()}`
  await query(
    databaseUrl,
    "insert into organizations (id, name, plan, send_plan, risk, created_at) values ($1, 'Old', 'team', $2, 'standard', now())",
    [id, plan]
  )
  return id
}

const platformOf = ({ databaseUrl, services, url }: SharedApi): SendPlatform => {
  const engine = Context.get(services, Engine.Engine)
  const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(effect)
  return {
    url,
    databaseUrl,
    engine,
    account: async ({ isOld = false, mode = "live", plan = "enterprise", risk = "standard", verified = true } = {}) => {
      const made = { name: "Acme", email: null, plan: "team", sendPlan: plan, risk } as const
      const id = isOld
        ? await insertOld(databaseUrl, plan)
        : (await run(Context.get(services, Organizations).create(made))).organization.id
      const newKey: Account["newKey"] = async ({ mode: of = mode, services: granted = ["send"] as const } = {}) => {
        const key = { name: null, mode: of, services: granted, scopes: [], expiresAtMillis: null } as const
        return (await run(Context.get(services, ApiKeys).create(id, key))).key!
      }
      const account = { organization: id, key: mode }
      const siteCredential = async () =>
        (await run(Context.get(services, SiteCredentials).create(id, "other mail"))).credential!
      const tell: Account["tell"] = async (command) => {
        await run(engine.ask(SendAccount, account, command))
      }
      if (verified)
        await run(engine.ask(SendSender, { organization: id, key: senderKey(mode, senderDomain) }, { _tag: "Verify" }))
      const key = await newKey()
      const ask = askAt(url, key)
      return {
        organization: id,
        mode,
        key,
        ask,
        tell,
        newKey,
        sent: async (more = {}) => {
          const answer = await ask("POST", "/v1/send/emails", { ...mail, ...more })
          expect(answer.status, JSON.stringify(answer.body)).toBe(202)
          return (answer.body as { readonly id: string }).id
        },
        siteCredential,
        site: async () => askAt(url, await siteCredential()),
        limits: (limits) => tell({ _tag: "SetLimits", custom: { emailsPerMonth: null, probation: null, ...limits } }),
        suppress: async (address) => {
          const place = { organization: id, key: suppressionPlace(id, mode, address).key }
          await run(engine.ask(SendSuppressions, place, { _tag: "Suppress", address, reason: "manual" }))
        },
        stateOf: async (email) => (await run(engine.state(SendEmail, { organization: id, key: email }))).state
      }
    }
  }
}

/** The worker's API for the tests of the file; to be asked for inside tests and hooks only. */
export const useSendPlatform = (): (() => SendPlatform) => useSharedApi(platformOf)
