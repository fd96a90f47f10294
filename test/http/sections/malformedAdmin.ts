/** Malformed input in every place where the admin API takes input; its values reach the database. */
import { it as property } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { jsonOf, type RawRequest, send } from "../exchange.ts"
import type { TestPlatform } from "../harness.ts"
import { badEscapes, concurrency, devils, expectCallersFault, inBatches } from "./devils.ts"

export const malformedAdminSection = (platform: () => TestPlatform): void => {
  const admin = async (method: string, target: string, body?: unknown, headers: RawRequest["headers"] = []) => {
    const text = typeof body === "string" ? body : JSON.stringify(body)
    const answer = await send(platform().adminUrl, {
      method,
      target,
      headers: [
        ["Authorization", `Bearer ${platform().adminKey}`],
        ...(body === undefined ? [] : [["Content-Type", "application/json"] as const]),
        ...headers
      ],
      ...(body === undefined ? {} : { body: text })
    })
    // Keys that malformed requests make all the same are secrets like any other.
    const made = /"key":"(sk_[^"]+)"/.exec(answer.text)
    if (made !== null) platform().secrets.add(made[1]!)
    expectCallersFault(answer, `${method} ${target} ${(text ?? "").slice(0, 300)}`)
    return answer
  }

  describe("malformed input at the admin API", () => {
    const organizations = "/admin/v1/organizations"
    const keys = () => `${organizations}/${platform().organization}/keys`

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
      8_640_000_000_000_000,
      8_640_000_000_000_001,
      -62_135_596_800_001,
      [],
      {},
      [[]],
      [null],
      ["directory", "directory"],
      Array.from({ length: 1_000 }, () => "*"),
      { toString: 1, length: -1 },
      "\ud800",
      "a\u0000@example.com",
      "a@b\u0000"
    ]

    afterAll(async () => {
      expect((await platform().admin("GET", organizations)).status).toBe(200)
    })

    it("in every field of an organization", async () => {
      const bodies = ["name", "email", "plan", "sendPlan", "risk", "unknown"].flatMap((field) =>
        values.map((value) => ({ name: "sweep", [field]: value }))
      )
      await inBatches(bodies, (body) => admin("POST", organizations, body))
    })

    it("in every field of a key", async () => {
      const bodies = ["name", "mode", "services", "scopes", "expiresAt", "unknown"].flatMap((field) =>
        values.map((value) => ({ services: ["directory"], scopes: [], [field]: value }))
      )
      await inBatches(bodies, (body) => admin("POST", keys(), body))
    })

    it("in every field of what operators do to an account that sends", async () => {
      const account = `${organizations}/${platform().organization}/send`
      const whole: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
        lift: {},
        risk: { risk: "standard" },
        limits: { emailsPerMonth: null, probation: null },
        cap: { sender: "one.test", dailyCap: 5 }
      }
      const inputs = Object.entries(whole).flatMap(([act, fields]) =>
        ["mode", ...Object.keys(fields), "unknown"].flatMap((field) =>
          values.map((value) => ({ act, body: { ...fields, [field]: value } }))
        )
      )
      const caps = ["emailsPerHour", "emailsPerDay", "domainsPerHour"].flatMap((field) =>
        values.map((value) => ({
          act: "limits",
          body: {
            emailsPerMonth: null,
            probation: { emailsPerHour: 1, emailsPerDay: 1, domainsPerHour: 1, [field]: value }
          }
        }))
      )
      await inBatches([...inputs, ...caps], ({ act, body }) =>
        admin(act === "lift" ? "POST" : "PUT", `${account}/${act}`, body)
      )
      const texts = [...devils.map(encodeURIComponent), ...badEscapes]
      await inBatches(texts, (text) => admin("GET", `${account}?mode=${text}`))
    })

    it("in fields of lists", async () => {
      const bodies = ["services", "scopes"].flatMap((field) =>
        values.map((value) => ({ services: [], scopes: [], [field]: [value] }))
      )
      await inBatches(bodies, (body) => admin("POST", keys(), body))
    })

    it("in ids, cursors and pages", async () => {
      const inputs = [...devils.map(encodeURIComponent), ...badEscapes].flatMap((text) => [
        ["GET", `${organizations}/${text}`],
        ["GET", `${organizations}/${text}/keys`],
        ["POST", `${organizations}/${text}/keys`],
        ["DELETE", `/admin/v1/keys/${text}`],
        ...["limit", "cursor", "before"].flatMap((name) =>
          [organizations, keys(), "/admin/v1/ingestions"].map((path) => ["GET", `${path}?${name}=${text}`])
        )
      ])
      await inBatches(inputs, ([method, target]) =>
        admin(method!, target!, method === "POST" ? { services: [], scopes: [] } : undefined)
      )
    })

    it("a cursor that this list did not give is 400", async () => {
      // Two pages' worth, so that there is a cursor.
      for (const name of ["one", "two", "three"]) await admin("POST", organizations, { name })
      const page = await platform().admin("GET", `${organizations}?limit=1`)
      const { nextCursor } = (page.body as { pagination: { nextCursor: string } }).pagination
      expect((await admin("GET", `${organizations}?limit=1&cursor=${encodeURIComponent(nextCursor)}`)).status).toBe(200)
      const [payload, signature] = nextCursor.split(".")
      const forged = [
        `${nextCursor}x`,
        nextCursor.slice(1),
        nextCursor.slice(0, -1),
        `${payload}.`,
        `.${signature}`,
        `${payload}`,
        `${Buffer.from('[0,"org_"]').toString("base64url")}.${signature}`,
        `${nextCursor}.${signature}`,
        Buffer.from("{}").toString("base64"),
        "eyJhbGciOiJub25lIn0.e30.",
        "a".repeat(10_000)
      ]
      for (const cursor of forged) {
        const answer = await admin("GET", `${organizations}?cursor=${encodeURIComponent(cursor)}`)
        expect(answer.status, cursor.slice(0, 80)).toBe(400)
        expect(jsonOf(answer)).toMatchObject({ success: false, error: { code: "invalid_request" } })
      }
      // Of another list.
      expect((await admin("GET", `${keys()}?cursor=${encodeURIComponent(nextCursor)}`)).status).toBe(400)
      expect((await admin("GET", `${organizations}?cursor=`)).status).toBe(400)
    })

    it("a page outside of 1..100 is 400 and quotes the value", async () => {
      for (const limit of ["0", "101", "-1", "1.5", "abc", "1e2"]) {
        for (const path of [organizations, keys()]) {
          const answer = await admin("GET", `${path}?limit=${limit}`)
          expect(answer.status, limit).toBe(400)
          expect(jsonOf(answer)).toMatchObject({ error: { message: expect.stringContaining(limit) } })
        }
      }
    })

    it("in an Idempotency-Key", async () => {
      const texts = [...devils, "a".repeat(256), "a".repeat(10_000), "é"].filter((text) => !/[\r\n\0]/.test(text))
      await inBatches(texts, async (text) => {
        await admin("POST", organizations, { name: "sweep" }, [["Idempotency-Key", text]])
      })
    })

    it("in the sources of an ingestion", async () => {
      const sources = [
        ...devils,
        "/",
        "/dev/null",
        "/proc/self/mem",
        "http://127.0.0.1:1/",
        "http://",
        "file:///etc/passwd"
      ]
      // Many in one request, because each request starts a thread.
      const lists = Array.from({ length: Math.ceil(sources.length / 20) }, (_, n) => sources.slice(n * 20, n * 20 + 20))
      await inBatches([...lists, ...values.filter((value) => !Array.isArray(value) || value.length !== 1)], (value) =>
        admin("POST", "/admin/v1/ingestions", { sources: value, dryRun: true })
      )
    })

    it("as JSON that is deep, wide or strange", async () => {
      const deep = 60_000
      const bodies = [
        `${"[".repeat(deep)}${"]".repeat(deep)}`,
        `${'{"a":'.repeat(30_000)}1${"}".repeat(30_000)}`,
        `{"name":${"[".repeat(deep)}${"]".repeat(deep)}}`,
        `{${Array.from({ length: 20_000 }, (_, n) => `"k${n}":1`).join(",")}}`,
        `[${"1,".repeat(100_000)}1]`,
        '{"name":"a","name":"b"}',
        '{"__proto__":{"name":"a"}}',
        '{"constructor":{"prototype":{"name":"a"}},"name":"a"}',
        '{"name":"\\ud800"}',
        '{"name":"\\u0000"}',
        `{"name":${"9".repeat(5_000)}}`,
        `{"name":"a","email":1e999}`,
        "\ufeff{}",
        '"\\uZZZZ"'
      ]
      const inputs = [organizations, keys(), "/admin/v1/ingestions"].flatMap((target) =>
        bodies.map((body) => ({ target, body }))
      )
      await inBatches(inputs, ({ body, target }) => admin("POST", target, body))
      const invalidUtf8 = await send(platform().adminUrl, {
        method: "POST",
        target: organizations,
        headers: [
          ["Authorization", `Bearer ${platform().adminKey}`],
          ["Content-Type", "application/json"]
        ],
        body: Buffer.from([0x7b, 0x22, 0xff, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d])
      })
      expectCallersFault(invalidUtf8, "a body that is no UTF-8")
    })

    property.effect.prop(
      "as whatever JSON a generator comes up with",
      {
        body: Arbitrary.schema(Schema.Json),
        field: Arbitrary.schema(Schema.Literals(["name", "email", "plan", "risk"]))
      },
      ({ body, field }) =>
        Effect.promise(async () => {
          await admin("POST", "/admin/v1/organizations", { name: "sweep", [field]: body })
          await admin("POST", `/admin/v1/organizations/${platform().organization}/keys`, body)
        }),
      { arbitrary: { runs: 150, concurrency } }
    )
  })
}
