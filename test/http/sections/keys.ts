/**
 * API keys at the number directory (docs/platform.md, 2.4): the three forms, which of them decides, and what is
 * refused.
 */
import { randomBytes } from "node:crypto"
import { describe, expect, it } from "vitest"
import { patienceMillis } from "../../support/patience.ts"
import { jsonOf, send } from "../exchange.ts"
import { request, type TestPlatform } from "../harness.ts"

/** Every endpoint that asks for a key. */
const keyed = [
  "/v1/carriers",
  "/v1/carrier/9104",
  "/v1/carrier?ocn=9104",
  "/v1/npa/212",
  "/v1/npa?npa=212",
  "/v1/npa/212/nxx/555",
  "/v1/npa?npa=212&nxx=555"
] as const

const unauthorized = { error: "unauthorized", message: "Invalid or missing API key" }

/** A text that looks like a key and is none. */
const unknownKey = () => `sk_live_${randomBytes(16).toString("hex")}`

const withKey = (path: string, key: string) =>
  `${path}${path.includes("?") ? "&" : "?"}apiKey=${encodeURIComponent(key)}`

export const keysSection = (platform: () => TestPlatform): void => {
  const ask = (headers: Record<string, string>, path = "/v1/carrier/9104") =>
    request(`${platform().url}${path}`, { headers })

  describe("the three forms of a key", () => {
    it.each(keyed)("[platform 2.4] %s takes each of them", async (path) => {
      const { key } = platform()
      expect((await ask({ authorization: `Bearer ${key}` }, path)).status).toBe(200)
      expect((await ask({ "x-api-key": key }, path)).status).toBe(200)
      expect((await ask({}, withKey(path, key))).status).toBe(200)
    })

    it("the scheme's name ignores case", async () => {
      for (const scheme of ["bearer", "BEARER", "bEaReR"]) {
        expect((await ask({ authorization: `${scheme} ${platform().key}` })).status).toBe(200)
      }
    })

    it("[platform 2.4] the first form present decides, a good one", async () => {
      const { key } = platform()
      const bad = unknownKey()
      expect((await ask({ authorization: `Bearer ${key}`, "x-api-key": bad })).status).toBe(200)
      expect((await ask({ authorization: `Bearer ${key}` }, withKey("/v1/npa/212", bad))).status).toBe(200)
      expect((await ask({ "x-api-key": key }, withKey("/v1/npa/212", bad))).status).toBe(200)
    })

    it("the first form present decides, a bad one", async () => {
      const { key } = platform()
      const bad = unknownKey()
      for (const [headers, path] of [
        [{ authorization: `Bearer ${bad}`, "x-api-key": key }, "/v1/npa/212"],
        [{ authorization: `Bearer ${bad}` }, withKey("/v1/npa/212", key)],
        [{ "x-api-key": bad }, withKey("/v1/npa/212", key)]
      ] as const) {
        const { body, status } = await ask(headers, path)
        expect(status).toBe(401)
        expect(body).toStrictEqual(unauthorized)
      }
    })

    it("a form that is empty is present, and refused", async () => {
      const { key } = platform()
      expect((await ask({ authorization: "Bearer ", "x-api-key": key })).status).toBe(401)
      expect((await ask({ authorization: "Bearer", "x-api-key": key })).status).toBe(401)
      expect((await ask({ "x-api-key": "" }, withKey("/v1/npa/212", key))).status).toBe(401)
      expect((await ask({}, "/v1/npa/212?apiKey=")).status).toBe(401)
    })

    it("another scheme is no form of a key", async () => {
      const { key } = platform()
      for (const authorization of [`Basic ${Buffer.from(`${key}:`).toString("base64")}`, `Token ${key}`, key]) {
        const { body, status } = await ask({ authorization })
        expect(status).toBe(401)
        expect(body).toStrictEqual(unauthorized)
        expect((await ask({ authorization, "x-api-key": key })).status).toBe(200)
      }
    })

    it("[platform 1.6] apiKey given twice is 400, whichever is good", async () => {
      const { key } = platform()
      for (const [first, second] of [
        [key, key],
        [key, unknownKey()]
      ] as const) {
        const { body, status } = await ask({}, withKey(withKey("/v1/npa/212", first), second))
        expect(status).toBe(400)
        expect(body).toStrictEqual({ error: "invalid_request", message: expect.stringContaining("apiKey") })
      }
    })

    it("the parameter's name is exact", async () => {
      for (const name of ["apikey", "api_key", "ApiKey", "key"]) {
        expect((await ask({}, `/v1/npa/212?${name}=${platform().key}`)).status).toBe(401)
      }
    })
  })

  describe("a key that is refused", () => {
    it.each([
      ["unknown", unknownKey],
      ["unknown in test mode", () => unknownKey().replace("live", "test")],
      ["of another kind", () => `adm_${randomBytes(16).toString("hex")}`],
      ["too short", () => "sk_live_abc"],
      ["much too long", () => `sk_live_${"a".repeat(4_000)}`],
      ["SQL", () => "sk_live_' OR '1'='1"],
      ["a word", () => "null"]
    ])("%s: 401 in every form", async (_, make) => {
      const key = make()
      for (const reply of [
        await ask({ authorization: `Bearer ${key}` }),
        await ask({ "x-api-key": key }),
        await ask({}, withKey("/v1/npa/212", key))
      ]) {
        expect(reply.status).toBe(401)
        expect(reply.body).toStrictEqual(unauthorized)
      }
    })

    it("a good key with anything before or after it, or in another case", async () => {
      const { key } = platform()
      for (const wrong of [
        `${key}x`,
        key.slice(0, -1),
        ` ${key}x`,
        key.replace("sk_live_", "sk_test_"),
        `${key} ${key}`
      ]) {
        expect((await ask({ authorization: `Bearer ${wrong}` })).status, wrong.length.toString()).toBe(401)
      }
      const swapped =
        key.slice(0, 8) +
        key.slice(8).replace(/[a-z]/i, (c) => (c === c.toUpperCase() ? c.toLowerCase() : c.toUpperCase()))
      expect((await ask({ authorization: `Bearer ${swapped}` })).status).toBe(401)
    })

    it("[platform 8.3] the admin credential is no key, and a key is no admin credential", async () => {
      expect((await ask({ authorization: `Bearer ${platform().adminKey}` })).status).toBe(401)
      const { body, status } = await request(`${platform().adminUrl}/admin/v1/organizations`, {
        headers: { authorization: `Bearer ${platform().key}` }
      })
      expect(status).toBe(401)
      expect(body).toStrictEqual({ success: false, error: { code: "unauthorized", message: expect.any(String) } })
    })

    it("[platform 2.3] expired: refused from that moment on, also when it was just used", async () => {
      const { key } = await platform().createKey({ expiresAt: Date.now() + 2_000 })
      expect((await ask({ authorization: `Bearer ${key}` })).status).toBe(200)
      await expect
        .poll(() => ask({ authorization: `Bearer ${key}` }), { timeout: patienceMillis })
        .toMatchObject({ status: 401, body: unauthorized })
    })

    it("expired when it was made: is not made", async () => {
      const reply = await platform().admin("POST", `/admin/v1/organizations/${platform().organization}/keys`, {
        services: ["directory"],
        scopes: [],
        expiresAt: 1_000
      })
      expect(reply).toMatchObject({
        status: 400,
        body: {
          error: { message: "Invalid field 'expiresAt': 1970-01-01T00:00:01.000Z is over. Expected a time to come." }
        }
      })
    })

    it("[platform 2.3] revoked: refused a moment later, also while it is in use", async () => {
      const { id, key } = await platform().createKey()
      expect((await ask({ authorization: `Bearer ${key}` })).status).toBe(200)
      await platform().revokeKey(id)
      await expect
        .poll(() => ask({ authorization: `Bearer ${key}` }), { timeout: patienceMillis, interval: 20 })
        .toMatchObject({ status: 401, body: unauthorized })
      await platform().revokeKey(id)
      expect((await ask({ "x-api-key": key })).status).toBe(401)
    })

    it("authentication comes before validation", async () => {
      for (const path of ["/v1/carriers?limit=0", "/v1/carrier/1", "/v1/npa", "/v1/npa/212?limit=1&limit=1"]) {
        expect((await ask({}, path)).status, path).toBe(401)
      }
    })

    it("a header that is sent twice is not two chances", async () => {
      const { key, url } = platform()
      const twice = await send(url, {
        target: "/v1/npa/212",
        headers: [
          ["X-API-Key", unknownKey()],
          ["X-API-Key", key]
        ]
      })
      expect(twice.status).toBe(401)
      expect(jsonOf(twice)).toStrictEqual(unauthorized)
    })
  })

  describe("keys as they are made", () => {
    it("[platform 2.3] have at least 128 random bits, a prefix of their mode, and differ", async () => {
      const live = await Promise.all(Array.from({ length: 8 }, () => platform().createKey()))
      const { key: test } = await platform().createKey({ mode: "test" })
      expect(test).toMatch(/^sk_test_/)
      expect(new Set(live.map(({ key }) => key)).size).toBe(8)
      for (const { key } of live) {
        expect(key).toMatch(/^sk_live_[A-Za-z0-9]+$/)
        expect((key.length - "sk_live_".length) * Math.log2(62)).toBeGreaterThanOrEqual(128)
      }
    })

    it("[platform 2.3] are shown once", async () => {
      const { id, key } = await platform().createKey()
      const { body } = await platform().admin("GET", `/admin/v1/organizations/${platform().organization}/keys`)
      const { data } = body as { data: ReadonlyArray<{ id: string }> }
      expect(data.map((shown) => shown.id)).toContain(id)
      expect(JSON.stringify(data)).not.toContain(key.slice("sk_live_".length + 4))
    })

    it("work at once, even where they were tried before", async () => {
      const { demoKey } = platform().process
      expect((await ask({ authorization: `Bearer ${demoKey}` })).status).toBe(200)
      const { key } = await platform().createKey({ mode: "test" })
      expect((await ask({ "x-api-key": key })).status).toBe(200)
    })
  })

  describe("keys that another process on the same database changes", () => {
    it("work at once, and stop a moment after they are revoked", async () => {
      const made = await platform().elsewhere(
        ...["keys", "create", "--org", platform().organization, "--services", "directory", "--json"]
      )
      const { id, key } = JSON.parse(made) as { readonly id: string; readonly key: string }
      platform().secrets.add(key)
      expect((await ask({ "x-api-key": key })).status).toBe(200)
      await platform().elsewhere("keys", "revoke", id)
      await expect
        .poll(() => ask({ "x-api-key": key }), { timeout: patienceMillis, interval: 20 })
        .toMatchObject({ status: 401 })
    })
  })
}
