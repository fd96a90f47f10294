/** What a relay's permanent refusal is told as: a bounce of each recipient, which suppresses unless it is for the sender's reputation. */
import { describe, expect, it } from "vitest"
import { reportsOf } from "../../../src/send/handoff/reports.ts"

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
  ])("with code %s suppresses: %s", (code, suppresses, kind) => {
    const [bounce] = reportsOf(handed, { _tag: "Permanent", code, reason: "No" }, 1)
    expect(bounce).toMatchObject({ what: "bounced", recipient: "bob@two.test", code, kind, suppresses })
  })
})
