/** The reckoning of a kill run finds what it is there to find: a run with one fault of each kind, and one without. */
import { createHmac } from "node:crypto"
import { describe, expect, it } from "vitest"
import type { Arrival } from "./receiverProcess.ts"
import { reckon, type TenantFacts } from "./reckoning.ts"

const secret = "whsec_test"
const event = { eventId: "evt_1", type: "telco.lookup.completed", data: { tn: "2125550123" } }
const body = JSON.stringify(event)

const arrivalOf = (text: string, more: Partial<Arrival> = {}): Arrival => ({
  endpoint: "tenant1",
  id: event.eventId,
  timestamp: "1700000000",
  signature: `t=1700000000,v1=${createHmac("sha256", secret).update(`1700000000.${text}`).digest("hex")}`,
  contentType: "application/json",
  userAgent: "PlatformWebhook/1.0",
  body: text,
  status: 200,
  ...more
})

const delivery = {
  id: "dlv_1",
  eventId: event.eventId,
  status: "succeeded",
  attemptCount: 1,
  nextAttemptAt: null,
  settledAt: 1
}

const facts: TenantFacts = {
  name: "tenant1",
  secret,
  answered: new Set([event.data.tn]),
  asked: new Set([event.data.tn]),
  logged: [event],
  pages: [`{"data":[${body}]}`],
  deliveries: [delivery],
  answeredAttempts: new Map(),
  endpoint: { is_paused: false, consecutive_failures: 0 },
  arrivals: [arrivalOf(body)]
}

describe("the reckoning", () => {
  it("finds nothing where all is well, and counts duplicates", () => {
    expect(reckon([facts])).toMatchObject({ violations: [], answered: 1, arrivals: 1, duplicates: 0 })
    expect(reckon([{ ...facts, arrivals: [arrivalOf(body), arrivalOf(body)] }])).toMatchObject({
      violations: [],
      duplicates: 1
    })
  })

  const other = JSON.stringify({ ...event, type: "telco.search.completed" })
  it.each<readonly [found: string, more: Partial<TenantFacts>]>([
    ["was answered and is not in the log", { logged: [], deliveries: [] }],
    ["is in the log twice", { logged: [event, { ...event, eventId: "evt_2" }] }],
    ["of a lookup that nobody made", { asked: new Set() }],
    ["did not arrive", { arrivals: [] }],
    ["did not arrive", { arrivals: [arrivalOf(body, { status: 503 })] }],
    ["arrived and is not in the log", { arrivals: [arrivalOf(body), arrivalOf(body, { id: "evt_2" })] }],
    ["has a wrong signature", { arrivals: [arrivalOf(body, { signature: arrivalOf(other).signature })] }],
    ['has the signature ""', { arrivals: [arrivalOf(body, { signature: "" })] }],
    ["have different bytes", { arrivals: [arrivalOf(body), arrivalOf(other)] }],
    ["was delivered with other bytes than the log shows", { arrivals: [arrivalOf(other)] }],
    ["is pending", { deliveries: [{ ...delivery, status: "pending" }] }],
    ["has no delivery", { deliveries: [] }],
    ["has two deliveries", { deliveries: [delivery, delivery] }],
    ["shows 2 attempts that were answered, and 1 arrived", { deliveries: [{ ...delivery, attemptCount: 2 }] }],
    ["the endpoint has failures", { endpoint: { is_paused: false, consecutive_failures: 1 } }]
  ])("finds what %s", (found, more) => {
    expect(reckon([{ ...facts, ...more }]).violations).toContainEqual(expect.stringContaining(found))
  })
})
