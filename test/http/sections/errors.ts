/**
 * Errors of the HTTP surface itself (docs/platform.md, 1.4 and 1.5): unknown paths and methods in each product's own
 * shape, bodies that are too large or no JSON, request ids, and what never becomes a request.
 */
import { describe, expect, it } from "vitest"
import { exchange, jsonOf, send } from "../exchange.ts"
import { request, type TestPlatform } from "../harness.ts"

const coded = (code: string) => ({ error: code, message: expect.stringMatching(/\S/) })
const sentence = { error: expect.stringMatching(/\s/) }
const nested = (code: string) => ({ error: { code, message: expect.stringMatching(/\S/) } })
const envelope = (code: string) => ({ success: false, error: { code, message: expect.stringMatching(/\S/) } })

/** Paths of every product that no route has, and the shape in which each product says so. */
const unknown = [
  ["/v1/carriers/9104", coded("not_found")],
  ["/v1/carrier/9104/exchanges", coded("not_found")],
  ["/v1/npa/212/nxx", coded("not_found")],
  ["/v1/npa/212/nxx/555/blocks", coded("not_found")],
  ["/v1/health/deep", coded("not_found")],
  ["/v1/stats/today", coded("not_found")],
  ["/health/deep", coded("not_found")],
  ["/stats/today", coded("not_found")],
  ["/v1/telco/nothing", coded("not_found")],
  ["/v1/webhooks/nothing/nothing/nothing", coded("not_found")],
  ["/v1/talk/nothing", sentence],
  ["/v1/send/nothing", nested("not_found")],
  ["/v1/billing/nothing", envelope("not_found")],
  ["/v1/events/nothing/nothing", envelope("not_found")],
  ["/api/billing/nothing", envelope("not_found")],
  ["/v1/voip/nothing", envelope("not_found")],
  ["/v1/transcribe/nothing", envelope("not_found")],
  ["/admin/v1/organizations", envelope("not_found")],
  ["/v1/carrierss", envelope("not_found")],
  ["/v1/npaa/212", envelope("not_found")],
  ["/v1/talks", envelope("not_found")],
  ["/v1/sender", envelope("not_found")],
  ["/v1", envelope("not_found")],
  ["/favicon.ico", envelope("not_found")],
  ["/nothing", envelope("not_found")]
] as const

/** Pages that only read, which the API's description does not list, and the shape in which they refuse another method. */
const readOnly = [
  ["/openapi.json", envelope("method_not_allowed")],
  ["/docs", envelope("method_not_allowed")]
] as const

/** Above every limit of a request's headers. */
const megabyte = "a".repeat(1_000_000)

const requestId = /^[\x21-\x7e]{1,128}$/

