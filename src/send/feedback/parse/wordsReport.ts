/**
 * Parses bounces that declare themselves but omit the recipient field that RFC 3464 requires. It reads the
 * human-readable text, and accepts it only if it names exactly one recipient and quotes one SMTP reply. Pure.
 */
import { addressesOf, addressOf } from "./addresses.ts"
import { originalOf, statusOfRecipient } from "./deliveryReport.ts"
import { type Fields, first } from "./fields.ts"
import { maximumFieldLength, maximumIdentifierLength } from "./limits.ts"
import { type MailParts, returnedHeaders } from "./mailParts.ts"
import type { DeliveryReport } from "./model.ts"
import { diagnosisIn } from "./statusCodes.ts"

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
