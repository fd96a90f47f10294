/** The answers to submitted mails (docs/platform.md, 9.18). */
import { describe, expect, it } from "vitest"
import { OutcomeUnknown, PartitionUnavailable } from "../../../src/engine/errors.ts"
import { ContentsUnavailable } from "../../../src/send/emails/contents/MessageContents.ts"
import { senderNotVerified, sendingPaused } from "../../../src/send/rules/rejections.ts"
import { MailTooLarge, MailUnreadable } from "../../../src/send/submission/mailForm.ts"
import { acceptedReply, faultReply, isDefect, smtpReply } from "../../../src/send/submission/replies.ts"

const resetsAt = "2026-12-01T00:00:00.000Z"

describe("[platform 9.18] the answer", () => {
  it.each([
    ["a sender that is not verified", senderNotVerified("a@b.com"), 550, "5.7.1", '"a@b.com" is not verified'],
    ["a paused account", sendingPaused(), 550, "5.7.1", "Sending is paused"],
    [
      "a used up month",
      {
        code: "monthly_limit_reached",
        message: "It is full",
        limit: 1,
        used: 1,
        resetsAt,
        upgradeUrl: "https://a.b/c"
      },
      452,
      "4.7.1",
      `It is full. It ends at ${resetsAt}; https://a.b/c`
    ],
    [
      "a cap",
      {
        code: "probation_limit_reached",
        message: "It is full. Retry after 9 s.",
        limit: 1,
        window: "hour",
        metric: "sends",
        resetsAt
      },
      452,
      "4.7.1",
      `Retry after 9 s. It resets at ${resetsAt}`
    ],
    ["a mail that is too large", new MailTooLarge({ message: "It is large" }), 552, "5.3.4", "It is large"],
    ["a mail that cannot be read", new MailUnreadable({ message: "Ünread\r\nable" }), 554, "5.6.0", "?nread??able"],
    ["a store that is away", new ContentsUnavailable({ message: "secret" }), 451, "4.3.0", "Nothing was done"],
    [
      "an engine that is away",
      new PartitionUnavailable({ partition: 0, reason: "secret", retryAfterMillis: 1 }),
      451,
      "4.3.0",
      "Nothing was done"
    ],
    ["an unknown outcome", new OutcomeUnknown({ partition: 0 }), 451, "4.3.0", "same Message-ID"]
  ] as const)("to %s", (_, fault, code, status, words) => {
    // A literal has no type of its own in the table.
    const reply = faultReply(fault as Parameters<typeof faultReply>[0])
    expect(reply.code).toBe(code)
    expect(reply.text.startsWith(`${status} `)).toBe(true)
    expect(reply.text).toContain(words)
    expect(reply.text).not.toContain("secret")
    expect(isDefect(fault as Parameters<typeof faultReply>[0])).toBe(false)
  })

  it("to an accepted mail names its id and state, and how long it is held", () => {
    expect(acceptedReply({ emails: [{ id: "em_1", state: "queued" }], isReplay: false })).toEqual({
      code: 250,
      text: "2.0.0 em_1 queued",
      outcome: "accepted"
    })
    expect(acceptedReply({ emails: [{ id: "em_1", state: "held", heldUntil: resetsAt }], isReplay: true })).toEqual({
      code: 250,
      text: `2.0.0 em_1 held until ${resetsAt}`,
      outcome: "repeated"
    })
  })

  it("fits a line of SMTP", () => {
    expect(`552 ${smtpReply(552, "5.3.4", "x".repeat(2_000), "").text}\r\n`.length).toBeLessThanOrEqual(512)
  })
})
