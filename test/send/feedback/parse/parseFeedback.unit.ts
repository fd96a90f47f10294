/** Delivery status notifications, abuse reports and what is neither, in mails of a public corpus and in mails made for one rule each. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type DeliveryReport, parseFeedback } from "../../../../src/send/index.ts"
import { corpusMail, corpusNames, feedback, mailOf, reportOn, status, withLineEnds } from "./corpus.ts"
import { expectedReports } from "./expectations.ts"

const parsed = (mail: Uint8Array | string) => Effect.runPromise(parseFeedback(mail))

const delivery = async (mail: Uint8Array | string): Promise<DeliveryReport> => {
  const found = await parsed(mail)
  if (found?._tag !== "DeliveryReport") throw new Error(`expected a delivery report, and got ${JSON.stringify(found)}`)
  return found
}

const recipientOf = async (...fields: ReadonlyArray<string>) => (await delivery(reportOn(...fields))).recipients[0]!

const failed = ["Final-Recipient: rfc822; ann@example.org", "Action: failed"]

/** Mails of the corpus that are no reports, or name nobody whom they report on, each with what it is. */
const others: ReadonlyArray<readonly [file: string, what: string]> = [
  ["rfc3834-01", "an automatic reply"],
  ["rfc3834-03", "an automatic reply"],
  ["rfc3834-05", "an automatic reply"],
  ["rfc3834-06", "an automatic reply in two versions"],
  ["lhost-qmail-01", "a bounce in words alone"],
  ["lhost-qmail-20", "a bounce in words, of several parts"],
  ["lhost-exim-01", "a bounce in words alone"],
  ["lhost-gmail-07", "a bounce in words alone"],
  ["lhost-postfix-49", "a report in the text of another mail"],
  ["lhost-x5-01", "a report that is attached to another mail"],
  ["lhost-postfix-64", "a report on no recipient"],
  ["rfc3464-07", "a report that a mailing list distributed"],
  ["arf-22", "a complaint in words alone"],
  ["is-not-bounce-01", "a letter"],
  ["rb-issue-368-bug", "an automatic reply"]
]

/** Abuse reports of the corpus. */
const complaints: ReadonlyArray<readonly [file: string, expected: object]> = [
  ["arf-01", { type: "abuse", isComplaint: true, recipients: ["redacted@example.net"], sourceIp: "192.0.2.89" }],
  [
    "arf-02",
    {
      type: "abuse",
      isComplaint: true,
      recipients: ["this-local-part-does-not-exist-on-yahoo@yahoo.com"],
      userAgent: "Yahoo!-Mail-Feedback/1.0"
    }
  ],
  ["arf-11", { type: "abuse", isComplaint: true, recipients: [] }],
  ["arf-12", { type: "opt-out", isComplaint: false, recipients: [] }],
  ["arf-18", { type: "auth-failure", isComplaint: false, recipients: ["kijitora@example.com"] }],
  ["arf-21", { type: "abuse", isComplaint: true, recipients: ["kijitora@example.org"], sourceIp: "198.51.100.224" }]
]

