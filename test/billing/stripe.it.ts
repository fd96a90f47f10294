/** Payments by Stripe, against a server in its shapes (docs/platform.md, 11.10). */
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import Stripe from "stripe"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type PriceCatalogue, parseCatalogue } from "../../src/billing/index.ts"
import { patienceMillis } from "../support/patience.ts"
import { type Tenant, useBillingPlatform } from "./billingPlatform.ts"
import { type InvoiceGiven, StripeServer, type SubscriptionGiven } from "./stripeServer.ts"

const stripe = new StripeServer()
beforeAll(() => stripe.start())
afterAll(() => stripe.stop())

const secret = "whsec_test"
const catalogue = parseCatalogue(
  JSON.stringify({
    prices: [
      {
        id: "team_pro",
        name: "Team with Pro",
        plan: "team",
        sendPlan: "pro",
        amount: 11_900,
        currency: "usd",
        stripePrice: "price_1"
      },
      { id: "early", name: "Early", plan: "early_adopter", amount: 2_900, currency: "usd", stripePrice: "price_2" },
      { id: "elsewhere", name: "Elsewhere", plan: "team", amount: 1, currency: "usd" }
    ]
  })
) as PriceCatalogue

const day = 86_400
const platform = useBillingPlatform({
  catalogue,
  terms: { settlement: "by operator", graceMillis: 7 * day * 1_000, dueMillis: day * 1_000 },
  stripe: {
    key: Redacted.make("sk_test_key"),
    webhookSecret: Redacted.make(secret),
    // The server is known once it listens, which is before the platform is built.
    get url() {
      return stripe.url
    }
  }
})

const urls = { successUrl: "https://shop.example/thanks", cancelUrl: "https://shop.example/plans" }
const signer = new Stripe("sk_test_key")

/** Sends a notice as Stripe does. */
const notify = async (type: Stripe.Event["type"], id: string, with_: string = secret): Promise<number> => {
  const payload = stripe.noticeOf(type, id)
  const header = signer.webhooks.generateTestHeaderString({ payload, secret: with_ })
  const answer = await fetch(`${platform().url}/stripe/webhook`, {
    method: "POST",
    headers: { "content-type": "application/json", "stripe-signature": header },
    body: payload
  })
  await answer.text()
  return answer.status
}

/** Sends bytes with a good signature, unless it says otherwise. */
const notifyWith = async (
  payload: string,
  { method = "POST", signed = true }: { readonly method?: string; readonly signed?: boolean } = {}
) => {
  const header = signed ? signer.webhooks.generateTestHeaderString({ payload, secret }) : "t=1,v1=00"
  const answer = await fetch(`${platform().url}/stripe/webhook`, {
    method,
    headers: { "content-type": "application/json", "stripe-signature": header },
    ...(method === "GET" ? {} : { body: payload })
  })
  return { status: answer.status, allow: answer.headers.get("allow"), body: await answer.text() }
}

let made = 0

/** A tenant that Stripe knows as a customer. */
const customer = async (): Promise<{ readonly tenant: Tenant; readonly customer: string }> => {
  const tenant = await platform().tenant()
  const begun = await tenant.ask("POST", "/v1/billing/checkout", { priceId: "team_pro", ...urls })
  expect([begun.status, begun.body]).toEqual([200, { url: "https://checkout.example/cs_test_1" }])
  const [row] = await platform().run(
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql<{ readonly id: string }>`
        select customer_id as id from stripe_customers where organization_id = ${tenant.organization}`
    )
  )
  return { tenant, customer: row!.id }
}

const subscribed = (of: string, more: Partial<SubscriptionGiven> = {}): string => {
  const id = more.id ?? `sub_${++made}`
  const created = 1_790_000_000 + made
  stripe.subscriptions.set(id, {
    id,
    customer: of,
    price: "price_1",
    status: "active",
    created,
    start: created,
    end: created + 31 * day,
    ...more
  })
  return id
}

const change = (id: string, more: Partial<SubscriptionGiven>): void =>
  void stripe.subscriptions.set(id, { ...stripe.subscriptions.get(id)!, ...more })

const shown = async (tenant: Tenant) => (await tenant.ask("GET", "/v1/billing/subscription")).body
const rateOf = async (tenant: Tenant) =>
  (await tenant.ask("GET", "/v1/billing/subscription")).headers.get("x-ratelimit-limit")
const typesOf = async (tenant: Tenant, type: string) =>
  (await tenant.ask("GET", `/v1/events?type=${type}`)).body.data.map(({ type }: { readonly type: string }) => type)

