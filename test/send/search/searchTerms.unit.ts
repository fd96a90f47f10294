/** Words by which emails are found (docs/platform.md, 9.20): terms narrow a search, the content decides. */
import { createSecretKey } from "node:crypto"
import { it as property } from "@effect/vitest"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { Message } from "../../../src/send/Message.ts"
import {
  blocksOf,
  type EmailSearch,
  isDecidedByTerms,
  matches,
  maximumTerms,
  searchProblem,
  termBytes,
  termsOf,
  termsOfSearch
} from "../../../src/send/search/searchTerms.ts"
import { termDigests } from "../../../src/send/search/termDigests.ts"
import { often } from "../../support/often.ts"

const message = (more: Partial<Message>): Message => ({
  from: "Shop <hello@shop.example>",
  to: ["Ada Lovelace <ada.lovelace@example.com>"],
  cc: [],
  bcc: [],
  replyTo: [],
  subject: "Your order 4711 is on its way",
  html: null,
  text: "Hello",
  headers: {},
  tags: [],
  attachments: [],
  keyId: "key_1",
  ...more
})

/** Whether the rows that have a search's terms contain the email. */
const isCandidate = (one: Message, search: EmailSearch): boolean => {
  const terms = new Set(termsOf(one))
  return termsOfSearch(search).every((group) => group.some((term) => terms.has(term)))
}

const isFound = (one: Message, search: EmailSearch): boolean => isCandidate(one, search) && matches(one, search)

describe("[platform 9.20] an email is found", () => {
  it.each<[string, EmailSearch]>([
    ["by a whole address", { recipient: "ada.lovelace@example.com" }],
    ["by the beginning of an address", { recipient: "ada.lovelace@ex" }],
    ["by a name, in any case", { recipient: "LOVELACE ada" }],
    ["by a recipient's domain", { recipient: "example.com" }],
    ["by the sender", { sender: "hello@shop.example" }],
    ["by words of the subject, in any order", { subject: "way order" }],
    ["by the beginning of a word", { subject: "ord" }],
    ["by a number", { subject: "4711" }],
    ["by a short word", { subject: "on" }],
    ["by words of different fields", { anywhere: "lovelace order shop" }],
    ["by its key", { key: "key_1" }],
    ["by several together", { recipient: "ada", subject: "order", key: "key_1" }]
  ])("%s", (_, search) => {
    expect(isFound(message({}), search)).toBe(true)
  })

  it.each<[string, EmailSearch]>([
    ["by a word of another field", { subject: "lovelace" }],
    ["by the middle of a word", { subject: "rder" }],
    ["by the beginning of a short word", { subject: "o" }],
    ["by a longer word", { subject: "orders" }],
    ["where one word is missing", { subject: "order 4712" }],
    ["by parts of different addresses", { recipient: "ada@example.com" }],
    ["by another key", { key: "key_2" }]
  ])("not %s", (_, search) => {
    expect(isFound(message({}), search)).toBe(false)
  })

  it("without accents and with other letters", () => {
    const one = message({ to: ["Zoë Müller <zoe@example.com>"], subject: "Ваш заказ ﬁnal" })
    for (const search of [{ recipient: "muller" }, { recipient: "ZOË" }, { subject: "ЗАКАЗ" }, { subject: "final" }])
      expect([search, isFound(one, search)]).toEqual([search, true])
  })

  it("among copies too", () => {
    expect(isFound(message({ bcc: ["eve@hidden.example"] }), { recipient: "eve@hidden.example" })).toBe(true)
  })
})

it("[platform 9.20] a text without words, or with too many, is refused", () => {
  expect(searchProblem("@ . -")).toBe("Expected at least one letter or digit")
  expect(searchProblem("a ".repeat(17))).toBe("Expected at most 16 words")
  expect(searchProblem("a".repeat(201))).toBe("Expected at most 200 characters")
  expect(searchProblem("ada@example.com")).toBeUndefined()
})

it("[platform 9.20] the terms of an email are bounded", () => {
  const to = Array.from({ length: 50 }, (_, at) => {
    const own = String.fromCharCode(97 + (at % 26), 97 + Math.floor(at / 26))
    return `${own}given ${own}surname <${own}one.${own}two@${own}domain.example>`
  })
  expect(termsOf(message({ to }))).toHaveLength(maximumTerms)
})

it("[platform 9.20] a term that is longer than its block has a block of its own", () => {
  const blocks = blocksOf(["sабвгдежз", "sабвгдежя", "sabc"])
  expect(blocks).toHaveLength(3 * termBytes)
  expect(blocks.subarray(0, termBytes).equals(blocks.subarray(termBytes, 2 * termBytes))).toBe(false)
})

it("[platform 9.20] a term has one digest under a key, and another under another key", () => {
  const [one, other] = [createSecretKey(Buffer.alloc(32, 1)), createSecretKey(Buffer.alloc(32, 2))]
  const terms = termsOf(message({}))
  const digests = termDigests(one, terms)
  expect(new Set(digests).size).toBe(terms.length)
  expect(termDigests(one, terms.toReversed())).toEqual(digests.toReversed())
  expect(digests.filter((digest) => termDigests(other, terms).includes(digest))).toEqual([])
})

// Few letters, so that words often agree.
const Word = Schema.Array(Schema.Literals(["a", "b", "é", "1"])).check(Schema.isMinLength(1), Schema.isMaxLength(10))
const Phrase = Schema.Array(Word).check(Schema.isMinLength(1), Schema.isMaxLength(4))
const Address = Schema.Struct({ local: Word, domain: Word })

type Letters = ReadonlyArray<string>
const phraseOf = (all: ReadonlyArray<Letters>): string => all.map((word) => word.join("")).join(" ")
const addressOf = ({ domain, local }: typeof Address.Type): string => `${local.join("")}@${domain.join("")}.example`

/** The words of a text, as a reader would cut them. */
const cut = (text: string): ReadonlyArray<string> =>
  text
    .normalize("NFD")
    .replaceAll("\u0301", "")
    .toLowerCase()
    .split(/[ @.<>]+/)
    .filter((one) => one !== "")

const naiveHas = (texts: ReadonlyArray<string>, wanted: string): boolean =>
  cut(wanted).every((one) =>
    texts.flatMap(cut).some((other) => (one.length < 3 ? other === one : other.startsWith(one)))
  )

property.prop(
  "[platform 9.20] finds what a look at every email finds",
  [Address, Address, Phrase, Schema.Literals(["recipient", "sender", "subject", "anywhere"]), Phrase],
  ([from, to, subject, field, wanted]) => {
    const one = message({ from: addressOf(from), to: [addressOf(to)], subject: phraseOf(subject) })
    const search = { [field]: phraseOf(wanted) }
    const texts = { recipient: one.to, sender: [one.from], subject: [one.subject] }
    const naive = naiveHas(field === "anywhere" ? Object.values(texts).flat() : texts[field], phraseOf(wanted))
    expect([search, isFound(one, search)]).toEqual([search, naive])
    if (isDecidedByTerms(search)) expect([search, isCandidate(one, search)]).toEqual([search, naive])
  },
  { arbitrary: { runs: often(2_000) } }
)

property.prop(
  "[platform 9.20] finds every address by any beginning of it",
  [Address, Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 30 }))],
  ([address, length]) => {
    const to = addressOf(address)
    const typed = to.slice(0, length)
    // A beginning without the sign is a word, of which three characters are enough.
    if (!typed.includes("@") && typed.length < 3) return
    expect([typed, isFound(message({ to: [to] }), { recipient: typed })]).toEqual([typed, true])
  },
  { arbitrary: { runs: often(400) } }
)
