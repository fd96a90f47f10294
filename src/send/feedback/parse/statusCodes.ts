/**
 * Reads the codes of mail systems: enhanced status codes (RFC 3463), replies of SMTP (RFC 5321, 4.2) and actions (RFC
 * 3464, 2.3.3).
 */
import type { AnswerClass } from "./answerClass.ts"
import { type DeliveryAction, type DeliveryKind, deliveryActions } from "./model.ts"

// A code within a longer run of digits and dots is an IP address or a version.
const enhanced = /(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?!\.?\d)/
const replyAtStart = /^["'<( ]*([45]\d\d)(?![\d.])/
const replyBeforeStatus = /(?<![\d.])([45]\d\d)[ -]["'#]?([45]\.\d{1,3}\.\d{1,3})(?!\.?\d)/
// Within a sentence, three digits are a reply only where the words of a quoted answer are beside them.
const replyInside =
  /(?:said|reply|replied|response|error|returned|server|code|smtp)[^\d]{1,24}([45][0-7]\d)(?![\d.])|(?<![\d.])([45][0-7]\d)-["'A-Za-z]/i
const successAtStart = /^2[0-5]\d(?![\d.])/

/** The first enhanced status code of a text, without leading zeros. */
export const statusIn = (text: string | null): string | null => {
  const found = text === null ? null : enhanced.exec(text)
  return found === null ? null : `${found[1]}.${Number(found[2])}.${Number(found[3])}`
}

export interface Diagnosis {
  readonly status: string | null
  /** The reply of an SMTP server. */
  readonly replyCode: number | null
}

/** Reads the codes of a text; codes that are together in it count before others. */
export const diagnosisIn = (text: string | null): Diagnosis => {
  if (text === null) return { status: null, replyCode: null }
  const both = replyBeforeStatus.exec(text)
  const inside = replyInside.exec(text)
  const code =
    replyAtStart.exec(text)?.[1] ?? both?.[1] ?? inside?.[1] ?? inside?.[2] ?? successAtStart.exec(text)?.[0] ?? null
  return { status: statusIn(both?.[2] ?? text), replyCode: code === null ? null : Number(code) }
}

const synonyms: Readonly<Record<string, DeliveryAction>> = {
  failure: "failed",
  fail: "failed",
  expired: "failed",
  delay: "delayed",
  deliverable: "delivered"
}

/** The status that follows from an action alone: the delivery time has expired (RFC 3463, 3.5). */
export const statusOfAction = (field: string | null): string | null => (/^expired/i.test(field ?? "") ? "4.4.7" : null)

/** The action that a field names, or null. */
export const actionOf = (field: string | null): DeliveryAction | null => {
  const word = /^[a-z]+/.exec((field ?? "").toLowerCase())?.[0] ?? ""
  return deliveryActions.find((action) => action === word) ?? synonyms[word] ?? null
}

const classes: Readonly<Record<DeliveryAction, string>> = {
  failed: "45",
  delayed: "45",
  delivered: "2",
  relayed: "2",
  expanded: "2"
}

/** Whether a status may stand beside an action: a failure with a status of success tells nothing. */
const fits = (status: string | null, action: DeliveryAction): status is string =>
  status !== null && classes[action].includes(status[0]!)

/** The action where the report names none: that of the class of its status or reply. */
export const actionFor = (status: string | null, replyCode: number | null): DeliveryAction | null => {
  const digit = status?.[0] ?? String(replyCode ?? "")[0]
  return digit === "5" ? "failed" : digit === "4" ? "delayed" : digit === "2" ? "delivered" : null
}

/**
 * The status: as the report says, else as the diagnostic says, else the class of the reply, else that of the action.
 */
export const statusFor = (
  action: DeliveryAction,
  said: string | null,
  diagnosed: string | null,
  replyCode: number | null
): string => {
  if (fits(said, action)) return said
  if (fits(diagnosed, action)) return diagnosed
  const reply = replyCode === null ? null : `${String(replyCode)[0]}.0.0`
  if (fits(reply, action)) return reply
  return action === "failed" ? "5.0.0" : action === "delayed" ? "4.0.0" : "2.0.0"
}

/** The kind of a failure: a passing one is temporary although the mail system has given up. */
export const kindOf = (action: DeliveryAction, answer: AnswerClass): DeliveryKind => {
  if (action === "delayed") return "temporary"
  if (action === "failed") return answer === "temporary" ? "temporary" : "permanent"
  return "delivered"
}
