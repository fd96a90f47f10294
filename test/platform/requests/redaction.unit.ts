/** Secrets and personal data that must not reach the request log (docs/platform.md, 2.12). */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  codeOf,
  keptFields,
  maximumBodyBytes,
  redactedAnswer,
  redactedBody,
  shownPath
} from "../../../src/platform/requests/redaction.ts"
import { often } from "../../support/often.ts"

/** A value all of whose texts are secrets. */
const hushed = (value: Schema.Json): unknown => {
  if (typeof value === "string") return `${value}hush`
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(hushed)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !keptFields.has(name))
      .map(([name, field]) => [name, hushed(field)])
  )
}

const bodyOf = (value: unknown) => redactedBody(Buffer.from(JSON.stringify(value)))

describe("bodies of requests", () => {
  it("[platform 2.12] keep their shape and harmless values, and lose everything else", () => {
    const mail = {
      from: "Ann <ann@one.test>",
      to: ["bob@two.test", "eve@three.test"],
      subject: "Hello",
      html: "<p>Private</p>",
      sbject: "misspelled",
      scheduled_at: "2026-01-31T12:00:00Z",
      headers: { "X-Campaign": "winter" },
      tags: [{ name: "kind", value: "invoice" }],
      attachments: [{ filename: "salary.pdf", content: "aGk=", content_type: "application/pdf" }],
      token: 12_345,
      tracked: true
    }
    expect(JSON.parse(bodyOf(mail))).toEqual({
      from: "[removed]",
      to: ["[removed]", "[removed]"],
      subject: "[removed]",
      html: "[removed]",
      sbject: "[removed]",
      scheduled_at: "2026-01-31T12:00:00Z",
      headers: { "X-Campaign": "[removed]" },
      tags: [{ name: "[removed]", value: "[removed]" }],
      attachments: [{ filename: "[removed]", content: "[removed]", content_type: "application/pdf" }],
      token: "[removed]",
      tracked: true
    })
    expect(JSON.parse(bodyOf([mail, mail]))[1].from).toBe("[removed]")
  })

  it("[platform 2.12] lose addresses, numbers and secrets that stand in the place of a harmless value", () => {
    const given = { kind: "bob@two.test", mode: "+12125550100", id: "sk_live_abcdef123456", types: ["whsec_abcdef"] }
    expect(JSON.parse(bodyOf(given))).toEqual({
      kind: "[removed]",
      mode: "[removed]",
      id: "[removed]",
      types: ["[removed]"]
    })
    expect(bodyOf({ "bob@two.test": 1, sk_live_abcdef123456: 1 })).toBe('{"[removed]":"[removed]"}')
    expect(JSON.parse(bodyOf({ kind: { mode: "inner" } }))).toEqual({ kind: { mode: "[removed]" } })
  })

  it("[platform 2.12] of no JSON, or of too much of it, are their size", () => {
    expect(redactedBody(Buffer.from('{"html": "cut'))).toBe("[13 bytes]")
    expect(redactedBody(Buffer.alloc(70_000, "1"))).toBe("[70000 bytes]")
    expect(JSON.parse(bodyOf({ ids: Array.from({ length: 13 }, (_, index) => `a${index}`) })).ids).toHaveLength(11)
  })

  it("[platform 2.12] name no field for a secret, an address or a content as harmless", () => {
    const secret = /password|secret|token|key|signature|auth|html|text|subject|attach|email|address|^to$|from|cc|name/i
    expect([...keptFields].filter((name) => secret.test(name))).toEqual([])
  })

  it.prop(
    "[platform 2.12] never show a text that is in no harmless field, and stay within their bound",
    [Schema.Json],
    ([value]) => {
      const kept = bodyOf(hushed(value))
      expect(kept).not.toContain("hush")
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(maximumBodyBytes)
    },
    { arbitrary: { runs: often(100) } }
  )

  it("[platform 2.12] are cut between characters", () => {
    const long = bodyOf(Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`n${at}`, Array(10).fill("ü")])))
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(maximumBodyBytes)
    expect(long.endsWith("…")).toBe(true)
    expect(long).not.toContain("\ufffd")
  })
})

describe("answers", () => {
  it("[platform 2.12] keep their sentence, and lose the values that it repeats", () => {
    const answer = (message: string) => JSON.parse(redactedAnswer(JSON.stringify({ error: { message } }))).error.message
    expect(answer(`Invalid field 'to': "Bob". Expected an address.`)).toBe(
      `Invalid field 'to': "[removed]". Expected an address.`
    )
    expect(answer(`The sender "Ann <ann@one.test>" is not verified`)).toBe(`The sender "[removed]" is not verified`)
    expect(answer("No number +12125550100 or (212) 555-0100")).toBe("No number [removed] or [removed]")
    expect(answer("ann@one.test is suppressed; key sk_live_abcdef")).toBe("[removed] is suppressed; key [removed]")
    expect(answer(`Expected "live" or "test"`)).toBe(`Expected "live" or "test"`)
    expect(redactedAnswer("<html>")).toBe("[6 characters]")
  })

  it("[platform 2.12] name their code in each shape", () => {
    expect(codeOf('{"error":{"code":"sending_paused","message":"x"}}')).toBe("sending_paused")
    expect(codeOf('{"error":"invalid_request","message":"x"}')).toBe("invalid_request")
    expect(codeOf('{"error":"Invalid API key"}')).toBe(null)
    expect(codeOf("null")).toBe(null)
  })
})

describe("paths", () => {
  it("[platform 2.12] keep ids, and no other parameter and no query", () => {
    expect(shownPath("/v1/send/emails/:id", "/v1/send/emails/em_5pVbXq2nLr8sWc1y?include=x")).toBe(
      "/v1/send/emails/em_5pVbXq2nLr8sWc1y"
    )
    expect(shownPath("/v1/telco/lookup/:tn", "/v1/telco/lookup/2125550100")).toBe("/v1/telco/lookup/{tn}")
    expect(shownPath("/v1/send/suppressions/:idOrEmail", "/v1/send/suppressions/bob%40two.test")).toBe(
      "/v1/send/suppressions/{idOrEmail}"
    )
    expect(shownPath("/v1/send/emails/:id", "/v1/send/emails/sk_live1234abcd")).toBe("/v1/send/emails/{id}")
    expect(shownPath(undefined, "/v1/telco/lookup/2125550100?a=b")).toBe("/v1/telco/lookup/{…}")
  })
})
