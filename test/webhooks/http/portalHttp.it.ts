/**
 * Labels and portals over HTTP (docs/platform.md, 6.13 and 6.14): how a link opens, what a portal may do, and that it
 * neither sees nor changes anything else, whichever endpoint of the API it asks.
 */
import { describe, expect, it } from "vitest"
import { query } from "../../cli/support.ts"
import { endpoints, namesOf } from "../../http/contract/endpoints.ts"
import { request } from "../../http/harness.ts"
import { putDelivery } from "../delivery/rows.ts"
import { type Ask, hookUrl, type Tenant, useWebhookPlatform } from "../platform.ts"
import { type Page, refused } from "./deliveriesSupport.ts"

const platform = useWebhookPlatform()

type Listed = { readonly endpoints: ReadonlyArray<{ readonly id: string; readonly label: string | null }> }

const hourMillis = 3_600_000

const makeLink = async ({ ask }: Pick<Tenant, "ask">, body: object = { label: "ann" }): Promise<string> => {
  const made = await ask("POST", "/v1/webhooks/portal", body)
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  const { url } = made.body as { readonly url: string }
  const [, address, link] = /^(.*)\/console#link=(pl_[0-9a-f]{32})$/.exec(url)!
  expect(address).toBe(platform().url)
  return link!
}

