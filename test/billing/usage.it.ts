/** Usage as it is counted, shown and reported, over HTTP (docs/platform.md, 11.7 to 11.9). */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect, it } from "vitest"
import { builtInCatalogue, type PriceCatalogue, parseCatalogue, type Terms } from "../../src/billing/index.ts"
import { TestEvents } from "../../src/events/TestEvents.ts"
import { SiteCredentials } from "../../src/platform/SiteCredentials.ts"
import { askAt, type Tenant, useBillingPlatform } from "./billingPlatform.ts"

const terms: Terms = { settlement: "at once", graceMillis: 0, dueMillis: 0 }
const platform = useBillingPlatform({ catalogue: builtInCatalogue, terms })
const limited = useBillingPlatform({
  catalogue: parseCatalogue('{"prices": [], "products": {"free": ["telco"], "hobby": ["send"]}}') as PriceCatalogue,
  terms
})

const waiting = { timeout: 20_000, interval: 100 }

const entitlementOf = async (tenant: Tenant, product: string) =>
  (await tenant.ask("GET", `/v1/billing/entitlement?product=${product}`)).body

const callsOf = async (tenant: Tenant, product: string): Promise<number> =>
  (await entitlementOf(tenant, product)).usage.apiCalls

const siteOf = async (tenant: Tenant) => {
  const { credential } = await platform().run(
    Effect.flatMap(SiteCredentials, (sites) => sites.create(tenant.organization, "shop"))
  )
  return askAt(platform().url, credential!)
}

describe("calls", () => {
  it("are counted once each, by product: from their fact where they have one, else from memory", async () => {
    const tenant = await platform().tenant()
    // No numbering files are loaded, so searches find nothing, which is a success, and look-ups are 404.
    for (let n = 0; n < 3; n++) expect((await tenant.ask("GET", "/v1/telco/search?source=npanxx")).status).toBe(200)
    for (let n = 0; n < 2; n++) expect((await tenant.ask("GET", "/v1/telco/lookup/2125560123")).status).toBe(404)
    for (let n = 0; n < 4; n++) await tenant.ask("GET", "/v1/carriers?limit=1")
    for (let n = 0; n < 5; n++) await tenant.ask("GET", "/v1/webhooks")
    await tenant.ask("GET", "/v1/talk/formats")
    await expect.poll(() => callsOf(tenant, "directory"), waiting).toBe(4)
    await expect.poll(() => callsOf(tenant, "talk"), waiting).toBe(1)
    expect(await callsOf(tenant, "telco")).toBe(3)
    expect(await callsOf(tenant, "voip")).toBe(0)
    const { body } = await tenant.ask("GET", "/v1/billing/usage")
    // Besides those above, every question for figures was a call of its own.
    expect(body.usage.apiCalls).toBeGreaterThanOrEqual(4 + 1 + 3 + 5)
    expect(body.usage).toMatchObject({ emails: 0, storage: 0 })
  })

  it("that are refused for their rate are none", async () => {
    const tenant = await platform().tenant()
    const statuses = await Promise.all(
      // More than two minutes let through.
      Array.from({ length: 130 }, async () => (await tenant.ask("GET", "/v1/carriers?limit=1")).status)
    )
    const answered = statuses.filter((status) => status !== 429).length
    expect(answered).toBeLessThan(130)
    const counted = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ readonly sum: string }>`
        select sum(quantity) as sum from usage_hours where organization_id = ${tenant.organization}`
      return Number(row?.sum)
    })
    await expect.poll(() => platform().run(counted), waiting).toBe(answered)
  })

  it("of an operator's test events are none", async () => {
    const tenant = await platform().tenant()
    await platform().run(
      Effect.flatMap(TestEvents, (events) => events.trigger(tenant.organization, "telco.search.completed"))
    )
    await tenant.ask("GET", "/v1/telco/search?source=npanxx")
    await expect.poll(() => callsOf(tenant, "telco"), waiting).toBe(1)
  })
})

