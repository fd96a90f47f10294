/**
 * The platform under test: the real command line on the run's PostgreSQL and NATS, each behind a proxy that a test can
 * cut, with the admin API on, and with the access log and an OTLP collector, which switch the fast lane off. Started once for the whole file, on a copy of a database that holds the bundled data. Every key that is made is remembered, so that the last test can look for all of them.
 */
import { randomBytes } from "node:crypto"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, expect, inject } from "vitest"
import { sluice } from "../support/commands.ts"
import { urlOf } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"
import { type Finished, type Platform, startPlatform } from "../support/platform.ts"
import { makeCopy } from "../support/templates.ts"
import { type Collector, startCollector } from "./collector.ts"
import { hangMillis } from "./exchange.ts"
import { proxyOf, type TcpProxy, through } from "./proxy.ts"

/** What a response of the platform holds after the checks that hold for every one of them. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

export interface NewKey {
  readonly services?: ReadonlyArray<string>
  readonly scopes?: ReadonlyArray<string>
  readonly mode?: "live" | "test"
  readonly expiresAt?: number
}

export interface CreatedKey {
  readonly id: string
  readonly key: string
}

/** A running platform as tests over HTTP reach it, with an organization of theirs. */
export interface Reached {
  readonly url: string
  readonly adminUrl: string
  readonly adminKey: string
  /** The database's address. */
  readonly databaseUrl: string
  readonly process: Platform
  /** The organization of every key made here, plan `team`. */
  readonly organization: string
  /** A key with the service `directory` and no scope. */
  readonly key: string
  /** Texts that must be in no log and no trace. */
  readonly secrets: Set<string>
  /** Requests a path of the public API, with `key` as bearer unless the init has headers of its own. */
  readonly get: (path: string, init?: RequestInit) => Promise<Reply>
  /** Requests a path of the admin API with its credential; the body is sent as JSON. */
  readonly admin: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>
  readonly createKey: (key?: NewKey) => Promise<CreatedKey>
  readonly revokeKey: (id: string) => Promise<void>
}

export interface TestPlatform extends Reached {
  /** NATS' address, past the proxy, as `databaseUrl` is past its own. */
  readonly natsUrl: string
  readonly database: TcpProxy
  readonly nats: TcpProxy
  readonly collector: Collector
  /** Runs a command in a process of its own on the same database, not through the proxies: what it changes, nodes hear of. */
  readonly elsewhere: (...args: ReadonlyArray<string>) => Promise<string>
  /** Stops the platform as an operator does; nothing but its output can be looked at afterwards. */
  readonly stop: () => Promise<Finished>
}

/** Requests, and checks what docs/platform.md, 1.3 asks of every response. */
export const request = async (url: string, init: RequestInit = {}): Promise<Reply> => {
  const response = await fetch(url, { signal: AbortSignal.timeout(hangMillis), redirect: "manual", ...init })
  const text = await response.text()
  expect(response.headers.get("x-request-id"), `${url} has a request id`).toMatch(/^\S{1,128}$/)
  const json = /^application\/json\b/.test(response.headers.get("content-type") ?? "") && text !== ""
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text }
}

/** Where the running platform's admin API listens, from the file by which commands find it. */
export const adminUrlOf = async (platform: Platform): Promise<string> => {
  const run = JSON.parse(await readFile(join(platform.dataDir, "run.json"), "utf8")) as { readonly adminUrl: string }
  return run.adminUrl
}

/** Makes an organization and a key on a running platform, and what reaches it. */
export const reach = async (
  running: Pick<Reached, "process" | "adminUrl" | "adminKey" | "databaseUrl">
): Promise<Reached> => {
  const { adminKey, adminUrl, process } = running
  const secrets = new Set([adminKey])

  const admin: Reached["admin"] = (method, path, body, headers = {}) =>
    request(`${adminUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${adminKey}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
  const created = await admin("POST", "/admin/v1/organizations", { name: "tests", plan: "team" })
  expect(created.status).toBe(201)
  const organization = (created.body as { readonly id: string }).id
  // A quick machine asks more often than the plan allows.
  const limits = { requestsPerMinute: "unlimited" }
  expect((await admin("PUT", `/admin/v1/organizations/${organization}/limits`, limits)).status).toBe(200)
  const createKey: Reached["createKey"] = async ({ scopes = [], services = ["directory"], ...rest } = {}) => {
    const reply = await admin("POST", `/admin/v1/organizations/${organization}/keys`, { services, scopes, ...rest })
    expect(reply.status).toBe(201)
    const made = reply.body as CreatedKey
    secrets.add(made.key)
    return made
  }
  const { key } = await createKey()

  return {
    ...running,
    url: process.url,
    organization,
    key,
    secrets,
    get: (path, init) => request(`${process.url}${path}`, { headers: { authorization: `Bearer ${key}` }, ...init }),
    admin,
    createKey,
    revokeKey: async (id) => expect((await admin("DELETE", `/admin/v1/keys/${id}`)).status).toBe(200)
  }
}

const passwordOf = (url: string): ReadonlyArray<string> => {
  const { password } = new URL(url)
  return password === "" ? [] : [password]
}

const build = async (cleanup: Array<() => Promise<unknown>>): Promise<TestPlatform> => {
  const scope = Scope.makeUnsafe()
  cleanup.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const databaseUrl = urlOf((await Effect.runPromise(makeCopy("bundled").pipe(Scope.provide(scope)))).name)
  const natsUrl = inject("natsUrl")
  const database = await proxyOf(databaseUrl)
  cleanup.push(database.close)
  const nats = await proxyOf(natsUrl)
  cleanup.push(nats.close)
  const collector = await startCollector()
  cleanup.push(collector.close)

  const adminKey = `adm_${randomBytes(24).toString("hex")}`
  const common = {
    SLUICE_ADMIN_KEY: adminKey,
    SLUICE_LOG_FORMAT: "json",
    SLUICE_ACCESS_LOG: "on"
  }
  const platform = await startPlatform({
    ...common,
    DATABASE_URL: through(databaseUrl, database),
    NATS_URL: through(natsUrl, nats),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url
  })
  let stopping: Promise<Finished> | undefined
  const stop = () => (stopping ??= platform.stop())
  cleanup.push(stop)

  const elsewhereFolder = await mkdtemp(join(tmpdir(), "sluice-elsewhere-"))
  cleanup.push(() => rm(elsewhereFolder, { recursive: true, force: true }))

  const reached = await reach({
    process: platform,
    adminUrl: await adminUrlOf(platform),
    adminKey,
    databaseUrl
  })
  for (const secret of [platform.demoKey!, ...passwordOf(databaseUrl), ...passwordOf(natsUrl)])
    reached.secrets.add(secret)

  return {
    ...reached,
    natsUrl,
    database,
    nats,
    collector,
    elsewhere: async (...args) => {
      const { code, stdout, stderr } = await sluice(args, {
        DATABASE_URL: databaseUrl,
        SLUICE_DATA_DIR: elsewhereFolder
      })
      expect(code, stderr).toBe(0)
      return stdout
    },
    stop
  }
}

/** Starts the platform for the tests of the file; to be asked for inside tests and hooks only. */
export const usePlatform = (): (() => TestPlatform) => {
  let platform: TestPlatform | undefined
  const cleanup: Array<() => Promise<unknown>> = []
  beforeAll(async () => {
    platform = await build(cleanup)
  }, patienceMillis)
  afterAll(async () => {
    for (const step of cleanup.reverse()) await step()
  }, patienceMillis)
  return () => platform!
}
