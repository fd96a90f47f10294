/** Specifications of the sentences about DMARC records: given a zone, when it is checked, then status and sentence. */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { judgeAuthentication } from "../../../../src/send/senders/authentication/checkAuthentication.ts"
import { parseDmarc } from "../../../../src/send/senders/authentication/dmarcRecord.ts"
import { often } from "../../../support/often.ts"
import { answerOf, domain, verdictsIn, type Zone } from "./zone.ts"

const own = `_dmarc.${domain}`
const dmarcOf = (zone: Zone, ...rest: [route?: { readonly returnPath?: string }, isSigned?: boolean]) =>
  verdictsIn(zone, ...rest).dmarc
const given = (...texts: ReadonlyArray<string>) => dmarcOf({ [own]: { texts } })

describe("a DMARC record", () => {
  it("is missing where there is none, and another text is none", () => {
    const told = given("some other text")
    expect(told).toMatchObject({ name: own, status: "missing", advised: "v=DMARC1; p=none;" })
    expect(told.message).toContain(own)
  })

  it.each([
    "v=DMARC1; p=reject",
    "v=DMARC1;p=quarantine;",
    "v = DMARC1 ; P = Reject ; rua=mailto:a@b.example!10m, mailto:c@d.example; pct=100; fo=1:d:s; adkim=s; x=y"
  ])("passes: %s", (record) => expect(given(record)).toMatchObject({ name: own, status: "pass", advised: null }))

  it("that only asks for reports is advice", () => {
    expect(given("v=DMARC1; p=none")).toMatchObject({
      status: "advice",
      message: expect.stringContaining("p=quarantine")
    })
  })

  it.each([
    ["v=DMARC1", "no policy"],
    ["v=DMARC1 p=none", "v=DMARC1 p=none"],
    ["v=dmarc1; p=none", "v=dmarc1"],
    ["v=DMARC1; p=nothing", "p=nothing"],
    ["v=DMARC1; p=none; p=reject", "p= twice"],
    ["v=DMARC1; p=none; rua=reports@a.example", "rua=reports@a.example"],
    ["v=DMARC1; p=none; rua=mailto:a.example", "rua=mailto:a.example"],
    ["v=DMARC1; p=none; pct=101", "pct=101"],
    ["v=DMARC1; p=none; adkim=relaxed", "adkim=relaxed"],
    ["v=DMARC1; p=none;; sp=none", '""'],
    ["v=DMARC1; constructor", "constructor"]
  ])("is invalid, and its part is named: %s", (record, part) => {
    const told = given(record)
    expect(told.status).toBe("invalid")
    expect(told.message).toContain(part)
  })

  it("is none where there are several", () => {
    expect(given("v=DMARC1; p=none", "v=DMARC1; p=reject")).toMatchObject({
      status: "invalid",
      message: expect.stringContaining("several")
    })
  })

  it("is not known where nobody answers", () => expect(dmarcOf({ [own]: "silent" }).status).toBe("unknown"))
})

describe("a subdomain", () => {
  const judged = (zone: Zone) =>
    judgeAuthentication({ domain: "news.a.example", isSigned: true }, {}, (question) =>
      answerOf(zone, question)
    ).verdicts.at(-1)!

  it("has its organization's policy for subdomains, unless it has its own", () => {
    const above = { [own]: { texts: ["v=DMARC1; p=reject; sp=none"] } }
    expect(judged(above)).toMatchObject({ name: own, status: "advice" })
    expect(judged({ [own]: { texts: ["v=DMARC1; p=reject"] } })).toMatchObject({ name: own, status: "pass" })
    const both = { ...above, "_dmarc.news.a.example": { texts: ["v=DMARC1; p=reject"] } }
    expect(judged(both)).toMatchObject({ name: "_dmarc.news.a.example", status: "pass" })
    expect(judged({})).toMatchObject({ name: "_dmarc.news.a.example", status: "missing" })
  })
})

describe("mail whose DKIM key is not published", () => {
  const rejects: Zone = { [own]: { texts: ["v=DMARC1; p=reject"] } }
  it("cannot pass if its return path belongs to others", () => {
    expect(dmarcOf(rejects, { returnPath: "bounces.example" }, false)).toMatchObject({
      status: "invalid",
      message: expect.stringContaining("set the DKIM record")
    })
    expect(dmarcOf(rejects, { returnPath: "bounces.example" }, true).status).toBe("pass")
  })

  it("can pass by SPF with a return path of its own, or of its organization unless SPF is strict", () => {
    expect(dmarcOf(rejects, {}, false).status).toBe("pass")
    expect(dmarcOf(rejects, { returnPath: "bounces.a.example" }, false).status).toBe("pass")
    const strict: Zone = { [own]: { texts: ["v=DMARC1; p=reject; aspf=s"] } }
    expect(dmarcOf(strict, { returnPath: "bounces.a.example" }, false).status).toBe("invalid")
  })
})

const Piece = Schema.Union([
  Schema.Literals(["v=DMARC1", "p=none", "sp=", "rua=mailto:a@b", ";", " ", "="]),
  Schema.String
])

describe("any text", () => {
  it.prop(
    "is a record or has a fault, and is never an exception",
    [Schema.Array(Piece).check(Schema.isMaxLength(8))],
    ([pieces]) => {
      const parsed = parseDmarc(pieces.join(""))
      if (Result.isFailure(parsed)) expect(parsed.failure).not.toBe("")
    },
    { arbitrary: { runs: often(300) } }
  )
})