const signIn = (link: string) =>
  request(`${platform().url}/v1/console/sessions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-sluice-console": "1" },
    body: JSON.stringify({ link })
  })

/** Asks as the browser does that has opened the link. */
const askWith = async (link: string): Promise<Ask> => {
  const opened = await signIn(link)
  expect(opened.status, JSON.stringify(opened.body)).toBe(201)
  const cookie = opened.headers.get("set-cookie")!.split(";")[0]!
  return (method, path, body, headers = {}) =>
    request(`${platform().url}${path}`, {
      method,
      headers: {
        cookie,
        "x-sluice-console": "1",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
}

const openPortal = async (tenant: Pick<Tenant, "ask">, body?: object): Promise<Ask> =>
  askWith(await makeLink(tenant, body))

const shown = ({ body, status }: { readonly status: number; readonly body: unknown }) => ({ status, body })

describe("labels", () => {
  it("[platform 6.13] are given, listed, asked for, changed and removed", async () => {
    const { ask, endpoint } = await platform().tenant()
    const own = await endpoint({ label: "ann" })
    const other = await endpoint()
    const idsOf = async (search = "") =>
      ((await ask("GET", `/v1/webhooks${search}`)).body as Listed).endpoints.map(({ id }) => id)
    expect(await idsOf()).toEqual([own, other])
    expect(await idsOf("?label=ann")).toEqual([own])
    expect(await idsOf("?label=Ann")).toEqual([])
    expect((await ask("PATCH", `/v1/webhooks/${other}`, { label: "ann" })).body).toMatchObject({ label: "ann" })
    expect(await idsOf("?label=ann")).toEqual([own, other])
    expect((await ask("PATCH", `/v1/webhooks/${own}`, { label: null })).body).toMatchObject({ label: null })
    expect(await idsOf("?label=ann")).toEqual([other])
    expect((await ask("DELETE", `/v1/webhooks/${other}`)).status).toBe(200)
    expect(await idsOf("?label=ann")).toEqual([])
  })

  it("that are none are 400", async () => {
    const { ask } = await platform().tenant()
    for (const label of ["", "a b", "ä", "x".repeat(129)]) {
      for (const reply of [
        await ask("POST", "/v1/webhooks", { url: hookUrl, enabled_events: ["*"], label }),
        await ask("POST", "/v1/webhooks/portal", { label }),
        await ask("GET", `/v1/webhooks?label=${encodeURIComponent(label)}`)
      ])
        expect(shown(reply)).toStrictEqual(refused(400, "invalid_request", expect.stringContaining("label")))
    }
    expect((await ask("GET", "/v1/webhooks")).body).toStrictEqual({ endpoints: [] })
  })
})

describe("POST /v1/webhooks/portal", () => {
  it("[platform 6.14] returns a link, its end, and the end and the types of the portal", async () => {
    const { ask } = await platform().tenant()
    const before = Date.now()
    const { body, status } = await ask("POST", "/v1/webhooks/portal", { label: "ann" })
    expect({ status, body }).toStrictEqual({
      status: 201,
      body: {
        url: expect.stringMatching(/\/console#link=pl_[0-9a-f]{32}$/),
        label: "ann",
        types: ["send.*", "telco.*", "talk.*", "voip.*", "transcribe.*"],
        linkExpiresAt: expect.any(Number),
        expiresAt: expect.any(Number)
      }
    })
    const { expiresAt, linkExpiresAt } = body as { readonly expiresAt: number; readonly linkExpiresAt: number }
    const after = Date.now()
    for (const [end, hours] of [
      [linkExpiresAt, 1],
      [expiresAt, 8]
    ] as const) {
      expect(end).toBeGreaterThanOrEqual(before + hours * hourMillis)
      expect(end).toBeLessThanOrEqual(after + hours * hourMillis)
    }
    // Soon over: the link is too.
    const soon = Date.now() + 60_000
    expect((await ask("POST", "/v1/webhooks/portal", { label: "ann", expiresAt: soon })).body).toMatchObject({
      linkExpiresAt: soon,
      expiresAt: soon
    })
  })

  it.each([
    [{}, "label"],
    [{ label: 1 }, "label"],
    [{ label: null }, "label"],
    [{ label: "ann", expiresAt: 1 }, "expiresAt"],
    [{ label: "ann", expiresAt: Date.now() + 25 * hourMillis }, "expiresAt"],
    [{ label: "ann", expiresAt: "soon" }, "expiresAt"],
    [{ label: "ann", types: [] }, "types"],
    [{ label: "ann", types: ["nobody.*"] }, "nobody.*"],
    [{ label: "ann", typos: [] }, "types"]
  ])("with %j: 400 with a message about it", async (body, part) => {
    const { ask } = await platform().tenant()
    expect(shown(await ask("POST", "/v1/webhooks/portal", body))).toStrictEqual(
      refused(400, "invalid_request", expect.stringContaining(part))
    )
  })

  it("stores a link and its session as digests only, also for a repeat under an Idempotency-Key", async () => {
    const { ask, organization } = await platform().tenant()
    const once = { "idempotency-key": "the portal of ann" }
    const first = await ask("POST", "/v1/webhooks/portal", { label: "ann" }, once)
    const again = await ask("POST", "/v1/webhooks/portal", { label: "ann" }, once)
    expect(again.headers.get("idempotency-replayed")).toBe("true")
    expect(again.body).toStrictEqual(first.body)
    const link = (first.body as { readonly url: string }).url.split("#link=")[1]!
    const opened = await signIn(link)
    const session = /sluice_session=(\w+)/.exec(opened.headers.get("set-cookie")!)![1]!
    for (const table of ["portal_links", "api_keys", "webhook_idempotency"]) {
      const rows = await query<{ readonly text: string }>(
        platform().databaseUrl,
        `select t::text as text from ${table} t where organization_id = $1`,
        [organization]
      )
      const stored = rows.map(({ text }) => text).join("\n")
      expect(stored).not.toContain(link.slice(3))
      expect(stored).not.toContain(session.slice(-22))
    }
    // A repeat shows the link that was used.
    const used = await ask("POST", "/v1/webhooks/portal", { label: "ann" }, once)
    expect(used.body).toStrictEqual(first.body)
    expect((await signIn(link)).status).toBe(401)
  })

  it("needs the scope for changes", async () => {
    const { askAs } = await platform().tenant()
    const reads = await askAs("platform:webhooks:read")
    expect((await reads("POST", "/v1/webhooks/portal", { label: "ann" })).status).toBe(403)
  })
})

describe("the link of a portal", () => {
  it("[platform 6.14] opens one portal, also if it is used many times concurrently", async () => {
    const link = await makeLink(await platform().tenant())
    const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await signIn(link)).status))
    expect(statuses.toSorted()).toEqual([201, ...Array.from({ length: 7 }, () => 401)])
  })

  it("opens nothing after its end, or that of the key that made it", async () => {
    const tenant = await platform().tenant()
    const { databaseUrl } = platform()
    const late = await makeLink(tenant)
    await query(databaseUrl, "update portal_links set expires_at = now() where organization_id = $1", [
      tenant.organization
    ])
    expect((await signIn(late)).status).toBe(401)
    const [revoked, open] = [await makeLink(tenant), await openPortal(tenant)]
    expect((await open("GET", "/v1/webhooks")).status).toBe(200)
    const [key] = await query<{ readonly id: string }>(
      databaseUrl,
      "select id from api_keys where organization_id = $1 and not is_session",
      [tenant.organization]
    )
    const manager = await tenant.askAs("*")
    expect((await manager("DELETE", `/v1/keys/${key!.id}`)).status).toBe(200)
    expect((await signIn(revoked)).status).toBe(401)
    // Every node hears of it within a second.
    await expect.poll(async () => (await open("GET", "/v1/webhooks")).status).toBe(401)
  })

  it("that nobody made opens nothing, and the message says no more", async () => {
    const refusals = await Promise.all([`pl_${"0".repeat(32)}`, "pl_x", "pl_", `pl_${"a".repeat(10_000)}`].map(signIn))
    for (const { body, status } of refusals)
      expect({ status, body }).toMatchObject({ status: 401, body: { error: { code: "unauthorized" } } })
  })
})

describe("a portal", () => {
  it("describes itself, ends by signing out, and is no session of the organization's console", async () => {
    const tenant = await platform().tenant()
    const ask = await openPortal(tenant, { label: "ann", types: ["telco.*"] })
    expect(shown(await ask("GET", "/v1/console/portal"))).toStrictEqual({
      status: 200,
      body: {
        label: "ann",
        organization: { name: "Acme" },
        mode: "live",
        types: ["telco.*"],
        expiresAt: expect.any(Number)
      }
    })
    expect((await ask("GET", "/v1/console/session")).status).toBe(403)
    expect((await tenant.ask("GET", "/v1/console/portal")).status).toBe(404)
    expect((await ask("DELETE", "/v1/console/session")).status).toBe(200)
    expect((await ask("GET", "/v1/webhooks")).status).toBe(401)
  })

  it("[platform 6.14] makes, lists, changes and deletes endpoints of its label alone", async () => {
    const tenant = await platform().tenant()
    const foreign = [await tenant.endpoint(), await tenant.endpoint({ label: "ben" })]
    const given = await tenant.endpoint({ label: "ann" })
    const ask = await openPortal(tenant)
    const made = await ask("POST", "/v1/webhooks", { url: hookUrl, enabled_events: ["telco.*"] })
    expect(made).toMatchObject({ status: 201, body: { label: "ann" } })
    const own = (made.body as { readonly id: string }).id
    const idsOf = async (search = "") =>
      ((await ask("GET", `/v1/webhooks${search}`)).body as Listed).endpoints.map(({ id }) => id)
    expect(await idsOf()).toEqual([given, own])
    expect(await idsOf("?label=ann")).toEqual([given, own])
    expect(await idsOf("?label=ben")).toEqual([])
    for (const label of ["ben", null]) {
      expect(shown(await ask("PATCH", `/v1/webhooks/${own}`, { label }))).toStrictEqual(
        refused(400, "invalid_request", expect.stringContaining("label"))
      )
    }
    const body = { url: hookUrl, enabled_events: ["telco.*"], label: "ben" }
    expect((await ask("POST", "/v1/webhooks", body)).status).toBe(400)
    expect((await ask("PATCH", `/v1/webhooks/${own}`, { description: "mine" })).body).toMatchObject({
      description: "mine",
      label: "ann"
    })
    expect((await ask("POST", `/v1/webhooks/${own}/rotate-secret`, { overlapSeconds: 60 })).status).toBe(200)
    expect((await ask("POST", `/v1/webhooks/${own}/test`)).status).toBe(200)
    expect((await ask("POST", `/v1/webhooks/${own}/replay`, { since: Date.now() - 1_000 })).status).toBe(202)
    expect((await ask("DELETE", `/v1/webhooks/${own}`)).status).toBe(200)
    const all = ((await tenant.ask("GET", "/v1/webhooks")).body as Listed).endpoints
    expect(all.map(({ id, label }) => [id, label])).toEqual([
      [foreign[0], null],
      [foreign[1], "ben"],
      [given, "ann"]
    ])
  })

  it("subscribes to the types that it may see, and to no other", async () => {
    const tenant = await platform().tenant()
    const wide = await tenant.endpoint({ label: "ann", enabled_events: ["*"] })
    const ask = await openPortal(tenant, { label: "ann", types: ["telco.lookup.*"] })
    for (const enabled_events of [["*"], ["telco.*"], ["platform.*"], ["telco.lookup.completed", "send.*"]]) {
      expect(shown(await ask("POST", "/v1/webhooks", { url: hookUrl, enabled_events }))).toStrictEqual(
        refused(400, "invalid_request", expect.stringContaining("enabled_events"))
      )
      expect((await ask("PATCH", `/v1/webhooks/${wide}`, { enabled_events })).status).toBe(400)
    }
    const own = { url: hookUrl, enabled_events: ["telco.lookup.completed"] }
    expect((await ask("POST", "/v1/webhooks", own)).status).toBe(201)
    // What the platform's owner gave it stays.
    expect((await ask("PATCH", `/v1/webhooks/${wide}`, { description: "wide" })).body).toMatchObject({
      enabled_events: ["*"]
    })
  })

  it("makes ten endpoints, and no more", async () => {
    const tenant = await platform().tenant()
    const ask = await openPortal(tenant)
    const make = () => ask("POST", "/v1/webhooks", { url: hookUrl, enabled_events: ["telco.*"] })
    for (let made = 0; made < 10; made++) expect((await make()).status).toBe(201)
    expect(shown(await make())).toStrictEqual(refused(409, "conflict", expect.stringContaining("10")))
    await tenant.endpoint({ label: "ann" })
  })

  it("gets no answer of somebody else by an Idempotency-Key", async () => {
    const tenant = await platform().tenant()
    const [ann, ben] = [await openPortal(tenant), await openPortal(tenant, { label: "ben" })]
    const make = async (ask: Ask) => {
      const reply = await ask(
        "POST",
        "/v1/webhooks",
        { url: hookUrl, enabled_events: ["telco.*"] },
        { "idempotency-key": "1" }
      )
      expect(reply.status).toBe(201)
      return reply.body as { readonly id: string; readonly signing_secret: string }
    }
    const made = [await make(tenant.ask), await make(ann), await make(ben)]
    expect(new Set(made.map(({ id }) => id)).size).toBe(3)
    expect(new Set(made.map(({ signing_secret }) => signing_secret)).size).toBe(3)
    expect(await make(ann)).toStrictEqual(made[1])
  })
})

describe("what a portal may not", () => {
  /** What a portal may ask, by name; a new endpoint is not open to it until it is here too. */
  const open = [
    "GET /v1/console/portal",
    "DELETE /v1/console/session",
    "GET /v1/events/types",
    "POST /v1/webhooks",
    "GET /v1/webhooks",
    "GET /v1/webhooks/source-addresses",
    "GET /v1/webhooks/{id}",
    "PATCH /v1/webhooks/{id}",
    "DELETE /v1/webhooks/{id}",
    "POST /v1/webhooks/{id}/test",
    "POST /v1/webhooks/{id}/unpause",
    "POST /v1/webhooks/{id}/rotate-secret",
    "GET /v1/webhooks/{id}/deliveries",
    "GET /v1/webhooks/{id}/deliveries/{deliveryId}",
    "GET /v1/webhooks/{id}/deliveries/{deliveryId}/request",
    "POST /v1/webhooks/{id}/deliveries/{deliveryId}/retry",
    "GET /v1/webhooks/{id}/metrics",
    "GET /v1/webhooks/{id}/skipped",
    "POST /v1/webhooks/{id}/replay",
    "GET /v1/webhooks/{id}/replays/{replayId}"
  ]
  const keyed = endpoints.filter(({ access }) => access === "key")

  it("[platform 6.14] is every endpoint of the API but those for its label: 403", async () => {
    const ask = await openPortal(await platform().tenant())
    const admitted: Array<string> = []
    for (const { method, name, path } of keyed) {
      // Signing out comes last.
      if (name === "DELETE /v1/console/session") continue
      const { status } = await ask(method, path.replace(/\{\w+\}/g, "none"))
      if (status !== 403) admitted.push(name)
      expect([401, 500], name).not.toContain(status)
    }
    expect(admitted.toSorted()).toEqual(open.filter((name) => name !== "DELETE /v1/console/session").toSorted())
  })

  it("is to see or change an endpoint of another label, of none, or of another organization: 404 without a difference", async () => {
    const [tenant, stranger] = [await platform().tenant(), await platform().tenant()]
    const ask = await openPortal(tenant)
    const foreign = [
      await tenant.endpoint({ label: "ben" }),
      await tenant.endpoint(),
      await stranger.endpoint({ label: "ann" }),
      "we_none"
    ]
    const bodies: Readonly<Record<string, object>> = {
      "PATCH /v1/webhooks/{id}": { description: "taken" },
      "POST /v1/webhooks/{id}/replay": { since: Date.now() - 1_000 }
    }
    const identified = keyed.filter(
      (endpoint) => open.includes(endpoint.name) && namesOf(endpoint, "path").includes("id")
    )
    expect(identified.length).toBeGreaterThan(12)
    for (const id of foreign)
      for (const { method, name, path } of identified) {
        const target = path.replace("{id}", id).replace(/\{\w+\}/, "none")
        expect([name, shown(await ask(method, target, bodies[name]))]).toStrictEqual([
          name,
          refused(404, "not_found", `There is no webhook endpoint ${id}`)
        ])
      }
    for (const id of foreign.slice(0, 2))
      expect((await tenant.ask("GET", `/v1/webhooks/${id}`)).body).toMatchObject({ description: null })
  })

  it("is to read deliveries of other endpoints through its own, or to go on from their lists", async () => {
    const tenant = await platform().tenant()
    const { organization } = tenant
    const { databaseUrl } = platform()
    const [own, other] = [await tenant.endpoint({ label: "ann" }), await tenant.endpoint({ label: "ben" })]
    const foreign = await putDelivery(databaseUrl, { endpointId: other, organization })
    await putDelivery(databaseUrl, { endpointId: other, organization })
    const mine = await putDelivery(databaseUrl, { endpointId: own, organization })
    const ask = await openPortal(tenant)
    const path = `/v1/webhooks/${own}/deliveries`
    expect(((await ask("GET", path)).body as Page).data.map(({ id }) => id)).toEqual([mine])
    expect((await ask("GET", `${path}/${mine}`)).status).toBe(200)
    for (const target of [`${path}/${foreign}`, `${path}/${foreign}/request`])
      expect((await ask("GET", target)).status, target).toBe(404)
    expect((await ask("POST", `${path}/${foreign}/retry`)).status).toBe(404)
    const { pagination } = (await tenant.ask("GET", `/v1/webhooks/${other}/deliveries?limit=1`)).body as Page
    expect((await ask("GET", `${path}?cursor=${pagination.nextCursor}`)).status).toBe(400)
  })
})
