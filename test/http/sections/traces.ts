/** Traces of the running platform: from a request through the engine to what leaves the machine, each step linked to what has caused it. */
import { randomBytes } from "node:crypto"
import { describe, expect, it } from "vitest"
import { until } from "../../cli/support.ts"
import { hookUrl, manageAndRead } from "../../webhooks/platform.ts"
import { request, type TestPlatform } from "../harness.ts"

interface Place {
  readonly traceId: string
  readonly spanId: string
}

interface Span extends Place {
  readonly name: string
  readonly parentSpanId?: string
  readonly links?: ReadonlyArray<Place>
}

interface Exported {
  readonly resourceSpans: ReadonlyArray<{
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }>
  }>
}

export const tracesSection = (platform: () => TestPlatform): void => {
  const spansOf = (name: string): ReadonlyArray<Span> =>
    platform()
      .collector.exports()
      .filter(({ path }) => path.endsWith("/v1/traces"))
      .flatMap(({ body }) => (JSON.parse(body) as Exported).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap(({ spans }) => spans)
      .filter((span) => span.name === name)

  /** The first span of a name that links to one of these. */
  const linkedTo = (name: string, causes: ReadonlyArray<Place>): ReadonlyArray<Span> =>
    spansOf(name).filter(({ links = [] }) =>
      links.some((link) => causes.some(({ spanId, traceId }) => link.spanId === spanId && link.traceId === traceId))
    )

  /** The exported spans of a request's way, by its trace: the asks, and what links on from them. */
  const wayOf = (traceId: string, attempt: string) => {
    const asks = spansOf("sluice.ask").filter((span) => span.traceId === traceId)
    const drains = linkedTo("sluice.drain", asks)
    const reactors = linkedTo("sluice.reactor", drains)
    // A delivery is put into the queue by a statement within the transaction, or comes from the frame itself.
    const attempts = spansOf(attempt).filter(({ links = [] }) =>
      links.some((link) => [...drains, ...reactors].some(({ traceId }) => link.traceId === traceId))
    )
    return { asks, attempts, ofFrames: linkedTo(attempt, drains) }
  }

  const traced = (key: string, traceId: string) => ({
    authorization: `Bearer ${key}`,
    traceparent: `00-${traceId}-${randomBytes(8).toString("hex")}-01`,
    "content-type": "application/json"
  })

  describe("traces", () => {
    it("lead from a look-up over its decision and its transaction to the webhook's attempt", async () => {
      const { createKey, url } = platform()
      const { key } = await createKey({ services: ["telco"], scopes: manageAndRead })
      const traceId = randomBytes(16).toString("hex")
      const endpoint = { url: hookUrl, enabled_events: ["telco.*"] }
      const made = await request(`${url}/v1/webhooks`, {
        method: "POST",
        headers: traced(key, randomBytes(16).toString("hex")),
        body: JSON.stringify(endpoint)
      })
      expect(made.status).toBe(201)
      platform().secrets.add((made.body as { readonly signing_secret: string }).signing_secret)
      expect((await request(`${url}/v1/telco/lookup/2125550100`, { headers: traced(key, traceId) })).status).toBe(200)
      await until(() => wayOf(traceId, "sluice.webhook.attempt").attempts.length > 0)
      const { asks } = wayOf(traceId, "sluice.webhook.attempt")
      // The next event is known from its frame, so its attempt links to the decision itself.
      const again = randomBytes(16).toString("hex")
      expect((await request(`${url}/v1/telco/lookup/2125550100`, { headers: traced(key, again) })).status).toBe(200)
      await until(() => wayOf(again, "sluice.webhook.attempt").ofFrames.length > 0)
      // The ask belongs to the request, and all else may work for several.
      for (const { parentSpanId } of asks) expect(parentSpanId).toMatch(/^[0-9a-f]{16}$/)
    })

    it("lead from an email to its hand-off", async () => {
      const { admin, secrets, url } = platform()
      const { body } = await admin("GET", "/admin/v1/organizations")
      const demo = (body as { readonly data: ReadonlyArray<{ readonly id: string; readonly name: string }> }).data.find(
        ({ name }) => name === "demo"
      )!
      const made = await admin("POST", `/admin/v1/organizations/${demo.id}/keys`, {
        mode: "test",
        services: ["send"],
        scopes: []
      })
      expect(made.status).toBe(201)
      const { key } = made.body as { readonly key: string }
      secrets.add(key)
      const traceId = randomBytes(16).toString("hex")
      const mail = { from: "ann@demo.test", to: "ben@reader.example", subject: "Hello", text: "Hi" }
      const sent = await request(`${url}/v1/send/emails`, {
        method: "POST",
        headers: traced(key, traceId),
        body: JSON.stringify(mail)
      })
      expect(sent.status).toBe(202)
      await until(() => wayOf(traceId, "sluice.mail.attempt").attempts.length > 0)
    })
  })
}
