/**
 * Finds the parts of a mail with `postal-mime`: headers, and the leaves that are not its text, with transfer encodings
 * undone. Returned mails stay closed, so that a report inside one is never taken for the mail's own.
 */
import { Effect } from "effect"
import PostalMime from "postal-mime"
import { type Fields, fieldGroups } from "./fields.ts"
import {
  maximumFieldLength,
  maximumHeaderBytes,
  maximumMailBytes,
  maximumMailLines,
  maximumNesting,
  maximumPartBytes,
  maximumParts
} from "./limits.ts"

export interface MimePart {
  /** In lower case, without parameters. */
  readonly type: string
  readonly text: string
}

export interface MailParts {
  readonly headers: Fields
  readonly parts: ReadonlyArray<MimePart>
  /** The text of the mail for people. */
  readonly text: string
}

/**
 * The start of a mail. One whose lines end in CR alone, as some stores keep them, gets LF, which MIME parsers look for.
 */
const startOf = (raw: Uint8Array | string): Buffer => {
  const bytes =
    typeof raw === "string"
      ? Buffer.from(raw.slice(0, maximumMailBytes)).subarray(0, maximumMailBytes)
      : Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, maximumMailBytes))
  const lines = bytes.includes(0x0a) ? bytes : Buffer.from(bytes.map((byte) => (byte === 0x0d ? 0x0a : byte)))
  let end = 0
  for (let line = 0; line < maximumMailLines; line++) {
    end = lines.indexOf(0x0a, end) + 1
    if (end === 0) return lines
  }
  return lines.subarray(0, end)
}

const statusHeader = /^Content-Type[ \t]*:[ \t]*message\/delivery-status/im

/**
 * The fields of a status that no parser of MIME finds because its boundary is wrong. `undivided` is a whole mail in
 * which the boundary of its header does not occur: there they begin with their first one. In the text of a mail they
 * must stand behind their part's own header.
 */
const misplacedStatus = (text: string, undivided: boolean): ReadonlyArray<MimePart> => {
  const header = undivided ? 0 : text.search(statusHeader)
  const rest = header < 0 ? "" : text.slice(header)
  const begin = rest.search(/^Reporting-MTA[ \t]*:/im)
  if (begin < 0) return []
  const fields = rest.slice(begin)
  const end = fields.search(/^(?:Return-Path|Received)[ \t]*:/im)
  return [
    { type: "message/delivery-status", text: (end < 0 ? fields : fields.slice(0, end)).slice(0, maximumPartBytes) },
    ...(end < 0 ? [] : [{ type: "message/rfc822", text: fields.slice(end).slice(0, maximumPartBytes) }])
  ]
}

const reportTypes = /delivery-status|feedback-report/i

/** The parts of a mail that may be a report; null where no part can be one, or where it is beyond the bounds. */
export const mailParts = Effect.fn("mailParts")(function* (
  raw: Uint8Array | string
): Effect.fn.Return<MailParts | null> {
  const bytes = startOf(raw)
  // Nearly all mail ends here, before its parts are built.
  if (!reportTypes.test(bytes.toString("latin1"))) return null
  const mail = yield* Effect.tryPromise(() =>
    PostalMime.parse(bytes, {
      forceRfc822Attachments: true,
      maxHeadersSize: maximumHeaderBytes,
      maxNestingDepth: maximumNesting
    })
  ).pipe(Effect.orElseSucceed(() => null))
  if (mail === null) return null
  const headers = new Map<string, Array<string>>()
  for (const { key, value } of mail.headers) {
    headers.set(key, [...(headers.get(key) ?? []).slice(0, maximumParts), value.slice(0, maximumFieldLength)])
  }
  const parts = mail.attachments.slice(0, maximumParts).map(({ content, mimeType }) => ({
    type: mimeType,
    // Only encoded attachments have texts as their content, and none was asked for.
    text:
      typeof content === "string" ? "" : Buffer.from(new Uint8Array(content).subarray(0, maximumPartBytes)).toString()
  }))
  const text = (mail.text ?? "").slice(0, maximumPartBytes)
  if (parts.some(({ type }) => reportTypes.test(type))) return { headers, parts, text }
  const undivided = parts.length === 0 && mail.text === undefined && mail.html === undefined
  const misplaced = misplacedStatus(undivided ? bytes.toString() : (mail.text ?? ""), undivided)
  return { headers, parts: [...misplaced, ...parts], text }
})

const returnedTypes = [
  "message/rfc822",
  "text/rfc822-headers",
  "message/global",
  "message/global-headers",
  "text/rfc822"
]

const noFields: Fields = new Map()

/** The headers of the returned mail: the first such part. */
export const returnedHeaders = ({ parts }: MailParts): Fields => {
  const returned = parts.find(({ type }) => returnedTypes.includes(type))
  return (returned && fieldGroups(returned.text)[0]) ?? noFields
}
