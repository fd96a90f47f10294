/**
 * Maps a report of another mail system to its meaning for the recipient that its return path names (docs/handoff.md,
 * 6). Pure.
 */
import { bareAddress, type EmailReport } from "../../account/actors/index.ts"
import type { Message } from "../../Message.ts"
import type { AbuseReport, DeliveryReport, Feedback, RecipientStatus } from "../parse/index.ts"

/** Whom and what it is about. */
export interface ReportSubject {
  readonly id: string
  readonly sender: string
  readonly message: Message
  /** As the message has it. */
  readonly recipient: string
}

/** The status of the recipient. Where its address leads to others, one of them says nothing of it. */
const statusFor = ({ recipients }: DeliveryReport, recipient: string): RecipientStatus | undefined => {
  const bare = bareAddress(recipient)
  const own = recipients.find((one) =>
    [one.recipient, one.originalRecipient].some((address) => address !== null && bareAddress(address) === bare)
  )
  return own ?? (recipients.length === 1 ? recipients[0] : undefined)
}

const ofDelivery = (about: ReportSubject, report: DeliveryReport): EmailReport | undefined => {
  const { id, message, recipient, sender } = about
  const found = statusFor(report, recipient)
  if (found === undefined) return undefined
  const { action, answer, reason, status } = found
  const said = { id, sender, recipient, from: message.from, subject: message.subject, code: status }
  const words = reason === null ? {} : { reason }
  // Passed on to a system that reports nothing, or to several recipients, so nothing more is known.
  if (action === "delivered") return { ...said, ...words, what: "delivered" }
  if (action !== "failed") return undefined
  // A report that is not about the address counts nowhere and suppresses nothing.
  return answer === "permanent"
    ? { ...said, ...words, what: "bounced", kind: "permanent" }
    : { ...said, ...words, what: "bounced", kind: answer, suppresses: false, counts: false }
}

const ofAbuse = ({ id, message, recipient, sender }: ReportSubject, report: AbuseReport): EmailReport | undefined =>
  report.isComplaint
    ? { id, sender, recipient, from: message.from, subject: message.subject, what: "complained", kind: report.type }
    : undefined

/** The report for the account; undefined where it says nothing that counts. */
export const reportOf = (about: ReportSubject, feedback: Feedback): EmailReport | undefined =>
  feedback._tag === "DeliveryReport" ? ofDelivery(about, feedback) : ofAbuse(about, feedback)
