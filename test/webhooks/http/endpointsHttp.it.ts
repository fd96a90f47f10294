/**
 * Webhook endpoints over HTTP (docs/platform.md, 6.1 to 6.3): each documented status and body.
 */
import { describe, expect, it } from "vitest"
import { putLastDelivery } from "../delivery/rows.ts"
import { listForm, secretForm } from "../endpoint/endpointForms.ts"
import { hookUrl, type Tenant, useWebhookPlatform } from "../platform.ts"

const platform = useWebhookPlatform()

const pause = (tenant: Tenant, id: string) => tenant.failures(id, 10)

describe("POST /v1/webhooks", () => {
  it("[platform 6.2] creates an endpoint: 201 with its secret, which is in this answer only", async () => {
    const { ask } = await platform().tenant()
    const before = Date.now()
    const made = await ask("POST", "/v1/webhooks", {
      url: hookUrl,
      enabled_events: ["send.*", "telco.lookup.completed"],
      description: "our CRM"
    })
    expect(made.status).toBe(201)
    expect(made.body).toStrictEqual({
      id: expect.stringMatching(/^we_[0-9A-Za-z]{22}$/),
      url: hookUrl,
      enabled_events: ["send.*", "telco.lookup.completed"],
      description: "our CRM",
      header_names: [],
      rate_limit: null,
      ordering: null,
      label: null,
      signing_secret: secretForm,
      public_key: null,
      is_active: true,
      message: expect.stringContaining("shown this once")
    })
    const { id, signing_secret } = made.body as { id: string; signing_secret: string }
    const got = await ask("GET", `/v1/webhooks/${id}`)
    expect(got.body).toStrictEqual({
      ...listForm(id),
      enabled_events: ["send.*", "telco.lookup.completed"],
      description: "our CRM"
    })
    const { created_at } = got.body as { created_at: number }
    expect(created_at).toBeGreaterThanOrEqual(before)
    expect(created_at).toBeLessThanOrEqual(Date.now())
    expect(JSON.stringify((await ask("GET", "/v1/webhooks")).body)).not.toContain(signing_secret)
  })

  it("[platform 6.3] without url: 400 {error: 'url is required'}", async () => {
    const { ask } = await platform().tenant()
    for (const body of [{ enabled_events: ["*"] }, {}, { url: "", enabled_events: ["*"] }]) {
      const { body: error, status } = await ask("POST", "/v1/webhooks", body)
      expect({ status, error }).toStrictEqual({ status: 400, error: { error: "url is required" } })
    }
  })

  it.each([
    "http://hooks.example.com/in",
    "http://localhost/in",
    "http://127.0.0.1:3000",
    "ftp://a.b/c",
    "hooks.com"
  ])("[platform 6.3] with the url %s: 400 {error: 'Webhook URL must use HTTPS'}", async (url) => {
    const { ask } = await platform().tenant()
    const { body, status } = await ask("POST", "/v1/webhooks", { url, enabled_events: ["*"] })
    expect({ status, body }).toStrictEqual({ status: 400, body: { error: "Webhook URL must use HTTPS" } })
  })

  it.each([
    [{ url: 5 }, "url"],
    [{ url: ["https://a.example"] }, "url"],
    [{ url: "https://" }, "url"],
    [{ url: "https://user:pass@hooks.example.com" }, "user name"],
    [{ url: "https://hooks.example.com:25/" }, "port 25"],
    [{ url: `https://hooks.example.com/${"a".repeat(2048)}` }, "2048"],
    [{ enabled_events: undefined }, "enabled_events"],
    [{ enabled_events: "telco.*" }, "enabled_events"],
    [{ enabled_events: [] }, "enabled_events"],
    [{ enabled_events: [1] }, "enabled_events"],
    [{ enabled_events: Array.from({ length: 51 }, () => "*") }, "at most 50"],
    [{ enabled_events: ["nobody.*"] }, "nobody.*"],
    [{ enabled_events: ["telco"] }, "telco.*"],
    [{ enabled_events: ["*.completed"] }, "*.completed"],
    [{ description: 1 }, "description"],
    [{ description: "a".repeat(501) }, "500"]
  ])("[platform 6.3] with %o: 400 invalid_request with a message about it", async (fields, part) => {
    const { ask } = await platform().tenant()
    const { body, status } = await ask("POST", "/v1/webhooks", { url: hookUrl, enabled_events: ["*"], ...fields })
    expect({ status, body }).toStrictEqual({
      status: 400,
      body: { error: "invalid_request", message: expect.stringContaining(part) }
    })
    expect((await ask("GET", "/v1/webhooks")).body).toStrictEqual({ endpoints: [] })
  })

  it("[platform 6.3] refuses the 51st with 409, and a deleted one makes room", async () => {
    const { ask, endpoint } = await platform().tenant()
    const ids = await Promise.all(Array.from({ length: 50 }, () => endpoint()))
    const one = { url: hookUrl, enabled_events: ["*"] }
    const refused = await ask("POST", "/v1/webhooks", one)
    expect(refused.status).toBe(409)
    expect(refused.body).toStrictEqual({ error: "conflict", message: expect.stringContaining("50") })
    expect((await ask("DELETE", `/v1/webhooks/${ids[3]}`)).status).toBe(200)
    expect((await ask("POST", "/v1/webhooks", one)).status).toBe(201)
    const { endpoints } = (await ask("GET", "/v1/webhooks")).body as { endpoints: ReadonlyArray<{ id: string }> }
    expect(endpoints).toHaveLength(50)
  })
})

