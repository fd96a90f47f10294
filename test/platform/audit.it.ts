/** The audit log of an organization: its keys, sessions and operators (docs/platform.md, 2.11). */
import { Effect } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { describe, expect, it } from "vitest"
import { AdminActs } from "../../src/admin/AdminActs.ts"
import { SluiceApi } from "../../src/api/SluiceApi.ts"
import { builtInCatalogue } from "../../src/billing/index.ts"
import { auditedEndpoints } from "../../src/platform/audit/auditedActs.ts"
import { type Tenant, useBillingPlatform } from "../billing/billingPlatform.ts"
import { patienceMillis } from "../support/patience.ts"

const platform = useBillingPlatform({
  catalogue: builtInCatalogue,
  terms: { settlement: "by operator", graceMillis: 0, dueMillis: 0 }
})

const entries = async ({ ask }: Pick<Tenant, "ask">, query = "") => {
  const answer = await ask("GET", `/v1/audit${query}`)
  expect([answer.status, answer.body.error]).toEqual([200, undefined])
  return answer.body.data as ReadonlyArray<Record<string, unknown>>
}

/** The endpoints whose acts are no changes that people would ask about: they send, ask, report, repeat or test. */
const withoutActs: ReadonlyArray<string> = [
  "POST /api/billing/usage",
  // Members who sign in are kept by themselves, because no key asks.
  "POST /v1/console/sessions",
  "POST /v1/console/sign-in-links",
  "POST /v1/console/session/organization",
  "DELETE /v1/console/session",
  "POST /v1/send/domains/:id/verify",
  "POST /v1/send/emails",
  "POST /v1/send/emails/send",
  "POST /v1/send/emails/batch",
  "POST /v1/send/emails/:id/cancel",
  "PATCH /v1/send/emails/:id",
  "POST /v1/send/feedback",
  "POST /v1/send/suppressions",
  "POST /v1/talk/speech",
  "POST /v1/telco/lookups",
  "POST /v1/webhooks/:id/deliveries/:deliveryId/retry",
  "POST /v1/webhooks/:id/test"
]

