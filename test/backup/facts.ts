/**
 * Load for a platform that is backed up, and what was answered of it: look-ups (an event and a webhook each) and emails
 * with a content of their own, of several organizations. All that was answered before a backup's positions must be there
 * after its restore.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as pause } from "node:timers/promises"
import { usNpa } from "../cli/files.ts"
import { adminOf, ask, listed, makeUnlimited, type Place } from "../support/ask.ts"

export interface BackupTenant {
  readonly name: string
  readonly organization: string
  readonly key: string
  /** Of test mode: it sends, and its mail reaches nobody. */
  readonly sendKey: string
  readonly endpoint: string
}

/** An answer to a caller. */
export interface Answered {
  readonly tenant: BackupTenant
  readonly kind: "lookup" | "email"
  /** The number, or the email's id. */
  readonly id: string
  readonly text: string
  /** When the whole answer was there, Unix milliseconds. */
  readonly at: number
}

/** A server that takes webhooks, and counts the events that came. */
export const startReceiver = async () => {
  const events = new Set<string>()
  const server = createServer((request, response) => {
    request.resume()
    request.on("end", () => {
      events.add(String(request.headers["x-platformwebhook-id"] ?? ""))
      response.writeHead(200).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    events,
    stop: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}

export const makeBackupTenant = async (
  place: Place,
  adminKey: string,
  hook: string,
  name: string
): Promise<BackupTenant> => {
  const admin = adminOf(place, adminKey)
  const organization = await makeUnlimited(admin, { name, sendPlan: "enterprise" })
  const keyOf = async (body: object) =>
    (await admin<{ readonly key: string }>("POST", `/organizations/${organization}/keys`, body)).key
  const key = await keyOf({ services: ["telco"], scopes: ["*"] })
  const sendKey = await keyOf({ mode: "test", services: ["send"], scopes: [] })
  await ask(() => `${place.url}/v1/send/domains`, {
    method: "POST",
    bearer: sendKey,
    body: { name: `${name}.example` }
  })
  const endpoint = await ask<{ readonly id: string }>(() => `${place.url}/v1/webhooks`, {
    method: "POST",
    bearer: key,
    body: { url: `${hook}/${name}`, enabled_events: ["telco.*"] }
  })
  return { name, organization, key, sendKey, endpoint: endpoint.id }
}

/** Every fifth request is an email. */
const emailEach = 5

/** The text of an email, which no other one has. */
const textOf = (at: number): string => `content ${at} ${"x".repeat(at % 700)}`

/** A load that goes on until it is stopped. */
export interface Load {
  readonly answered: ReadonlyArray<Answered>
  readonly stop: () => Promise<void>
}

/** Numbers of look-ups go on from load to load, so that each is looked up once. */
let next = 0

/** Asks all the time. What is not answered, or refused for its rate, is not asked again. */
export const startLoad = (place: Place, tenants: ReadonlyArray<BackupTenant>, callers: number): Load => {
  const answered: Array<Answered> = []
  let isOver = false
  const lookUp = async (tenant: BackupTenant, at: number): Promise<void> => {
    const id = `${usNpa}${200 + (at % 800)}${String(Math.floor(at / 800) % 10_000).padStart(4, "0")}`
    const response = await fetch(`${place.url}/v1/telco/lookup/${id}`, { headers: { "x-api-key": tenant.key } })
    const text = await response.text()
    if (response.status === 200) answered.push({ tenant, kind: "lookup", id, text: "", at: Date.now() })
    else if (response.status !== 503) throw new Error(`the lookup of ${id} is answered with ${response.status} ${text}`)
  }
  const send = async (tenant: BackupTenant, at: number): Promise<void> => {
    const text = textOf(at)
    const response = await fetch(`${place.url}/v1/send/emails`, {
      method: "POST",
      headers: { authorization: `Bearer ${tenant.sendKey}`, "content-type": "application/json" },
      body: JSON.stringify({
        from: `ann@${tenant.name}.example`,
        to: "delivered@simulator.invalid",
        subject: "Hello",
        text
      })
    })
    const body = await response.text()
    if (response.status === 202)
      answered.push({ tenant, kind: "email", id: (JSON.parse(body) as { id: string }).id, text, at: Date.now() })
    else if (response.status !== 503 && response.status !== 429)
      throw new Error(`an email is answered with ${response.status} ${body}`)
  }
  const caller = async (): Promise<void> => {
    while (!isOver) {
      const at = next++
      const tenant = tenants[at % tenants.length]!
      try {
        await (Math.floor(at / tenants.length) % emailEach === 0 ? send(tenant, at) : lookUp(tenant, at))
      } catch (error) {
        // The platform is away.
        if (!(error instanceof TypeError)) throw error
        await pause(50)
      }
    }
  }
  const all = Promise.all(Array.from({ length: callers }, caller))
  all.catch(() => {})
  return {
    answered,
    stop: async () => {
      isOver = true
      await all
    }
  }
}

interface LoggedEvent {
  readonly eventId: string
  readonly type: string
  readonly data: { readonly tn: string }
}

/** How long projections may take to catch up after a start. */
const patienceMillis = 60_000

/**
 * Looks for everything that was answered until then: the event of each look-up, once, with its delivery, and each email
 * with its content. Answers what is not as it was.
 */
export const missingFacts = async (
  place: Place,
  tenants: ReadonlyArray<BackupTenant>,
  answered: ReadonlyArray<Answered>,
  until: number
): Promise<ReadonlyArray<string>> => {
  const missing: Array<string> = []
  for (const tenant of tenants) {
    const own = answered.filter((one) => one.tenant.organization === tenant.organization && one.at <= until)
    const numbers = own.flatMap(({ id, kind }) => (kind === "lookup" ? [id] : []))
    const eventsNow = async () =>
      (await listed<LoggedEvent>(() => `${place.url}/v1/events`, tenant.key)).filter(
        ({ type }) => type === "telco.lookup.completed"
      )
    let events = await eventsNow()
    const lacks = () => {
      const found = new Set(events.map(({ data }) => data.tn))
      return numbers.filter((number) => !found.has(number))
    }
    const deadline = performance.now() + patienceMillis
    while (lacks().length > 0 && performance.now() < deadline) {
      await pause(200)
      events = await eventsNow()
    }
    missing.push(...lacks().map((number) => `${tenant.name}: the event of the lookup of ${number} is gone`))
    const counts = Map.groupBy(events, ({ data }) => data.tn)
    for (const [number, all] of counts)
      if (all.length > 1) missing.push(`${tenant.name}: the lookup of ${number} has ${all.length} events`)
    missing.push(...(await missingDeliveries(place, tenant, events, deadline)))
    for (const { id, text } of own.filter(({ kind }) => kind === "email")) {
      const email = await ask<{ readonly id?: string; readonly text?: string | null }>(
        () => `${place.url}/v1/send/emails/${id}`,
        { bearer: tenant.sendKey, orStatus: 404 }
      )
      if (email.id !== id) missing.push(`${tenant.name}: the email ${id} is gone`)
      else if (email.text !== text) missing.push(`${tenant.name}: the email ${id} has another content`)
    }
  }
  return missing
}

/** Events of the log without a delivery to the organization's endpoint. */
const missingDeliveries = async (
  place: Place,
  tenant: BackupTenant,
  events: ReadonlyArray<LoggedEvent>,
  deadline: number
): Promise<ReadonlyArray<string>> => {
  for (;;) {
    const deliveries = await listed<{ readonly eventId: string }>(
      () => `${place.url}/v1/webhooks/${tenant.endpoint}/deliveries`,
      tenant.key
    )
    const found = new Set(deliveries.map(({ eventId }) => eventId))
    const lacking = events.filter(({ eventId }) => !found.has(eventId))
    if (lacking.length === 0) return []
    if (performance.now() >= deadline)
      return lacking.map(({ eventId }) => `${tenant.name}: the event ${eventId} has no delivery`)
    await pause(200)
  }
}
