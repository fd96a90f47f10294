/**
 * Parses a mail about a sent email: a delivery status notification, an abuse report, or nothing (docs/send.md, 2.9).
 * Pure but for the parser of MIME, which is asynchronous. It reads the first 256 KiB and 10,000 lines of the mail, its
 * work is linear in those, and no mail makes it fail.
 */
import { Effect } from "effect"
import { addressesOf, addressOf } from "./addresses.ts"
import { deliveryReport, originalOf, statusOfRecipient } from "./deliveryReport.ts"
import { type Fields, fieldGroups, first, oneLine } from "./fields.ts"
import { instantOf } from "./instantOf.ts"
import { maximumFieldLength, maximumIdentifierLength } from "./limits.ts"
import { type MailParts, mailParts, returnedHeaders } from "./mailParts.ts"
import type { AbuseReport, DeliveryReport, Feedback } from "./model.ts"
import { diagnosisIn } from "./statusCodes.ts"

// Parses bounces that declare themselves but omit the recipient field that RFC 3464 requires. It reads the human-
// readable text, and accepts it only if it names exactly one recipient and quotes one SMTP reply. Pure.

const maximumLineLength = Math.min(maximumFieldLength, maximumIdentifierLength)

/** The addresses that stand alone on a line, as mail systems write them above what the server said. */
const addressesIn = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.flatMap((line) => {
    const address = line.includes("@") ? addressOf(line.trim()) : null
    return address === null || /\s/.test(line.trim()) ? [] : [address]
  })

/** The recipients that the first successful way of these names. */
const recipientsIn = (mail: MailParts, lines: ReadonlyArray<string>): ReadonlySet<string> => {
  const ways = [
    () => addressesOf(mail.headers.get("x-failed-recipients") ?? []),
    () => addressesOf(returnedHeaders(mail).get("to") ?? []),
    () => addressesIn(lines)
  ]
  for (const way of ways) {
    const found = way()
    if (found.length > 0) return new Set(found)
  }
  return new Set()
}

/**
 * The answer of a server in these lines; null where there is none, or where some say that it may pass and some that it
 * may not.
 */
const answerIn = (lines: ReadonlyArray<string>): string | null => {
  const answers = lines.flatMap((line) => {
    const { replyCode } = diagnosisIn(line)
    return replyCode === null || replyCode < 400 ? [] : [{ line, digit: String(replyCode)[0] }]
  })
  return new Set(answers.map(({ digit }) => digit)).size === 1 ? answers[0]!.line : null
}

/** The report in the words of a mail; null where they do not say of one recipient what the server answered. */
export const wordsReport = (mail: MailParts): DeliveryReport | null => {
  const lines = mail.text.split("\n").map((line) => line.slice(0, maximumLineLength).trim())
  const [recipient, another] = recipientsIn(mail, lines)
  const answer = answerIn(lines)
  if (recipient === undefined || another !== undefined || answer === null) return null
  const group: Fields = new Map([["diagnostic-code", [`smtp; ${answer}`]]])
  const status = statusOfRecipient(recipient, group)
  if (status === null) return null
  return {
    _tag: "DeliveryReport",
    original: originalOf(mail, first(mail.headers, "original-envelope-id"), []),
    recipients: [status],
    reportingMta: null,
    arrivedAt: null
  }
}

// Parses abuse reports (RFC 5965), which mail providers send when somebody marks an email as spam. Pure.

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

/** A list's mail is somebody's post to the list, whatever is in it. */
const isFromList = ({ headers }: MailParts): boolean =>
  first(headers, "list-id", "list-post") !== null || first(headers, "precedence")?.toLowerCase() === "list"

/**
 * Whether the mail comes from a mail system and not from a person: no return path, or one of the names that mail
 * systems have.
 */
const isFromMailSystem = ({ headers }: MailParts): boolean =>
  first(headers, "return-path") === "<>" ||
  first(headers, "from") === "<>" ||
  /(?:^|[<"\s])(?:mailer-daemon|postmaster|mail-daemon)(?:[@>"\s]|$)/i.test(first(headers, "from") ?? "")

/**
 * The kind of report that the mail declares itself to be. Older mail systems send theirs as `multipart/mixed`, as
 * people do with reports that they pass on, and where a mail has lost its type on the way, the part's own header tells.
 */
const reportTypeOf = (mail: MailParts): "delivery-status" | "feedback-report" | "any" | "unsaid" | null => {
  const type = (first(mail.headers, "content-type") ?? "").toLowerCase()
  if (!type.startsWith("multipart/report")) {
    return (type === "" || type.startsWith("multipart/mixed")) && isFromMailSystem(mail) ? "unsaid" : null
  }
  const said = /;\s*report-type\s*=\s*"?([a-z-]{1,32})/.exec(type)?.[1]
  if (said === undefined) return "any"
  return said === "delivery-status" || said === "feedback-report" ? said : null
}

/**
 * The report in a mail, as it came over the wire. Null: the mail is no report, such as an automatic reply (RFC 3834), a
 * post of a mailing list or a mail that a report was forwarded in, or it is beyond the bounds.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { parseFeedback } from "sluice/send"
 *
 * // an ordinary mail is none
 * console.log(await Effect.runPromise(parseFeedback("Subject: Hello\n\nHow are you?\n"))) // null
 * ```
 */
export const parseFeedback: (raw: Uint8Array | string) => Effect.Effect<Feedback | null> = Effect.fn("parseFeedback")(
  function* (raw) {
    const mail = yield* mailParts(raw)
    if (mail === null) return null
    const type = reportTypeOf(mail)
    if (type === null) return null
    const partOf = (...types: ReadonlyArray<string>) => mail.parts.find((part) => types.includes(part.type))
    const status = partOf("message/delivery-status", "message/global-delivery-status")
    if (type !== "feedback-report" && (status !== undefined || type === "delivery-status")) {
      if (isFromList(mail)) return null
      const report = status === undefined ? null : deliveryReport(mail, status.text)
      return report ?? (type === "delivery-status" && isFromMailSystem(mail) ? wordsReport(mail) : null)
    }
    const abuse = partOf("message/feedback-report")
    return abuse === undefined || type === "unsaid" ? null : abuseReport(mail, abuse.text)
  }
)
