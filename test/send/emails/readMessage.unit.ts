/** Emails as requests give them (docs/platform.md, 9.10): what is kept of them, and the first fault of each field. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { EmailForm } from "../../../src/send/emails/forms.ts"
import { type Checks, readEmail, readEmails, readTime } from "../../../src/send/emails/readMessage.ts"

const now = Date.parse("2026-03-01T12:00:00Z")
const checks: Checks = {
  mode: "live",
  now,
  pathProblem: (path) => (path.startsWith("https://") ? undefined : "Expected an https address")
}
const mail: EmailForm = { from: "ann@one.test", to: "bob@two.test", subject: "Hello", text: "Hi" }

const read = (more: object, with_: Partial<Checks> = {}) =>
  Result.getOrThrow(readEmail({ ...mail, ...more }, { ...checks, ...with_ }))
const faultOf = (more: object, with_: Partial<Checks> = {}) =>
  Result.match(readEmail({ ...mail, ...more }, { ...checks, ...with_ }), {
    onSuccess: () => "it was read",
    onFailure: (fault) => fault
  })

describe("an email", () => {
  it("is kept with what was left out as nothing", () => {
    expect(read({})).toEqual({
      message: {
        from: "ann@one.test",
        to: ["bob@two.test"],
        cc: [],
        bcc: [],
        replyTo: [],
        subject: "Hello",
        html: null,
        text: "Hi",
        headers: {},
        tags: [],
        attachments: []
      },
      recipients: ["bob@two.test"],
      signals: [],
      scheduledAt: undefined
    })
  })

  it("is kept with all that it has", () => {
    const email = read({
      to: ["a@b.com", "Cara <c@EXÄMPLE.com>"],
      cc: "d@b.com",
      bcc: ["e@b.com"],
      reply_to: "f@b.com",
      headers: { "X-One": "1", "List-Unsubscribe": "<mailto:a@b.com>" },
      tags: [{ name: "a-1", value: "B_2" }],
      attachments: [
        { content: "dGV4dA==", filename: "ä.txt", content_type: "text/plain; charset=utf-8", content_id: "a@b" },
        { path: "https://files.one.test/a.pdf", filename: false }
      ],
      scheduled_at: "2026-03-01T14:00:00.5+01:00"
    })
    expect(email.message).toMatchObject({
      to: ["a@b.com", "Cara <c@xn--exmple-cua.com>"],
      cc: ["d@b.com"],
      bcc: ["e@b.com"],
      replyTo: ["f@b.com"],
      headers: { "X-One": "1", "List-Unsubscribe": "<mailto:a@b.com>" },
      tags: [{ name: "a-1", value: "B_2" }],
      attachments: [
        {
          content: "dGV4dA==",
          filename: "ä.txt",
          path: null,
          contentType: "text/plain; charset=utf-8",
          contentId: "a@b"
        },
        { content: null, filename: null, path: "https://files.one.test/a.pdf", contentType: null, contentId: null }
      ]
    })
    expect(email.recipients).toEqual(["a@b.com", "Cara <c@xn--exmple-cua.com>", "d@b.com", "e@b.com"])
    expect(email.scheduledAt).toBe(now + 3_600_500)
  })

  it("is looked at for risky content", () => {
    expect(read({ text: "https://bit.ly/3x" }).signals).toEqual(["foreign_link", "shortened_link"])
  })

  it("[platform 9.10] may have a subject of 500 characters, whatever they take", () => {
    expect(read({ subject: "😀".repeat(500) }).message.subject).toHaveLength(1_000)
    expect(faultOf({ subject: "😀".repeat(501) })).toContain("at most 500 characters")
  })

  it("may have lines in its bodies, and no NUL", () => {
    expect(read({ html: "<p>\r\n</p>", text: null }).message).toMatchObject({ html: "<p>\r\n</p>", text: null })
    expect(faultOf({ text: "a\0b" })).toContain("'text'")
  })

  it("goes to the simulator for test keys alone", () => {
    const to = "complained+1@simulator.invalid"
    expect(faultOf({ to })).toContain("for test keys")
    expect(read({ to }, { mode: "test" }).recipients).toEqual([to])
  })

  it.each([
    ["no recipient", { to: [] }, "Invalid field 'to'. Expected at least one address."],
    ["an address that is none", { to: ["a@b.com", "x"] }, "Invalid field 'to.1': \"x\""],
    [
      "51 recipients",
      { to: Array.from({ length: 26 }, () => "a@b.com"), cc: Array.from({ length: 25 }, () => "a@b.com") },
      "51 were given"
    ],
    ["51 addresses to answer to", { reply_to: Array.from({ length: 51 }, () => "a@b.com") }, "'reply_to'"],
    ["neither body", { text: null }, "'html' or 'text'"],
    ["a subject of two lines", { subject: "a\r\nBcc: x@y.com" }, "one line"],
    ["a subject with a line separator", { subject: "a\u2028b" }, "one line"],
    ["half a character", { subject: "\ud800" }, "one line"],
    ["a header of the platform's", { headers: { "message-ID": "<1>" } }, "writes this header itself"],
    ["a header of the platform's own", { headers: { "X-Sluice-Route": "a" } }, "writes this header itself"],
    ["an unsubscription by another word", { headers: { "X-Sluice-Unsubscribe": "yes" } }, "Expected one-click"],
    [
      "two ways to unsubscribe",
      { headers: { "x-sluice-unsubscribe": "one-click", "List-Unsubscribe": "<https://one.test/>" } },
      "Expected either 'X-Sluice-Unsubscribe' or headers 'List-Unsubscribe' of your own"
    ],
    ["a header of the content", { headers: { "Content-Type": "text/html" } }, "writes this header itself"],
    ["a header name with a line end", { headers: { "X-A\r\nBcc": "1" } }, "Expected names"],
    ["a header name with a colon", { headers: { "X:A": "1" } }, "Expected names"],
    ["a header value of two lines", { headers: { "X-A": "1\r\nBcc: x@y.com" } }, "'headers.X-A'"],
    ["a header that no line can hold", { headers: { "X-A": "a".repeat(901) } }, "without a blank between them"],
    ["a header twice", { headers: { "X-A": "1", "x-a": "2" } }, "given twice"],
    [
      "51 headers",
      { headers: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`X-${n}`, "1"])) },
      "51 were given"
    ],
    ["a tag with a blank", { tags: [{ name: "a b", value: "c" }] }, "'tags.0.name'"],
    ["an empty tag", { tags: [{ name: "a", value: "" }] }, "'tags.0.value'"],
    ["51 tags", { tags: Array.from({ length: 51 }, () => ({ name: "a", value: "b" })) }, "51 were given"],
    [
      "11 attachments",
      { attachments: Array.from({ length: 11 }, () => ({ content: "", filename: "a" })) },
      "11 were given"
    ],
    ["an attachment without anything", { attachments: [{ filename: "a" }] }, "either 'content' or 'path'"],
    ["an attachment with both", { attachments: [{ content: "", path: "https://a.b/c", filename: "a" }] }, "either"],
    ["a content without a name", { attachments: [{ content: "dGV4dA==" }] }, "'attachments.0.filename'"],
    ["a content that is no base64", { attachments: [{ content: "a b=", filename: "a" }] }, "Expected base64"],
    ["a content of half a group", { attachments: [{ content: "dGV4dA", filename: "a" }] }, "Expected base64"],
    ["a path without https", { attachments: [{ path: "http://a.b/c" }] }, "Expected an https address"],
    ["a filename with a line end", { attachments: [{ content: "", filename: "a\r\nb" }] }, "'attachments.0.filename'"],
    ["a filename with a folder", { attachments: [{ content: "", filename: "../a" }] }, "without slashes"],
    [
      "a content type with a line end",
      { attachments: [{ content: "", filename: "a", content_type: "a/b\r\nX: y" }] },
      "media type"
    ],
    [
      "a content id with a line end",
      { attachments: [{ content: "", filename: "a", content_id: "a\n" }] },
      "content_id"
    ],
    [
      "words that are no time",
      { scheduled_at: "soon" },
      "Invalid field 'scheduled_at': \"soon\". Expected ISO 8601 such as 2026-03-01T09:30:00Z, or words such as 'in 2 hours', 'tomorrow at 9am' or 'Friday at 3pm ET'."
    ],
    ["words for more than 30 days ahead", { scheduled_at: "in 31 days" }, "at most 30 days"],
    ["a time more than 30 days ahead", { scheduled_at: "2026-03-31T12:00:01Z" }, "at most 30 days"]
  ])("[platform 9.10] is refused with %s", (_, more, told) => {
    expect(faultOf(more)).toContain(told)
  })

  it("of a batch is named by its place", () => {
    const both = readEmails([mail, { ...mail, to: "x" }], checks)
    expect(Result.isFailure(both) && both.failure).toMatch(/^Email 1: Invalid field 'to': "x"/)
  })
})

describe("a time", () => {
  it.each([
    ["2026-03-01T13:00:00Z", now + 3_600_000],
    ["2026-03-01T13:00Z", now + 3_600_000],
    ["2026-03-01T13:00:00.250Z", now + 3_600_250],
    ["2026-03-01T08:00:00-05:00", now + 3_600_000],
    ["2020-02-29T00:00:00Z", Date.parse("2020-02-29T00:00:00Z")],
    ["2026-03-01T13:00:00", now + 3_600_000],
    ["in 1 hour", now + 3_600_000],
    ["in 30 days", now + 30 * 86_400_000],
    ["2026-03-31T12:00:00Z", now + 30 * 86_400_000]
  ])("%s is read", (text, millis) => {
    expect(readTime(text, now)).toEqual(Result.succeed(millis))
  })

  it.each([
    "2026-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-03-01T24:00:00Z",
    "2026-3-1T00:00:00Z",
    "2026-03-01",
    ""
  ])("%j is none", (text) => {
    expect(Result.isFailure(readTime(text, now))).toBe(true)
  })
})