describe("a checkout by Stripe", () => {
  it("is Stripe's page, for a customer that is made once", async () => {
    const { customer: id, tenant } = await customer()
    await tenant.ask("POST", "/v1/billing/checkout", { priceId: "early", ...urls })
    const sessions = stripe.asked.filter(([, path, body]) => path === "/v1/checkout/sessions" && body.customer === id)
    expect(sessions.map(([, , body]) => body)).toEqual([
      expect.objectContaining({
        mode: "subscription",
        client_reference_id: tenant.organization,
        "line_items[0][price]": "price_1",
        success_url: urls.successUrl,
        cancel_url: urls.cancelUrl
      }),
      expect.objectContaining({ "line_items[0][price]": "price_2" })
    ])
    const elsewhere = await tenant.ask("POST", "/v1/billing/checkout", { priceId: "elsewhere", ...urls })
    expect([elsewhere.status, elsewhere.body.error.code]).toEqual([400, "invalid_request"])
  })

  it("is 503 while Stripe is away, and may be begun again", async () => {
    const tenant = await platform().tenant()
    stripe.isAway = true
    const begun = await tenant.ask("POST", "/v1/billing/checkout", { priceId: "team_pro", ...urls })
    stripe.isAway = false
    expect([begun.status, begun.body.error.code]).toEqual([503, "unavailable"])
    expect((await tenant.ask("POST", "/v1/billing/checkout", { priceId: "team_pro", ...urls })).status).toBe(200)
  })
})

describe("a notice of Stripe's", () => {
  it("[platform 11.10] puts plans in force, and a repeat of it changes nothing", async () => {
    const { customer: of, tenant } = await customer()
    const id = subscribed(of)
    const statuses = await Promise.all(Array.from({ length: 4 }, () => notify("customer.subscription.created", id)))
    expect(statuses).toEqual([200, 200, 200, 200])
    const { created, end } = stripe.subscriptions.get(id)!
    expect(await shown(tenant)).toEqual({
      id,
      plan: "team",
      sendPlan: "pro",
      status: "active",
      currentPeriodStart: new Date(created * 1_000).toISOString(),
      currentPeriodEnd: new Date(end * 1_000).toISOString(),
      cancelAtPeriodEnd: false
    })
    expect(await rateOf(tenant)).toBe("6000")
    await expect
      .poll(() => typesOf(tenant, "subscription.*"), { timeout: patienceMillis })
      .toEqual(["subscription.created"])
  })

  it.each([
    "{}",
    "null",
    "[]",
    "1",
    "no JSON",
    '{"data":null}',
    '{"data":{}}',
    '{"data":{"object":null}}',
    '{"data":{"object":"sub_1"}}',
    '{"data":{"object":{}}}',
    '{"data":{"object":{"object":"invoice","id":7,"customer":7}}}',
    '{"data":{"object":{"object":"invoice","id":"in_\\u0000","customer":"cus_\\ud800"}}}',
    '{"object":"v2.core.event","id":"evt_1","type":"v1.billing.meter.error_report_triggered","related_object":{"id":"mtr_1"}}'
  ])("[platform 11.10] that is signed and names nothing of ours is passed over: %s", async (payload) => {
    expect(await notifyWith(payload)).toEqual({ status: 200, allow: null, body: '{"received":true}' })
    expect((await notifyWith(payload, { signed: false })).status).toBe(400)
  })

  it("[platform 11.10] that names something else than an id of a customer's object is passed over", async () => {
    const { customer: of } = await customer()
    for (const object of [
      { object: "invoice", id: { a: 1 }, customer: of },
      { object: "invoice", id: "../v1/customers", customer: of },
      { object: "checkout.session", id: "cs_1", customer: of, subscription: 7 },
      { object: "balance", id: "b_1", customer: { id: of } }
    ])
      expect((await notifyWith(JSON.stringify({ data: { object } }))).status).toBe(200)
  })

  it("[platform 11.10] that is too large is 413, and its address takes nothing but POST", async () => {
    const large = await notifyWith(JSON.stringify({ text: "a".repeat(300_000) }))
    expect([large.status, JSON.parse(large.body).error.code]).toEqual([413, "payload_too_large"])
    const got = await notifyWith("", { method: "GET" })
    expect([got.status, got.allow, JSON.parse(got.body).error.code]).toEqual([405, "POST", "method_not_allowed"])
  })

  it("that is not signed, or with another secret, is refused", async () => {
    const { customer: of, tenant } = await customer()
    const id = subscribed(of)
    expect(await notify("customer.subscription.created", id, "whsec_other")).toBe(400)
    const bare = await fetch(`${platform().url}/stripe/webhook`, { method: "POST", body: "{}" })
    expect(bare.status).toBe(400)
    expect((await shown(tenant)).plan).toBe("free")
  })

  it("[platform 11.10] is taken by what Stripe has now, in whatever order notices come", async () => {
    const { customer: of, tenant } = await customer()
    const id = subscribed(of, { status: "canceled" })
    // The creation is told of after the end.
    for (const type of ["customer.subscription.deleted", "customer.subscription.created"] as const)
      expect(await notify(type, id)).toBe(200)
    expect((await shown(tenant)).plan).toBe("free")
    expect(await typesOf(tenant, "subscription.*")).toEqual([])
  })

  it("whose reading was overtaken by a newer one is read again", async () => {
    const { customer: of, tenant } = await customer()
    const id = subscribed(of)
    let isFirst = true
    stripe.onRead = async () => {
      if (!isFirst) return
      isFirst = false
      // While the old state is on its way, the new one is read and stored.
      change(id, { price: "price_2" })
      expect(await notify("customer.subscription.updated", id)).toBe(200)
    }
    expect(await notify("customer.subscription.created", id)).toBe(200)
    stripe.onRead = async () => {}
    expect((await shown(tenant)).plan).toBe("early_adopter")
  })

  it("of others' customers and prices is passed over", async () => {
    const { customer: of, tenant } = await customer()
    expect(await notify("customer.subscription.created", subscribed("cus_of_others"))).toBe(200)
    expect(await notify("customer.subscription.created", subscribed(of, { price: "price_of_others" }))).toBe(200)
    expect((await shown(tenant)).plan).toBe("free")
  })

  it("is sent again when Stripe cannot be read", async () => {
    const { customer: of, tenant } = await customer()
    const id = subscribed(of)
    stripe.isAway = true
    expect(await notify("customer.subscription.created", id)).toBe(503)
    stripe.isAway = false
    expect(await notify("customer.subscription.created", id)).toBe(200)
    expect((await shown(tenant)).plan).toBe("team")
  })

  it("of a failed payment leaves the plans for the grace, of another subscription replaces the first", async () => {
    const { customer: of, tenant } = await customer()
    const id = subscribed(of)
    await notify("customer.subscription.created", id)
    change(id, { status: "past_due" })
    await notify("customer.subscription.updated", id)
    expect([(await shown(tenant)).status, await rateOf(tenant)]).toEqual(["past_due", "6000"])
    const other = subscribed(of, { price: "price_2" })
    await notify("customer.subscription.created", other)
    expect(await shown(tenant)).toMatchObject({ id: other, plan: "early_adopter", status: "active" })
    await notify("customer.subscription.updated", id)
    expect((await shown(tenant)).id).toBe(other)
  })
})

