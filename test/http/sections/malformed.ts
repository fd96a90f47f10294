/**
 * Malformed input of every kind in every place where the public API takes input. Nothing of it is answered with 500, hangs
 * or brings the server down; the fault is always the caller's. A list of the known devils, then whatever a generator comes
 * up with.
 */
import { it as property } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { exchange, type RawRequest, send } from "../exchange.ts"
import type { TestPlatform } from "../harness.ts"
import { badEscapes, concurrency, devils, expectCallersFault, inBatches } from "./devils.ts"

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

export const malformedSection = (platform: () => TestPlatform): void => {
  const key = (): RawRequest["headers"] => [["X-API-Key", platform().key]]

  const ask = async (target: string, headers = key()) =>
    expectCallersFault(await send(platform().url, { target, ...(headers === undefined ? {} : { headers }) }), target)

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
      // Every third of the product, so that the sweep stays below the request rate of its plan.
      await inBatches(
        targets.filter((_, index) => index % 3 === 0),
        (target) => ask(target)
      )
    })

    it("[directory 4] in every segment of a path", async () => {
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
  })
}

/** Percent-encodes what a URI cannot hold; lone surrogates, which have no encoding, become U+FFFD. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed())