describe("[send 2.9] the corpus", () => {
  const ends = [
    ["LF", "\n"],
    ["CRLF", "\r\n"],
    ["CR", "\r"]
  ] as const

  it.each(
    ends.flatMap(([name, end]) => expectedReports.map((expected) => [expected.file, name, end, expected] as const))
  )("%s with %s is read as what it says", async (file, _name, end, { messageId, recipients }) => {
    const report = await delivery(withLineEnds(corpusMail(file), end))
    expect(
      report.recipients.map((one) => [one.recipient, one.action, one.status, one.kind, one.replyCode, one.isReputation])
    ).toEqual(recipients)
    expect(report.original.messageId).toBe(messageId)
  })

  it.each(complaints)("%s is an abuse report", async (file, expected) => {
    expect(await parsed(corpusMail(file))).toMatchObject({ _tag: "AbuseReport", ...expected })
  })

  it("finds the return paths that stand in a report, each once", async () => {
    const path = "bounce+hu37vaahanlkjsru6zlmuya@bounces.one.test"
    const other = path.replace("hu37", "hu44")
    const returned = (...headers: ReadonlyArray<string>) => [...headers, "To: ann@example.org", "", "Hi"].join("\r\n")
    const found = async (fields: ReadonlyArray<string>, headers: ReadonlyArray<string>) =>
      (
        await parsed(
          mailOf(feedback, [
            ["message/feedback-report", ["Feedback-Type: abuse", ...fields, ""].join("\r\n")],
            ["message/rfc822", returned(...headers)]
          ])
        )
      )?.original.returnPaths
    expect(await found([`Original-Mail-From: <${path}>`], [])).toEqual([path])
    expect(await found([], [`Return-Path: <${path}>`])).toEqual([path])
    expect(await found([], [`Message-ID: <${path}>`])).toEqual([path])
    expect(
      await found([`Original-Mail-From:\r\n <${path}>`], [`Return-Path: ${path}`, `X-Mailfrom: ${other}`])
    ).toEqual([path, other])
    expect(await found(["Original-Mail-From: <ann@one.test>"], ["Return-Path: <bounce+x@one.test>"])).toEqual([])
  })

  it("names all whom an abuse report names", async () => {
    const report = await parsed(corpusMail("arf-16"))
    expect(report?._tag === "AbuseReport" && report.recipients).toHaveLength(7)
  })

  it.each(others)("%s is no report: %s", async (file) => {
    expect(await parsed(corpusMail(file))).toBeNull()
  })

  it("is expected as a whole", () => {
    const expected = [...expectedReports.map(({ file }) => file), ...complaints.map(([file]) => file), "arf-16"]
    expect([...expected, ...others.map(([file]) => file)].sort()).toEqual([...corpusNames].sort())
  })
})

describe("the email that a report is about", () => {
  it("is known by the headers that came back, the envelope id and the address that the report went to", async () => {
    const mail = mailOf(
      status,
      [
        [
          "message/delivery-status",
          "Original-Envelope-Id: of-the-envelope\r\nArrival-Date: Wed, 16 Oct 2013 14:15:34 +0900 (JST)\r\n\r\n" +
            `${failed.join("\r\n")}\r\nStatus: 5.1.1\r\n`
        ],
        ["message/rfc822", "Message-ID:\r\n <original@example.com>\r\n\r\nMessage-ID: <of-its-text@example.com>\r\n"]
      ],
      ["Delivered-To: Bounce+x7@example.com"]
    )
    const { arrivedAt, original } = await delivery(mail)
    expect(original).toEqual({
      messageId: "original@example.com",
      envelopeId: "of-the-envelope",
      reportedTo: ["bounce@example.com", "Bounce+x7@example.com"],
      returnPaths: []
    })
    expect(arrivedAt).toBe(Date.UTC(2013, 9, 16, 5, 15, 34))
  })

  it("is not the report itself, nor what a returned report had returned", async () => {
    const inner = mailOf(status, [["message/rfc822", "Message-ID: <innermost@example.com>\r\n\r\n"]]).replaceAll(
      "limit",
      "other"
    )
    const fields = [...failed, "Status: 5.1.1"].join("\r\n")
    const returned = (text: string) =>
      mailOf(status, [
        ["message/delivery-status", fields],
        ["message/rfc822", text]
      ])
    expect((await delivery(returned(inner))).original.messageId).toBe("of-the-report@mx.example.org")
    expect((await delivery(returned("Subject: no id\r\n\r\nx"))).original.messageId).toBeNull()
    expect((await delivery(mailOf(status, [["message/delivery-status", fields]]))).original.messageId).toBeNull()
  })

  it("is not known by two different ids", async () => {
    const mail = reportOn(...failed).replace("Message-ID: <original@", "Message-ID: <another@example.com>\r\n$&")
    expect((await delivery(mail)).original.messageId).toBeNull()
  })
})

