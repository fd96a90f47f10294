/**
 * The public API in this process on a database of its own, for tests of sending: its name server is one on loopback, and each tenant has a live and a test key. Its clock is
 * the machine's.
 */
import { randomBytes } from "node:crypto"
import { Context, Effect, Exit, Layer, Logger, Redacted, Scope } from "effect"
import { HttpServer } from "effect/http"
import type { SqlClient } from "effect/sql"
import { afterAll, beforeAll } from "vitest"
import { layerMatching } from "../../../src/app/dispatch.ts"
import { actors, lanes, projections } from "../../../src/app/engine.ts"
import { layerServices, layerStores } from "../../../src/app/layers.ts"
import { layerPublic } from "../../../src/app/server.ts"
import { parseSecretsKeys } from "../../../src/common/secretsKeys.ts"
import * as Engine from "../../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../../src/engine/memory/CheckpointsMemory.ts"
import * as JournalMemory from "../../../src/engine/memory/JournalMemory.ts"
import { layerLocal } from "../../../src/engine/Placement.ts"
import { ApiKeys } from "../../../src/platform/ApiKeys.ts"
import type { Service } from "../../../src/platform/model.ts"
import { OrganizationPlans } from "../../../src/platform/OrganizationPlans.ts"
import { Organizations } from "../../../src/platform/Organizations.ts"
import { RequestRate } from "../../../src/platform/RequestRate.ts"
import * as CursorsPostgres from "../../../src/postgres/CursorsPostgres.ts"
import { MessageContents } from "../../../src/send/contents/MessageContents.ts"
import type { DomainChecks } from "../../../src/send/domains/DomainChecks.ts"
import type { Domains } from "../../../src/send/domains/Domains.ts"
import { SendRate } from "../../../src/send/emails/SendRate.ts"
import { HandoffFeed } from "../../../src/send/handoff/HandoffFeed.ts"
import { type Mode, SendAccount } from "../../../src/send/index.ts"
import { type VerificationLink, VerificationMail } from "../../../src/send/senders/VerificationMail.ts"
import { DispatchFeed } from "../../../src/webhooks/delivery/DispatchFeed.ts"
import { ReplaySignal } from "../../../src/webhooks/replay/ReplaySignal.ts"
import { WebhookSecrets } from "../../../src/webhooks/secret/WebhookSecrets.ts"
import { makeDatabase } from "../../support/database.ts"
import { type NameServer, startNameServer } from "../../support/nameServer.ts"

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
  readonly live: Ask
  readonly test: Ask
  /** The keys' texts. */
  readonly keys: Readonly<Record<Mode, string>>
  readonly askAs: (mode: Mode, services: ReadonlyArray<Service>) => Promise<Ask>
  /** What admission says of an email from an address: its state, or the code of the rejection. */
  readonly admitted: (mode: Mode, from: string, to?: string) => Promise<string>
}

type Needed = Domains | DomainChecks | SqlClient.SqlClient | Engine.Engine

export interface SendPlatform {
  readonly url: string
  readonly names: NameServer
  /** What was mailed to addresses that are to become senders. */
  readonly mails: ReadonlyArray<VerificationLink>
  readonly run: <A, E>(effect: Effect.Effect<A, E, Needed>) => Promise<A>
  readonly tenant: () => Promise<Tenant>
}

const layerEngine = Engine.layer({ actors, lanes, reactors: [projections], config: { partitions: 2 } }).pipe(
  Layer.provide(Layer.mergeAll(JournalMemory.layer, CheckpointsMemory.layer, CursorsPostgres.layer, layerLocal)),
  Layer.provide(layerMatching),
  Layer.provideMerge(Layer.mergeAll(ReplaySignal.layer, DispatchFeed.layer, HandoffFeed.layer))
)

const build = (scope: Scope.Scope) =>
  Effect.gen(function* () {
    const database = yield* makeDatabase
    const names = yield* startNameServer
    const mails: Array<VerificationLink> = []
    const reached = { url: "" }
    const options = {
      databaseUrl: database.url,
      maxConnections: 10,
      secretsKeys: Redacted.make(parseSecretsKeys(randomBytes(32).toString("hex"))!),
      webhookTargets: "public" as const,
      nameServers: [names.address],
      publicUrl: () => reached.url
    }
    const services = yield* Layer.build(
      layerServices(options).pipe(
        Layer.provideMerge(WebhookSecrets.layer(options.secretsKeys)),
        Layer.provideMerge(Layer.mergeAll(OrganizationPlans.layer, RequestRate.layerUnlimited, SendRate.layer)),
        Layer.provideMerge(Layer.merge(MessageContents.layerMemory, VerificationMail.layerMemory(mails))),
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
    return { services, url, names, mails }
  }).pipe(Scope.provide(scope), Effect.provide(Logger.layer([])))

const askAt =
  (url: string, key: string): Ask =>
  async (method, path, body, headers = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await answer.text()
    const isJson = answer.headers.get("content-type")?.includes("json") === true
    return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text }
  }

const platformOf = ({ mails, names, services, url }: Effect.Success<ReturnType<typeof build>>): SendPlatform => {
  const run: SendPlatform["run"] = (effect) => Effect.runPromise(Effect.provideContext(effect, services))
  const keyOf = async (organization: string, mode: Mode, services_: ReadonlyArray<Service>) => {
    const made = { name: null, mode, services: services_, scopes: [], expiresAtMillis: null }
    return (await run(Context.get(services, ApiKeys).create(organization, made))).key!
  }
  let emails = 0
  return {
    url,
    names,
    mails,
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
      const keys = {
        live: await keyOf(organization.id, "live", ["send"]),
        test: await keyOf(organization.id, "test", ["send"])
      }
      return {
        organization: organization.id,
        keys,
        live: askAt(url, keys.live),
        test: askAt(url, keys.test),
        askAs: async (mode, allowed) => askAt(url, await keyOf(organization.id, mode, allowed)),
        admitted: async (mode, from, to = "bob@recipient.example") => {
          const email = { id: `${organization.id}-${++emails}`, from, recipients: [to] }
          const asked = Context.get(services, Engine.Engine).ask(
            SendAccount,
            { organization: organization.id, key: mode },
            { _tag: "Admit", emails: [email], upgradeUrl: "https://example.com/plans" }
          )
          return run(
            Effect.match(asked, {
              onSuccess: (reply) => reply.emails[0]!.state,
              onFailure: (error) => ("code" in error ? error.code : String(error))
            })
          )
        }
      }
    }
  }
}

/** Starts the API for the tests of the file; to be asked for inside tests and hooks only. */
export const useSendPlatform = (): (() => SendPlatform) => {
  let platform: SendPlatform | undefined
  const scope = Scope.makeUnsafe()
  beforeAll(async () => {
    platform = platformOf(await Effect.runPromise(build(scope)))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return () => platform!
}
