/** Mails for tests of the local mailbox. */

import type { OutgoingMail } from "../../../../src/send/handoff/MailTransport.ts"
import type { CapturedMail } from "../../../../src/send/handoff/mailbox/MailboxFolder.ts"
import type { Message } from "../../../../src/send/Message.ts"
import { messageTo } from "../messageTo.ts"

export const mailOf = (id: string, more: Partial<Message> = {}): OutgoingMail => ({
  id,
  organization: "org_a",
  mode: "live",
  message: messageTo(["bob@two.test"], { bcc: ["hidden@two.test"], ...more }),
  acceptedAt: 1_700_000_000_000
})

export const envelope = { from: "ann@one.test", to: ["bob@two.test", "hidden@two.test"] }

export const capturedOf = (message: Partial<Message> = {}, more: Partial<CapturedMail> = {}): CapturedMail => ({
  mail: mailOf("em_1", message),
  envelope,
  capturedAt: Date.parse("2026-11-28T12:00:00Z"),
  number: 1,
  isRead: false,
  ...more
})
