/**
 * The world of the contract's tests: both APIs in this process on a database of their own, and organizations that have one of everything. What an organization
 * has is made when it is first asked for.
 */
import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Exit, Redacted, Scope } from "effect"
import { Pool } from "undici"
import { afterAll, beforeAll, expect } from "vitest"
import { builtInCatalogue } from "../../../src/billing/index.ts"
import * as Reactors from "../../../src/engine/Reactors.ts"
import type { NewApiKey } from "../../../src/platform/ApiKeys.ts"
import { services } from "../../../src/platform/model.ts"
import { query, until } from "../../cli/support.ts"
import { buildApi } from "../../support/api.ts"
import type { MakeDatabase } from "../../support/database.ts"
import { patienceMillis } from "../../support/patience.ts"
import { makeCopy } from "../../support/templates.ts"
import { putDelivery, putSkipped } from "../../webhooks/delivery/rows.ts"
import type { Endpoint } from "./endpoints.ts"

export interface Request {
  readonly method: string
  /** Byte for byte. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
}

export interface Answer {
  /** What was asked, for complaints. */
  readonly asked: string
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** As JSON where it is. */
  readonly body: unknown
}

/** A request to an endpoint: what stands for its parameters, and its body. */
export interface Given {
  readonly params?: Readonly<Record<string, string>>
  /** Pairs, where a name is to be given more than once. */
  readonly query?: Readonly<Record<string, string>> | ReadonlyArray<readonly [name: string, value: string]>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Instead of a body as JSON. */
  readonly text?: string | Uint8Array
}

/** What an endpoint answers. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of every shape.
type Made = Readonly<Record<string, any>>

type Lazy<A> = () => Promise<A>

const lazily = <A>(make: Lazy<A>): Lazy<A> => {
  let made: Promise<A> | undefined
  return () => (made ??= make())
}

/** What an organization has, by what it is called; each is an id unless it says otherwise. */
export interface Belongings {
  readonly endpoint: Lazy<string>
  readonly event: Lazy<string>
  readonly delivery: Lazy<string>
  readonly replay: Lazy<string>
  readonly domain: Lazy<string>
  readonly sender: Lazy<string>
  readonly suppression: Lazy<string>
  /** One that is scheduled. */
  readonly email: Lazy<string>
  readonly apiKey: Lazy<string>
  readonly site: Lazy<string>
  /** Somebody who is invited. */
  readonly member: Lazy<string>
  /** A session of the console, of the organization's key. */
  readonly session: Lazy<string>
  /** One that waits for payment. */
  readonly invoice: Lazy<string>
  /** A number of its inventory. */
  readonly number: Lazy<string>
  /** A request of the request log. */
  readonly request: Lazy<string>
}

export interface Account {
  readonly organization: string
  readonly key: string
  /** A domain from which it may send. */
  readonly sendsFrom: string
  readonly has: Belongings
  /** A further key; of test mode, with every service and scope, unless it says otherwise. */
  readonly newKey: (key?: Partial<Omit<NewApiKey, "expiresAtMillis" | "value">>) => Promise<string>
  /** Signs in to the console with the organization's key. */
  readonly openSession: () => Promise<unknown>
  /** A text of a new credential for sites. */
  readonly newSite: () => Promise<string>
  /** Asks an endpoint with what it asks for. */
  readonly ask: (endpoint: Endpoint, given: Given) => Promise<Answer>
  /** Asks for a path with the organization's key, and expects success. */
  readonly make: (method: string, path: string, body?: unknown) => Promise<Made>
}

export interface World {
  readonly url: string
  readonly adminUrl: string
  readonly adminKey: string
  readonly databaseUrl: string
  /** Waits until what was decided is written. */
  readonly settled: () => Promise<void>
  readonly request: (isAdmin: boolean, request: Request) => Promise<Answer>
  readonly account: () => Promise<Account>
}

/** As many as a site may make in a minute with one credential. */
const requestsPerSite = 500

const targetOf = ({ path }: Endpoint, { params = {}, query: parameters = {} }: Given): string => {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? "none")
  const pairs: Iterable<readonly [string, string]> = Array.isArray(parameters) ? parameters : Object.entries(parameters)
  const text = [...pairs].map(([name, value]) => `${encodeURIComponent(name)}=${value}`).join("&")
  return text === "" ? filled : `${filled}?${text}`
}

/** Asks one of the APIs, and looks at what every answer has. */
export const requester =
  (pool: Pool): ((request: Request) => Promise<Answer>) =>
  async ({ body, headers = {}, method, target }) => {
    const asked = `${method} ${target.slice(0, 300)} ${String(body ?? "").slice(0, 300)}`
    const answer = await pool.request({
      method: method as "GET",
      path: target,
      headers,
      ...(body === undefined ? {} : { body: body as string })
    })
    expect(answer.headers["x-request-id"], `${asked} has a request id`).toMatch(/^\S{1,128}$/)
    const type = String(answer.headers["content-type"] ?? "")
    const rest = { asked, status: answer.statusCode, headers: answer.headers }
    if (type.startsWith("text/event-stream")) {
      answer.body.destroy()
      return { ...rest, body: undefined }
    }
    const text = await answer.body.text()
    return { ...rest, body: /^application\/json\b/.test(type) && text !== "" ? JSON.parse(text) : text }
  }

