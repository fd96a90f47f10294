/** Reports as large mail systems write them, generated ones, broken ones, and documents that want to harm. */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import type { DmarcReport } from "../../../../src/send/senders/reports/model.ts"
import { parseDmarcReport } from "../../../../src/send/senders/reports/parseDmarcReport.ts"
import { parseTlsReport } from "../../../../src/send/senders/reports/parseTlsReport.ts"
import { often } from "../../../support/often.ts"
import { dmarcXml, draftXml, microsoftXml, tlsJson, yahooXml } from "./samples.ts"

const report = (xml: string) => Result.getOrThrow(parseDmarcReport(xml))
const fault = (xml: string): string => String(Result.getOrThrow(Result.flip(parseDmarcReport(xml))))
const time = { beginsAt: 1_795_737_600_000, endsAt: 1_795_823_999_000 }

const plain = dmarcXml({
  domain: "acme.example",
  reporter: "google.com",
  reportId: "1",
  ...time,
  records: [{ source: "192.0.2.1", count: 2, disposition: "none", isDkimAligned: true, isSpfAligned: false }]
})

describe("a DMARC report", () => {
  it("of Microsoft's form is read, its source and domain in their one spelling", () => {
    expect(report(microsoftXml)).toEqual({
      kind: "dmarc",
      domain: "acme.example",
      reporter: "Enterprise Outlook",
      reportId: "5d0c1d4a0b4e4f6f",
      beginsAt: 1_795_737_600_000,
      endsAt: 1_795_824_000_000,
      records: [{ source: "2001:db8::19", count: 12, disposition: "none", isDkimAligned: true, isSpfAligned: false }]
    })
  })

  it("of Yahoo's form is read, and a result that it does not say is no pass", () => {
    expect(report(yahooXml)).toMatchObject({
      reportId: "1795824612.519",
      records: [
        { source: "198.51.100.7", count: 3, disposition: "quarantine", isDkimAligned: false, isSpfAligned: false }
      ]
    })
  })

  it("of the newer draft is read, whatever the prefix of its names", () => {
    expect(report(draftXml)).toMatchObject({
      reporter: "Reporter",
      records: [{ source: "192.0.2.1", count: 7, disposition: "none", isDkimAligned: true, isSpfAligned: true }]
    })
  })

  it("does not count signatures and SPF of other domains: only what the policy says is aligned", () => {
    // Its auth_results say that both have passed.
    expect(report(plain).records).toEqual([
      { source: "192.0.2.1", count: 2, disposition: "none", isDkimAligned: true, isSpfAligned: false }
    ])
  })

  const changed = (from: string, to: string) => plain.replace(from, to)

  it.each([
    ["no XML", "hello", "text stands outside"],
    ["no end", plain.slice(0, -30), "no end"],
    ["another document", "<html></html>", "no report about DMARC"],
    [
      "a document type",
      changed("<feedback>", '<!DOCTYPE feedback SYSTEM "http://127.0.0.1/x"><feedback>'),
      "document type"
    ],
    [
      "entities of its own",
      changed("<feedback>", '<!DOCTYPE a [<!ENTITY b "b"><!ENTITY c "&b;&b;">]><feedback>'),
      "document type"
    ],
    ["an unknown entity", changed("google.com", "&xxe;"), "unknown entity"],
    ["half a character", changed("google.com", "&#xd800;"), "unknown entity"],
    ["a long name", changed("google.com", "x".repeat(201)), "too long"],
    ["a long text", changed("google.com", "x".repeat(5_000)), "too long"],
    ["a NUL", changed("google.com", "a\0b"), "missing or too long"],
    ["no domain", changed("<domain>acme.example</domain>", ""), "no domain"],
    ["an address as domain", changed("<domain>acme.example</domain>", "<domain>192.0.2.1</domain>"), "no domain"],
    ["two domains", changed("<adkim>r</adkim>", "<domain>other.example</domain>"), "domain twice"],
    ["two counts", changed("<count>2</count>", "<count>2</count><count>9</count>"), "count twice"],
    ["a count below zero", changed("<count>2</count>", "<count>-2</count>"), "no count"],
    ["a count beyond all mail", changed("<count>2</count>", "<count>100000001</count>"), "no count"],
    ["a source that is a name", changed("192.0.2.1", "mx.example"), "no source address"],
    ["a source with a zone", changed("192.0.2.1", "fe80::1%eth0"), "no source address"],
    ["an unknown result", changed("<dkim>pass</dkim>", "<dkim>maybe</dkim>"), "unknown result"],
    ["a time that ends before it begins", changed(">1795823999<", ">1795737599<"), "time"],
    ["a time of a year", changed(">1795823999<", ">1827273600<"), "time"],
    ["a wrong end", changed("</report_metadata>", "</metadata>"), "does not fit"],
    ["deep elements", `<feedback>${"<a>".repeat(20)}`, "too deeply"],
    ["two roots", `${plain}${plain.slice(plain.indexOf("<feedback>"))}`, "several outermost"]
  ])("with %s is none", (_, xml, reason) => expect(fault(xml)).toContain(reason))

  it("has at most 10,000 records", () => {
    const record = plain.slice(plain.indexOf("<record>"), plain.indexOf("</feedback>"))
    const short = record.replaceAll(/\s|<auth_results>.*<\/auth_results>/gs, "")
    const of = (count: number) => plain.replace(record, short.repeat(count))
    expect(report(of(10_000)).records).toHaveLength(10_000)
    expect(fault(of(10_001))).toContain("more than 10000 records")
  })

  const Octet = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
  const Text = Schema.String.check(Schema.isPattern(/^[!-~]([ -~]{0,60}[!-~])?$/))
  const Generated = Schema.Struct({
    reporter: Text,
    reportId: Text,
    records: Schema.Array(
      Schema.Struct({
        source: Schema.Tuple([Octet, Octet, Octet, Octet]),
        count: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000_000 })),
        disposition: Schema.Literals(["none", "quarantine", "reject"]),
        isDkimAligned: Schema.Boolean,
        isSpfAligned: Schema.Boolean
      })
    ).check(Schema.isMaxLength(20))
  })

  const made = ({ records, ...head }: typeof Generated.Type): DmarcReport => ({
    kind: "dmarc",
    domain: "acme.example",
    ...time,
    ...head,
    records: records.map((one) => ({ ...one, source: one.source.join(".") }))
  })

  it.prop(
    "is read as what it was made of",
    [Generated],
    ([generated]) => {
      const wanted = made(generated)
      expect(report(dmarcXml(wanted))).toEqual(wanted)
    },
    { arbitrary: { runs: often(200) } }
  )

  const Change = Schema.Struct({
    at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3_000 })),
    length: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 })),
    text: Schema.Union([Schema.String, Schema.Literals(["<", ">", "&", "<!--", "]]>", "<![CDATA[", "</", "/>", '"'])])
  })

  it.prop(
    "with a part overwritten is a bounded report, or has a reason why it is none",
    [Schema.Literals([plain, microsoftXml, yahooXml, draftXml]), Schema.Array(Change).check(Schema.isMaxLength(4))],
    ([xml, changes]) => {
      const broken = changes.reduce((text, { at, length, text: put }) => {
        const from = at % (text.length + 1)
        return `${text.slice(0, from)}${put}${text.slice(from + length)}`
      }, xml)
      const parsed = parseDmarcReport(broken)
      if (Result.isFailure(parsed)) return expect(parsed.failure).toMatch(/^[ -~]{5,200}$/)
      const { records, reportId, reporter } = parsed.success
      expect(reporter.length).toBeLessThanOrEqual(200)
      expect(reportId.length).toBeLessThanOrEqual(200)
      for (const { count, source } of records) {
        expect(source).toMatch(/^[0-9a-f.:]{2,45}$/)
        expect(count).toBeGreaterThanOrEqual(0)
        expect(count).toBeLessThanOrEqual(100_000_000)
      }
    },
    { arbitrary: { runs: often(600) } }
  )
})

