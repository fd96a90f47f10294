/**
 * Malformed input of every kind in every place where input is taken. Nothing of it is answered with 500, hangs or brings
 * the server down; the fault is always the caller's. A list of the known devils, then whatever a generator comes up with.
 */
import { it as property } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { type Answer, exchange, jsonOf, type RawRequest, send } from "../exchange.ts"
import type { TestPlatform } from "../harness.ts"

/** Texts that have broken a program somewhere. */
const devils: ReadonlyArray<string> = [
  "",
  " ",
  "0",
  "-0",
  "-1",
  "1.5",
  "1e309",
  "-1e309",
  "NaN",
  "Infinity",
  "null",
  "undefined",
  "true",
  "[]",
  "{}",
  "9007199254740991",
  "9007199254740993",
  "2147483648",
  "18446744073709551616",
  "9".repeat(400),
  "٣",
  "２１２",
  "𝟚𝟙𝟚",
  "Ⅻ",
  "ﬁ",
  "İ",
  "ß",
  "e\u0301",
  "\u0000",
  "212\u0000",
  "\u202e212",
  "\ufeff212",
  "\u2028",
  "\r\nX-Injected: yes",
  "\\",
  "\"'`",
  "../../../etc/passwd",
  "..%2f..%2f",
  "%",
  "%00",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "'; DROP TABLE organizations; --",
  "' OR '1'='1",
  "1; SELECT pg_sleep(30)",
  "$1",
  "\\'; --",
  "/* */",
  "\u0024{7*7}",
  "{{7*7}}",
  "<script>alert(1)</script>",
  "a".repeat(5_000),
  "é".repeat(1_000),
  "🧨"
]

/** Bytes after a `%` and the like that are no UTF-8, or no escape at all. */
const badEscapes = ["%", "%2", "%zz", "%ff", "%c0%af", "%e2%82", "%ed%a0%80", "%f8%88%80%80%80", "%u0041", "%00", "%80"]

const parameters = ["country", "state", "type", "limit", "offset", "ocn", "npa", "nxx", "apiKey", "cursor", "before"]
const publicPaths = [
  "/v1/carriers",
  "/v1/carrier",
  "/v1/npa",
  "/v1/npa/212",
  "/v1/npa/212/nxx/555",
  "/v1/carrier/9104",
  "/v1/health",
  "/v1/stats"
]

/** Requests in flight at once. */
const concurrency = 16

/** Runs every input and lists all complaints, so that one fault does not hide the next. */
const inBatches = async <A>(inputs: ReadonlyArray<A>, run: (input: A) => Promise<unknown>): Promise<void> => {
  const complaints: Array<string> = []
  const guarded = (input: A) =>
    run(input).catch((cause: unknown) => {
      complaints.push(cause instanceof Error ? cause.message : String(cause))
    })
  for (let at = 0; at < inputs.length; at += concurrency)
    await Promise.all(inputs.slice(at, at + concurrency).map(guarded))
  expect(complaints).toEqual([])
}

const isJson = (answer: Answer): boolean => {
  try {
    jsonOf(answer)
    return true
  } catch {
    return false
  }
}

/** What holds for every answer, whatever was asked. */
const expectCallersFault = (answer: Answer, what: string): void => {
  const shown = `${what} is answered ${answer.status} ${answer.text.slice(0, 200)}`
  if (answer.status >= 500) throw new Error(shown)
  if (answer.headers["x-injected"] !== undefined) throw new Error(`a header was injected: ${shown}`)
  if (answer.headers["x-request-id"] === undefined) throw new Error(`without a request id: ${shown}`)
  if (answer.status >= 400 && !isJson(answer)) throw new Error(`not JSON: ${shown}`)
}

