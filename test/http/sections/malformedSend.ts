/** Malformed input in every place where the endpoints of emails take input: nothing of it is answered with 500, hangs or brings the server down. */
import { it as property } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type RawRequest, send } from "../exchange.ts"
import type { TestPlatform } from "../harness.ts"
import { badEscapes, concurrency, devils, expectCallersFault, inBatches } from "./devils.ts"

export const malformedSendSection = (platform: () => TestPlatform): void => {
  let key = ""

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
    expectCallersFault(answer, `${method} ${target} ${(text ?? "").slice(0, 300)}`)
    return answer
  }

  const mail = { from: "ann@one.test", to: ["bob@two.test"], subject: "Hello", text: "Hi" }
  const fields = [
    ...["from", "to", "cc", "bcc", "reply_to", "subject", "html", "text", "headers", "tags", "attachments"],
    ...["scheduled_at", "unknown"]
  ]

  /** Every devil as a JSON value and in the places that a field has, and values of every other type. */
  const values: ReadonlyArray<unknown> = [
    ...devils,
    ...devils.map((devil) => [devil]),
    ...devils.map((devil) => ({ [devil]: devil })),
    ...devils.map((devil) => [{ name: devil, value: devil }]),
    ...devils.map((devil) => [{ content: devil, filename: devil, content_type: devil, content_id: devil }]),
    ...devils.map((devil) => [{ path: devil }]),
    ...[null, true, 0, -1, 1.5, 1e300, [], {}, [[]], [null], [{}], { toString: 1, length: -1 }, "\ud800", "a\u0000b"],
    Array.from({ length: 1_000 }, () => "a@b.com"),
    `${"(".repeat(10_000)}a@b.com`,
    `${"a ".repeat(10_000)}<a@b.com>`,
    `${"a".repeat(100_000)}@b.com`,
    "2026-13-45T99:99:99Z"
  ]

  describe("malformed input at the endpoints of emails", () => {
    beforeAll(async () => {
      const { admin, secrets } = platform()
      const made = await admin("POST", "/admin/v1/organizations", { name: "malformed mail", plan: "team" })
      const { id: organization } = made.body as { readonly id: string }
      // More than the sweep asks in a minute.
      await admin("PUT", `/admin/v1/organizations/${organization}/limits`, { requestsPerMinute: "unlimited" })
      const own = { emailsPerMonth: null, probation: null, requestsPerMinute: "unlimited" }
      expect((await admin("PUT", `/admin/v1/organizations/${organization}/send/limits`, own)).status).toBe(200)
      const created = await admin("POST", `/admin/v1/organizations/${organization}/keys`, {
        services: ["send"],
        scopes: []
      })
      key = (created.body as { readonly key: string }).key
      secrets.add(key)
    })

    afterAll(async () => {
      expect((await ask("GET", "/v1/send/emails")).status).toBe(200)
    })

    it("in every field of an email", async () => {
      const bodies = fields.flatMap((field) => values.map((value) => ({ ...mail, [field]: value })))
      await inBatches(bodies, (body) => ask("POST", "/v1/send/emails/send", body))
    })

    it("in a batch, and in another time", async () => {
      await inBatches(values, (value) => ask("POST", "/v1/send/emails/batch", value))
      await inBatches(values, (value) => ask("POST", "/v1/send/emails/batch", [mail, value]))
      await inBatches(values, (value) => ask("PATCH", "/v1/send/emails/em_0", { scheduled_at: value }))
    })

    it("in ids, cursors and pages", async () => {
      const inputs = [...devils.map(encodeURIComponent), ...badEscapes].flatMap((text) => [
        ["GET", `/v1/send/emails/${text}`],
        ["PATCH", `/v1/send/emails/${text}`, {}],
        ["POST", `/v1/send/emails/${text}/cancel`],
        ...["limit", "cursor", "after", "before"].map((name) => ["GET", `/v1/send/emails?${name}=${text}`])
      ])
      await inBatches(inputs, ([method, target, body]) => ask(method as string, target as string, body))
    })

    it("in an Idempotency-Key", async () => {
      const texts = [...devils, "a".repeat(256), "a".repeat(10_000), "é"].filter((text) => !/[\r\n\0]/.test(text))
      await inBatches(texts, (text) => ask("POST", "/v1/send/emails", mail, [["Idempotency-Key", text]]))
    })

    it("as JSON that is deep, wide or strange", async () => {
      const deep = 60_000
      const bodies = [
        `${"[".repeat(deep)}${"]".repeat(deep)}`,
        `${'{"to":'.repeat(30_000)}1${"}".repeat(30_000)}`,
        `{${Array.from({ length: 20_000 }, (_, n) => `"k${n}":1`).join(",")}}`,
        '{"__proto__":{"from":"a"}}',
        '{"from":"a@b.com","headers":{"__proto__":"x"}}',
        '{"from":"\\ud800"}',
        "\ufeff{}",
        '"\\uZZZZ"',
        ""
      ]
      const targets = ["/v1/send/emails", "/v1/send/emails/batch", "/v1/send/emails/em_0/cancel"]
      await inBatches(
        targets.flatMap((target) => bodies.map((body) => ({ target, body }))),
        ({ body, target }) => ask("POST", target, body)
      )
    })

    property.effect.prop(
      "as whatever JSON a generator comes up with",
      {
        body: Arbitrary.schema(Schema.Json),
        what: Arbitrary.schema(Schema.Literals(["", "/send", "/batch", "/em_0"]))
      },
      ({ body, what }) =>
        Effect.promise(() => ask(what === "/em_0" ? "PATCH" : "POST", `/v1/send/emails${what}`, JSON.stringify(body))),
      { arbitrary: { runs: 200, concurrency } }
    )
  })
}
