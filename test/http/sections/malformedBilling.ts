/** Malformed input at billing, an organization's own keys and what other sites report: nothing of it is answered with 500, hangs or brings the server down. */
import { it as property } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type RawRequest, send } from "../exchange.ts"
import type { TestPlatform } from "../harness.ts"
import { badEscapes, concurrency, devils, expectCallersFault, inBatches } from "./devils.ts"

const json = "application/json"

export const malformedBillingSection = (platform: () => TestPlatform): void => {
  let organization = ""
  let key = ""

  const ask = async (
    method: string,
    target: string,
    body?: unknown,
    headers: NonNullable<RawRequest["headers"]> = []
  ) => {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body)
    const answer = await send(platform().url, {
      method,
      target,
      headers: [
        ...(headers.some(([name]) => name === "Authorization") ? [] : [["X-API-Key", key] as const]),
        ...(text === undefined ? [] : [["Content-Type", json] as const]),
        ...headers
      ],
      ...(text === undefined ? {} : { body: text })
    })
    expectCallersFault(answer, `${method} ${target} ${(text ?? "").slice(0, 300)}`)
    return answer
  }

  /** A site credential takes 600 requests a minute, so each sweep has its own. */
  const site = async (): Promise<NonNullable<RawRequest["headers"]>> => {
    const made = await platform().admin("POST", `/admin/v1/organizations/${organization}/site-credentials`, {})
    const { credential } = made.body as { readonly credential: string }
    platform().secrets.add(credential)
    return [["Authorization", `Bearer ${credential}`]]
  }

  const others: ReadonlyArray<unknown> = [null, true, 0, -1, 1.5, 1e300, [], {}, [null], { length: -1 }, "\ud800"]
  const values: ReadonlyArray<unknown> = [...devils, ...others]
  const badBodies = ["", "{", "\u0000", "[".repeat(10_000), '{"quantity":', `"${"a".repeat(300_000)}"`, "\ud800"]

  describe("malformed input at billing, keys and reports of sites", () => {
    beforeAll(async () => {
      const { admin, secrets } = platform()
      const made = await admin("POST", "/admin/v1/organizations", { name: "malformed billing", plan: "team" })
      organization = (made.body as { readonly id: string }).id
      // More than the sweep asks in a minute.
      await admin("PUT", `/admin/v1/organizations/${organization}/limits`, { requestsPerMinute: "unlimited" })
      const created = await admin("POST", `/admin/v1/organizations/${organization}/keys`, {
        services: ["telco"],
        scopes: ["*"]
      })
      key = (created.body as { readonly key: string }).key
      secrets.add(key)
    })

    afterAll(async () => {
      // Nothing of it has bought, changed or used anything up.
      const { status, text } = await ask("GET", "/v1/billing/subscription")
      expect([status, JSON.parse(text)]).toEqual([200, expect.objectContaining({ plan: "team", status: "active" })])
      expect(JSON.parse((await ask("GET", "/v1/billing/invoices")).text).data).toEqual([])
    })

    it("[platform 1.5] in every query parameter of billing and keys", async () => {
      const paths = ["subscription", "entitlement", "usage", "invoices"].map((path) => `/v1/billing/${path}`)
      const names = ["product", "period", "limit", "cursor", "unknown"]
      const texts = [...devils.map(encodeURIComponent), ...badEscapes]
      const targets = [...paths, "/v1/keys"].flatMap((path) =>
        names.flatMap((name) => texts.map((text) => `${path}?${name}=${text}`))
      )
      await inBatches(targets, async (target) => {
        const { status } = await ask("GET", target)
        // A parameter that the endpoint does not know is named, and an empty cursor is none.
        if (target.includes("unknown=")) expect(status, target).toBe(400)
      })
    })

    it("in every field of a checkout and a cancellation", async () => {
      const good = { priceId: "team_pro", successUrl: "https://shop.example/", cancelUrl: "https://shop.example/" }
      await inBatches(values, async (value) => {
        for (const name of Object.keys(good)) {
          const { status } = await ask("POST", "/v1/billing/checkout", { ...good, [name]: value })
          expect(status, `${name}: ${JSON.stringify(value)}`).toBe(400)
        }
        await ask("POST", "/v1/billing/checkout", value)
        if (typeof value !== "boolean") {
          expect((await ask("POST", "/v1/billing/cancel", { atPeriodEnd: value })).status).toBe(400)
          await ask("POST", "/v1/billing/cancel", { [String(value)]: value })
        }
      })
      for (const url of ["https:", "https://", "https://[::1", "https://a b/", "javascript:0", "https://a@b/"])
        expect((await ask("POST", "/v1/billing/checkout", { ...good, successUrl: url })).status, url).toBe(400)
    })

    it("in every field of a key that is made, rotated or revoked", async () => {
      const good = { services: [], scopes: [] }
      await inBatches(values, async (value) => {
        for (const name of ["name", "services", "scopes", "expiresAt", "unknown"]) {
          // A name may be nearly any text; what is made of it is a key without rights.
          await ask("POST", "/v1/keys", { ...good, [name]: value })
          await ask("POST", "/v1/keys", { ...good, [name]: [value] })
        }
        await ask("POST", "/v1/keys/key_none/rotate", { overlapSeconds: value })
      })
      await inBatches(
        [...devils.filter((devil) => devil !== "").map(encodeURIComponent), ...badEscapes],
        async (text) => {
          for (const [method, target] of [
            ["POST", `/v1/keys/${text}/rotate`],
            ["DELETE", `/v1/keys/${text}`]
          ] as const)
            expect(
              (await ask(method, target, method === "POST" ? {} : undefined)).status,
              target
            ).toBeGreaterThanOrEqual(400)
        }
      )
    })

    it("in every field of a site's report of usage", async () => {
      const bearer = await site()
      const good = { product: "send", usageType: "emails", quantity: 1 }
      await inBatches(values, async (value) => {
        for (const name of Object.keys(good)) {
          const { status } = await ask("POST", "/api/billing/usage", { ...good, [name]: value }, bearer)
          expect(status, `${name}: ${JSON.stringify(value)}`).toBe(400)
        }
        await ask("POST", "/api/billing/usage", value, bearer)
      })
    })

    it("in every field of a report of what became of an email", async () => {
      const good = { id: "em_none", from: "a@one.test", recipient: "b@two.test", what: "bounced" }
      const names = [...Object.keys(good), "mode", "kind", "complaint", "code", "reason", "subject", "unknown"]
      for (const name of names) {
        const bearer = await site()
        await inBatches(values, async (value) => {
          await ask("POST", "/v1/send/feedback", { ...good, [name]: value }, bearer)
          await ask("POST", "/v1/send/feedback", [good, { ...good, [name]: value }], bearer)
        })
      }
    })

    it("in credentials, keys for repeats and bodies", async () => {
      const bearer = await site()
      const paths = [
        "/api/billing/usage",
        "/v1/send/feedback",
        "/v1/billing/checkout",
        "/v1/billing/cancel",
        "/v1/keys"
      ]
      const headersOf = (path: string): NonNullable<RawRequest["headers"]> =>
        path === "/api/billing/usage" || path === "/v1/send/feedback" ? bearer : []
      for (const path of paths) for (const body of badBodies) await ask("POST", path, body, headersOf(path))
      const printable = devils.filter((devil) => /^[\x20-\x7e]*$/.test(devil))
      await inBatches(printable, async (devil) => {
        const once = ["Idempotency-Key", devil] as const
        for (const path of paths) await ask("POST", path, "{}", [...headersOf(path), once])
        for (const path of ["/api/billing/usage", "/v1/send/feedback"])
          expect((await ask("POST", path, "{}", [["Authorization", `Bearer ${devil}`]])).status, devil).toBe(401)
      })
    })

    it("in the addresses of a checkout's page and of an invoice", async () => {
      const texts = [...devils.filter((devil) => devil !== "").map(encodeURIComponent), ...badEscapes]
      const targets = texts.flatMap((text) => [
        ["GET", `/checkout/${text}`] as const,
        ["POST", `/checkout/${text}`] as const,
        ["GET", `/invoices/${text}.pdf`] as const,
        ["GET", `/invoices/in_none.pdf?expires=${text}&signature=${text}`] as const
      ])
      await inBatches(targets, async ([method, target]) => {
        const { status } = await send(platform().url, { method, target, headers: [] })
        expect(status, `${method} ${target}`).toBeGreaterThanOrEqual(400)
        expect(status, `${method} ${target}`).toBeLessThan(500)
      })
    })

    const any = Arbitrary.schema(Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null]))
    property.effect.prop(
      "whatever a generator comes up with",
      { priceId: any, successUrl: any, cancelUrl: any, name: any, expiresAt: any },
      ({ expiresAt, name, ...checkout }) =>
        Effect.promise(async () => {
          await ask("POST", "/v1/billing/checkout", checkout)
          await ask("POST", "/v1/keys", { services: [], scopes: [], name, expiresAt })
        }),
      { arbitrary: { runs: 60, concurrency } }
    )
  })
}
