/** What is told to the account about mails that were handed over or were not (docs/handoff.md, 2). Pure. */
import type { EmailReport, Mode } from "../actors/index.ts"
import type { Message } from "../message/Message.ts"
import type { HandoffAnswer } from "../transport/MailTransport.ts"
import { handoffDelaysMillis } from "./limits.ts"
import { simulatedReports } from "./simulator.ts"

export interface Handed {
  readonly id: string
  readonly sender: string
  readonly mode: Mode
  readonly message: Message
  /** Who is left of the recipients, as they were given. */
  readonly recipients: ReadonlyArray<string>
}

const fieldsOf = ({ from, subject, to }: Message) => ({ from, to, subject })

/** What the simulator's recipients of a test mail answer. */
export const simulatedOf = ({ id, message, mode, recipients, sender }: Handed): ReadonlyArray<EmailReport> =>
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
const isOfReputation = (code: string): boolean => /^5\.7\./.test(code)

/** The reports after an attempt; `attempt` counts from 1. The order matters: each counts as the ones before have left the email. */
export const reportsOf = (handed: Handed, answer: HandoffAnswer, attempt: number): ReadonlyArray<EmailReport> => {
  const { id, message, recipients, sender } = handed
  const about = { id, sender, ...fieldsOf(message) }
  switch (answer._tag) {
    case "Accepted":
      return [{ ...about, what: "handedOver" }, ...simulatedOf(handed)]
    case "Temporary": {
      const { code, reason } = answer
      if (isLast(attempt)) return [{ ...about, what: "failed", kind: "expired", code, reason }]
      // Only the first one counts.
      return [{ ...about, what: "delayed", code, reason }]
    }
    case "Permanent": {
      const { code, reason } = answer
      return recipients.map(
        (recipient): EmailReport => ({
          id,
          sender,
          what: "bounced",
          recipient,
          suppresses: !isOfReputation(code),
          from: message.from,
          subject: message.subject,
          code,
          kind: isOfReputation(code) ? "reputation" : "permanent",
          reason
        })
      )
    }
  }
}

/** Whether no further attempt follows a temporary failure. */
export const isLast = (attempt: number): boolean => attempt > handoffDelaysMillis.length
