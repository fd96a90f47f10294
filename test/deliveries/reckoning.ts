/**
 * The reckoning of a kill run: what was answered, what is in the event log, what arrived at the receiver and what the
 * deliveries of the API say must agree. Signatures are computed here by docs/platform.md, 7.3, without the platform's
 * own code.
 */
import { createHmac } from "node:crypto"
import type { Arrival } from "./receiverProcess.ts"

/** An event as the log lists it. */
export interface LoggedEvent {
  readonly eventId: string
  readonly type: string
  readonly data: { readonly tn: string }
}

/** A delivery as the API lists it. */
export interface ListedDelivery {
  readonly id: string
  readonly eventId: string
  readonly status: string
  readonly attemptCount: number
  readonly nextAttemptAt: number | null
  readonly settledAt: number | null
}

/** Everything about one organization. */
export interface TenantFacts {
  readonly name: string
  readonly secret: string
  /** Numbers whose lookup was answered with 200. */
  readonly answered: ReadonlySet<string>
  /** Numbers that were asked for, each once. */
  readonly asked: ReadonlySet<string>
  readonly logged: ReadonlyArray<LoggedEvent>
  /** The texts of the log's pages. */
  readonly pages: ReadonlyArray<string>
  readonly deliveries: ReadonlyArray<ListedDelivery>
  /** Of deliveries with more attempts than arrivals, by id: how many attempts were answered. The others were cut off on their way. */
  readonly answeredAttempts: ReadonlyMap<string, number>
  readonly endpoint: { readonly is_paused: boolean; readonly consecutive_failures: number }
  readonly arrivals: ReadonlyArray<Arrival>
}

export interface Reckoning {
  /** What must never happen and did. */
  readonly violations: ReadonlyArray<string>
  readonly answered: number
  /** In the log, although the caller was not told so: the platform was killed in between. */
  readonly loggedUnanswered: number
  /** Neither answered nor in the log. */
  readonly lost: number
  readonly arrivals: number
  /** Arrivals of events that the receiver had answered with 200 before. */
  readonly duplicates: number
  /** Arrivals that the receiver refused. */
  readonly refused: number
}

const signatureForm = /^t=(\d{10}),v1=([0-9a-f]{64})$/

/** What is wrong with a request, by itself. */
const problemOf = ({ body, contentType, id, signature, timestamp, userAgent }: Arrival, secret: string) => {
  const [, time, hmac] = signatureForm.exec(signature) ?? []
  if (time === undefined) return `has the signature "${signature}"`
  if (time !== timestamp) return `is signed for ${time}, but says ${timestamp}`
  const expected = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")
  if (hmac !== expected) return "has a wrong signature"
  if (contentType !== "application/json") return `has the content type "${contentType}"`
  if (userAgent !== "PlatformWebhook/1.0") return `comes from "${userAgent}"`
  if ((JSON.parse(body) as LoggedEvent).eventId !== id) return "carries another event than its header says"
  return undefined
}

const reckonTenant = (facts: TenantFacts, violation: (text: string) => void): Omit<Reckoning, "violations"> => {
  const { answered, arrivals, asked, deliveries, logged, name, pages, secret } = facts
  const wrong = (text: string) => violation(`${name}: ${text}`)
  const numbers = new Set<string>()
  for (const { data, eventId } of logged) {
    if (numbers.has(data.tn)) wrong(`the lookup of ${data.tn} is in the log twice`)
    if (!asked.has(data.tn)) wrong(`the log has the event ${eventId} of a lookup that nobody made`)
    numbers.add(data.tn)
  }
  for (const tn of answered) if (!numbers.has(tn)) wrong(`the lookup of ${tn} was answered and is not in the log`)

  const bodies = new Map<string, string>()
  const done = new Set<string>()
  let duplicates = 0
  let refused = 0
  for (const arrival of arrivals) {
    const { body, id, status } = arrival
    const problem = problemOf(arrival, secret)
    if (problem !== undefined) wrong(`a delivery of ${id} ${problem}`)
    if ((bodies.get(id) ?? body) !== body) wrong(`deliveries of ${id} have different bytes`)
    bodies.set(id, body)
    if (done.has(id)) duplicates++
    if (status === 200) done.add(id)
    else refused++
  }
  const text = pages.join("\n")
  // Both are in the order of time, so that each is found close behind the one before.
  let from = 0
  for (const { eventId } of logged) {
    const body = bodies.get(eventId)
    if (body === undefined || !done.has(eventId)) {
      wrong(`${eventId} did not arrive`)
      continue
    }
    const at = text.indexOf(body, from)
    if (at < 0) wrong(`${eventId} was delivered with other bytes than the log shows`)
    else from = at + body.length
  }
  const ids = new Set(logged.map(({ eventId }) => eventId))
  for (const id of bodies.keys()) if (!ids.has(id)) wrong(`${id} arrived and is not in the log`)

  const attempts = new Map<string, number>()
  for (const { id } of arrivals) attempts.set(id, (attempts.get(id) ?? 0) + 1)
  const delivered = new Set<string>()
  for (const { attemptCount, eventId, id, nextAttemptAt, settledAt, status } of deliveries) {
    if (delivered.has(eventId)) wrong(`${eventId} has two deliveries`)
    delivered.add(eventId)
    if (!ids.has(eventId)) wrong(`there is a delivery of ${eventId}, which is not in the log`)
    if (status !== "succeeded" || nextAttemptAt !== null || settledAt === null)
      wrong(`the delivery of ${eventId} is ${status}, although it was answered with 200`)
    const arrived = attempts.get(eventId) ?? 0
    const answers = facts.answeredAttempts.get(id) ?? attemptCount
    if (answers < 1 || answers > arrived)
      wrong(`the delivery of ${eventId} shows ${answers} attempts that were answered, and ${arrived} arrived`)
  }
  for (const id of ids) if (!delivered.has(id)) wrong(`${id} has no delivery`)
  if (facts.endpoint.is_paused || facts.endpoint.consecutive_failures !== 0) wrong("the endpoint has failures")
  return {
    answered: answered.size,
    loggedUnanswered: [...numbers].filter((tn) => !answered.has(tn)).length,
    lost: [...asked].filter((tn) => !numbers.has(tn)).length,
    arrivals: arrivals.length,
    duplicates,
    refused
  }
}

export const reckon = (tenants: ReadonlyArray<TenantFacts>): Reckoning => {
  const violations: Array<string> = []
  const parts = tenants.map((facts) => reckonTenant(facts, (text) => violations.push(text)))
  const sum = (field: keyof Omit<Reckoning, "violations">) => parts.reduce((total, part) => total + part[field], 0)
  return {
    violations,
    answered: sum("answered"),
    loggedUnanswered: sum("loggedUnanswered"),
    lost: sum("lost"),
    arrivals: sum("arrivals"),
    duplicates: sum("duplicates"),
    refused: sum("refused")
  }
}
