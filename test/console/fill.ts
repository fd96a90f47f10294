/**
 * Fills an organization with what happens in the life of one, by the APIs alone, so that its console has something to show: endpoints that are well, fail and are paused, look-ups, emails
 * that went out, bounced, are held and scheduled, suppressions and keys.
 */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as pause } from "node:timers/promises"

export interface Filled {
  readonly organization: string
  /** Its test key with every service and scope. */
  readonly key: string
  readonly keyId: string
  readonly endpoints: Readonly<Record<"well" | "failing" | "paused", string>>
  readonly domain: string
}

export interface FillOptions {
  readonly url: string
  readonly adminUrl: string
  readonly adminKey: string
  /** Receivers of webhooks on this machine. */
  readonly receivers: Receivers
}

/** A server whose paths answer as they are called: `/200`, `/500`, `/410`. */
export interface Receivers {
  readonly url: string
  readonly close: () => Promise<void>
}

export const startReceivers = async (): Promise<Receivers> => {
  const server: Server = createServer((request, response) => {
    const status = Number(/^\/(\d{3})/.exec(request.url ?? "")?.[1] ?? "404")
    request.resume()
    response.writeHead(status, { "content-type": "text/plain" })
    response.end(status === 200 ? "thank you" : `this receiver answers ${status}`)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(() => resolve()))
  }
}

type Json = Record<string, unknown>

