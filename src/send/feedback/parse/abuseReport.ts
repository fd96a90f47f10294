/** Parses abuse reports (RFC 5965), which mail providers send when somebody marks an email as spam. Pure. */
import { addressesOf } from "./addresses.ts"
import { originalOf } from "./deliveryReport.ts"
import { fieldGroups, first, oneLine } from "./fields.ts"
import { instantOf } from "./instantOf.ts"
import { maximumIdentifierLength } from "./limits.ts"
import { type MailParts, returnedHeaders } from "./mailParts.ts"
import type { AbuseReport } from "./model.ts"

/**
 * The types by which a recipient, or a filter for one, complains. `not-spam` is the opposite, and the others are about
 * mail systems (RFC 5965, 7.3; RFC 6591).
 */
const complaints = ["abuse", "fraud", "virus"]

/** The report in the text of a feedback report; null where it has no type. */
export const abuseReport = (mail: MailParts, text: string): AbuseReport | null => {
  const groups = fieldGroups(text)
  const fields = new Map(groups.flatMap((group) => [...group]))
  const type = /^[a-z0-9-]{1,64}/.exec((first(fields, "feedback-type") ?? "").toLowerCase())?.[0]
  if (type === undefined) return null
  const reported = addressesOf(fields.get("original-rcpt-to") ?? [])
  const returnedTo = addressesOf(returnedHeaders(mail).get("to") ?? [])
  return {
    _tag: "AbuseReport",
    original: originalOf(mail, first(fields, "original-envelope-id"), groups),
    type,
    isComplaint: complaints.includes(type),
    // If the returned mail has several, the one who complains is unknown.
    recipients: reported.length > 0 ? reported : returnedTo.length === 1 ? returnedTo : [],
    userAgent: oneLine(first(fields, "user-agent"), maximumIdentifierLength),
    sourceIp: oneLine(first(fields, "source-ip"), maximumIdentifierLength),
    arrivedAt: instantOf(first(fields, "arrival-date", "received-date"))
  }
}