describe("the audit log", () => {
  it("[platform 2.11] knows each endpoint that changes something, or leaves it out on purpose", () => {
    const found: Array<string> = []
    HttpApi.reflect(SluiceApi, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }: { readonly endpoint: HttpApiEndpoint.Top }) => {
        if (endpoint.method !== "GET") found.push(`${endpoint.method} ${endpoint.path}`)
      }
    })
    expect(found.sort()).toEqual([...auditedEndpoints, ...withoutActs].sort())
  })

  it("[platform 2.11] keeps an act that is done, once, and none that is refused", async () => {
    const tenant = await platform().tenant()
    const body = { name: "reports", services: ["telco"], scopes: ["platform:billing:read"] }
    const turn = { "idempotency-key": "make", "x-request-id": "req-audit-1" }
    const made = await tenant.ask("POST", "/v1/keys", body, turn)
    expect(made.status).toBe(201)
    expect((await tenant.ask("POST", "/v1/keys", body, turn)).headers.get("idempotency-replayed")).toBe("true")
    expect((await tenant.ask("POST", "/v1/keys", { ...body, services: ["fax"] })).status).toBe(400)
    expect((await tenant.ask("DELETE", "/v1/keys/key_none")).status).toBe(404)
    expect((await tenant.ask("DELETE", `/v1/keys/${made.body.id}`)).status).toBe(200)
    const [revoked, created, ...others] = await entries(tenant)
    expect(others).toEqual([])
    expect(created).toEqual({
      id: expect.stringMatching(/^aud_/),
      at: expect.any(Number),
      act: "key.created",
      mode: "live",
      actor: { type: "key", id: expect.stringMatching(/^key_/) },
      address: expect.stringMatching(/127\.0\.0\.1$/),
      object: made.body.id,
      requestId: "req-audit-1"
    })
    expect(revoked).toMatchObject({ act: "key.revoked", object: made.body.id })
    expect(JSON.stringify([revoked, created])).not.toContain(made.body.key)
  })

  it("[platform 2.11] keeps nothing of a request that is refused for the type of its body", async () => {
    const tenant = await platform().tenant()
    const refused = await tenant.ask("POST", "/v1/keys", {}, { "content-type": "text/plain" })
    expect(refused.status).toBe(415)
    expect(await entries(tenant)).toEqual([])
  })

  it("[platform 2.11] is filtered, and comes in pages that belong to their filter", async () => {
    const tenant = await platform().tenant()
    for (const name of ["a", "b", "c"]) await tenant.ask("POST", "/v1/keys", { name, services: [], scopes: [] })
    const [newest] = await entries(tenant)
    await tenant.ask("DELETE", `/v1/keys/${newest!.object}`)
    expect((await entries(tenant)).map(({ act }) => act)).toEqual([
      "key.revoked",
      "key.created",
      "key.created",
      "key.created"
    ])
    expect((await entries(tenant, "?act=key.revoked")).map(({ object }) => object)).toEqual([newest!.object])
    expect(await entries(tenant, `?until=${Number((await entries(tenant)).at(-1)!.at)}`)).toEqual([])
    const first = await tenant.ask("GET", "/v1/audit?act=key.created&limit=2")
    const { nextCursor } = first.body.pagination
    const second = await tenant.ask("GET", `/v1/audit?act=key.created&limit=2&cursor=${nextCursor}`)
    expect([...first.body.data, ...second.body.data]).toEqual(await entries(tenant, "?act=key.created"))
    expect(second.body.pagination).toEqual({ hasMore: false })
    for (const query of [`?limit=2&cursor=${nextCursor}`, "?cursor=x", "?act=Key", "?limit=0", "?since=x", "?actor=a"])
      expect((await tenant.ask("GET", `/v1/audit${query}`)).status, query).toBe(400)
  })

  it("[platform 2.11] shows nobody the acts of another organization or mode, and needs its scope", async () => {
    const one = await platform().tenant()
    const other = await platform().tenant()
    await one.ask("POST", "/v1/keys", { services: [], scopes: [] })
    expect(await entries(other)).toEqual([])
    const reader = await one.askAs({ scopes: ["platform:audit:read"] })
    expect(await entries({ ask: reader })).toHaveLength(1)
    const tester = await one.askAs({ mode: "test", scopes: ["*"] })
    expect(await entries({ ask: tester })).toEqual([])
    const manager = await one.askAs({ scopes: ["platform:keys:manage"] })
    expect((await manager("GET", "/v1/audit")).status).toBe(403)
  })

  it("[platform 2.11, 8.3] keeps what operators do to the organization, without the detail", async () => {
    const tenant = await platform().tenant()
    const other = await platform().tenant()
    await platform().run(
      Effect.gen(function* () {
        const acts = yield* AdminActs
        yield* acts.record("organization.plans_set", tenant.organization, { plan: "team", note: "internal" })
        yield* acts.record("key.created", "key_1", {}, tenant.organization)
        yield* acts.record("partition.recovered", "3", {})
      }).pipe(Effect.provide(AdminActs.layer))
    )
    const found = await entries(tenant)
    expect(found.map(({ act, actor, mode, object }) => ({ act, actor, mode, object }))).toEqual([
      { act: "key.created", actor: { type: "operator", id: null }, mode: null, object: "key_1" },
      { act: "organization.plans_set", actor: { type: "operator", id: null }, mode: null, object: tenant.organization }
    ])
    expect(JSON.stringify(found)).not.toContain("internal")
    expect(await entries(other)).toEqual([])
  })

  it("[platform 2.11] stays out of the way of the act where it cannot be written", {
    timeout: patienceMillis
  }, async () => {
    const tenant = await platform().tenant()
    const rename = (from: string, to: string) =>
      platform().run(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`alter table ${sql(from)} rename to ${sql(to)}`))
    await rename("audit_entries", "audit_entries_away")
    try {
      expect((await tenant.ask("POST", "/v1/keys", { services: [], scopes: [] })).status).toBe(201)
    } finally {
      await rename("audit_entries_away", "audit_entries")
    }
    expect(await entries(tenant)).toEqual([])
  })
})
