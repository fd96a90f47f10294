/** An organization's own keys over HTTP (docs/platform.md, 2.10). */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect, it } from "vitest"
import { builtInCatalogue } from "../../src/billing/index.ts"
import { type Tenant, useBillingPlatform } from "../billing/billingPlatform.ts"
import { askAt } from "../support/api.ts"
import { patienceMillis } from "../support/patience.ts"

const platform = useBillingPlatform({
  catalogue: builtInCatalogue,
  terms: { settlement: "by operator", graceMillis: 0, dueMillis: 0 }
})

const manage = "platform:keys:manage" as const
const rights = { services: ["telco"], scopes: ["platform:billing:read"] }

const asKey = (key: string) => askAt(platform().url, key)

const made = async (tenant: Pick<Tenant, "ask">, body: object = rights) => {
  const answer = await tenant.ask("POST", "/v1/keys", body)
  expect([answer.status, answer.body.error]).toEqual([201, undefined])
  return answer.body
}

describe("a key", () => {
  it("[platform 2.10] is made with some of the rights of the key that makes it, and works", async () => {
    const tenant = await platform().tenant()
    const { key, ...listed } = await made(tenant, { ...rights, name: "reports" })
    expect(listed).toEqual({
      id: expect.stringMatching(/^key_/),
      organizationId: tenant.organization,
      name: "reports",
      prefix: key.slice(0, 12),
      mode: "live",
      ...rights,
      active: true,
      createdAt: expect.any(Number),
      expiresAt: null,
      lastUsedAt: null
    })
    expect((await asKey(key)("GET", "/v1/billing/subscription")).status).toBe(200)
    expect((await asKey(key)("GET", "/v1/keys")).status).toBe(403)
    expect((await tenant.ask("GET", "/v1/keys?limit=1")).body).toMatchObject({
      data: [{ id: listed.id }],
      pagination: { hasMore: true }
    })
  })

  it("[platform 2.10] never gives more than it has", async () => {
    const tenant = await platform().tenant()
    const end = Date.now() + 3_600_000
    const ask = await tenant.askAs({ services: ["telco"], scopes: [manage, "talk:*"], expiresAtMillis: end })
    const refused = async (body: object) => {
      const answer = await ask("POST", "/v1/keys", { services: [], scopes: [], ...body })
      return [answer.status, answer.body.error?.code]
    }
    for (const body of [
      { services: ["telco", "send"] },
      { scopes: ["*"] },
      { scopes: ["platform:*"] },
      { scopes: ["platform:billing:read"] },
      { expiresAt: null },
      { expiresAt: end + 1 }
    ])
      expect(await refused(body), JSON.stringify(body)).toEqual([403, "forbidden"])
    for (const body of [{ expiresAt: 1 }, { services: ["fax"] }, { mode: "test" }, { scopes: "talk:*" }])
      expect(await refused(body), JSON.stringify(body)).toEqual([400, "invalid_request"])
    const heir = await made({ ask }, { services: ["telco"], scopes: ["talk:speech", manage] })
    expect(heir.expiresAt).toBe(end)
    const whole = await made(tenant, { services: ["send"], scopes: [] })
    expect((await ask("POST", `/v1/keys/${whole.id}/rotate`, {})).status).toBe(403)
  })

  it("[platform 2.10] never ends one that may do more than it may itself, nor is shown its text by a repeat", async () => {
    const tenant = await platform().tenant()
    const ask = await tenant.askAs({ services: ["telco"], scopes: [manage] })
    const turn = { "idempotency-key": "turn" }
    for (const more of [
      { services: [], scopes: ["*"] },
      { services: [], scopes: ["platform:billing:read"] },
      { services: ["send"], scopes: [] }
    ]) {
      const { id } = await made(tenant, more)
      const revoked = await ask("DELETE", `/v1/keys/${id}`)
      expect([revoked.status, revoked.body.error?.code], JSON.stringify(more)).toEqual([403, "forbidden"])
      const rotated = await tenant.ask("POST", `/v1/keys/${id}/rotate`, {}, turn)
      if (rotated.status === 201) {
        expect((await ask("POST", `/v1/keys/${id}/rotate`, {}, turn)).status).toBe(403)
        expect((await ask("DELETE", `/v1/keys/${rotated.body.id}`)).status).toBe(403)
      }
      expect((await tenant.ask("DELETE", `/v1/keys/${id}`)).body.active).toBe(false)
    }
    const headers = { "idempotency-key": "made" }
    const whole = { services: [], scopes: ["platform:billing:read"] }
    expect((await tenant.ask("POST", "/v1/keys", whole, headers)).status).toBe(201)
    expect((await ask("POST", "/v1/keys", whole, headers)).status).toBe(403)
    const within = await made({ ask }, { services: ["telco"], scopes: [] })
    expect((await ask("DELETE", `/v1/keys/${within.id}`)).status).toBe(200)
  })

  it("[platform 2.6] is of the mode of the key that makes it, and the other mode knows nothing of it", async () => {
    const tenant = await platform().tenant()
    const ask = await tenant.askAs({ mode: "test" })
    const test = await made({ ask })
    expect([test.mode, test.key.slice(0, 8)]).toEqual(["test", "sk_test_"])
    for (const [method, path, body] of [
      ["POST", `/v1/keys/${test.id}/rotate`, {}],
      ["DELETE", `/v1/keys/${test.id}`, undefined]
    ] as const)
      expect((await tenant.ask(method, path, body)).status).toBe(404)
    const ids = async (one: Tenant["ask"]) =>
      (await one("GET", "/v1/keys")).body.data.map(({ id }: { readonly id: string }) => id)
    expect(await ids(ask)).toContain(test.id)
    expect(await ids(tenant.ask)).not.toContain(test.id)
    const other = await platform().tenant()
    expect((await (await other.askAs({ mode: "test" }))("DELETE", `/v1/keys/${test.id}`)).status).toBe(404)
  })

  it("[platform 2.10] is revoked at once", async () => {
    const tenant = await platform().tenant()
    const { id, key } = await made(tenant)
    expect((await asKey(key)("GET", "/v1/billing/subscription")).status).toBe(200)
    const revoked = await tenant.ask("DELETE", `/v1/keys/${id}`)
    expect([revoked.status, revoked.body.active]).toEqual([200, false])
    await expect
      .poll(async () => (await asKey(key)("GET", "/v1/billing/subscription")).status, { timeout: patienceMillis })
      .toBe(401)
    expect((await tenant.ask("POST", `/v1/keys/${id}/rotate`, {})).status).toBe(409)
  })

  it("[platform 2.10] is rotated with an overlap, or without", async () => {
    const tenant = await platform().tenant()
    const old = await made(tenant, { ...rights, name: "reports" })
    const before = Date.now()
    const { body: successor, status } = await tenant.ask("POST", `/v1/keys/${old.id}/rotate`, { overlapSeconds: 600 })
    expect(status).toBe(201)
    expect(successor).toMatchObject({ name: "reports", ...rights, active: true, expiresAt: null })
    for (const key of [old.key, successor.key])
      expect((await asKey(key)("GET", "/v1/billing/subscription")).status).toBe(200)
    const { data } = (await tenant.ask("GET", "/v1/keys")).body
    const ends = data.find(({ id }: { readonly id: string }) => id === old.id).expiresAt
    expect(ends).toBeGreaterThanOrEqual(before + 600_000)
    expect(ends).toBeLessThanOrEqual(Date.now() + 600_000)
    await tenant.ask("POST", `/v1/keys/${successor.id}/rotate`, { overlapSeconds: 0 })
    await expect
      .poll(async () => (await asKey(successor.key)("GET", "/v1/billing/subscription")).status, {
        timeout: patienceMillis
      })
      .toBe(401)
    for (const overlapSeconds of [-1, 604_801, 1.5])
      expect((await tenant.ask("POST", `/v1/keys/${old.id}/rotate`, { overlapSeconds })).status).toBe(400)
  })

  it("[platform 2.10] made twice under one Idempotency-Key is one, shown again, and kept nowhere in the clear", async () => {
    const tenant = await platform().tenant()
    const headers = { "idempotency-key": "one" }
    const answers = [
      await tenant.ask("POST", "/v1/keys", rights, headers),
      await tenant.ask("POST", "/v1/keys", rights, headers)
    ]
    expect(answers.map(({ headers }) => headers.get("idempotency-replayed"))).toEqual([null, "true"])
    expect(answers[1]!.body).toEqual(answers[0]!.body)
    const { id, key } = answers[0]!.body
    const turn = { "idempotency-key": "turn" }
    const [turned, again] = [
      await tenant.ask("POST", `/v1/keys/${id}/rotate`, {}, turn),
      await tenant.ask("POST", `/v1/keys/${id}/rotate`, {}, turn)
    ]
    expect(again!.body).toEqual(turned!.body)
    const stored = await platform().run(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.all([
          sql<{ readonly text: string }>`select t::text as text from api_keys t`,
          sql<{ readonly text: string }>`select t::text as text from webhook_idempotency t`
        ])
      )
    )
    const text = JSON.stringify(stored)
    expect(text).toContain(id)
    for (const secret of [key, turned!.body.key]) expect(text).not.toContain(secret.slice("sk_live_".length))
  })
})
