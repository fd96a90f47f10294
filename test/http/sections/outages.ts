/**
 * The platform while a server that it uses is away (docs/platform.md, 8.4 and 8.1), gone or silent:
 * what it says of itself, what it goes on answering, and that all of it comes back.
 */
import { describe, expect, it } from "vitest"
import { statistics } from "../../directory/snapshotNumbers.ts"
import { patienceMillis } from "../../support/patience.ts"
import { type Reply, request, type TestPlatform } from "../harness.ts"

/** Status and body of a request that may also get no answer at all. */
const answered = (reply: Promise<Reply>): Promise<{ readonly status: number | "no answer"; readonly body: unknown }> =>
  reply.then(
    ({ body, status }) => ({ status, body }),
    (cause: unknown) => ({ status: "no answer", body: String(cause) })
  )

export const outagesSection = (platform: () => TestPlatform): void => {
  const open = (path: string) => request(`${platform().url}${path}`)
  const ask = (key: string) => request(`${platform().url}/v1/carrier/9104`, { headers: { "x-api-key": key } })
  const eventually = { timeout: patienceMillis, interval: 100 }

  const unavailable = { error: "unavailable", message: expect.stringMatching(/\S/) }

  const envelope = { success: false, error: { code: "unavailable", message: expect.stringMatching(/\S/) } }

  const envelopeOfRead = {
    success: false,
    error: { code: "unavailable", message: expect.stringMatching(/safe to repeat$/) }
  }

  /**
   * Has the node know a key by heart. It does not keep what it looks up while it hears of a key that was made, and of one only once: so of more reads
   * in turn than there are announcements under way, one is kept.
   */
  const remembered = async (key: string): Promise<void> => {
    for (let read = 0; read < 20; read++) expect((await ask(key)).status).toBe(200)
  }

  /** Whether a key that is in use stops working within a second of its revocation. */
  const revokedWithinASecond = async (): Promise<boolean> => {
    const { id, key } = await platform().createKey()
    expect((await ask(key)).status).toBe(200)
    await platform().revokeKey(id)
    const deadlineMillis = performance.now() + 1_000
    while ((await ask(key)).status !== 401) if (performance.now() > deadlineMillis) return false
    return true
  }

  const expectRecovery = async () => {
    await expect.poll(() => open("/readyz"), eventually).toMatchObject({ status: 200, body: { status: "ready" } })
    await expect
      .poll(() => open("/v1/health"), eventually)
      .toMatchObject({ status: 200, body: { status: "healthy", database: "connected" } })
    // Until announcements are heard again a revoked key may live for seconds; then it must not.
    // Twice, because the reconnection itself makes the node forget every key it knows.
    await expect
      .poll(async () => (await revokedWithinASecond()) && (await revokedWithinASecond()), { timeout: patienceMillis })
      .toBe(true)
  }

  describe("the database is gone", () => {
    it("[directory 3.6] health says so, reads go on from memory, what cannot be checked is 503, and all of it recovers", async () => {
      const { key: warm } = platform()
      const cold = await platform().createKey()
      const revokedMeanwhile = await platform().createKey()
      for (const key of [warm, revokedMeanwhile.key]) await remembered(key)

      platform().database.cut()
      try {
        const uncheckable = await ask(cold.key)
        expect(uncheckable.status).toBe(503)
        expect(uncheckable.body).toStrictEqual(unavailable)
        // A key that was known good until now is good for seconds more, however long ago it was looked up.
        for (const key of [warm, revokedMeanwhile.key]) {
          const read = await ask(key)
          expect(read.status).toBe(200)
          expect(read.body).toMatchObject({ ocn: "9104" })
        }
        expect((await open("/v1/carrier/9104")).status).toBe(401)
        expect((await ask("no-key")).status).toBe(401)

        await expect
          .poll(() => open("/v1/health"), eventually)
          .toMatchObject({ status: 200, body: { status: "unhealthy", database: "error" } })
        expect((await open("/health")).body).toStrictEqual({
          status: "unhealthy",
          database: "error",
          last_ingestion: expect.stringMatching(/^\d{4}-/),
          version: expect.any(String)
        })
        expect(await open("/v1/stats")).toMatchObject({ status: 200, body: statistics })
        // Something is served: what is in memory, for keys that were verified before.
        expect(await open("/readyz")).toMatchObject({
          status: 200,
          body: { status: "ready", checks: { database: { ok: false }, directory: { ok: true } } }
        })
        expect((await open("/livez")).status).toBe(200)
        const admin = await platform().admin("GET", "/admin/v1/organizations")
        expect(admin.status).toBe(503)
        expect(admin.body).toStrictEqual(envelope)

        // Another process still has the database, and this one cannot hear it.
        await platform().elsewhere("keys", "revoke", revokedMeanwhile.id)

        // PostgreSQL cannot be asked, so keys that were verified before go on, for longer than the seconds of a channel that is down.
        const until = performance.now() + 6_000
        while (performance.now() < until) expect((await ask(warm)).status).toBe(200)
        expect((await ask(revokedMeanwhile.key)).status).toBe(200)
        expect((await ask(cold.key)).status).toBe(503)
      } finally {
        platform().database.restore()
      }

      await expect.poll(() => ask(warm), eventually).toMatchObject({ status: 200 })
      expect((await ask(cold.key)).status).toBe(200)
      // It is looked up again when PostgreSQL is found to answer.
      await expect.poll(() => ask(revokedMeanwhile.key), eventually).toMatchObject({ status: 401 })
      await expectRecovery()
    })
  })

  describe("the database is silent", () => {
    it("[platform 8.4] nothing hangs, reads say that they are safe to repeat, health says so, and all of it recovers", async () => {
      const { key: warm } = platform()
      // As many as there are connections, on each of which a question may then wait for its answer.
      const cold = await Promise.all(Array.from({ length: 10 }, () => platform().createKey()))
      await Promise.all(cold.map(() => platform().admin("GET", "/admin/v1/organizations")))
      await remembered(warm)
      const { key: whole } = await platform().createKey({ services: ["directory", "send"], scopes: ["*"] })
      await remembered(whole)

      platform().database.silence()
      try {
        const asked = cold.map(({ key }) => answered(ask(key)))
        // Reads of the products' tables, which have no outcome to speak of.
        const reads = ["/v1/events", "/v1/send/emails", "/v1/keys"].map((path) =>
          answered(request(`${platform().url}${path}`, { headers: { "x-api-key": whole } }))
        )
        const administered = ["/organizations", "/invoices", "/ingestions"].map((path) =>
          answered(platform().admin("GET", `/admin/v1${path}`))
        )
        expect((await ask(warm)).status).toBe(200)
        await expect
          .poll(() => open("/v1/health"), eventually)
          .toMatchObject({ status: 200, body: { status: "unhealthy", database: "error" } })
        expect(await open("/readyz")).toMatchObject({ status: 200, body: { checks: { database: { ok: false } } } })
        expect(await Promise.all(asked)).toStrictEqual(cold.map(() => ({ status: 503, body: unavailable })))
        for (const { body, status } of await Promise.all(reads)) {
          expect([status, JSON.stringify(body)]).toEqual([503, expect.stringMatching(/safe to repeat/)])
          expect(JSON.stringify(body)).not.toMatch(/not known|Idempotency/)
        }
        for (const answer of await Promise.all(administered))
          expect(answer).toStrictEqual({ status: 503, body: envelopeOfRead })
      } finally {
        platform().database.restore()
      }

      await expect.poll(() => ask(cold[0]!.key), eventually).toMatchObject({ status: 200 })
      await expectRecovery()
    })
  })

  describe("NATS is gone", () => {
    it("[platform 8.4] health is degraded, reads go on, and it recovers", async () => {
      platform().nats.cut()
      try {
        await expect
          .poll(() => open("/v1/health"), eventually)
          .toMatchObject({ status: 200, body: { status: "degraded", database: "connected" } })
        expect((await platform().get("/v1/carrier/9104")).status).toBe(200)
        const fresh = await platform().createKey()
        expect((await ask(fresh.key)).status).toBe(200)
        expect((await open("/livez")).status).toBe(200)
      } finally {
        platform().nats.restore()
      }
      await expectRecovery()
    })
  })

  describe("NATS comes back", () => {
    it("an organization whose creation was answered is there for the next request, however soon that is", async () => {
      platform().nats.cut()
      const makers = Array.from({ length: 8 }, async (_, maker) => {
        for (;;) {
          const made = await platform().admin("POST", "/admin/v1/organizations", { name: `Soon ${maker}` })
          if (made.status === 503) continue
          const { id } = made.body as { readonly id: string }
          const key = await platform().admin("POST", `/admin/v1/organizations/${id}/keys`, { services: [], scopes: [] })
          return [made.status, key.status]
        }
      })
      platform().nats.restore()
      expect(await Promise.all(makers)).toEqual(makers.map(() => [201, 201]))
      await expectRecovery()
    })
  })

  describe("NATS is silent", () => {
    it("health is degraded, and it recovers", async () => {
      platform().nats.silence()
      try {
        await expect
          .poll(() => open("/v1/health"), eventually)
          .toMatchObject({ status: 200, body: { status: "degraded", database: "connected" } })
      } finally {
        platform().nats.restore()
      }
      await expectRecovery()
    })
  })
}
