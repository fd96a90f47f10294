/**
 * The end: the platform stops in order, no key was in anything it said or exported, and a later start finds what the
 * first one left.
 */
import { Client } from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { statistics } from "../../directory/snapshotNumbers.ts"
import { patienceMillis } from "../../support/patience.ts"
import { type Platform, startPlatform } from "../../support/platform.ts"
import { send } from "../exchange.ts"
import { adminUrlOf, request, type TestPlatform } from "../harness.ts"

/**
 * The forms in which a secret could show: its random part, which is in all spellings of it but one, and that one, its
 * base64 but for the end, which depends on what follows.
 */
const formsOf = (secret: string): ReadonlyArray<string> => [
  /^(sk_(live|test)|adm|whsec)_/.test(secret) ? secret.slice(secret.lastIndexOf("_") + 1) : secret,
  Buffer.from(secret).toString("base64").slice(0, -4)
]

/** Characters shown on either side of a leak. */
const contextLength = 120

/** Where the texts hold a secret: the first place for each form, without the secret itself. */
const leaksIn = (texts: ReadonlyArray<string>, secrets: Iterable<string>): ReadonlyArray<string> => {
  const leaks = new Set<string>()
  for (const form of [...secrets].flatMap(formsOf)) {
    for (const text of texts) {
      const at = text.indexOf(form)
      if (at === -1) continue
      leaks.add(
        text.slice(Math.max(0, at - contextLength), at + form.length + contextLength).replaceAll(form, "<secret>")
      )
      break
    }
  }
  return [...leaks]
}

export const stoppingSection = (platform: () => TestPlatform): void => {
  describe("keys in logs and traces", () => {
    it("keys come in every form, in good and in failing requests", async () => {
      const { adminUrl, key, url } = platform()
      const unknown = `sk_live_${"unknownUnknown0123456789".repeat(2)}`
      platform().secrets.add(unknown)
      const { key: forbidden } = await platform().createKey({ services: [] })
      const paths = [
        "/v1/carrier/9104",
        "/v1/carrier/ZZZ9",
        "/v1/carrier/1",
        "/v1/npa?nxx=555",
        "/v1/none",
        "/v1/talk/none"
      ]
      for (const text of [key, unknown, forbidden]) {
        for (const path of paths) {
          const and = path.includes("?") ? "&" : "?"
          await request(`${url}${path}`, { headers: { authorization: `Bearer ${text}` } })
          await request(`${url}${path}`, { headers: { "x-api-key": text } })
          await request(`${url}${path}`, {
            headers: { authorization: `Basic ${Buffer.from(text).toString("base64")}` }
          })
          const targets = [
            `${path}${and}apiKey=${text}`,
            `${path}${and}%61piKey=${text}`,
            `${path}${and}apiKey=${text}&apiKey=${text}`,
            `${path}${and}limit=x&apiKey=${text}`,
            // Slips of the pen, which must not show the key either.
            `${path}${and}api_key=${text}`,
            `${path}${and}key=${text}`,
            `${path}${and}APIKEY=${text}`,
            `${path};apiKey=${text}`,
            `${path}#apiKey=${text}`
          ]
          for (const target of targets) {
            for (const method of ["GET", "POST"]) await send(url, { method, target })
          }
          await request(`${adminUrl}${path}`, { headers: { authorization: `Bearer ${text}` } })
        }
      }
      await request(`${adminUrl}/admin/v1/none`, { headers: { authorization: `Bearer ${platform().adminKey}` } })
    })

    it("traces of requests reached the collector", async () => {
      await expect
        .poll(
          () =>
            platform()
              .collector.exports()
              .filter(({ body, path }) => path.endsWith("/v1/traces") && body.includes("/v1/carrier/9104")).length,
          { timeout: patienceMillis }
        )
        .toBeGreaterThan(0)
    })

    it("the platform stops in order on SIGTERM", async () => {
      const { code, signal } = await platform().stop()
      expect(signal).toBeNull()
      expect(code).toBe(0)
    })

    it("no secret is in a log, but the demo key where it is shown once", async () => {
      const { demoKey, stderr, stdout } = platform().process
      expect(demoKey).toMatch(/^sk_live_/)
      expect(stdout().split(demoKey!)).toHaveLength(2)
      const logs = `${stderr()}\n${stdout().replace(demoKey!, "")}`
      expect(logs).toContain("/v1/carrier/9104")
      expect(leaksIn([logs], platform().secrets)).toEqual([])
    })

    it("no secret is in a trace, a metric or a log that was exported", async () => {
      const exports = platform().collector.exports()
      expect(exports.length).toBeGreaterThan(0)
      const texts = exports.map(({ body, headers, path }) => `${path}\n${headers}\n${body}`)
      expect(leaksIn(texts, platform().secrets)).toEqual([])
    })
  })

  describe("a later start on the same database, 91 days after the last ingestion", () => {
    let later: Platform
    let adminUrl: string
    const admin = (path: string, init: RequestInit = {}) =>
      request(`${adminUrl}/admin/v1${path}`, {
        ...init,
        headers: { authorization: `Bearer ${platform().adminKey}`, "content-type": "application/json" }
      })

    beforeAll(async () => {
      const { adminKey, databaseUrl, natsUrl } = platform()
      const database = new Client({ connectionString: databaseUrl })
      await database.connect()
      await database.query(
        "update directory_ingestions set started_at = started_at - interval '91 days', finished_at = finished_at - interval '91 days'"
      )
      await database.end()
      later = await startPlatform({
        DATABASE_URL: databaseUrl,
        NATS_URL: natsUrl,
        SLUICE_ADMIN_KEY: adminKey,
        // The fewest that it can be given.
        SLUICE_DATABASE_POOL: "2"
      })
      adminUrl = await adminUrlOf(later)
    })

    afterAll(async () => {
      await later.stop()
    })

    it("loads nothing anew, shows no key, knows the keys that were made, and is degraded", async () => {
      const { key, organization } = platform()
      expect(later.demoKey).toBeUndefined()
      expect(later.stderr()).not.toMatch(/Loaded [\d,]+ records/)
      const headers = { "x-api-key": key }
      expect((await request(`${later.url}/v1/carrier/9104`, { headers })).status).toBe(200)
      expect((await request(`${later.url}/v1/stats`)).body).toMatchObject(statistics)
      expect((await admin(`/organizations/${organization}`)).body).toMatchObject({ name: "tests", plan: "team" })

      const health = (await request(`${later.url}/v1/health`)).body as { readonly last_ingestion: string }
      expect(health).toMatchObject({ status: "degraded", database: "connected" })
      expect(Date.now() - Date.parse(health.last_ingestion)).toBeGreaterThan(90 * 24 * 60 * 60 * 1000)
    })

    it("makes organizations that are asked for at once, though the engine looks each up in a checkpoint first", async () => {
      // More than it has connections: none may keep one while the engine needs it.
      const made = await Promise.all(
        Array.from({ length: 16 }, (_, number) =>
          admin("/organizations", { method: "POST", body: JSON.stringify({ name: `at once ${number}` }) })
        )
      )
      expect(made.map(({ body, status }) => [status, body])).toEqual(
        made.map((_, number) => [201, expect.objectContaining({ name: `at once ${number}` })])
      )
    })
  })
}