describe("entitlements", () => {
  it("say what the plans in force include and allow", async () => {
    const tenant = await platform().tenant()
    expect(await entitlementOf(tenant, "send")).toEqual({
      hasAccess: true,
      product: "send",
      limits: { apiCalls: null, emails: 3_000 },
      usage: { apiCalls: 0, emails: 0 }
    })
    const { url } = (
      await tenant.ask("POST", "/v1/billing/checkout", {
        priceId: "free_pro",
        successUrl: "https://shop.example/",
        cancelUrl: "https://shop.example/"
      })
    ).body
    await fetch(url, { method: "POST" })
    expect((await entitlementOf(tenant, "send")).limits.emails).toBe(50_000)
    for (const query of ["", "?product=fax", "?product=send&product=talk", "?produkt=send"])
      expect((await tenant.ask("GET", `/v1/billing/entitlement${query}`)).status, query).toBe(400)
  })

  it("leave out products that no plan in force includes", async () => {
    const tenant = await limited().tenant()
    const access = await Promise.all(
      ["telco", "send", "talk"].map(async (product) => (await entitlementOf(tenant, product)).hasAccess)
    )
    expect(access).toEqual([true, true, false])
  })
})

describe("usage", () => {
  it("is of the current month, or of one that is named", async () => {
    const tenant = await platform().tenant()
    const current = (await tenant.ask("GET", "/v1/billing/usage?period=current")).body
    const month = new Date().toISOString().slice(0, 7)
    expect(current.period.start).toBe(`${month}-01T00:00:00.000Z`)
    expect((await tenant.ask("GET", `/v1/billing/usage?period=${month}`)).body.period).toEqual(current.period)
    expect((await tenant.ask("GET", "/v1/billing/usage?period=2024-02")).body).toEqual({
      period: { start: "2024-02-01T00:00:00.000Z", end: "2024-03-01T00:00:00.000Z" },
      usage: { apiCalls: 0, emails: 0, storage: 0 }
    })
    for (const period of ["2024-13", "last", "", "2024-2"]) {
      const { body, status } = await tenant.ask("GET", `/v1/billing/usage?period=${period}`)
      expect([status, body.error.code], period).toEqual([400, "invalid_request"])
    }
  })

  it("is reported by sites, counts a repeated report once, and limits nothing", async () => {
    const tenant = await platform().tenant()
    const report = await siteOf(tenant)
    const body = { product: "transcribe", usageType: "storage", quantity: 1_000_000_000 }
    const once = { "idempotency-key": "one" }
    const first = await report("POST", "/api/billing/usage", body, once)
    expect([first.status, first.body]).toEqual([202, { success: true, data: { ...body, total: 1_000_000_000 } }])
    const again = await report("POST", "/api/billing/usage", body, once)
    expect([again.status, again.body, again.headers.get("idempotency-replayed")]).toEqual([202, first.body, "true"])
    const more = await report("POST", "/api/billing/usage", body)
    expect(more.body.data.total).toBe(2_000_000_000)
    await report("POST", "/api/billing/usage", { product: "send", usageType: "emails", quantity: 4_000 })
    const shown = async () => (await tenant.ask("GET", "/v1/billing/usage")).body.usage
    await expect.poll(shown, waiting).toMatchObject({ emails: 4_000, storage: 2_000_000_000 })
    expect((await entitlementOf(tenant, "send")).usage.emails).toBe(4_000)

    const other = await report("POST", "/api/billing/usage", { ...body, quantity: 1 }, once)
    expect([other.status, other.body.error.code]).toEqual([409, "idempotency_conflict"])
    for (const wrong of [{ product: "fax" }, { usageType: "calls" }, { quantity: 0 }, { quantity: 1.5 }, { more: 1 }]) {
      const refused = await report("POST", "/api/billing/usage", { ...body, ...wrong })
      expect([refused.status, refused.body.success], JSON.stringify(wrong)).toEqual([400, false])
    }
    expect((await tenant.ask("POST", "/api/billing/usage", body)).status).toBe(401)
    expect((await report("GET", "/v1/billing/usage")).status).toBe(401)
  })
})
