/** Operators and billing, by the command line: payments that they confirm, plans that follow a subscription again, credentials of sites. */
import { randomUUID } from "node:crypto"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { services } from "../../src/platform/model.ts"
import { sluice } from "../support/commands.ts"
import { freePort } from "../support/freePort.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { askAdmin, makeTenant, ok, okJson, query, refusal, until, useDatabases } from "./support.ts"

const database = useDatabases()
let databaseUrl = ""
let platform: Platform
let at: Readonly<Record<string, string>>

beforeAll(async () => {
  databaseUrl = await database("seeded")
  const port = String(await freePort())
  platform = await startPlatform({
    DATABASE_URL: databaseUrl,
    NATS_URL: inject("natsUrl"),
    SLUICE_ADMIN_KEY: `adm_${"Ab1".repeat(10)}`,
    SLUICE_DEMO: "off",
    SLUICE_PORT: port,
    // Another name of where it listens.
    SLUICE_PUBLIC_URL: `http://localhost:${port}`,
    SLUICE_BILLING_PRICES:
      '{"prices": [{"id": "gold", "name": "Gold", "plan": "team", "amount": 500, "currency": "eur"}]}'
  })
  at = { SLUICE_DATA_DIR: platform.dataDir }
})

afterAll(() => platform?.stop())

const makeCustomer = async () => {
  const keyFor = { services, scopes: ["*"] }
  const { id: organization, key } = await makeTenant(platform, { name: `Acme ${randomUUID()}` }, keyFor)
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${platform.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of every shape.
    const json = (await answer.json()) as any // because each answer has a shape of its own
    return { status: answer.status, headers: answer.headers, body: json }
  }
  const rate = async () => (await ask("GET", "/v1/billing/subscription")).headers.get("x-ratelimit-limit")
  return { organization, ask, rate }
}

const order = async ({ ask }: Awaited<ReturnType<typeof makeCustomer>>): Promise<string> => {
  const urls = { successUrl: "https://shop.example/thanks", cancelUrl: "https://shop.example/plans" }
  const { body } = await ask("POST", "/v1/billing/checkout", { priceId: "gold", ...urls })
  await fetch(body.url, { method: "POST" })
  let id = ""
  await until(async () => {
    id = (await ask("GET", "/v1/billing/invoices")).body.data[0]?.id ?? ""
    return id !== ""
  })
  return id
}

it("[platform 11.4] links lead to the address at which customers reach the platform", async () => {
  const tenant = await makeCustomer()
  await order(tenant)
  const { pdfUrl } = (await tenant.ask("GET", "/v1/billing/invoices")).body.data[0]
  const urls = { successUrl: "https://shop.example/", cancelUrl: "https://shop.example/" }
  const { url } = (await tenant.ask("POST", "/v1/billing/checkout", { priceId: "gold", ...urls })).body
  expect([new URL(pdfUrl).origin, new URL(url).origin]).toEqual([platform.url, platform.url])
  expect(platform.url).toMatch(/^http:\/\/localhost:/)
})

it("[platform 11.6] a payment that an operator confirms puts the plan in force, and is recorded", async () => {
  const tenant = await makeCustomer()
  const id = await order(tenant)
  expect(await tenant.rate()).toBe("60")
  const open = await okJson(["invoices", "list"], at)
  expect(open).toContainEqual(
    expect.objectContaining({ id, organizationId: tenant.organization, amount: 500, currency: "eur", status: "open" })
  )
  expect(await ok(["invoices", "list"], at)).toContain(id)
  expect(await ok(["invoices", "pay", id], at)).toBe(`${id} is paid.\n`)
  expect(await tenant.rate()).toBe("6000")
  expect(refusal(await sluice(["invoices", "pay", id], at))).toContain("does not wait for payment")
  expect(refusal(await sluice(["invoices", "fail", "in_none"], at))).toContain("in_none")
  const filtered = ["invoices", "list", "--org", "org_x", "--status", "paid"]
  expect(refusal(await sluice(filtered, at))).toContain("not both")
  const settled = async () => {
    const { data } = await askAdmin(platform, "GET", `/organizations/${tenant.organization}/invoices`)
    return (data as ReadonlyArray<{ readonly status: string }>)[0]!.status
  }
  await until(async () => (await settled()) === "paid")
  const [own] = await okJson(["invoices", "list", "--org", tenant.organization], at)
  expect(own).toMatchObject({ id, status: "paid" })
  expect((await okJson(["invoices", "list"], at)).map((one: { readonly id: string }) => one.id)).not.toContain(id)
  expect(await query(databaseUrl, "select act from admin_acts where subject = $1", [id])).toEqual([
    { act: "invoice.paid" }
  ])
})

it("[platform 11.6] a payment that has failed puts nothing in force", async () => {
  const tenant = await makeCustomer()
  const id = await order(tenant)
  expect(await okJson(["invoices", "fail", id], at)).toEqual({ id, outcome: "failed" })
  expect(await tenant.rate()).toBe("60")
})

it("[platform 11.2] a plan that an operator sets stands until it is to follow the subscription", async () => {
  const tenant = await makeCustomer()
  await ok(["orgs", "set-plan", tenant.organization, "--plan", "early_adopter"], at)
  await askAdmin(platform, "POST", `/invoices/${await order(tenant)}/pay`)
  expect(await tenant.rate()).toBe("600")
  const shown = await okJson(["orgs", "set-plan", tenant.organization, "--from-subscription"], at)
  expect([shown.plan, shown.sendPlan]).toEqual(["team", "hobby"])
  expect(await tenant.rate()).toBe("6000")
  const both = await sluice(["orgs", "set-plan", tenant.organization, "--from-subscription", "--plan", "team"], at)
  expect(refusal(both)).toContain("not both")
})

it("[platform 2.8] a site's credential is shown once, listed, used and revoked", async () => {
  const { ask, organization } = await makeCustomer()
  const { credential, id } = await okJson(["sites", "create", "--org", organization, "--name", "shop"], at)
  const report = async () => {
    const answer = await fetch(`${platform.url}/api/billing/usage`, {
      method: "POST",
      headers: { authorization: `Bearer ${credential}`, "content-type": "application/json" },
      body: JSON.stringify({ product: "voip", usageType: "apiCalls", quantity: 3 })
    })
    const { data } = (await answer.json()) as { readonly data?: { readonly total: number } }
    return [answer.status, data?.total]
  }
  expect(await report()).toEqual([202, 3])
  const listed = await ok(["sites", "list", "--org", organization], at)
  expect(listed).toContain("shop")
  expect(listed).not.toContain(credential)
  await until(async () => (await ask("GET", "/v1/billing/entitlement?product=voip")).body.usage.apiCalls === 3)
  expect(await ok(["sites", "revoke", id], at)).toContain(`Revoked ${id}`)
  // The node hears of it within a second.
  await until(async () => (await report())[0] === 401)
  expect(await report()).toEqual([401, undefined])
})