export const malformedSection = (platform: () => TestPlatform): void => {
  const key = (): RawRequest["headers"] => [["X-API-Key", platform().key]]

  const ask = async (target: string, headers = key()) =>
    expectCallersFault(await send(platform().url, { target, ...(headers === undefined ? {} : { headers }) }), target)

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

  describe("malformed input", () => {
    afterEach(async () => {
      const { body, status } = await platform().get("/v1/carrier/9104")
      expect(status).toBe(200)
      expect(body).toMatchObject({ ocn: "9104" })
    })

    it("in every query parameter of every path", async () => {
      const targets = publicPaths.flatMap((path) =>
        parameters.flatMap((name) => devils.map((devil) => `${path}?${name}=${encodeURIComponent(devil)}`))
      )
      // Every third of the product, another one for each path: all of it would take minutes.
      await inBatches(
        targets.filter((_, index) => index % 3 === 0),
        (target) => ask(target)
      )
    })

    it("in every segment of a path", async () => {
      const targets = devils.flatMap((devil) => {
        const text = encodeURIComponent(devil)
        return [
          `/${text}`,
          `/v1/carrier/${text}`,
          `/v1/npa/${text}`,
          `/v1/npa/212/nxx/${text}`,
          `/v1/npa/${text}/nxx/${text}`
        ]
      })
      await inBatches(targets, (target) => ask(target))
    })

    it("in escapes that are no UTF-8", async () => {
      const targets = badEscapes.flatMap((bad) => [
        `/${bad}`,
        `/v1/carrier/${bad}`,
        `/v1/carrier/910${bad}`,
        `/v1/npa/${bad}/nxx/${bad}`,
        `/v1/carriers?state=${bad}`,
        `/v1/carriers?${bad}=1`,
        `/v1/carrier?ocn=${bad}`,
        `/v1/npa?npa=${bad}`,
        `/v1/npa/212?apiKey=${bad}`
      ])
      await inBatches(targets, (target) => ask(target))
    })

    it("in the form of the target", async () => {
      const { port } = new URL(platform().url)
      const targets = [
        "*",
        "//",
        "///v1/carriers",
        "/v1//carriers",
        "/v1/carrier/",
        "/v1/npa/",
        "/v1/npa/212/nxx/",
        "/v1/carriers/",
        "/v1/carriers?",
        "/v1/carriers??",
        "/v1/carriers?&&&",
        "/v1/carriers?=",
        "/v1/carriers?=1",
        "/v1/carriers?limit",
        "/v1/carriers?limit[]=1",
        "/v1/carriers?limit[0]=1",
        "/v1/carriers?limit.a=1",
        "/v1/carriers?__proto__=1",
        "/v1/carriers?__proto__[limit]=1",
        "/v1/carriers?constructor.prototype.limit=1",
        "/v1/carriers#limit=1",
        "/v1/carriers?limit=1#x",
        "/v1/carriers;limit=1",
        "/v1/./carriers",
        "/v1/../v1/carriers",
        "/v1/%2e%2e/v1/carriers",
        "/v1%2fcarriers",
        "/v1/carrier/91%2f04",
        "/v1/carrier/:ocn",
        "/v1/carrier/*",
        "/v1/npa/:npa/nxx/:nxx",
        `http://127.0.0.1:${port}/v1/carriers`,
        `http://elsewhere.invalid/v1/carriers`,
        "http:///v1/carriers",
        "http://[::1",
        "ftp://a/b",
        `/v1/carriers?${Array.from({ length: 2_000 }, () => "a=1").join("&")}`,
        `/v1/carriers?${Array.from({ length: 2_000 }, (_, n) => `a${n}`).join("&")}`,
        `/v1/carrier/${"a/".repeat(4_000)}`,
        `/${"%41".repeat(4_000)}`
      ]
      await inBatches(targets, (target) => ask(target))
    })

    it("in headers", async () => {
      const values = [...devils, "Bearer", "Bearer  ", "Bearer a b c", "Bearer\tx", ",", ";;", "=", "é\u0080"]
        .filter((value) => !/[\r\n\0]/.test(value))
        .flatMap((value) =>
          [
            "Authorization",
            "X-API-Key",
            "X-Request-Id",
            "Accept",
            "Accept-Encoding",
            "Traceparent",
            "B3",
            "Cookie",
            "Range"
          ].map((name) => [name, value] as const)
        )
      await inBatches(values, async (header) => {
        const headers = header[0] === "Authorization" || header[0] === "X-API-Key" ? [header] : [...key()!, header]
        await ask("/v1/carrier/9104", headers)
      })
    })

    it("in trace headers that are nearly well-formed", async () => {
      const id = "0af7651916cd43dd8448eb211c80319c"
      const values = [
        ["traceparent", `00-${id}-b7ad6b7169203331-01`],
        ["traceparent", `ff-${id}-b7ad6b7169203331-01`],
        ["traceparent", "00-00000000000000000000000000000000-0000000000000000-00"],
        ["traceparent", `00-${id}-b7ad6b7169203331-zz`],
        ["b3", `${id}-b7ad6b7169203331-1`],
        ["b3", "0"],
        ["b3", "---"],
        ["x-b3-traceid", "x"]
      ] as const
      await inBatches(values, (header) => ask("/v1/carrier/9104", [...key()!, header]))
    })

    it("as bodies of requests that take none", async () => {
      for (const body of ["", "{", "\u0000", "a".repeat(500_000)]) {
        for (const method of ["GET", "POST", "DELETE"]) {
          const answer = await send(platform().url, { method, target: "/v1/carrier/9104", headers: key()!, body })
          expectCallersFault(answer, `${method} with a body of ${body.length}`)
        }
      }
    })
  })

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
  })

  describe("whatever a generator comes up with", () => {
    const text = Arbitrary.schema(Schema.String)
    const name = Arbitrary.schema(Schema.Union([Schema.Literals(parameters), Schema.String]))
    const pairs = Arbitrary.array(Arbitrary.schema(Schema.Tuple([Schema.String, Schema.String])), { maxLength: 5 })
    const path = Arbitrary.schema(Schema.Literals([...publicPaths, "/v1/carrier/", "/v1/npa/", "/"]))

    property.effect.prop(
      "as a path and a query",
      { path, segment: text, name, value: text, pairs },
      ({ name, pairs, path, segment, value }) =>
        Effect.promise(async () => {
          const query = [[name, value] as const, ...pairs]
            .map(([left, right]) => `${encode(left)}=${encode(right)}`)
            .join("&")
          await ask(`${path}${path.endsWith("/") ? encode(segment) : ""}?${query}`)
        }),
      { arbitrary: { runs: 400, concurrency } }
    )

    property.effect.prop(
      "as bytes",
      { bytes: Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))) },
      ({ bytes }) =>
        Effect.promise(async () => {
          const target = Buffer.from(bytes.filter((byte) => byte > 32))
          const answer = await exchange(
            platform().url,
            Buffer.concat([
              Buffer.from("GET /v1/carrier/"),
              target,
              Buffer.from(` HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-API-Key: ${platform().key}\r\n\r\n`)
            ])
          )
          expectCallersFault(answer, target.toString("hex"))
        }),
      { arbitrary: { runs: 200, concurrency } }
    )

    property.effect.prop(
      "as JSON",
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

/** Percent-encodes what a URI cannot hold; lone surrogates, which have no encoding, become U+FFFD. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed())
