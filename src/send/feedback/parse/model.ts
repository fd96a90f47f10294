/**
 * Defines the reports of other mail systems about an email: delivery status notifications and abuse reports
 * (docs/send.md, 2.9).
 */

import type { AnswerClass } from "./answerClass.ts"

/** The outcomes that a delivery report may state. See {@link parseFeedback}. */
export const deliveryActions = ["failed", "delayed", "delivered", "relayed", "expanded"] as const
/** An outcome that a delivery report states. See {@link parseFeedback}. */
export type DeliveryAction = (typeof deliveryActions)[number]

/**
 * `permanent` and `temporary` say what the failure is like; whether the mail system has given up is said by the action.
 * See {@link parseFeedback}.
 */
export type DeliveryKind = "permanent" | "temporary" | "delivered"

/** The outcome of an email for one recipient. See {@link parseFeedback}. */
export interface RecipientStatus {
  /**
   * The address that the mail system delivered to: the final recipient, or the original one where that is not an
   * address.
   */
  readonly recipient: string
  /** The address as the sender wrote it, where the report has it: not `recipient` where mail was redirected. */
  readonly originalRecipient: string | null
  readonly action: DeliveryAction
  /** Enhanced status code (RFC 3463), such as `5.1.1`. */
  readonly status: string
  readonly kind: DeliveryKind
  /** Its meaning: only `permanent` says that the address does not exist. */
  readonly answer: AnswerClass
  /** The reply of the SMTP server, such as 550. */
  readonly replyCode: number | null
  /** The words of the mail system, on one line of at most 500 characters. */
  readonly reason: string | null
  /** The host that said it. */
  readonly remoteMta: string | null
  /** The sender, its account or the content was refused: that says nothing about the recipient's address. */
  readonly isReputation: boolean
}

/**
 * The marks by which a report names its email. Each is as the report has it, and nothing here is authenticated but by a
 * return path (`readVerp`). See {@link parseFeedback}.
 */
export interface OriginalEmail {
  /** Of the returned mail's own headers, without angle brackets. */
  readonly messageId: string | null
  /** The `ENVID` that the email was handed over with. */
  readonly envelopeId: string | null
  /** Addresses that the report was sent to: the email's return path is among them. */
  readonly reportedTo: ReadonlyArray<string>
  /**
   * Addresses of the form of `verpOf` that stand in the fields of the report or in the headers of the returned mail, as
   * `Original-Mail-From` and `Return-Path` have them: a feedback loop reports to one address, whatever the email's
   * return path was.
   */
  readonly returnPaths: ReadonlyArray<string>
}

/** A delivery status notification (RFC 3464). See {@link parseFeedback}. */
export interface DeliveryReport {
  readonly _tag: "DeliveryReport"
  readonly original: OriginalEmail
  readonly recipients: ReadonlyArray<RecipientStatus>
  /** The host that made the report. */
  readonly reportingMta: string | null
  /** When the mail system took the email, in Unix milliseconds. */
  readonly arrivedAt: number | null
}

/** An abuse report (RFC 5965). See {@link parseFeedback}. */
export interface AbuseReport {
  readonly _tag: "AbuseReport"
  readonly original: OriginalEmail
  /** In lower case: `abuse`, `fraud`, `virus`, `not-spam`, `auth-failure`, `other`, or what else the report says. */
  readonly type: string
  /** Whether somebody complains about the email: `abuse`, `fraud` and `virus` alone. */
  readonly isComplaint: boolean
  /** Whom the email went to, as the report or else the returned mail says; empty where neither does. */
  readonly recipients: ReadonlyArray<string>
  readonly userAgent: string | null
  /** The IP address that the email came from. */
  readonly sourceIp: string | null
  /** When the email arrived, in Unix milliseconds. */
  readonly arrivedAt: number | null
}

/** The result of `parseFeedback`: a delivery report, or a complaint. See {@link parseFeedback}. */
export type Feedback = DeliveryReport | AbuseReport
