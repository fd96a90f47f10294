/** Usage as it is counted, shown and reported, over HTTP (docs/platform.md, 11.7 to 11.9). */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect, it } from "vitest"
import { builtInCatalogue, type PriceCatalogue, parseCatalogue, type Terms } from "../../src/billing/index.ts"
import { addMonths, monthAt } from "../../src/billing/periods.ts"
import { figuresSince, removeOldUsage } from "../../src/billing/usage/UsageKeeper.ts"
import { TestEvents } from "../../src/events/TestEvents.ts"
import { SiteCredentials } from "../../src/platform/SiteCredentials.ts"
import { askAt } from "../support/api.ts"
import { patienceMillis } from "../support/patience.ts"
import { type Tenant, useBillingPlatform } from "./billingPlatform.ts"

const terms: Terms = { settlement: "at once", graceMillis: 0, dueMillis: 0 }
const platform = useBillingPlatform({ catalogue: builtInCatalogue, terms })
const limited = useBillingPlatform({
  catalogue: parseCatalogue('{"prices": [], "products": {"free": ["telco"], "hobby": ["send"]}}') as PriceCatalogue,
  terms
})

const hour = 60 * 60 * 1000
const day = 24 * hour
/** The calendar month so many months from this one. */
const monthName = (months: number): string =>
  new Date(addMonths(monthAt(Date.now()).start, months)).toISOString().slice(0, 7)

const waiting = { timeout: patienceMillis, interval: 100 }

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

  it("of people in the console are none", async () => {
    const tenant = await platform().tenant()
    const made = await tenant.ask("POST", "/v1/keys", { services: ["directory"], scopes: ["platform:billing:read"] })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const { key } = made.body as { readonly key: string }
    const asPerson = (path: string, more: RequestInit & { readonly headers?: Readonly<Record<string, string>> }) =>
      fetch(`${platform().url}${path}`, { ...more, headers: { ...more.headers, "x-sluice-console": "1" } })
    const opened = await asPerson("/v1/console/sessions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ key })
    })
    expect(opened.status).toBe(201)
    const cookie = opened.headers.get("set-cookie")!.split(";")[0]!
    for (let n = 0; n < 3; n++)
      expect((await asPerson("/v1/carriers?limit=1", { headers: { cookie } })).status).toBe(200)
    // What is counted later than the console's would be is there.
    await tenant.ask("GET", "/v1/carriers?limit=1")
    await expect.poll(() => callsOf(tenant, "directory"), waiting).toBeGreaterThan(0)
    expect(await callsOf(tenant, "directory")).toBe(1)
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

describe("contents", () => {
  const storageOf = async (tenant: Tenant, period = "current"): Promise<number> =>
    (await tenant.ask("GET", `/v1/billing/usage?period=${period}`)).body.usage.storage
  /** Bytes of contents in the rows of an hour and before it. */
  const until = (tenant: Tenant, hour: number) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      Effect.map(
        sql<{ readonly sum: string }>`
          select coalesce(sum(quantity), 0) as sum from usage_hours
          where organization_id = ${tenant.organization} and usage_type = 'contents' and hour <= ${hour}`,
        ([row]) => Number(row?.sum)
      )
    )
  const sender = async (tenant: Tenant) => {
    const ask = await tenant.askAs({ mode: "test" })
    expect((await ask("POST", "/v1/send/domains", { domain: "shop.test" })).status).toBeLessThan(300)
    return ask
  }
  const email = { from: "a@shop.test", to: "b@two.test", subject: "s" }

  it("[platform 11.8] are counted in bytes while they are kept, to the hour", async () => {
    const tenant = await platform().tenant()
    const ask = await sender(tenant)
    await ask("POST", "/v1/send/emails", { ...email, text: "" })
    await expect.poll(() => storageOf(tenant), waiting).toBeGreaterThan(0)
    const first = await storageOf(tenant)
    const scheduled = { ...email, text: "x".repeat(5_000), scheduled_at: new Date(Date.now() + day).toISOString() }
    const { body } = await ask("POST", "/v1/send/emails", scheduled)
    // Beside the text there are only the marks that it is longer.
    await expect.poll(() => storageOf(tenant), waiting).toBe(2 * first + 5_000)
    // What is taken back has ended, and its content goes seven days later.
    await ask("POST", `/v1/send/emails/${body.id}/cancel`)
    await expect.poll(() => platform().run(until(tenant, Date.now() + 8 * day)), waiting).toBe(first)
    expect(await platform().run(until(tenant, Date.now() + 7 * day - 2 * hour))).toBe(2 * first + 5_000)
    expect(await storageOf(tenant)).toBe(2 * first + 5_000)
    expect(await storageOf(tenant, monthName(-1))).toBe(0)
  })

  it("of a request to suppressed recipients alone are kept, and it is a call", async () => {
    const tenant = await platform().tenant()
    const ask = await sender(tenant)
    await ask("POST", "/v1/send/suppressions", { email: "b@two.test" })
    const { body } = await ask("POST", "/v1/send/emails", { ...email, text: "x" }, { "idempotency-key": "one" })
    expect(body.state).toBe("suppressed")
    await ask("POST", "/v1/send/emails", { ...email, text: "x" }, { "idempotency-key": "one" })
    await expect.poll(() => storageOf(tenant), waiting).toBeGreaterThan(0)
    expect(await platform().run(until(tenant, Date.now() + 8 * day))).toBe(0)
    // The domain, the suppression and the request, of which the repeat is none.
    await expect.poll(() => callsOf(tenant, "send"), waiting).toBe(3)
    expect((await entitlementOf(tenant, "send")).usage.emails).toBe(0)
  })
})