describe("GET /v1/webhooks/source-addresses", () => {
  it("[platform 6.12] lists the addresses that operators have set, none where they are not known", async () => {
    const { ask, askAs } = await platform().tenant()
    expect(await ask("GET", "/v1/webhooks/source-addresses")).toMatchObject({ status: 200, body: { addresses: [] } })
    const other = await askAs("platform:events:read")
    expect((await other("GET", "/v1/webhooks/source-addresses")).status).toBe(403)
  })
})

describe("GET /v1/webhooks", () => {
  it("lists the organization's endpoints, oldest first, in the list form", async () => {
    const { ask, endpoint } = await platform().tenant()
    expect((await ask("GET", "/v1/webhooks")).body).toStrictEqual({ endpoints: [] })
    const ids = [await endpoint(), await endpoint(), await endpoint()]
    expect((await ask("GET", "/v1/webhooks")).body).toStrictEqual({ endpoints: ids.map(listForm) })
  })

  it("[platform 6.1] shows failures and the pause, and when and how the last delivery went", async () => {
    const tenant = await platform().tenant()
    const id = await tenant.endpoint()
    await tenant.failures(id, 3)
    expect((await tenant.ask("GET", `/v1/webhooks/${id}`)).body).toMatchObject({
      is_paused: false,
      consecutive_failures: 3
    })
    await tenant.failures(id, 7)
    const row = { last_delivery_at: 1_700_000_000_000, last_delivery_status: 0 }
    await putLastDelivery(platform().databaseUrl, tenant.organization, id, row)
    expect((await tenant.ask("GET", "/v1/webhooks")).body).toStrictEqual({
      endpoints: [{ ...listForm(id), is_paused: true, consecutive_failures: 10, ...row }]
    })
  })

  it("[platform 6.3] an unknown endpoint is 404, an id that is none 400", async () => {
    const { ask } = await platform().tenant()
    const unknown = await ask("GET", "/v1/webhooks/we_none")
    expect(unknown.status).toBe(404)
    expect(unknown.body).toStrictEqual({ error: "not_found", message: "There is no webhook endpoint we_none" })
    expect((await ask("GET", "/v1/webhooks/a.b")).status).toBe(400)
  })
})

describe("PATCH /v1/webhooks/{id}", () => {
  it("[platform 6.2] changes what is given and leaves the rest: url, enabled_events, description, is_active", async () => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint({ description: "one" })
    const path = `/v1/webhooks/${id}`
    const changes = [
      { url: "https://other.example.com/" },
      { enabled_events: ["*"] },
      { description: "two" },
      { is_active: false },
      { description: null, is_active: true },
      {}
    ]
    let expected: object = { ...listForm(id), description: "one" }
    for (const change of changes) {
      expected = { ...expected, ...change }
      const { body, status } = await ask("PATCH", path, change)
      expect({ status, body }).toStrictEqual({ status: 200, body: expected })
      expect((await ask("GET", path)).body).toStrictEqual(expected)
    }
  })

  it("refuses the values that creation refuses, and changes nothing then", async () => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint()
    const path = `/v1/webhooks/${id}`
    expect((await ask("PATCH", path, { url: "http://hooks.example.com" })).body).toStrictEqual({
      error: "Webhook URL must use HTTPS"
    })
    expect((await ask("PATCH", path, { url: "" })).body).toStrictEqual({ error: "url is required" })
    for (const change of [
      { url: null },
      { enabled_events: [] },
      { enabled_events: ["x.*"], description: "new" },
      { is_active: "no" },
      { is_active: null },
      { description: "a".repeat(501) }
    ]) {
      const reply = await ask("PATCH", path, change)
      expect(reply.status, JSON.stringify(change)).toBe(400)
      expect(reply.body).toStrictEqual({ error: "invalid_request", message: expect.any(String) })
    }
    expect((await ask("GET", path)).body).toStrictEqual(listForm(id))
  })

  it("[platform 6.2] leaves a pause as it is when is_active changes", async () => {
    const tenant = await platform().tenant()
    const id = await tenant.endpoint()
    await pause(tenant, id)
    for (const is_active of [false, true]) {
      const reply = await tenant.ask("PATCH", `/v1/webhooks/${id}`, { is_active })
      expect(reply.body).toMatchObject({ is_active, is_paused: true, consecutive_failures: 10 })
    }
  })
})

describe("DELETE /v1/webhooks/{id}", () => {
  it("deletes it once: 200, then 404 everywhere", async () => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint()
    const { body, status } = await ask("DELETE", `/v1/webhooks/${id}`)
    expect({ status, body }).toStrictEqual({ status: 200, body: { id, deleted: true } })
    expect((await ask("DELETE", `/v1/webhooks/${id}`)).status).toBe(404)
    expect((await ask("GET", `/v1/webhooks/${id}`)).status).toBe(404)
    expect((await ask("GET", "/v1/webhooks")).body).toStrictEqual({ endpoints: [] })
  })
})