describe("a cancellation", () => {
  it("goes to Stripe, with the period or at once", async () => {
    const { customer: of, tenant } = await customer()
    const none = await tenant.ask("POST", "/v1/billing/cancel", {})
    expect(none.status).toBe(404)
    const id = subscribed(of)
    await notify("customer.subscription.created", id)
    const atEnd = await tenant.ask("POST", "/v1/billing/cancel", { atPeriodEnd: true })
    expect([atEnd.status, atEnd.body.cancelAtPeriodEnd]).toEqual([200, true])
    expect(stripe.subscriptions.get(id)?.cancels).toBe(true)
    const back = await tenant.ask("POST", "/v1/billing/resume")
    expect([back.status, back.body.cancelAtPeriodEnd]).toEqual([200, false])
    expect(stripe.subscriptions.get(id)?.cancels).toBe(false)
    const atOnce = await tenant.ask("POST", "/v1/billing/cancel", { atPeriodEnd: false })
    expect([atOnce.status, atOnce.body.plan]).toEqual([200, "free"])
    expect(stripe.subscriptions.get(id)?.status).toBe("canceled")
    expect(await rateOf(tenant)).toBe("60")
  })
})

describe("an invoice of Stripe's", () => {
  it("is listed with Stripe's document, and each event about it is told once", async () => {
    const { customer: of, tenant } = await customer()
    const subscription = subscribed(of)
    const given: InvoiceGiven = { id: `in_${subscription}`, customer: of, subscription, status: "open", total: 11_900 }
    const tell = async (type: Stripe.Event["type"], more: Partial<InvoiceGiven>) => {
      stripe.invoices.set(given.id, { ...given, ...more })
      for (let times = 0; times < 2; times++) expect(await notify(type, given.id)).toBe(200)
    }
    await tell("invoice.created", {})
    await tell("invoice.payment_failed", { attempted: true })
    await tell("invoice.paid", { status: "paid", attempted: true })
    const listed = async () => (await tenant.ask("GET", "/v1/billing/invoices")).body.data
    await expect.poll(listed, { timeout: patienceMillis }).toEqual([
      {
        id: given.id,
        amount: 11_900,
        currency: "usd",
        status: "paid",
        createdAt: new Date(1_790_000_000_000).toISOString(),
        pdfUrl: `https://files.example/${given.id}.pdf`
      }
    ])
    expect(await typesOf(tenant, "invoice.*")).toEqual(["invoice.paid", "invoice.failed"])
    // Its subscription was read with it.
    expect((await shown(tenant)).id).toBe(subscription)
  })
})