describe("old figures", () => {
  it("are removed after 36 months but for the contents that are kept still", async () => {
    const tenant = await platform().tenant()
    const since = figuresSince(Date.now())
    const add = (at: number, type: string, quantity: number) =>
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`insert into usage_hours values (${tenant.organization}, ${at}, 'send', ${type}, ${quantity})`
      )
    const rows = Effect.flatMap(SqlClient.SqlClient, (sql) =>
      Effect.map(
        sql<{ readonly hour: string; readonly usage_type: string; readonly quantity: string }>`
          select * from usage_hours where organization_id = ${tenant.organization} order by hour, usage_type`,
        (found) => found.map((row) => [Number(row.hour) - since, row.usage_type, Number(row.quantity)])
      )
    )
    await platform().run(
      Effect.gen(function* () {
        yield* add(since, "emails", 1)
        yield* add(since, "contents", 100)
        for (let back = 1; back <= 5; back++) {
          yield* add(since - back * hour, "emails", 2)
          yield* add(since - back * hour, "contents", 10 * back)
        }
        yield* removeOldUsage(3)
      })
    )
    const left = [
      [-hour, "contents", 150],
      [0, "contents", 100],
      [0, "emails", 1]
    ]
    expect(await platform().run(rows)).toEqual(left)
    await platform().run(removeOldUsage())
    expect(await platform().run(rows)).toEqual(left)
    const ask = (period: string) => tenant.ask("GET", `/v1/billing/usage?period=${period}`)
    expect((await ask(monthName(-36))).body.usage).toEqual({ apiCalls: 0, emails: 1, storage: 250 })
    const refused = await ask(monthName(-37))
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      `Invalid parameter 'period': "${monthName(-37)}". Figures are kept since ${monthName(-36)}.`
    ])
    for (const month of [monthName(1), "9999-12"]) {
      const early = await ask(month)
      expect([early.status, early.body.error.message]).toEqual([
        400,
        `Invalid parameter 'period': "${month}". The period has not begun.`
      ])
    }
  })
})

describe("entitlements", () => {
  it("[platform 11.7] say what the plans in force include and allow", async () => {
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
  })

  it("[platform 11.3, 11.7] leave out products that no plan in force includes", async () => {
    const tenant = await limited().tenant()
    const access = await Promise.all(
      ["telco", "send", "talk"].map(async (product) => (await entitlementOf(tenant, product)).hasAccess)
    )
    expect(access).toEqual([true, true, false])
  })
})

describe("usage", () => {
  it("[platform 11.8] is of the current month, or of one that is named", async () => {
    const tenant = await platform().tenant()
    const current = (await tenant.ask("GET", "/v1/billing/usage?period=current")).body
    const month = new Date().toISOString().slice(0, 7)
    expect(current.period.start).toBe(`${month}-01T00:00:00.000Z`)
    expect((await tenant.ask("GET", `/v1/billing/usage?period=${month}`)).body.period).toEqual(current.period)
    expect((await tenant.ask("GET", `/v1/billing/usage?period=${monthName(-13)}`)).body).toEqual({
      period: { start: `${monthName(-13)}-01T00:00:00.000Z`, end: `${monthName(-12)}-01T00:00:00.000Z` },
      usage: { apiCalls: 0, emails: 0, storage: 0 }
    })
    for (const period of ["2024-13", "last", "", "2024-2"]) {
      const { body, status } = await tenant.ask("GET", `/v1/billing/usage?period=${period}`)
      expect([status, body.error.code], period).toEqual([400, "invalid_request"])
    }
  })

  it("[platform 2.8] is reported by each site credential at most 600 times a minute, whatever keys do", async () => {
    const tenant = await platform().tenant()
    const [report, other] = [await siteOf(tenant), await siteOf(tenant)]
    const answers: Array<Awaited<ReturnType<typeof report>>> = []
    // None is a report, so that they cost little; they count all the same. Two minutes let at most 1,200 through.
    while (answers.every(({ status }) => status !== 429) && answers.length < 1_250)
      answers.push(...(await Promise.all(Array.from({ length: 50 }, () => report("POST", "/api/billing/usage", {})))))
    const passed = answers.filter(({ status }) => status === 400)
    const refused = answers.filter(({ status }) => status === 429)
    expect(passed.length + refused.length).toBe(answers.length)
    expect(passed.length).toBeGreaterThanOrEqual(600)
    expect(passed.length).toBeLessThanOrEqual(1_200)
    expect(passed[0]!.headers.get("x-ratelimit-limit")).toBe("600")
    const { body, headers } = refused[0]!
    expect([body.success, body.error.code]).toEqual([false, "rate_limited"])
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0)
    const good = { product: "send", usageType: "emails", quantity: 1 }
    expect((await other("POST", "/api/billing/usage", good)).status).toBe(202)
    expect((await tenant.ask("GET", "/v1/carriers?limit=1")).status).toBe(200)
  })

  it("[platform 11.9] is reported by sites, counts a repeated report once, and limits nothing", async () => {
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
  })
})