export const errorsSection = (platform: () => TestPlatform): void => {
  describe("unknown paths", () => {
    it.each(unknown)("[platform 1.4] %s is 404 in its product's shape, for any method", async (path, shape) => {
      for (const method of ["GET", "POST", "DELETE"]) {
        const { body, status } = await platform().get(path, { method })
        expect(status, method).toBe(404)
        expect(body).toStrictEqual(shape)
      }
    })

    it("need no key to be unknown", async () => {
      expect((await request(`${platform().url}/v1/telco/nothing`)).status).toBe(404)
    })

    it("of the admin API are 404 in the generic envelope", async () => {
      const { body, status } = await platform().admin("GET", "/admin/v1/nothing")
      expect(status).toBe(404)
      expect(body).toStrictEqual(envelope("not_found"))
      expect((await request(`${platform().adminUrl}/v1/carriers`)).body).toStrictEqual(coded("not_found"))
    })
  })

  describe("other spellings of a path", () => {
    it.each([
      "/V1/carriers",
      "/v1/carriers/",
      "//v1/carriers",
      "/v1//carriers",
      "/v1/Carriers"
    ])("%s is either that path or unknown, in every respect", async (path) => {
      const read = await platform().get(`${path}?limit=x`)
      const written = await platform().get(path, { method: "POST" })
      expect([400, 404]).toContain(read.status)
      if (read.status === 400) {
        expect(read.body).toStrictEqual(coded("invalid_request"))
        expect(written.status).toBe(405)
        expect(written.body).toStrictEqual(coded("method_not_allowed"))
        expect(written.headers.get("allow")).toBe("GET, HEAD")
      } else {
        expect(written.status).toBe(404)
        expect(written.body).toStrictEqual(read.body)
      }
    })
  })

  describe("methods", () => {
    it.each(readOnly)("[platform 1.4] %s refuses all but reading, in its product's shape", async (path, shape) => {
      for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
        const { body, headers, status } = await platform().get(path, { method })
        expect(status, method).toBe(405)
        expect(body).toStrictEqual(shape)
        expect(headers.get("allow")).toBe("GET, HEAD")
      }
    })

    it.each([
      "/v1/carriers?limit=2",
      "/v1/carrier/9104",
      "/v1/health",
      "/livez",
      "/openapi.json",
      "/docs"
    ])("HEAD %s answers as GET does, without a body", async (path) => {
      const get = await platform().get(path)
      const head = await platform().get(path, { method: "HEAD" })
      expect(head.status).toBe(get.status)
      expect(head.body).toBe("")
      expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"))
    })

    it("HEAD of what is refused or unknown has the status and no body", async () => {
      for (const [path, status] of [
        ["/v1/carrier/ZZZ9", 404],
        ["/v1/carrier/1", 400],
        ["/nothing", 404]
      ] as const) {
        const head = await platform().get(path, { method: "HEAD" })
        expect(head.status, path).toBe(status)
        expect(head.body).toBe("")
      }
      expect((await request(`${platform().url}/v1/carriers`, { method: "HEAD" })).status).toBe(401)
    })

    it("[platform 1.1] the Host header changes nothing", async () => {
      const { key, url } = platform()
      const answer = await exchange(
        url,
        `GET /v1/carrier/9104 HTTP/1.1\r\nHost: send.example.com\r\nConnection: close\r\nX-API-Key: ${key}\r\n\r\n`
      )
      expect(answer.status).toBe(200)
      expect(jsonOf(answer)).toMatchObject({ ocn: "9104" })
    })
  })

  describe("request ids", () => {
    it.each(["req-1", "0af7651916cd43dd8448eb211c80319c", "a.b:c_d-e", "x".repeat(128)])("%s is kept", async (id) => {
      const { key } = platform()
      for (const path of ["/v1/carrier/9104", "/v1/carrier/1", "/nothing"]) {
        const { headers } = await platform().get(path, { headers: { "x-request-id": id, "x-api-key": key } })
        expect(headers.get("x-request-id"), path).toBe(id)
      }
    })

    it.each([
      ["empty", ""],
      ["with a space", "a b"],
      ["too long", "x".repeat(129)],
      ["not ASCII", "é"],
      ["JSON", '{"a":1}']
    ])("one that is %s is replaced", async (_, id) => {
      const answer = await send(platform().url, { target: "/livez", headers: [["X-Request-Id", id]] })
      expect(answer.status).toBe(200)
      expect(answer.headers["x-request-id"]).toMatch(requestId)
      expect(answer.headers["x-request-id"]).not.toBe(id)
    })

    it("[platform 1.3] one is made for every request that brings none", async () => {
      const replies = await Promise.all(Array.from({ length: 20 }, () => platform().get("/v1/carrier/9104")))
      expect(new Set(replies.map(({ headers }) => headers.get("x-request-id"))).size).toBe(20)
    })
  })

  describe("bodies", () => {
    const post = (headers: Record<string, string>, body: string | Uint8Array, path = "/admin/v1/organizations") =>
      send(platform().adminUrl, {
        method: "POST",
        target: path,
        headers: [["Authorization", `Bearer ${platform().adminKey}`], ...Object.entries(headers)],
        body
      })
    it("larger than the limit and sent in pieces, without a length: 413", async () => {
      const { adminKey, adminUrl } = platform()
      const piece = `10000\r\n${"a".repeat(65_536)}\r\n`
      const answer = await exchange(
        adminUrl,
        `POST /admin/v1/organizations HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${adminKey}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
        ...Array.from({ length: 8 }, () => piece),
        "0\r\n\r\n"
      )
      expect(answer.status).toBe(413)
      expect(jsonOf(answer)).toStrictEqual(envelope("payload_too_large"))
    })

    it("[platform 1.2] of JSON with a charset are taken", async () => {
      const answer = await post(
        { "Content-Type": "application/json; charset=utf-8" },
        JSON.stringify({ name: "charset" })
      )
      expect(answer.status).toBe(201)
      expect(answer.headers["x-request-id"]).toMatch(requestId)
    })

    it("need the credential before they are looked at", async () => {
      for (const authorization of ["", "Bearer ", "Bearer adm_wrong", `Basic ${platform().adminKey}`]) {
        const answer = await send(platform().adminUrl, {
          method: "POST",
          target: "/admin/v1/organizations",
          headers: [
            ["Authorization", authorization],
            ["Content-Type", "application/json"]
          ],
          body: "{"
        })
        expect(answer.status, authorization).toBe(401)
        expect(jsonOf(answer)).toStrictEqual(envelope("unauthorized"))
      }
    })
  })

  describe("what never becomes a request", () => {
    it.each([
      ["a header of 1 MB", () => `GET /livez HTTP/1.1\r\nHost: a\r\nX-Long: ${megabyte}\r\n\r\n`],
      ["a key of 1 MB", () => `GET /v1/carriers HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${megabyte}\r\n\r\n`],
      [
        "ten thousand headers",
        () =>
          `GET /livez HTTP/1.1\r\nHost: a\r\n${Array.from({ length: 10_000 }, (_, n) => `X-${n}: ${n}`).join("\r\n")}\r\n\r\n`
      ]
    ])("%s: 431", async (_, bytes) => {
      const answer = await exchange(platform().url, bytes())
      expect(answer.status).toBe(431)
      expect(answer.headers["content-type"]).toMatch(/^application\/json/)
      expect(jsonOf(answer)).toStrictEqual(envelope("request_header_fields_too_large"))
      expect(answer.headers["x-request-id"], "every response carries one").toMatch(requestId)
    })

    it("a path of 1 MB: 414 or 431", async () => {
      const answer = await exchange(platform().url, `GET /v1/carrier/${megabyte} HTTP/1.1\r\nHost: a\r\n\r\n`)
      expect([414, 431]).toContain(answer.status)
      expect(jsonOf(answer)).toMatchObject({ success: false, error: { message: expect.any(String) } })
    })

    it.each([
      ["no HTTP", "hello\r\n\r\n"],
      ["another version", "GET /livez HTTP/9.9\r\nHost: a\r\n\r\n"],
      ["a method that nobody knows", "FETCH /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"],
      ["a space in the target", "GET /v1/carrier/a b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"],
      ["a header without a colon", "GET /livez HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n"],
      ["NUL in a header", "GET /livez HTTP/1.1\r\nHost: a\r\nX-A: \0\r\n\r\n"],
      ["a length that is no number", "POST /v1/carriers HTTP/1.1\r\nHost: a\r\nContent-Length: ten\r\n\r\n"],
      [
        "a length and chunks, as smugglers do",
        "POST /v1/carriers HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
      ],
      ["a TLS greeting", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"]
    ])("%s: 400", async (_, bytes) => {
      const answer = await exchange(platform().url, Buffer.from(bytes, "latin1"))
      expect(answer.status).toBe(400)
      expect(answer.headers["content-type"]).toMatch(/^application\/json/)
      expect(jsonOf(answer)).toStrictEqual(envelope("invalid_request"))
      expect(answer.headers["x-request-id"], "every response carries one").toMatch(requestId)
    })

    it.each([
      ["no Host", "GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n"],
      ["an expectation that nobody knows", "GET /livez HTTP/1.1\r\nHost: a\r\nExpect: x\r\nConnection: close\r\n\r\n"]
    ])("a request with %s is served or refused like any other", async (_, bytes) => {
      const answer = await exchange(platform().url, bytes)
      expect([200, 400, 417]).toContain(answer.status)
      expect(answer.headers["content-type"]).toMatch(/^application\/json/)
      expect(answer.headers["x-request-id"], "every response carries one").toMatch(requestId)
    })
  })
}
