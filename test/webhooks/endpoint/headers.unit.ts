/** Headers that endpoints have of their own: what is refused and why, and what a change makes of them. */
import { request } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  areSameHeaders,
  decodeHeaders,
  encodeHeaders,
  headerChangesProblem,
  headersProblem,
  maximumHeaderNameLength,
  maximumHeaders,
  maximumHeadersBytes,
  maximumHeaderValueLength,
  mergedHeaders
} from "../../../src/webhooks/endpoint/headers.ts"
import { deliveryHeaders, makeSecret } from "../../../src/webhooks/secret/signature.ts"

const value = "hidden-value"

describe("headers of an endpoint", () => {
  it.each([
    ["a token", { Authorization: `Bearer ${value}`, "x-api_key.v1~": "a" }],
    ["values of ISO 8859-1", { "X-Name": "Zoë, 100 % \xa0 sûr" }],
    ["as many as allowed", Object.fromEntries(Array.from({ length: maximumHeaders }, (_, at) => [`x-${at}`, "1"]))],
    ["a name and a value of the greatest length", { ["x".repeat(maximumHeaderNameLength)]: "v".repeat(1_000) }],
    ["names that only look like reserved ones", { "x-content-type": "a", "te-x": "b", hosts: "c", webhooks: "d" }]
  ])("may be %s", (_, headers) => {
    assert.isUndefined(headersProblem(headers))
  })

  it.each([
    ["more than allowed", Object.fromEntries(Array.from({ length: maximumHeaders + 1 }, (_, at) => [`x-${at}`, "1"]))],
    ["an empty name", { "": value }],
    ["a name with a blank", { "x y": value }],
    ["a name with a colon", { "x:": value }],
    ["a name with a line break", { "x\r\ny": value }],
    ["a name beyond ASCII", { "x-ü": value }],
    ["too long a name", { ["x".repeat(maximumHeaderNameLength + 1)]: value }],
    ["one name in two spellings", { "X-Key": value, "x-key": value }],
    ["an empty value", { "x-key": "" }],
    ["a value with a line break", { "x-key": `${value}\r\nx-other: 1` }],
    ["a value that ends in a line break", { "x-key": `${value}\n` }],
    ["a value with NUL", { "x-key": `${value}\0` }],
    ["a value with another control", { "x-key": `${value}\x07` }],
    ["a value with DEL or a control of ISO 8859-1", { "x-key": `${value}\x7f\x85` }],
    ["a value beyond ISO 8859-1", { "x-key": `${value} €` }],
    ["a value with a blank before it", { "x-key": ` ${value}` }],
    ["too long a value", { "x-key": "v".repeat(maximumHeaderValueLength + 1) }],
    [
      "too much in all",
      Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`x-${at}`, "v".repeat(maximumHeadersBytes / 5)]))
    ]
  ])("may not have %s, and the message tells no value", (_, headers) => {
    const problem = headersProblem(headers)
    assert.strictEqual(problem?.field, "headers")
    assert.notInclude(problem!.message, value)
    assert.notInclude(problem!.message, "vvv")
  })

  it.each([
    "Content-Type",
    "content-length",
    "Content-Encoding",
    "Host",
    "USER-AGENT",
    "Connection",
    "Transfer-Encoding",
    "TE",
    "Trailer",
    "Upgrade",
    "Expect",
    "Keep-Alive",
    "Proxy-Authorization",
    "proxy-connection",
    "webhook-id",
    "Webhook-Anything",
    "X-PlatformWebhook-Signature",
    "x-platformwebhook-later",
    "__proto__"
  ])("may not have the name %s, which the message tells", (name) => {
    assert.include(headersProblem(JSON.parse(`{${JSON.stringify(name)}: "1"}`))?.message, name)
  })

  it("[platform 6.10] may have none of the names that every delivery has", () => {
    const sent = deliveryHeaders({ eventId: "evt_1", nowMillis: 0, rawBody: "{}", secrets: [makeSecret()] })
    for (const name of Object.keys(sent)) assert.isDefined(headersProblem({ [name]: "1" }), name)
  })

  it.prop(
    "that are accepted are headers for an HTTP client, and read back as they were",
    { headers: Schema.Record(Schema.String, Schema.String) },
    ({ headers }) => {
      if (headersProblem(headers) !== undefined) return
      const made = request("http://127.0.0.1:1", { headers, agent: false })
      made.on("error", () => undefined).destroy()
      assert.deepStrictEqual(decodeHeaders(encodeHeaders(headers)), headers)
    }
  )
})

describe("a change of headers", () => {
  it("sets, replaces and removes by name, in any case of letters", () => {
    const before = { Authorization: "one", "X-Kept": "two", "X-Gone": "three" }
    assert.deepStrictEqual(mergedHeaders(before, { authorization: "four", "x-gone": null, "X-New": "five" }), {
      "X-Kept": "two",
      authorization: "four",
      "X-New": "five"
    })
  })

  it("may not name one header twice", () => {
    assert.include(headerChangesProblem({ "X-A": "1", "x-a": null })?.message, "x-a")
    assert.isUndefined(headerChangesProblem({ "X-A": "1", "x-b": null }))
  })

  it("that changes nothing is known as such, a change of letters is one", () => {
    assert.isTrue(areSameHeaders({ a: "1", b: "2" }, { b: "2", a: "1" }))
    for (const other of [{ a: "1" }, { a: "1", b: "3" }, { A: "1", b: "2" }, { a: "1", b: "2", c: "3" }])
      assert.isFalse(areSameHeaders({ a: "1", b: "2" }, other))
  })
})
