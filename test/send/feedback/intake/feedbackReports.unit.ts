/** The effect of reports on the recipient of a return path, and of other mail systems' signals. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { reportOf } from "../../../../src/send/feedback/intake/FeedbackIntake.ts"
import { feedbackSignal } from "../../../../src/send/feedback/intake/feedbackSignal.ts"
import { parseFeedback } from "../../../../src/send/feedback/parse/index.ts"
import { abuseReport, type Bounce, deliveryStatus } from "./reports.ts"

const message = {
  from: "Ann <ann@demo.test>",
  to: ["Bob <bob@two.test>"],
  cc: [],
  bcc: [],
  replyTo: [],
  subject: "Hi",
  html: null,
  text: "Hi",
  headers: {},
  tags: [],
  attachments: []
}
const about = { id: "em_1", sender: "demo.test", message, recipient: "Bob <bob@two.test>" }

const meant = async (raw: string) => {
  const feedback = await Effect.runPromise(parseFeedback(raw))
  return feedback === null ? null : reportOf(about, feedback)
}

const bounce = (fields: Partial<Bounce>) =>
  meant(deliveryStatus({ to: "bounce+x@bounces.test", recipient: "bob@two.test", ...fields }))

describe("a report", () => {
  it("of a mailbox that is not there is a bounce that suppresses", async () => {
    expect(await bounce({})).toEqual({
      id: "em_1",
      sender: "demo.test",
      what: "bounced",
      recipient: "Bob <bob@two.test>",
      from: "Ann <ann@demo.test>",
      subject: "Hi",
      code: "5.1.1",
      kind: "permanent",
      reason: "550 5.1.1 No such user"
    })
  })

  it.each([
    [
      "a refusal for reputation",
      { status: "5.7.1", diagnostic: "smtp; 550 5.7.1 Listed as spam" },
      { kind: "reputation", suppresses: false }
    ],
    [
      "a delivery that was given up",
      { status: "4.4.7", diagnostic: "smtp; 451 4.4.7 Expired" },
      { kind: "temporary", suppresses: false, counts: false }
    ]
  ])("of %s is a bounce that suppresses nobody", async (_what, fields, expected) => {
    expect(await bounce(fields)).toMatchObject({ what: "bounced", ...expected })
  })

  it("says that a mail was delivered, and says nothing while it is delayed or passed on", async () => {
    expect(await bounce({ action: "delivered", status: "2.0.0", diagnostic: "smtp; 250 OK" })).toMatchObject({
      what: "delivered"
    })
    expect(await bounce({ action: "delayed", status: "4.2.0" })).toBeUndefined()
    expect(await bounce({ action: "relayed", status: "2.0.0" })).toBeUndefined()
  })

  it("is about the return path's recipient, whatever address it names", async () => {
    expect(await bounce({ recipient: "forwarded@three.test" })).toMatchObject({ recipient: "Bob <bob@two.test>" })
  })

  it("of abuse is a complaint", async () => {
    expect(await meant(abuseReport("bounce+x@bounces.test", "bob@two.test"))).toMatchObject({
      what: "complained",
      kind: "abuse",
      recipient: "Bob <bob@two.test>"
    })
  })
})

describe("a signal", () => {
  const signal = (data: unknown) =>
    feedbackSignal({
      sequence: 1,
      organization: "org_1",
      kind: "feedback",
      data: new TextEncoder().encode(typeof data === "string" ? data : JSON.stringify(data)),
      behind: 0
    })

  it("becomes a report for whichever of its sender's names is the email's", () => {
    const meaning = signal({
      id: "em_1",
      from: "Ann <ann@one.test>",
      recipient: "bob@two.test",
      what: "bounced",
      kind: "temporary"
    })
    expect(meaning).toMatchObject({ key: "live", command: { _tag: "Report" } })
    expect(meaning?.command).toMatchObject({
      reports: ["one.test", "ann@one.test"].map((sender) => ({
        id: "em_1",
        sender,
        what: "bounced",
        suppresses: false,
        counts: false
      }))
    })
  })

  it.each([
    ["no JSON", "{"],
    ["no email", { from: "a@one.test", recipient: "b@two.test", what: "bounced" }],
    ["another word", { id: "em_1", from: "a@one.test", recipient: "b@two.test", what: "opened" }],
    [
      "a text without end",
      { id: "em_1", from: "a@one.test", recipient: "b@two.test", what: "bounced", reason: "x".repeat(2_000) }
    ],
    ["no address", { id: "em_1", from: "a@one.test", recipient: "two.test", what: "bounced" }],
    ["a recipient of two lines", { id: "em_1", from: "a@one.test", recipient: "b@two.test\n", what: "bounced" }],
    ["a NUL", { id: "em_1", from: "a@one.test", recipient: "b@two.test", what: "bounced", reason: "\0" }],
    ["half a character", { id: "em_1", from: "a@one.test", recipient: "b@two.test", what: "bounced", reason: "\ud800" }]
  ])("with %s is refused", (_what, data) => {
    expect(() => signal(data)).toThrow()
  })
})
