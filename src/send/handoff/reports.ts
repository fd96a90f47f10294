/** Makes the reports to the account about mails that were handed over or were not (docs/handoff.md, 2). Pure. */
import { bareAddress, type EmailReport, type Mode } from "../account/actors/index.ts"
import type { Message } from "../Message.ts"
import { handoffDelaysMillis } from "./limits.ts"
import { type HandoffAnswer, type PartAnswer, plainAddress } from "./MailTransport.ts"

// Recipients of test mail act out their name (docs/handoff.md, 2): these are the reports right after the hand-off. Pure.

const simulated = /^(delivered|bounced|complained)(?:\+[^@]*)?@simulator\.invalid$/

export interface SimulatedReport {
  readonly what: "delivered" | "bounced" | "complained"
  readonly recipient: string
  readonly code?: string
  readonly kind?: string
  readonly reason: string
}

const words = {
  delivered: { code: "2.0.0", reason: "The simulator has taken the mail" },
  bounced: { code: "5.1.1", kind: "permanent", reason: "The simulator knows no such mailbox" },
  complained: { kind: "abuse", reason: "The simulator does not like this mail" }
} as const

/** Reports of a mail's simulated recipients, in the order of the recipients. */
export const simulatedReports = (recipients: ReadonlyArray<string>): ReadonlyArray<SimulatedReport> =>
  recipients.flatMap((recipient) => {
    const [, named] = simulated.exec(bareAddress(recipient)) ?? []
    // The pattern lets no other word through.
    const what = named as SimulatedReport["what"] | undefined
    return what === undefined ? [] : [{ what, recipient, ...words[what] }]
  })

export interface HandedMail {
  readonly id: string
  readonly sender: string
  readonly mode: Mode
  readonly message: Message
  /** The recipients that are left, as they were given. */
  readonly recipients: ReadonlyArray<string>
}

/** The outcome of one recipient, as it was given. */
export interface RecipientAnswer {
  readonly recipient: string
  readonly answer: PartAnswer
}

const fieldsOf = ({ from, subject, to }: Message) => ({ from, to, subject })

/** The answers of the simulator's recipients of a test mail. */
export const simulatedOf = ({ id, message, mode, recipients, sender }: HandedMail): ReadonlyArray<EmailReport> =>
  mode === "live"
    ? []
    : simulatedReports(recipients).map((report) => ({
        id,
        sender,
        from: message.from,
        subject: message.subject,
        ...report
      }))

/** Whether a server refuses for policy or the sender's reputation (RFC 3463, X.7), which says nothing of the address. */
const isOfReputation = ({ code, isReputation }: Extract<PartAnswer, { readonly _tag: "Permanent" }>): boolean =>
  isReputation ?? /^5\.7\./.test(code)

/** The answer for each recipient. One that a parted answer does not name was not attempted. */
export const partsOf = (
  recipients: ReadonlyArray<string>,
  answer: Exclude<HandoffAnswer, { readonly _tag: "Failed" }>
): ReadonlyArray<RecipientAnswer> => {
  if (answer._tag !== "Parted") return recipients.map((recipient) => ({ recipient, answer }))
  const answers = new Map(answer.parts.map((part) => [part.recipient.toLowerCase(), part.answer]))
  const waits: PartAnswer = { _tag: "Waits", reason: "it was not attempted" }
  return recipients.map((recipient) => ({
    recipient,
    answer: answers.get(plainAddress(recipient).toLowerCase()) ?? waits
  }))
}

/** A recipient that was refused, or that nobody has taken the mail for within 72 hours while others did. */
const bounced = ({ id, message, sender }: HandedMail, recipient: string, answer: PartAnswer): EmailReport => {
  const about = { id, sender, what: "bounced", recipient, from: message.from, subject: message.subject } as const
  if (answer._tag === "Permanent") {
    const { code, reason } = answer
    const isReputation = isOfReputation(answer)
    if (!isReputation) return { ...about, suppresses: true, code, kind: "permanent", reason }
    return { ...about, suppresses: false, counts: false, code, kind: "reputation", reason }
  }
  const { code, reason } = wordsOf(answer)
  return { ...about, suppresses: false, counts: false, code, kind: "temporary", reason }
}

const wordsOf = (answer: PartAnswer): { readonly code: string; readonly reason: string } => {
  switch (answer._tag) {
    case "Temporary":
    case "Permanent":
    case "Account":
      return { code: answer.code, reason: answer.reason }
    case "Unknown":
      return { code: "4.4.2", reason: answer.reason }
    case "Waits":
      return { code: "4.4.1", reason: answer.reason }
    case "Accepted":
      return { code: "2.0.0", reason: "" }
  }
}

/**
 * The reports after an attempt; `attempt` counts from 1, and `parts` has everybody of whom something is known, from earlier attempts too. The order matters: each counts as
 * the ones before have left the email.
 */
export const reportsOf = (
  handed: HandedMail,
  parts: ReadonlyArray<RecipientAnswer>,
  attempt: number
): ReadonlyArray<EmailReport> => {
  const { id, message, sender } = handed
  const about = { id, sender, ...fieldsOf(message) }
  const of = (...tags: ReadonlyArray<PartAnswer["_tag"]>) => parts.filter(({ answer }) => tags.includes(answer._tag))
  const [accepted, refused, tried] = [of("Accepted"), of("Permanent"), of("Temporary", "Unknown")]
  const waits = of("Account")
  const reports: Array<EmailReport> = []
  const isExpired = tried.length > 0 && isLast(attempt)
  if (tried.length === 0 && waits.length > 0) reports.push({ ...about, what: "delayed", ...wordsOf(waits[0]!.answer) })
  if (tried.length > 0) {
    const { answer } = tried[0]!
    const { code, reason } = wordsOf(answer)
    // Only the first one counts.
    if (!isExpired) reports.push({ ...about, what: "delayed", code, reason })
    else if (accepted.length === 0 && refused.length === 0) {
      const kind = answer._tag === "Unknown" ? "unknown" : "expired"
      return [{ ...about, what: "failed", kind, code, reason }]
    }
  }
  if (accepted.length > 0) reports.push({ ...about, what: "handedOver" }, ...simulatedOf(handed))
  for (const { answer, recipient } of refused) reports.push(bounced(handed, recipient, answer))
  if (isExpired)
    for (const { answer, recipient } of of("Temporary", "Unknown", "Account", "Waits"))
      reports.push(bounced(handed, recipient, answer))
  return reports
}

/** The report of an email that cannot be made into a mail. */
export const failureOf = (
  { id, message, sender }: HandedMail,
  { kind, reason }: Extract<HandoffAnswer, { readonly _tag: "Failed" }>
): EmailReport => ({ id, sender, ...fieldsOf(message), what: "failed", kind, reason })

/** Whether no further attempt follows a temporary failure. */
export const isLast = (attempt: number): boolean => attempt > handoffDelaysMillis.length
