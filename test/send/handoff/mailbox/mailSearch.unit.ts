/** Searching the local mailbox (docs/handoff.md, 3.2): each field, the refusals, and a look at every mail as the model. */
import { it as property } from "@effect/vitest"
import { Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { CapturedMail } from "../../../../src/send/handoff/mailbox/MailboxFolder.ts"
import { matchesMail, maximumTerms, parseMailQuery } from "../../../../src/send/handoff/mailbox/mailSearch.ts"
import { often } from "../../../support/often.ts"
import { capturedOf } from "./mailOf.ts"

const finds = (mail: CapturedMail, query: string): boolean =>
  matchesMail(mail, Result.getOrThrow(parseMailQuery(query)))

const order = capturedOf({
  from: "Northwind <orders@shop.test>",
  to: ["Bob Baker <bob@two.test>"],
  cc: ["carol@three.test"],
  subject: "Your Order 1042 has shipped",
  text: "Follow it: https://shop.test/track",
  html: "<p>Caf&eacute; &amp; more</p><style>.secret{}</style>",
  tags: [{ name: "kind", value: "order" }],
  attachments: [{ filename: "invoice.pdf", content: "eA==", path: null, contentType: null, contentId: null }]
})

describe("[handoff 3.2] a search finds a mail", () => {
  it.each([
    ["without words", ""],
    ["by a word in any case", "oRdEr"],
    ["by all of its words", "order shipped"],
    ["by a phrase", '"1042 has"'],
    ["by the sender", "from:orders@shop"],
    ["by a recipient", "to:bob@two.test"],
    ["by a hidden recipient", "to:hidden@two.test"],
    ["by a copy", "cc:carol"],
    ["by words of the subject in quotes", 'subject:"Order 1042"'],
    ["by its text", "text:track"],
    ["by the words of its HTML", 'text:"& more"'],
    ["by an attachment", "has:attachment"],
    ["by an attachment's name", "filename:invoice"],
    ["by a tag", "tag:kind=order"],
    ["by its id", "id:em_1"],
    ["by its state", "is:unread is:live"],
    ["by the day", "after:2026-11-28 before:2026-11-29"],
    ["by the minute", "after:2026-11-28T13:00:00+01:00"],
    ["by an address, whose beginning is no field", "https://shop.test/track"],
    ["without a word that it lacks", "order -invoice.docx"]
  ])("%s", (_, query) => {
    expect(finds(order, query)).toBe(true)
  })

  it.each([
    ["by a word that it lacks", "order cancelled"],
    ["by the sender as a recipient", "to:orders@shop.test"],
    ["by a recipient as the sender", "from:bob"],
    ["by words of its styles", "secret"],
    ["once it is excluded", "-order"],
    ["by another state", "is:read"],
    ["by another mode", "is:test"],
    ["before its moment", "before:2026-11-28T12:00:00Z"],
    ["after its day", "after:2026-11-29"],
    ["without its attachment", "-has:attachment"]
  ])("not %s", (_, query) => {
    expect(finds(order, query)).toBe(false)
  })
})

describe("[handoff 3.2] a search is refused", () => {
  it.each([
    ["is:new", "'is:' takes unread, read, live, test; it has 'new'."],
    ["has:link", "'has:' takes attachment; it has 'link'."],
    [
      "before:yesterday",
      "'before:' takes a day such as 2026-11-28, or a time such as 2026-11-28T09:30:00Z; it has 'yesterday'."
    ],
    ["subject:", "'subject:' needs a text behind it."],
    ["a ".repeat(maximumTerms + 1), `The search has more than ${maximumTerms} parts.`],
    ["a".repeat(501), "The search is longer than 500 characters."]
  ])("%s", (query, message) => {
    const result = parseMailQuery(query)
    expect(Result.isFailure(result) && result.failure.message).toBe(message)
  })
})

// Few letters, so that words often agree.
const Word = Schema.Array(Schema.Literals(["a", "B", "é"])).check(Schema.isMinLength(1), Schema.isMaxLength(4))
const Term = Schema.Struct({
  isExcluded: Schema.Boolean,
  field: Schema.Literals(["", "from", "subject", "text", "cc"]),
  word: Word
})

property.prop(
  "[handoff 3.2] finds what a look at every field finds",
  [
    Schema.Struct({
      from: Word,
      subject: Word,
      text: Word,
      cc: Word,
      terms: Schema.Array(Term).check(Schema.isMaxLength(4))
    })
  ],
  ([given]) => {
    const text = (letters: ReadonlyArray<string>) => letters.join("")
    const fields = { from: text(given.from), subject: text(given.subject), text: text(given.text), cc: text(given.cc) }
    const { cc, ...single } = fields
    const to = ["z@z"]
    const mail = capturedOf({ ...single, cc: [cc], to, html: null }, { envelope: { from: "z", to } })
    const query = given.terms
      .map(({ field, isExcluded, word }) => `${isExcluded ? "-" : ""}${field === "" ? "" : `${field}:`}${text(word)}`)
      .join(" ")
    const expected = given.terms.every(({ field, isExcluded, word }) => {
      const wanted = text(word).toLowerCase()
      const places = field === "" ? Object.values(fields) : [fields[field]]
      return places.some((place) => place.toLowerCase().includes(wanted)) !== isExcluded
    })
    expect(finds(mail, query)).toBe(expected)
  },
  { arbitrary: { runs: often(400) } }
)