describe("a report in words alone", () => {
  const returned = [
    "message/rfc822",
    "Message-ID: <original@example.com>\r\nTo: Ann <ann@example.org>\r\n\r\nHello"
  ] as const
  const saying = (text: string, headers: ReadonlyArray<string> = []) =>
    mailOf(status, [["text/plain", text], returned], headers)

  it("is one of the only recipient of the returned mail, with the answer that it quotes", async () => {
    const report = await delivery(saying("It failed.\r\n550 no mailbox here by that name (#5.1.1)"))
    expect(report).toMatchObject({
      original: { messageId: "original@example.com" },
      recipients: [{ recipient: "ann@example.org", action: "failed", status: "5.1.1", replyCode: 550 }]
    })
  })

  it("is one of the recipient that its header names, before that of the returned mail", async () => {
    const report = await delivery(
      saying("Remote server returned '452 4.2.2 full'", ["X-Failed-Recipients: bob@example.org"])
    )
    expect(report.recipients).toMatchObject([{ recipient: "bob@example.org", action: "delayed", status: "4.2.2" }])
  })

  it("is one of the address that stands alone on a line where nothing else names anybody", async () => {
    const words =
      "Write to help@example.net for help.\r\n\r\nann@example.org\r\nRemote server returned '550 5.1.10 gone'"
    const report = await delivery(mailOf(status, [["text/plain", words]]))
    expect(report.recipients).toMatchObject([{ recipient: "ann@example.org", status: "5.1.10", kind: "permanent" }])
  })

  it("is also read where the fields tell of the message and of nobody", async () => {
    const fields = "Reporting-MTA: dns; mx.example.org\r\n"
    const mail = mailOf(status, [["text/plain", "554 5.7.1 refused"], ["message/delivery-status", fields], returned])
    expect((await delivery(mail)).recipients).toMatchObject([{ status: "5.7.1", isReputation: true }])
  })

  it.each([
    ["no answer of a server is quoted", saying("It failed for good, after 550 attempts.")],
    ["one answer says that it may pass, and another that it may not", saying("450 4.2.1 later\r\n550 5.1.1 never")],
    ["several are named", saying("550 5.1.1 no such user", ["X-Failed-Recipients: ann@example.org, bob@example.org"])],
    ["nobody is named", mailOf(status, [["text/plain", "550 5.1.1 no such user"]])],
    ["a list distributed it", saying("550 5.1.1 no such user", ["List-Id: <cats.example.org>"])],
    [
      "a person wrote it",
      saying("550 5.1.1 no such user")
        .replace("Return-Path: <>", "Return-Path: <p@example.org>")
        .replace("MAILER-DAEMON@", "p@")
    ],
    [
      "it does not say that it is a report",
      mailOf("multipart/mixed", [["text/plain", "550 5.1.1 delivery-status"], returned])
    ]
  ])("is none where %s", async (_what, mail) => {
    expect(await parsed(mail)).toBeNull()
  })
})

describe("a report that lost its type", () => {
  const lost = reportOn(...failed, "Status: 5.1.1").replace(/Content-Type: multipart[^\r]*\r\n/, "")

  it("is read from the part that still has one, where a mail system sent it", async () => {
    expect((await delivery(lost)).recipients).toMatchObject([{ recipient: "ann@example.org", status: "5.1.1" }])
  })

  it("is none where a person wrote it", async () => {
    const person = lost.replace("Return-Path: <>", "Return-Path: <p@example.org>").replace("MAILER-DAEMON@", "p@")
    expect(await parsed(person)).toBeNull()
  })
})