/** A speech service that says nothing for a moment. */
export const startSpeech = async () => {
  const silence = Buffer.alloc(44 + 4_800)
  silence.write("RIFF\xe4\x12\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", "latin1")
  silence.writeUInt32LE(24_000, 24)
  silence.writeUInt32LE(48_000, 28)
  silence.write("\x02\0\x10\0data", 32, "latin1")
  silence.writeUInt32LE(4_800, 40)
  const server = createServer((asked, response) => {
    asked.resume().once("end", () => response.writeHead(200, { "content-type": "audio/wav" }).end(silence))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/` }
}

/** The voice that it has. */
export const voice = "alloy"

let organizations = 0

/** Makes an organization by the admin API, with a key. */
export const accountOf = async (world: World): Promise<Account> => {
  const number = ++organizations
  const asked = async (isAdmin: boolean, method: string, path: string, body?: unknown) => {
    const answer = await world.request(isAdmin, {
      method,
      target: path,
      headers: {
        authorization: `Bearer ${isAdmin ? world.adminKey : key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    expect(answer.status, `${answer.asked} ${JSON.stringify(answer.body)}`).toBeLessThan(300)
    return answer.body as Made
  }
  const made = { name: `Acme ${number}`, plan: "team", sendPlan: "enterprise" }
  const { id } = await asked(true, "POST", "/admin/v1/organizations", made)
  const newKey: Account["newKey"] = async (key = {}) => {
    const all = { mode: "test", services, scopes: ["*"] }
    return (await asked(true, "POST", `/admin/v1/organizations/${id}/keys`, { ...all, ...key })).key
  }
  const key: string = await newKey()
  const make: Account["make"] = (method, path, body) => asked(false, method, path, body)
  const admin = (method: string, path: string, body?: unknown) =>
    asked(true, method, `/admin/v1/organizations/${id}${path}`, body)
  const newSite = async () => String((await admin("POST", "/site-credentials", {})).credential)
  const sendsFrom = `sender${number}.example`
  const openSession = () =>
    world.request(false, {
      method: "POST",
      target: "/v1/console/sessions",
      headers: { "content-type": "application/json", "x-sluice-console": "1" },
      body: JSON.stringify({ key })
    })
  const has = belongingsOf({ world, id, make, admin, openSession, sendsFrom })
  let sites = 0
  let site = ""
  const bearerOf = async ({ access }: Endpoint): Promise<string | undefined> => {
    if (access === "admin") return world.adminKey
    if (access !== "site") return access === "key" ? key : undefined
    if (sites++ % requestsPerSite === 0) site = await newSite()
    return site
  }
  return {
    organization: id,
    key,
    sendsFrom,
    has,
    newKey,
    newSite,
    openSession,
    make,
    ask: async (endpoint, given) => {
      const bearer = await bearerOf(endpoint)
      const body = given.text ?? (given.body === undefined ? undefined : JSON.stringify(given.body))
      return world.request(endpoint.isAdmin, {
        method: endpoint.method,
        target: targetOf(endpoint, given),
        headers: {
          ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...given.headers
        },
        body
      })
    }
  }
}

interface Making extends Pick<Account, "make" | "sendsFrom"> {
  readonly world: World
  readonly id: string
  /** Signs in to the console with the organization's key. */
  readonly openSession: () => Promise<unknown>
  /** Asks for a path of the organization at the admin API. */
  readonly admin: (method: string, path: string, body?: unknown) => Promise<Made>
}

const belongingsOf = ({ admin, id, make, openSession, sendsFrom, world }: Making): Belongings => {
  const created = (path: string, body: object) => lazily(async () => String((await make("POST", path, body)).id))
  const found = lazily(async () => {
    await make("GET", "/v1/telco/lookup/2125550100")
    let events: ReadonlyArray<{ readonly eventId: string; readonly createdAt: number }> = []
    await until(async () => {
      events = (await make("GET", "/v1/events")).data
      return events.length > 0
    })
    return events[0]!
  })
  const hook = { url: "https://hooks.example.com/in", enabled_events: ["platform.*"] }
  const endpoint = created("/v1/webhooks", hook)
  const domain = created("/v1/send/domains", { name: sendsFrom })
  const mail = { to: "bob@two.test", subject: "Hello", text: "Hi Bob" }
  return {
    endpoint,
    event: async () => (await found()).eventId,
    delivery: lazily(async () => {
      const { createdAt, eventId } = await found()
      const place = { endpointId: await endpoint(), organization: id }
      return putDelivery(world.databaseUrl, place, { eventId, eventCreatedAt: createdAt })
    }),
    replay: lazily(async () => {
      const { createdAt } = await found()
      return (await make("POST", `/v1/webhooks/${await endpoint()}/replay`, { since: createdAt - 1_000 })).replayId
    }),
    domain,
    sender: created("/v1/send/senders", { email: `ann@single${sendsFrom}` }),
    suppression: created("/v1/send/suppressions", { email: `bob@${sendsFrom}` }),
    email: lazily(async () => {
      await domain()
      const scheduled_at = new Date(Date.now() + 3_600_000).toISOString()
      return (await make("POST", "/v1/send/emails", { ...mail, from: `ann@${sendsFrom}`, scheduled_at })).id
    }),
    apiKey: created("/v1/keys", { services: [], scopes: [] }),
    member: created("/v1/members", { email: `fritz@${sendsFrom}`, role: "viewer" }),
    session: lazily(async () => {
      await openSession()
      return (await make("GET", "/v1/console/sessions")).data[0].id
    }),
    site: lazily(async () => (await admin("POST", "/site-credentials", {})).id),
    invoice: lazily(async () => {
      const urls = { successUrl: "https://shop.example/", cancelUrl: "https://shop.example/" }
      const { url } = await make("POST", "/v1/billing/checkout", { priceId: "team_pro", ...urls })
      expect((await fetch(url, { method: "POST" })).status).toBe(200)
      let invoices: ReadonlyArray<{ readonly id: string }> = []
      await until(async () => {
        invoices = (await make("GET", "/v1/billing/invoices")).data
        return invoices.length > 0
      })
      return invoices[0]!.id
    }),
    number: lazily(async () => {
      await admin("POST", "/numbers", { numbers: ["2125550199"] })
      return "2125550199"
    }),
    request: lazily(async () => {
      await make("GET", "/v1/keys")
      let requests: ReadonlyArray<{ readonly id: string }> = []
      await until(async () => {
        requests = (await make("GET", "/v1/requests")).data
        return requests.length > 0
      })
      return requests[0]!.id
    })
  }
}

/** Puts an event that an endpoint missed into its list. */
export const putMissed = ({ databaseUrl }: World, organization: string, endpointId: string, sequence: number) =>
  putSkipped(databaseUrl, { endpointId, organization }, { createdAt: Date.now() - 1_000, sequence, reason: "paused" })

/** Columns that a replay changes by itself, after the request that began it. */
const replayProgress = ["status", "sent", "finished_at", "after_idx", "after_sequence", "after_created_at"]

/** Every row that an organization has once the reactors have written what is decided, but for what changes by itself: when a key was last used, what was counted, and the requests themselves. */
export const rowsOf = async ({ databaseUrl, settled }: World, organization: string): Promise<ReadonlyArray<string>> => {
  await settled()
  const tables = await query<{ name: string }>(
    databaseUrl,
    `select table_name as name from information_schema.columns
     where column_name = 'organization_id' and table_schema = 'public' and table_name not in ('usage_hours')
       and table_name not like 'api_requests%'`
  )
  const rows = await Promise.all(
    tables.map(({ name }) =>
      query<{ row: string }>(
        databaseUrl,
        `select '${name} ' || (to_jsonb(t) - $2::text[])::text as row from ${name} t where organization_id = $1`,
        [organization, name === "webhook_replays" ? replayProgress : ["last_used_at"]]
      )
    )
  )
  return rows.flatMap((found) => found.map(({ row }) => row)).toSorted()
}

/** Starts both APIs for the tests of the file, on the database; to be asked for inside tests and hooks only. */
export const useWorld = (database: MakeDatabase = makeCopy("seeded")): (() => World) => {
  let world: World | undefined
  const cleanup: Array<() => unknown> = []
  beforeAll(async () => {
    const scope = Scope.makeUnsafe()
    cleanup.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    const speech = await startSpeech()
    cleanup.push(() => speech.server.close())
    const adminKey = `adm_${randomBytes(24).toString("hex")}`
    const api = await Effect.runPromise(
      buildApi(scope, {
        database,
        adminKey,
        nameServers: ["127.0.0.1:1"],
        memberMails: [],
        // Nothing is sampled.
        requestLog: { successesPerSecond: 1_000, failuresPerSecond: 1_000 },
        billing: {
          catalogue: builtInCatalogue,
          terms: { settlement: "by operator", graceMillis: 86_400_000, dueMillis: 86_400_000 }
        },
        talk: { upstream: { url: speech.url, key: Redacted.make("sk"), model: "tts-1", voices: [voice, "en-us"] } }
      })
    )
    const pools = [api.url, api.adminUrl!].map((url) => new Pool(url, { connections: 8 }))
    cleanup.push(...pools.map((pool) => () => pool.close()))
    const [ofPublic, ofAdmin] = pools.map(requester)
    const made: World = {
      url: api.url,
      adminUrl: api.adminUrl!,
      adminKey,
      databaseUrl: api.databaseUrl,
      settled: () => Effect.runPromise(Effect.provide(Reactors.settled, api.services)),
      request: (isAdmin, request) => (isAdmin ? ofAdmin! : ofPublic!)(request),
      account: () => accountOf(made)
    }
    // The directory loads its records beside it.
    await until(async () => (await ofPublic!({ method: "GET", target: "/v1/stats" })).status === 200)
    world = made
  }, patienceMillis)
  afterAll(async () => {
    for (const step of cleanup.toReversed()) await step()
  }, patienceMillis)
  return () => world!
}
