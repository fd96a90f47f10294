/** From a plan that costs nothing to one that is paid, and back, over HTTP (docs/platform.md, 11). */
import { execFileSync } from "node:child_process"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { builtInCatalogue, Invoices, Subscriptions, type Terms } from "../../src/billing/index.ts"
import { OrganizationPlans } from "../../src/platform/OrganizationPlans.ts"
import { needing } from "../support/needs.ts"
import { patienceMillis } from "../support/patience.ts"
import { adminKey, type Tenant, useBillingPlatform } from "./billingPlatform.ts"

const day = 86_400_000
const terms: Terms = { settlement: "at once", graceMillis: 7 * day, dueMillis: 14 * day }
const development = useBillingPlatform({ catalogue: builtInCatalogue, terms })
const production = useBillingPlatform({ catalogue: builtInCatalogue, terms: { ...terms, settlement: "by operator" } })

const urls = { successUrl: "https://shop.example/thanks?a=1&b=2", cancelUrl: "https://shop.example/plans" }

const checkout = async (tenant: Tenant, priceId: string): Promise<string> => {
  const { body, status } = await tenant.ask("POST", "/v1/billing/checkout", { priceId, ...urls })
  expect([status, Object.keys(body)]).toEqual([200, ["url"]])
  return body.url
}