describe("a recipient", () => {
  it.each([
    ["rfc822; ann@example.org", "ann@example.org"],
    ["RFC822;<ann@example.org>", "ann@example.org"],
    ["ann@example.org", "ann@example.org"],
    ["rfc822; ann@example.org (Ann)", "ann@example.org"],
    ["rfc822; @relay.example:ann@example.org", "ann@example.org"],
    ["rfc822; ann+2Btag+40example.org", "ann+tag@example.org"],
    ["rfc822; ann+2Btag@example.org", "ann+2Btag@example.org"],
    [String.raw`utf-8; \x{E9}va@example.org`, "éva@example.org"],
    [String.raw`utf-8; a\x{110000}@example.org`, String.raw`a\x{110000}@example.org`],
    ["utf-8; éva@exämple.org", "éva@exämple.org"],
    [`rfc822; "ann b"@example.org`, `"ann b"@example.org`]
  ])("is read from %j", async (field, recipient) => {
    expect((await recipientOf(`Final-Recipient: ${field}`, "Action: failed")).recipient).toBe(recipient)
  })

  it("is the final one, and the original one beside it", async () => {
    const both = await recipientOf("Original-Recipient: rfc822; bob@example.com", ...failed)
    expect([both.recipient, both.originalRecipient]).toEqual(["ann@example.org", "bob@example.com"])
    const original = await recipientOf("Original-Recipient: rfc822; bob@example.com", "Action: failed")
    expect([original.recipient, original.originalRecipient]).toEqual(["bob@example.com", "bob@example.com"])
  })

  it("is the one of the returned mail where the report names a file, and it reports on one alone", async () => {
    const file = ["Final-Recipient: rfc822; /var/mail/ann", "Action: failed"]
    expect((await recipientOf(...file)).recipient).toBe("ann@example.org")
    expect((await delivery(reportOn(...file, "", ...failed))).recipients).toHaveLength(1)
  })

  it.each([
    [["Action: delayed", "Status: 4.4.1"], "delayed", "temporary", "4.4.1"],
    [["Action: delivered", "Status: 2.1.5"], "delivered", "delivered", "2.1.5"],
    [["Action: relayed", "Status: 2.0.0"], "relayed", "delivered", "2.0.0"],
    [["Action: Expanded (to 3)"], "expanded", "delivered", "2.0.0"],
    [["Action: failed", "Status: 4.4.7"], "failed", "temporary", "4.4.7"],
    [["Action: failed", "Status: 2.0.0"], "failed", "permanent", "5.0.0"],
    [["Action: failed", "Status: 5.01.01"], "failed", "permanent", "5.1.1"],
    [["Action: failed", "Diagnostic-Code: smtp; 550 5.2.1 no"], "failed", "permanent", "5.2.1"],
    [["Action: failed", "Diagnostic-Code: smtp; 451 no"], "failed", "temporary", "4.0.0"],
    [["Action: failed", "Diagnostic-Code: smtp; no route to 5.1.1.1"], "failed", "permanent", "5.0.0"],
    [["Status: 5.1.1"], "failed", "permanent", "5.1.1"],
    [["Diagnostic-Code: smtp; 450 4.2.2 full"], "delayed", "temporary", "4.2.2"]
  ])("with %j", async (fields, action, kind, code) => {
    const found = await recipientOf("Final-Recipient: rfc822; ann@example.org", ...fields)
    expect([found.action, found.kind, found.status]).toEqual([action, kind, code])
  })

  it.each([
    ["smtp; 550 5.1.1 no such user", 550],
    ["smtp; 550-5.1.1 no such\r\n 550 5.1.1 user", 550],
    ["smtp; host mx.example.org [192.0.2.55] said: 554 no", 554],
    ["smtp; connect to mx.example.org[192.0.2.250]: Connection timed out", null],
    ["smtp; delivery expired after 432 hours", null],
    ["x-unix; 255", null]
  ])("has the reply of %j", async (diagnostic, replyCode) => {
    expect((await recipientOf(...failed, `Diagnostic-Code: ${diagnostic}`)).replyCode).toBe(replyCode)
  })

  it("has a reason on one line of at most 500 characters, and the host that said it", async () => {
    const { reason, remoteMta } = await recipientOf(
      ...failed,
      "Remote-MTA: dns; mx.example.net",
      `Diagnostic-Code: smtp; 550 no\u0007\u0000\r\n\t${"x".repeat(9_000)}`
    )
    expect(reason).toBe(`550 no ${"x".repeat(493)}`)
    expect(remoteMta).toBe("mx.example.net")
  })

  it("has the comment of its status for a reason where there is no other", async () => {
    const found = await recipientOf(...failed, "Status: 4.4.0 (no host (yet))")
    expect([found.reason, found.status]).toEqual(["no host (yet)", "4.4.0"])
    expect((await recipientOf(...failed, "Status: 4.4.0 )(")).reason).toBeNull()
  })

  it.each([
    ["5.7.1", "550 5.7.1 rejected", true],
    ["5.7.26", "550 5.7.26 unauthenticated", true],
    ["4.7.0", "421 4.7.0 deferred due to complaints", true],
    ["5.0.0", "554 blocked using a list", true],
    ["5.1.8", "553 5.1.8 no such domain of the sender", true],
    ["5.3.4", "552 5.3.4 too large", true],
    ["5.7.1", "550 5.7.1 <ann@example.org>: user unknown", false],
    ["5.7.17", "550 5.7.17 the mailbox has a new owner", false],
    ["5.7.13", "525 5.7.13 disabled", false],
    ["5.1.1", "550 5.1.1 spam@example.org: no such user", false],
    ["5.2.1", "550 5.2.1 account disabled for spam", false],
    ["5.0.0", "550 no such user", false]
  ])("with %s and %j: a refusal of the sender or the content is %s", async (code, text, isReputation) => {
    const found = await recipientOf(...failed, `Status: ${code}`, `Diagnostic-Code: smtp; ${text}`)
    expect(found.isReputation).toBe(isReputation)
  })

  it("begins anew without an empty line", async () => {
    const { recipients } = await delivery(
      reportOn(
        ...failed,
        "Status: 5.1.1",
        "Final-Recipient: rfc822; bob@example.org",
        "Action: delayed",
        "Status: 4.2.2"
      )
    )
    expect(recipients.map(({ recipient, status: code }) => [recipient, code])).toEqual([
      ["ann@example.org", "5.1.1"],
      ["bob@example.org", "4.2.2"]
    ])
  })
})

