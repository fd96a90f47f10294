/**
 * Says how a mail that was submitted by SMTP is answered (docs/platform.md, 9.18): the code, the enhanced status, and a
 * text of one line. Pure.
 */
import { overLimit } from "../../limits/headers.ts"
import type { Decision } from "../../limits/rules.ts"
import type { AcceptFault, Sent } from "../emails/AcceptEmails.ts"
import { isSendRejection, type SendRejection } from "../rules/rejections.ts"
import { maximumReplyLength } from "./limits.ts"
import type { MailTooLarge, MailUnreadable } from "./mailForm.ts"

export interface SmtpReply {
  readonly code: number
  /** The enhanced status and the words behind it. */
  readonly text: string
  /** A word for counting: `accepted`, `repeated`, or the code of the API's error. */
  readonly outcome: string
}

/** An answer on one line of ASCII. */
export const smtpReply = (code: number, status: string, words: string, outcome: string): SmtpReply => ({
  code,
  text: `${status} ${words}`.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, maximumReplyLength),
  outcome
})

/** The key is unknown, ended, or not for sending. */
export const keyRefused = (words: string): SmtpReply => smtpReply(535, "5.7.8", words, "unauthorized")

/** Nothing was done. */
export const laterReply = smtpReply(
  451,
  "4.3.0",
  "This cannot be decided right now. Nothing was done; send it again later.",
  "unavailable"
)

/** It may have been done. */
export const unknownReply = smtpReply(
  451,
  "4.3.0",
  "Whether the mail was accepted is not known. Send it again with the same Message-ID: it is accepted once.",
  "unavailable"
)

/** The mail was accepted. */
export const acceptedReply = ({ emails, isReplay }: Sent): SmtpReply =>
  smtpReply(
    250,
    "2.0.0",
    emails.map(({ heldUntil, id, state }) => `${id} ${state}${heldUntil ? ` until ${heldUntil}` : ""}`).join(", "),
    isReplay ? "repeated" : "accepted"
  )

/** The key has used up its requests of this minute. */
export const rateReply = (decision: Decision): SmtpReply => smtpReply(452, "4.7.1", overLimit(decision), "rate_limited")

/** The mail is larger than SIZE. */
export const tooLargeReply = (words: string): SmtpReply => smtpReply(552, "5.3.4", words, "payload_too_large")

/** The mail cannot be a request. */
export const invalidReply = (words: string): SmtpReply => smtpReply(554, "5.6.0", words, "invalid_request")

const rejectedReply = (rejection: SendRejection): SmtpReply => {
  const { code, message } = rejection
  switch (code) {
    case "sender_not_verified":
    case "sending_paused":
      return smtpReply(550, "5.7.1", message, code)
    case "monthly_limit_reached":
      return smtpReply(452, "4.7.1", `${message}. It ends at ${rejection.resetsAt}; ${rejection.upgradeUrl}`, code)
    case "probation_limit_reached":
      return smtpReply(452, "4.7.1", `${message} It resets at ${rejection.resetsAt}`, code)
  }
}

/** Faults that pass by themselves. */
const passing: ReadonlySet<string> = new Set([
  "ContentsUnavailable",
  "Overloaded",
  "OutcomeUnknown",
  "PartitionMoved",
  "PartitionUnavailable",
  "SqlError"
])

export type SubmissionFault = AcceptFault | MailTooLarge | MailUnreadable

/** Whether a fault is the platform's and does not pass by itself, so that operators must see it. */
export const isDefect = (fault: SubmissionFault): boolean =>
  !isSendRejection(fault) &&
  fault._tag !== "MailTooLarge" &&
  fault._tag !== "MailUnreadable" &&
  !passing.has(fault._tag)

/** A mail that was not accepted. */
export const faultReply = (fault: SubmissionFault): SmtpReply => {
  if (isSendRejection(fault)) return rejectedReply(fault)
  if (fault._tag === "MailTooLarge") return tooLargeReply(fault.message)
  if (fault._tag === "MailUnreadable") return invalidReply(fault.message)
  return fault._tag === "OutcomeUnknown" ? unknownReply : laterReply
}
