/** Properties of SPF walks over random zones, beside a model that counts look-ups naively. */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { type DnsAnswer, questionKey } from "../../../../src/send/senders/authentication/dnsAnswers.ts"
import { isSpf, parseSpf } from "../../../../src/send/senders/authentication/spfRecord.ts"
import { walkSpf } from "../../../../src/send/senders/authentication/spfWalk.ts"
import { often } from "../../../support/often.ts"
import { answerOf, type Zone } from "./zone.ts"

const names = ["a.example", "b.example", "c.example", "d.example"]

/** Look-ups of a record as one writes them down by hand: every term that names something, before `all`. */
const counted = (zone: Zone, name: string, depth = 0): number => {
  // Nobody counts further than the limit.
  if (depth > 11) return 11
  const there = zone[name]
  const terms = typeof there === "object" ? (there.texts![0]?.split(" ") ?? []) : []
  const end = terms.findIndex((term) => /^[-~?]all$/.test(term))
  const before = end === -1 ? terms : terms.slice(0, end)
  let sum = 0
  for (const term of before.filter((one) => !one.startsWith("redirect="))) {
    if (term.startsWith("include:")) sum += 1 + counted(zone, term.slice(8), depth + 1)
    else if (/^(a|mx|ptr|exists:)/.test(term)) sum += 1
    if (sum > 11) return 11
  }
  const redirect = before.find((term) => term.startsWith("redirect="))
  if (end === -1 && redirect !== undefined) sum += 1 + counted(zone, redirect.slice(9), depth + 1)
  return Math.min(sum, 11)
}

/** Walks to the end: the last walk, and every question that it took. */
const walked = (zone: Zone) => {
  const answers = new Map<string, DnsAnswer>()
  for (;;) {
    const walk = walkSpf("a.example", (question) => answers.get(questionKey(question)))
    if (walk.needs.length === 0) return { walk, asked: answers.size }
    for (const question of walk.needs) answers.set(questionKey(question), answerOf(zone, question))
  }
}

const goodTerms = [
  ...names.flatMap((name) => [`include:${name}`, `a:${name}`, `redirect=${name}`]),
  ...["a", "mx", "ptr", "exists:x%{i}.example", "ip4:192.0.2.1", "-all", "~all"]
]
const GoodTerm = Schema.Literals(goodTerms)
const AnyTerm = Schema.Union([
  GoodTerm,
  Schema.Literals(["+all", "a/99", "include:", "exists:e.example", "mx:e.example"]),
  Schema.String
])

const Zones = <Term extends Schema.Codec<string>>(term: Term, longest: number) =>
  Schema.Array(Schema.Array(term).check(Schema.isMaxLength(longest))).check(
    Schema.isMinLength(4),
    Schema.isMaxLength(4)
  )

const zoneOf = (records: ReadonlyArray<ReadonlyArray<string>>): Zone =>
  Object.fromEntries(
    records.map((terms, at) => [
      names[at]!,
      {
        texts: [["v=spf1", ...terms].join(" ")],
        addresses: ["192.0.2.1"],
        mailHosts: ["m.example"]
      }
    ])
  )

/** A record redirects once. */
const redirectsOnce = (terms: ReadonlyArray<string>) =>
  terms.filter(
    (term, at) => !term.startsWith("redirect=") || terms.findIndex((one) => one.startsWith("redirect=")) === at
  )

describe("a walk", () => {
  it.prop(
    "counts as the model does",
    [Zones(GoodTerm, 5)],
    ([records]) => {
      const zone = zoneOf(records.map(redirectsOnce))
      const { walk } = walked(zone)
      const expected = counted(zone, "a.example")
      expect(walk.lookups).toBe(expected)
      expect(walk.fault?._tag === "TooManyLookups").toBe(expected > 10)
    },
    { arbitrary: { runs: often(400) } }
  )

  it.prop(
    "asks for its own record and at most ten more things, whatever the records say",
    [Zones(AnyTerm, 14)],
    ([records]) => {
      const { asked, walk } = walked(zoneOf(records))
      expect(asked).toBeLessThanOrEqual(11)
      expect(walk.lookups).toBeLessThanOrEqual(11)
    },
    { arbitrary: { runs: often(300) } }
  )
})

const Piece = Schema.Union([
  Schema.Literals(["a", "mx/", "//", "include:", "%{", "}", "ip6:", "/0", "=", " ", "redirect", "."]),
  Schema.String
])

describe("any text", () => {
  it.prop(
    "is a record or has a fault, and is never an exception",
    [Schema.Array(Piece).check(Schema.isMaxLength(10))],
    ([pieces]) => {
      const text = `v=spf1 ${pieces.join("")}`
      expect(isSpf(text)).toBe(true)
      const parsed = parseSpf(text)
      if (Result.isFailure(parsed)) expect(parsed.failure).not.toBe("")
    },
    { arbitrary: { runs: often(400) } }
  )

  it("of a name server is read at once, however long it is", () => {
    for (const piece of ["%{i}", "a/", "1", ".", "-", " "])
      expect(Result.isFailure(parseSpf(`v=spf1 a:${piece.repeat(10_000)}`))).toBe(true)
  })
})