/** A request that must succeed. */
export const ask = async (method: string, url: string, key: string, body?: unknown): Promise<Json> => {
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "content-type": "application/json" })
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`)
  return JSON.parse(text) as Json
}

/** Waits until an answer is as wanted. */
export const until = async <A>(get: () => Promise<A>, isWanted: (answer: A) => boolean): Promise<A> => {
  for (;;) {
    const answer = await get()
    if (isWanted(answer)) return answer
    await pause(50)
  }
}

/** An organization with a key for everything. */
export const makeOrganization = async (
  { adminKey, adminUrl }: Pick<FillOptions, "adminKey" | "adminUrl">,
  name: string,
  mode: "live" | "test" = "test"
): Promise<{ readonly organization: string; readonly key: string; readonly keyId: string }> => {
  const { id } = await ask("POST", `${adminUrl}/admin/v1/organizations`, adminKey, {
    name,
    email: "ops@example.com",
    plan: "team",
    sendPlan: "pro"
  })
  const made = await ask("POST", `${adminUrl}/admin/v1/organizations/${id}/keys`, adminKey, {
    name: "server",
    mode,
    services: ["directory", "send", "telco", "talk", "voip", "transcribe"],
    scopes: ["*"]
  })
  return { organization: id as string, key: made.key as string, keyId: made.id as string }
}

const subjects = [
  "Your order 10482 is on its way",
  "Invoice INV-2291 for October",
  "Reset your password",
  "Welcome to Northwind, Ada",
  "Your weekly report",
  "A colleague has shared a document with you",
  "Payment received, thank you",
  "Your trial ends in three days"
]

const html = (subject: string): string =>
  `<div style="font-family:Georgia,serif;max-width:480px;margin:24px auto;color:#223"><h1 style="font-size:22px">${subject}</h1><p>Hello Ada,</p><p>this is what we wanted to tell you. It looks the way its sender made it, in its own frame.</p><p style="background:#eef3ff;padding:12px;border-radius:8px">Order 10482 · two parcels · arrives on Thursday</p></div>`

const email = (to: string, subject: string, domain: string): Json => ({
  from: `Northwind <orders@${domain}>`,
  to: [to],
  subject,
  html: html(subject),
  text: `${subject}\n\nHello Ada,\nthis is what we wanted to tell you.`
})

/** A verified domain of a test key. */
export const addDomain = async (url: string, key: string, name: string): Promise<string> => {
  const { id } = await ask("POST", `${url}/v1/send/domains`, key, { name })
  await ask("POST", `${url}/v1/send/domains/${id}/verify`, key)
  return id as string
}

const sendMail = async (
  { adminKey, adminUrl, url }: FillOptions,
  organization: string,
  key: string,
  domain: string
) => {
  const send = (body: Json) => ask("POST", `${url}/v1/send/emails`, key, body)
  for (const [at, subject] of subjects.entries())
    await send(email(`delivered+customer${at}@simulator.invalid`, subject, domain))
  await send(email("bounced+former@simulator.invalid", "Your subscription was renewed", domain))
  await send({
    ...email("delivered+later@simulator.invalid", "See you tomorrow", domain),
    scheduled_at: new Date(Date.now() + 20 * 3_600_000).toISOString()
  })
  // From here on mail is over the day's cap, and is held.
  await ask("PUT", `${adminUrl}/admin/v1/organizations/${organization}/send/cap`, adminKey, {
    mode: "test",
    sender: domain,
    dailyCap: 8
  })
  for (const subject of ["The newsletter of November", "Three things that are new"])
    await send(email("delivered+reader@simulator.invalid", subject, domain))
}

const addEndpoints = async ({ receivers, url }: FillOptions, key: string): Promise<Filled["endpoints"]> => {
  const add = async (path: string, patterns: ReadonlyArray<string>, description: string) =>
    (
      await ask("POST", `${url}/v1/webhooks`, key, {
        url: `${receivers.url}${path}`,
        enabled_events: patterns,
        description
      })
    ).id as string
  return {
    well: await add("/200/orders", ["*"], "Order service"),
    failing: await add("/500/analytics", ["telco.*"], "Analytics, which is down"),
    paused: await add("/410/legacy", ["telco.lookup.completed"], "The old warehouse")
  }
}

/** Fills a new organization. */
export const fill = async (options: FillOptions, name = "Northwind"): Promise<Filled> => {
  const { url } = options
  const made = await makeOrganization(options, name)
  const { key, organization } = made
  const endpoints = await addEndpoints(options, key)
  for (const tn of ["2125560123", "4155550100", "6135550142", "3125550187", "2125560177"])
    await fetch(`${url}/v1/telco/lookup/${tn}`, { headers: { authorization: `Bearer ${key}` } })
  const name_ = "northwind.example"
  const domain = await addDomain(url, key, name_)
  await sendMail(options, organization, key, name_)
  await ask("POST", `${url}/v1/send/suppressions`, key, { email: "nobody@example.org" })
  await ask("POST", `${url}/v1/keys`, key, { name: "analytics", services: ["telco"], scopes: ["platform:events:read"] })
  await ask("POST", `${url}/v1/webhooks/${endpoints.well}/test`, key)
  await until(
    () => ask("GET", `${url}/v1/webhooks/${endpoints.paused}`, key),
    ({ is_paused }) => is_paused === true
  )
  await until(
    () => ask("GET", `${url}/v1/events?type=send.email.bounced`, key),
    ({ data }) => (data as ReadonlyArray<unknown>).length > 0
  )
  await until(
    () => ask("GET", `${url}/v1/send/emails?state=held`, key),
    ({ data }) => (data as ReadonlyArray<unknown>).length >= 2
  )
  return { ...made, endpoints, domain }
}

/** An organization whose test account is one step before a pause: two of its first emails bounced. */
export const fillWarned = async (options: FillOptions): Promise<Pick<Filled, "key" | "keyId" | "organization">> => {
  const made = await makeOrganization(options, "Warned Inc")
  const { url } = options
  await addDomain(url, made.key, "warned.example")
  for (const at of [1, 2])
    await ask(
      "POST",
      `${url}/v1/send/emails`,
      made.key,
      email(`bounced+${at}@simulator.invalid`, "Hello", "warned.example")
    )
  await until(
    () => ask("GET", `${url}/v1/events?type=send.account.warning`, made.key),
    ({ data }) => (data as ReadonlyArray<unknown>).length > 0
  )
  return made
}

/** An organization whose test account has paused itself: three of its first emails bounced. */
export const fillPaused = async (options: FillOptions): Promise<Pick<Filled, "key" | "keyId" | "organization">> => {
  const made = await makeOrganization(options, "Paused Inc")
  const { url } = options
  await addDomain(url, made.key, "paused.example")
  for (const at of [1, 2, 3])
    await ask(
      "POST",
      `${url}/v1/send/emails`,
      made.key,
      email(`bounced+${at}@simulator.invalid`, "Hello", "paused.example")
    )
  await until(
    () => ask("GET", `${url}/v1/send/tenants`, made.key),
    ({ trustStage }) => trustStage === "sending_paused"
  )
  return made
}
