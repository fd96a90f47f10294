/**
 * Webhook endpoints while a server that the platform uses is away: 503 that says when to come back, and a request that is repeated with its
 * `Idempotency-Key` until it is answered has happened once.
 */
import { describe, expect, it } from "vitest"
import { patienceMillis } from "../../support/patience.ts"
import { askAt, hookUrl, manageAndRead } from "../../webhooks/platform.ts"
import type { Reply, TestPlatform } from "../harness.ts"

/** Longer than any reconnection, recovery of a partition and life of a cached key. */
const eventually = { timeout: patienceMillis, interval: 250 }

export const webhookOutagesSection = (platform: () => TestPlatform): void => {
  const newTenant = async () => {
    const { admin, secrets, url } = platform()
    const made = await admin("POST", "/admin/v1/organizations", { name: "outages", plan: "team" })
    const { id } = made.body as { readonly id: string }
    const body = { services: [], scopes: manageAndRead }
    const { key } = (await admin("POST", `/admin/v1/organizations/${id}/keys`, body)).body as { readonly key: string }
    secrets.add(key)
    const ask = askAt(url, key)
    // The announcement that the key was made may make the node forget it once more.
    for (let read = 0; read < 20; read++) expect((await ask("GET", "/v1/webhooks")).status).toBe(200)
    return ask
  }

  const create = async (ask: ReturnType<typeof askAt>) => {
    const reply = await ask("POST", "/v1/webhooks", { url: hookUrl, enabled_events: ["*"] }, { "idempotency-key": "k" })
    const { signing_secret } = reply.body as { readonly signing_secret?: string }
    if (signing_secret !== undefined) platform().secrets.add(signing_secret)
    return reply
  }

  const expectUnavailable = ({ body, headers, status }: Reply) => {
    expect({ status, body }).toStrictEqual({
      status: 503,
      body: { error: "unavailable", message: expect.stringMatching(/repeat/) }
    })
    expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
  }

  const expectOne = async (ask: ReturnType<typeof askAt>) => {
    await expect.poll(async () => (await create(ask)).status, eventually).toBe(201)
    expect((await create(ask)).headers.get("idempotency-replayed")).toBe("true")
    const list = await ask("GET", "/v1/webhooks")
    expect((list.body as { readonly endpoints: ReadonlyArray<object> }).endpoints).toHaveLength(1)
  }

  it.each(["database", "nats"] as const)("[platform 6.3] webhook endpoints while the %s is gone", async (server) => {
    const ask = await newTenant()
    platform()[server].cut()
    try {
      expectUnavailable(await create(ask))
      expectUnavailable(await create(ask))
    } finally {
      platform()[server].restore()
    }
    await expectOne(ask)
  })

  describe("webhook endpoints while the database is silent", () => {
    it("answer in time, and what was asked happens once", async () => {
      const ask = await newTenant()
      platform().database.silence()
      try {
        expectUnavailable(await create(ask))
      } finally {
        platform().database.restore()
      }
      await expectOne(ask)
    })
  })
}
