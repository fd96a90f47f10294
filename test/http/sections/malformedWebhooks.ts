/** Malformed input in every place where the webhook endpoints take input: nothing of it is answered with 500, hangs or brings the server down. */
import { it as property } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { putDelivery } from "../../webhooks/delivery/rows.ts"
import { hookUrl, manageAndRead } from "../../webhooks/platform.ts"
import { type RawRequest, send } from "../exchange.ts"
import type { TestPlatform } from "../harness.ts"
import { badEscapes, concurrency, devils, expectCallersFault, inBatches } from "./devils.ts"

export const malformedWebhooksSection = (platform: () => TestPlatform): void => {
  let key = ""
  let endpointId = ""
  let deliveryId = ""

  const ask = async (method: string, target: string, body?: unknown, headers: RawRequest["headers"] = []) => {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body)
    const answer = await send(platform().url, {
      method,
      target,
      headers: [
        ["X-API-Key", key],
        ...(text === undefined ? [] : [["Content-Type", "application/json"] as const]),
        ...headers
      ],
      ...(text === undefined ? {} : { body: text })
    })
    for (const [, secret] of answer.text.matchAll(/"signing_secret":"(whsec_[^"]+)"/g)) platform().secrets.add(secret!)
    expectCallersFault(answer, `${method} ${target} ${(text ?? "").slice(0, 300)}`)
    return answer
  }

  /** Every devil as a JSON value, and values of every other type. */
  const values: ReadonlyArray<unknown> = [
    ...devils,
    null,
    true,
    0,
    -1,
    1.5,
    1e300,
    Number.MAX_SAFE_INTEGER,
    Number.MIN_SAFE_INTEGER,
    Date.now(),
    8_640_000_000_000_001,
    [],
    {},
    [[]],
    [null],
    ["telco.*", 1],
    Array.from({ length: 1_000 }, () => "*"),
    { toString: 1, length: -1 },
    "\ud800",
    "https://\ud800.example",
    "https://a.example/\u0000",
    "https://[::1",
    "https://%00.example"
  ]

  describe("malformed input at the webhook endpoints", () => {
    beforeAll(async () => {
      const { admin, databaseUrl, secrets } = platform()
      const made = await admin("POST", "/admin/v1/organizations", { name: "malformed", plan: "team" })
      const { id: organization } = made.body as { readonly id: string }
      // More than the sweep asks in a minute.
      await admin("PUT", `/admin/v1/organizations/${organization}/limits`, { requestsPerMinute: "unlimited" })
      const body = { services: [], scopes: manageAndRead }
      const created = await admin("POST", `/admin/v1/organizations/${organization}/keys`, body)
      key = (created.body as { readonly key: string }).key
      secrets.add(key)
      const endpoint = await ask("POST", "/v1/webhooks", { url: hookUrl, enabled_events: ["*"] })
      endpointId = (JSON.parse(endpoint.text) as { readonly id: string }).id
      deliveryId = await putDelivery(databaseUrl, { endpointId, organization })
    })

    afterAll(async () => {
      expect((await ask("GET", `/v1/webhooks/${endpointId}`)).status).toBe(200)
    })

    it("in every field of a new endpoint", async () => {
      const bodies = ["url", "enabled_events", "description", "unknown"].flatMap((field) => [
        ...values.map((value) => ({ url: "x", enabled_events: ["*"], [field]: value })),
        ...values.map((value) => ({ url: hookUrl, enabled_events: "x", [field]: value }))
      ])
      await inBatches(bodies, (body) => ask("POST", "/v1/webhooks", body))
    })

    it("in every field of a change", async () => {
      const bodies = ["url", "enabled_events", "description", "is_active", "unknown"].flatMap((field) =>
        values.map((value) => ({ [field]: value }))
      )
      await inBatches(bodies, (body) => ask("PATCH", `/v1/webhooks/${endpointId}`, body))
      const lists = devils.map((devil) => ({ enabled_events: [devil] }))
      await inBatches(lists, (body) => ask("PATCH", `/v1/webhooks/${endpointId}`, body))
    })

    it("in every field of what can be done with one", async () => {
      const inputs = [
        ...values.map((replay) => ["unpause", { replay }] as const),
        ...values.map((overlapSeconds) => ["rotate-secret", { overlapSeconds }] as const),
        ...values.map((since) => ["replay", { since }] as const),
        ...values.map((until) => ["replay", { since: Date.now() - 1_000, until }] as const),
        ...values.map((types) => ["replay", { since: Date.now() - 1_000, types }] as const),
        ...devils.map((devil) => ["replay", { since: Date.now() - 1_000, types: [devil] }] as const)
      ]
      await inBatches(inputs, ([what, body]) => ask("POST", `/v1/webhooks/${endpointId}/${what}`, body))
    })

    it("in ids, cursors and pages", async () => {
      const inputs = [...devils.map(encodeURIComponent), ...badEscapes].flatMap((text) => [
        ["GET", `/v1/webhooks/${text}`],
        ["PATCH", `/v1/webhooks/${text}`, {}],
        ["DELETE", `/v1/webhooks/${text}`],
        ["POST", `/v1/webhooks/${text}/test`],
        ["POST", `/v1/webhooks/${text}/unpause`],
        ["GET", `/v1/webhooks/${text}/deliveries`],
        ["GET", `/v1/webhooks/${endpointId}/deliveries/${text}`],
        ["POST", `/v1/webhooks/${endpointId}/deliveries/${text}/retry`],
        ...["limit", "cursor"].flatMap((name) =>
          ["deliveries", "skipped"].map((list) => ["GET", `/v1/webhooks/${endpointId}/${list}?${name}=${text}`])
        ),
        ["GET", `/v1/webhooks/${endpointId}/deliveries?status=${text}`]
      ])
      await inBatches(inputs, ([method, target, body]) => ask(method as string, target as string, body))
    })

    it("in an Idempotency-Key", async () => {
      const texts = [...devils, "a".repeat(256), "a".repeat(10_000), "é"].filter((text) => !/[\r\n\0]/.test(text))
      const targets = [`/v1/webhooks/${endpointId}/test`, `/v1/webhooks/${endpointId}/deliveries/${deliveryId}/retry`]
      await inBatches(
        texts.flatMap((text) => targets.map((target) => [target, text] as const)),
        ([target, text]) => ask("POST", target, undefined, [["Idempotency-Key", text]])
      )
    })

    it("as JSON that is deep, wide or strange", async () => {
      const deep = 60_000
      const bodies = [
        `${"[".repeat(deep)}${"]".repeat(deep)}`,
        `${'{"a":'.repeat(30_000)}1${"}".repeat(30_000)}`,
        `{"url":${"[".repeat(deep)}${"]".repeat(deep)}}`,
        `{${Array.from({ length: 20_000 }, (_, n) => `"k${n}":1`).join(",")}}`,
        `{"url":"${hookUrl}","url":"x","enabled_events":["x"]}`,
        '{"__proto__":{"url":"a"}}',
        '{"url":"\\ud800","enabled_events":["*"]}',
        '{"url":"https://a.example/\\u0000","enabled_events":["*"]}',
        '{"since":1e999}',
        `{"since":${"9".repeat(5_000)}}`,
        "\ufeff{}",
        '"\\uZZZZ"',
        ""
      ]
      const targets = [
        "/v1/webhooks",
        ...["unpause", "rotate-secret", "replay"].map((what) => `/v1/webhooks/${endpointId}/${what}`)
      ]
      await inBatches(
        targets.flatMap((target) => bodies.map((body) => ({ target, body }))),
        ({ body, target }) => ask("POST", target, body)
      )
    })

    property.effect.prop(
      "as whatever JSON a generator comes up with",
      {
        body: Arbitrary.schema(Schema.Json),
        what: Arbitrary.schema(Schema.Literals(["", "/unpause", "/rotate-secret", "/replay", "/test"]))
      },
      ({ body, what }) =>
        Effect.promise(() =>
          ask(what === "" ? "PATCH" : "POST", `/v1/webhooks/${endpointId}${what}`, JSON.stringify(body))
        ),
      { arbitrary: { runs: 200, concurrency } }
    )
  })
}