/** Opens a page, or presses its button. */
const open = async (url: string, method: "GET" | "POST" = "GET") => {
  const answer = await fetch(url, { method })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

const planOf = async (tenant: Tenant) => {
  const { plan, sendPlan, status } = (await tenant.ask("GET", "/v1/billing/subscription")).body
  return [plan, sendPlan, status]
}

/** What a request may do in a minute, which is the plan in force. */
const rateOf = async (tenant: Tenant) =>
  (await tenant.ask("GET", "/v1/billing/subscription")).headers.get("x-ratelimit-limit")

const eventsOf = async (tenant: Tenant, type: string) =>
  (await tenant.ask("GET", `/v1/events?type=${type}`)).body.data.map(
    ({ type, data }: { readonly type: string; readonly data: object }) => ({ type, data })
  )

describe("a subscription", () => {
  it("[platform 11.1] is the free one, for the calendar month, where nothing was bought", async () => {
    const tenant = await development().tenant()
    const { body, status } = await tenant.ask("GET", "/v1/billing/subscription")
    const now = new Date()
    const month = (offset: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset)).toISOString()
    expect([status, body]).toEqual([
      200,
      {
        id: `sub_free_${tenant.organization.slice(4)}`,
        plan: "free",
        sendPlan: "hobby",
        status: "active",
        currentPeriodStart: month(0),
        currentPeriodEnd: month(1),
        cancelAtPeriodEnd: false
      }
    ])
    expect((await tenant.ask("POST", "/v1/billing/resume")).status).toBe(404)
    const refused = await tenant.ask("POST", "/v1/billing/cancel", {})
    expect([refused.status, refused.body.error.code]).toEqual([404, "not_found"])
  })

  it("[platform 5.2, 11.4, 11.5] is paid on the checkout's page, once, and holds from the next request on", async () => {
    const tenant = await development().tenant()
    expect(await rateOf(tenant)).toBe("60")
    const url = await checkout(tenant, "team_pro")
    expect(url).toMatch(new RegExp(`^${development().url}/checkout/cs_[0-9A-Za-z]{32}$`))
    const page = await open(url)
    expect(page.status).toBe(200)
    expect(page.text).toContain("119.00 USD")
    expect(page.text).toContain('href="https://shop.example/plans"')
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; form-/)
    expect(await planOf(tenant)).toEqual(["free", "hobby", "active"])

    const paid = await Promise.all(Array.from({ length: 5 }, () => open(url, "POST")))
    for (const { status, text } of paid) {
      expect(status).toBe(200)
      expect(text).toContain("url=https://shop.example/thanks?a=1&#38;b=2")
    }
    expect((await open(url)).text).toContain("<h1>Paid</h1>")
    expect(await planOf(tenant)).toEqual(["team", "pro", "active"])
    expect(await rateOf(tenant)).toBe("6000")
    const { body: subscription } = await tenant.ask("GET", "/v1/billing/subscription")
    await expect
      .poll(() => eventsOf(tenant, "subscription.*"), { timeout: patienceMillis })
      .toEqual([{ type: "subscription.created", data: subscription }])
    const { body } = await tenant.ask("GET", "/v1/billing/invoices")
    const [invoice] = body.data
    expect([body.data.length, body.pagination]).toEqual([1, { hasMore: false }])
    expect(invoice).toEqual({
      id: expect.stringMatching(/^in_/),
      amount: 11_900,
      currency: "usd",
      status: "paid",
      createdAt: subscription.currentPeriodStart,
      pdfUrl: expect.stringMatching(new RegExp(`^${development().url}/invoices/in_[0-9a-f]+\\.pdf\\?`))
    })
    expect(await eventsOf(tenant, "invoice.*")).toEqual([{ type: "invoice.paid", data: { ...invoice, pdfUrl: null } }])
  })

  it("[platform 5.2, 11.2] changes with another checkout for a new period, is canceled with its period, and at once", async () => {
    const tenant = await development().tenant()
    await open(await checkout(tenant, "early_adopter_hobby"), "POST")
    const before = (await tenant.ask("GET", "/v1/billing/subscription")).body
    const atEnd = await tenant.ask("POST", "/v1/billing/cancel", { atPeriodEnd: true })
    expect([atEnd.status, atEnd.body]).toEqual([200, { ...before, cancelAtPeriodEnd: true }])
    const back = await tenant.ask("POST", "/v1/billing/resume")
    expect([back.status, back.body]).toEqual([200, before])
    expect((await tenant.ask("POST", "/v1/billing/cancel", { atPeriodEnd: true })).status).toBe(200)
    expect(await rateOf(tenant)).toBe("600")
    await open(await checkout(tenant, "team_hobby"), "POST")
    const after = (await tenant.ask("GET", "/v1/billing/subscription")).body
    expect(after).toMatchObject({ id: before.id, plan: "team", sendPlan: "hobby", cancelAtPeriodEnd: false })
    expect(Date.parse(after.currentPeriodStart)).toBeGreaterThan(Date.parse(before.currentPeriodStart))
    const atOnce = await tenant.ask("POST", "/v1/billing/cancel", { atPeriodEnd: false })
    expect([atOnce.status, atOnce.body.id]).toEqual([200, `sub_free_${tenant.organization.slice(4)}`])
    expect(await rateOf(tenant)).toBe("60")
    const updates = ["subscription.updated", "subscription.updated", "subscription.updated", "subscription.updated"]
    const types = ["subscription.canceled", ...updates, "subscription.created"]
    await expect
      .poll(async () => (await eventsOf(tenant, "subscription.*")).map(({ type }: { type: string }) => type), {
        timeout: patienceMillis
      })
      .toEqual(types)
  })

  it("[platform 11.4] is of a price of the catalogue, and another one is quoted no longer than it must be", async () => {
    const tenant = await development().tenant()
    const answer = await tenant.ask("POST", "/v1/billing/checkout", {
      priceId: "x".repeat(70_000),
      successUrl: "https://shop.example/",
      cancelUrl: "https://shop.example/"
    })
    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toMatch(/^Unknown price "x{64}…"\. Expected one of /)
    expect(JSON.stringify(answer.body).length).toBeLessThan(1_000)
  })

  it("does not change what an operator has set, until it is to follow again", async () => {
    const tenant = await development().tenant()
    const plans = Effect.map(OrganizationPlans, (service) => service)
    await development().run(
      Effect.flatMap(plans, (service) =>
        service.setPlans(tenant.organization, { plan: "early_adopter", by: "operator" })
      )
    )
    await open(await checkout(tenant, "team_pro"), "POST")
    expect(await rateOf(tenant)).toBe("600")
    expect(await planOf(tenant)).toEqual(["team", "pro", "active"])
    await development().run(Effect.flatMap(plans, (service) => service.followSubscription(tenant.organization)))
    expect(await rateOf(tenant)).toBe("6000")
    await tenant.ask("POST", "/v1/billing/cancel", { atPeriodEnd: false })
    expect(await rateOf(tenant)).toBe("60")
  })

  it("needs a price of the catalogue, and addresses that a customer may be sent to", async () => {
    const tenant = await production().tenant()
    const body = { priceId: "team_pro", ...urls }
    for (const wrong of [
      { priceId: "gold" },
      { successUrl: "http://127.0.0.1/thanks" },
      { cancelUrl: "javascript:alert(1)" },
      { cancelUrl: "https://a:b@shop.example/" },
      { cancelUrl: "" },
      ...["https:", "https://", "https://[::1", "https://a b/", "javascript:0", "https://a@b/"].map((successUrl) => ({
        successUrl
      }))
    ]) {
      const { body: refused, status } = await tenant.ask("POST", "/v1/billing/checkout", { ...body, ...wrong })
      expect([status, refused.success, refused.error.code], JSON.stringify(wrong)).toEqual([
        400,
        false,
        "invalid_request"
      ])
    }
    const local = await development().tenant()
    const sent = { ...body, successUrl: "http://localhost:3000/thanks" }
    expect((await local.ask("POST", "/v1/billing/checkout", sent)).status).toBe(200)
    for (const secret of ["cs_x", `cs_${"0".repeat(32)}`]) {
      const page = await open(`${production().url}/checkout/${secret}`, "POST")
      expect([page.status, page.text.includes("not open any more")]).toEqual([404, true])
    }
  })
})