describe("an abuse report", () => {
  const about = (type: string, ...fields: ReadonlyArray<string>) =>
    parsed(
      mailOf(feedback, [
        ["message/feedback-report", [`Feedback-Type: ${type}`, "User-Agent: Loop/1.0", ...fields].join("\r\n")],
        ["message/rfc822", "Message-ID: <original@example.com>\r\nTo: ann@example.org\r\n\r\nBuy"]
      ])
    )

  it.each([
    ["abuse", true],
    ["Fraud", true],
    ["virus", true],
    ["not-spam", false],
    ["auth-failure", false],
    ["other", false]
  ])("of the type %s: a complaint is %s", async (type, isComplaint) => {
    expect(await about(type)).toMatchObject({ type: type.toLowerCase(), isComplaint })
  })

  it("names the recipient before the returned mail does", async () => {
    expect(await about("abuse", "Original-Rcpt-To: <bob@example.org>", "Source-IP: 192.0.2.1")).toMatchObject({
      recipients: ["bob@example.org"],
      sourceIp: "192.0.2.1",
      userAgent: "Loop/1.0",
      original: { messageId: "original@example.com" }
    })
    expect(await about("abuse")).toMatchObject({ recipients: ["ann@example.org"] })
  })
})

describe("what is no report", () => {
  const report: ReadonlyArray<readonly [string, string]> = [["message/delivery-status", failed.join("\r\n")]]

  it.each([
    ["a receipt", mailOf("multipart/report; report-type=disposition-notification", report)],
    ["a post of a mailing list", mailOf(status, report, ["List-Id: <cats.example.org>"])],
    ["an alternative", mailOf("multipart/alternative", report)],
    ["a report on nobody", mailOf(status, [["message/delivery-status", "Reporting-MTA: dns; mx.example.org"]])],
    [
      "a report that is forwarded as an attachment",
      mailOf("multipart/mixed", [["message/rfc822", reportOn(...failed).replaceAll("limit", "inner")]])
    ],
    [
      "parts of a report in a letter",
      mailOf("multipart/mixed", report).replace("<>", "<bob@example.org>").replace("MAILER-DAEMON", "bob")
    ],
    ["a letter that quotes a report", `From: bob@example.org\r\n\r\n${reportOn(...failed)}`],
    ["nothing", ""]
  ])("%s", async (_name, mail) => {
    expect(await parsed(mail)).toBeNull()
  })

  it("is told from the older form of a report, which mail systems send", async () => {
    expect((await delivery(mailOf("multipart/mixed", report))).recipients).toHaveLength(1)
  })
})
