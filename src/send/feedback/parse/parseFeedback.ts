/**
 * Parses a mail about a sent email: a delivery status notification, an abuse report, or nothing (docs/send.md, 2.9).
 * Pure but for the parser of MIME, which is asynchronous. It reads the first 256 KiB and 10,000 lines of the mail, its
 * work is linear in those, and no mail makes it fail.
 */
import { Effect } from "effect"
import { abuseReport } from "./abuseReport.ts"
import { deliveryReport } from "./deliveryReport.ts"
import { first } from "./fields.ts"
import { type MailParts, mailParts } from "./mailParts.ts"
import type { Feedback } from "./model.ts"
import { wordsReport } from "./wordsReport.ts"

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