describe("payments that an operator confirms", () => {
  const settle = (tenant: Tenant, id: string, outcome: "paid" | "failed") =>
    production().run(
      Effect.flatMap(Subscriptions, (subscriptions) =>
        subscriptions.ask(tenant.organization, { _tag: "SettleInvoice", id, outcome })
      )
    )
  const invoicesOf = async (tenant: Tenant) => (await tenant.ask("GET", "/v1/billing/invoices")).body.data

  it("[platform 11.6] wait as an open invoice, and put the plan in force when they are confirmed", async () => {
    const tenant = await production().tenant()
    const url = await checkout(tenant, "team_pro")
    for (let times = 0; times < 2; times++) expect((await open(url, "POST")).text).toContain("Thank you for your order")
    expect(await rateOf(tenant)).toBe("60")
    await expect
      .poll(() => invoicesOf(tenant), { timeout: patienceMillis })
      .toMatchObject([{ status: "open", amount: 11_900 }])
    const [{ id }] = await invoicesOf(tenant)
    const open_ = await production().run(
      Effect.flatMap(Invoices, (invoices) => invoices.all({ status: "open", limit: 100, cursor: undefined }))
    )
    expect(open_.data.map((one) => one.id)).toContain(id)
    await settle(tenant, id, "paid")
    expect(await rateOf(tenant)).toBe("6000")
    await expect.poll(() => invoicesOf(tenant), { timeout: patienceMillis }).toMatchObject([{ id, status: "paid" }])
    await expect(settle(tenant, id, "paid")).rejects.toMatchObject({ _tag: "InvoiceNotOpen" })
    expect((await open(url)).text).toContain("<h1>Paid</h1>")
  })

  it("[platform 5.2] that fail change no plan", async () => {
    const tenant = await production().tenant()
    const url = await checkout(tenant, "team_pro")
    await open(url, "POST")
    await expect.poll(() => invoicesOf(tenant), { timeout: patienceMillis }).toHaveLength(1)
    await settle(tenant, (await invoicesOf(tenant))[0].id, "failed")
    expect(await rateOf(tenant)).toBe("60")
    expect((await open(url)).status).toBe(404)
    await expect.poll(() => invoicesOf(tenant), { timeout: patienceMillis }).toMatchObject([{ status: "void" }])
    expect(await eventsOf(tenant, "invoice.*")).toMatchObject([{ type: "invoice.failed", data: { status: "void" } }])
  })
})

describe("an invoice as PDF", () => {
  it("[platform 11.6] is the same for operators, by its id and their credential", async () => {
    const tenant = await development().tenant()
    await open(await checkout(tenant, "team_pro"), "POST")
    const own = async () => (await tenant.ask("GET", "/v1/billing/invoices")).body.data[0]
    await expect.poll(own, { timeout: patienceMillis }).toBeDefined()
    const { id, pdfUrl } = await own()
    const ask = (path: string, key = adminKey) =>
      fetch(`${development().adminUrl}/admin/v1/invoices/${path}`, { headers: { authorization: `Bearer ${key}` } })
    const answer = await ask(`${id}/document`)
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/pdf"])
    const customers = Buffer.from(await (await fetch(pdfUrl)).arrayBuffer())
    expect(Buffer.from(await answer.arrayBuffer()).equals(customers)).toBe(true)
    expect((await ask("in_none/document")).status).toBe(404)
    expect((await ask(`${id}/document`, `${adminKey}x`)).status).toBe(401)
  })

  it("is behind an address that cannot be made up", async () => {
    const tenant = await development().tenant()
    await open(await checkout(tenant, "team_pro"), "POST")
    const pdfUrl = async () => (await tenant.ask("GET", "/v1/billing/invoices")).body.data[0]?.pdfUrl
    await expect.poll(pdfUrl, { timeout: patienceMillis }).toBeDefined()
    const url = new URL(await pdfUrl())
    const good = await fetch(url)
    expect([good.status, good.headers.get("content-type")]).toEqual([200, "application/pdf"])
    const bytes = Buffer.from(await good.arrayBuffer())
    expect(bytes.subarray(0, 5).toString()).toBe("%PDF-")
    expect(bytes.toString("latin1")).toContain("/MarkInfo")
    expect(Buffer.from(await (await fetch(await pdfUrl())).arrayBuffer()).equals(bytes)).toBe(true)
    const spoil = (change: (url: URL) => void) => {
      const spoiled = new URL(url)
      change(spoiled)
      return fetch(spoiled)
    }
    const later = String(Number(url.searchParams.get("expires")) + 1)
    for (const change of [
      (one: URL) => one.searchParams.set("expires", later),
      (one: URL) => one.searchParams.delete("signature"),
      (one: URL) => {
        one.pathname = "/invoices/in_other.pdf"
      },
      (one: URL) => {
        one.search = ""
      }
    ])
      expect((await spoil(change)).status).toBe(404)
  })

  it("names customers in their own letters", needing("pdftotext"), async () => {
    for (const name of ["Spółka Żółć Łódź", "Ελληνική Εταιρεία Ψωμί", "Иванов и Ко"]) {
      const tenant = await development().tenant(name)
      await open(await checkout(tenant, "free_pro"), "POST")
      const list = async () => (await tenant.ask("GET", "/v1/billing/invoices")).body.data
      await expect.poll(list, { timeout: patienceMillis }).toHaveLength(1)
      const bytes = Buffer.from(await (await fetch((await list())[0].pdfUrl)).arrayBuffer())
      const text = execFileSync("pdftotext", ["-", "-"], { input: bytes }).toString("utf8")
      expect(text).toContain(name)
      expect(text).toContain("20.00 USD")
    }
  })
})
