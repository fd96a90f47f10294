/** A relay's permanent refusal is reported as a bounce of each recipient, which suppresses unless it is for the sender's reputation. */
import { describe, expect, it } from "vitest"
import type { PartAnswer } from "../../../src/send/handoff/MailTransport.ts"
import { partsOf, reportsOf } from "../../../src/send/handoff/reports.ts"

const message = {
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
}
const handed = { id: "a", sender: "one.test", mode: "live" as const, message, recipients: ["bob@two.test"] }

describe("a permanent refusal", () => {
  it.each([
    ["5.1.1", true, "permanent"],
    ["550", true, "permanent"],
    ["5.7.1", false, "reputation"],
    ["5.7.26", false, "reputation"]
  ])("with code %s suppresses, and counts: %s", (code, suppresses, kind) => {
    const [bounce] = reportsOf(handed, partsOf(handed.recipients, { _tag: "Permanent", code, reason: "No" }), 1)
    expect(bounce).toMatchObject({ what: "bounced", recipient: "bob@two.test", code, kind, suppresses })
    expect(bounce!.counts ?? true).toBe(suppresses)
  })
})

describe("answers that differ by recipient", () => {
  const all = ["bob@two.test", "cy@two.test"]
  const temporary = { _tag: "Temporary", code: "4.2.0", reason: "later" } as const
  const partsWith = (...answers: ReadonlyArray<PartAnswer>) =>
    all.map((recipient, index) => ({ recipient, answer: answers[index]! }))
  const to = { ...handed, recipients: all }

  it("are told as a delay before the hand-over, which ends it", () => {
    const reports = reportsOf(to, partsWith({ _tag: "Accepted" }, temporary), 1)
    expect(reports.map(({ what }) => what)).toEqual(["delayed", "handedOver"])
  })

  it("end after 72 hours in a bounce that counts for nobody, beside those that have it", () => {
    const reports = reportsOf(to, partsWith({ _tag: "Accepted" }, temporary), 16)
    expect(reports).toMatchObject([
      { what: "handedOver" },
      { what: "bounced", recipient: "cy@two.test", kind: "temporary", counts: false, suppresses: false, code: "4.2.0" }
    ])
  })

  it("end in a failure where nobody has it", () => {
    expect(reportsOf(to, partsWith(temporary, temporary), 16)).toMatchObject([{ what: "failed", kind: "expired" }])
    expect(reportsOf(to, partsWith({ _tag: "Unknown", reason: "lost" }, temporary), 16)).toMatchObject([
      { what: "failed", kind: "unknown", code: "4.4.2" }
    ])
  })

  it("are a delay where the relay refuses the account, however often it does", () => {
    const account = { _tag: "Account", code: "554", reason: "not verified" } as const
    for (const attempt of [1, 16])
      expect(reportsOf(to, partsWith(account, account), attempt)).toMatchObject([{ what: "delayed", code: "554" }])
    expect(reportsOf(to, partsWith({ _tag: "Accepted" }, account), 16).map(({ what }) => what)).toEqual([
      "delayed",
      "handedOver"
    ])
  })

  it("find their recipient whatever its case, and take one that is not named for not attempted", () => {
    const parts = partsOf(["Bob <BOB@two.test>", "cy@two.test"], {
      _tag: "Parted",
      parts: [{ recipient: "bob@two.test", answer: { _tag: "Accepted" } }]
    })
    expect(parts.map(({ answer }) => answer._tag)).toEqual(["Accepted", "Waits"])
  })
})