describe("a TLS report", () => {
  const tls = (json: string) => parseTlsReport(json)
  const wanted = JSON.parse(tlsJson("acme.example", "2026-11-26"))
  const fails = (change: (report: typeof wanted) => void): string => {
    const changed = structuredClone(wanted)
    change(changed)
    return String(Result.getOrThrow(Result.flip(tls(JSON.stringify(changed)))))
  }

  it("has the sessions of each policy, and failures by type", () => {
    expect(Result.getOrThrow(tls(tlsJson("acme.example", "2026-11-26")))).toEqual({
      kind: "tls",
      domain: "acme.example",
      reporter: "Google Inc.",
      reportId: "2026-11-26_acme.example",
      beginsAt: Date.parse("2026-11-26T00:00:00Z"),
      endsAt: Date.parse("2026-11-26T23:59:59Z"),
      policies: [
        {
          policy: "sts",
          successful: 5_326,
          failures: [
            { type: "starttls-not-supported", sessions: 200 },
            { type: "certificate-expired", sessions: 102 },
            // Of 303 the details explain 302.
            { type: "unspecified", sessions: 1 }
          ]
        },
        { policy: "no-policy-found", successful: 4, failures: [] }
      ]
    })
  })

  it("with types that nobody has registered counts them as other", () => {
    const changed = structuredClone(wanted)
    changed.policies[0].policy["policy-type"] = "new"
    changed.policies[0]["failure-details"] = [{ "result-type": "unspecified", "failed-session-count": 303 }]
    expect(Result.getOrThrow(tls(JSON.stringify(changed))).policies).toEqual([
      { policy: "no-policy-found", successful: 4, failures: [] },
      { policy: "other", successful: 5_326, failures: [{ type: "other", sessions: 303 }] }
    ])
  })

  it("that is none says why", () => {
    expect(String(Result.getOrThrow(Result.flip(tls("{"))))).toContain("no report about TLS")
    expect(String(Result.getOrThrow(Result.flip(tls("[".repeat(200_000)))))).toContain("no report about TLS")
    expect(fails((one) => delete one.policies)).toContain("no report about TLS")
    expect(fails((one) => Object.assign(one, { policies: [] }))).toContain("no report about TLS")
    expect(fails((one) => Object.assign(one, { policies: Array(101).fill(one.policies[0]) }))).toContain("no report")
    expect(fails((one) => (one.policies[0].summary["total-failure-session-count"] = -1))).toContain("no report")
    expect(fails((one) => (one.policies[1].policy["policy-domain"] = "other.example"))).toContain("several")
    expect(fails((one) => (one["report-id"] = "x".repeat(201)))).toContain("too long")
    expect(fails((one) => (one["date-range"]["end-datetime"] = "2026-11-25T00:00:00Z"))).toContain("time")
    expect(fails((one) => (one["date-range"]["start-datetime"] = "yesterday"))).toContain("time")
  })
})
