/** Messages that never become a request, or not in time (docs/platform.md, 1.2 and 1.4): the answers of the server itself, each in the shape of the product that its path belongs to. */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeNodeServer } from "../../src/http/server.ts"
import { exchange, jsonOf } from "./exchange.ts"

const server = makeNodeServer({ headersMillis: 100, requestMillis: 200, checkMillis: 10 })
let url = ""

beforeAll(async () => {
  // It reads no body, as a handler that waits for the whole of it.
  server.on("request", (request) => request.resume())
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, "close")
})

const late = "The request took too long to arrive."
const headOf = (path: string, more = "") => `POST ${path} HTTP/1.1\r\nHost: a\r\n${more}Content-Length: 9\r\n\r\n{`

describe("[platform 1.2] a request that does not come whole in time is 408", () => {
  it.each([
    ["/v1/send/emails", { error: { code: "request_timeout", message: late } }],
    ["/v1/send/emails?x=1", { error: { code: "request_timeout", message: late } }],
    ["/v1/webhooks", { error: "request_timeout", message: late }],
    ["/v1/talk/speech", { error: late }],
    ["/v1/billing/checkout", { success: false, error: { code: "request_timeout", message: late } }]
  ])("in the shape of its product: %s", async (path, body) => {
    const answer = await exchange(url, headOf(path))
    expect([answer.status, jsonOf(answer)]).toEqual([408, body])
    expect(answer.headers["x-request-id"]).toMatch(/^req_/)
  })

  it("flat for the package that reads errors so", async () => {
    const answer = await exchange(url, headOf("/v1/send/emails", "User-Agent: resend-node:6\r\n"))
    expect(jsonOf(answer)).toEqual({
      error: { code: "request_timeout", message: late },
      name: "application_error",
      message: late,
      statusCode: 408
    })
  })

  it("and so are headers that do not, in the generic shape: no path is known", async () => {
    const answer = await exchange(url, "POST /v1/send/emails HTTP/1.1\r\nHost: a\r\n")
    const error = { code: "request_timeout", message: late }
    expect([answer.status, jsonOf(answer)]).toEqual([408, { success: false, error }])
  })

  it("within the documented times", () => {
    const { headersTimeout, requestTimeout } = makeNodeServer()
    expect([headersTimeout, requestTimeout]).toEqual([15_000, 60_000])
  })
})

describe("[platform 1.4] what never becomes a request is refused in the generic shape", () => {
  it("where its headers are too large", async () => {
    const answer = await exchange(url, `GET /v1/send/emails HTTP/1.1\r\nHost: a\r\nX-A: ${"a".repeat(20_000)}\r\n\r\n`)
    const message = "The request's headers are larger than 16384 bytes."
    expect([answer.status, jsonOf(answer)]).toEqual([
      431,
      { success: false, error: { code: "request_header_fields_too_large", message } }
    ])
  })

  it("and where it is no HTTP", async () => {
    const answer = await exchange(url, "nonsense\r\n\r\n")
    expect([answer.status, jsonOf(answer)]).toEqual([
      400,
      { success: false, error: { code: "invalid_request", message: "This is not a well-formed HTTP request." } }
    ])
  })
})
