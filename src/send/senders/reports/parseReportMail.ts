/**
 * Parses a mail with a report about a domain: finds the attachment, unpacks and parses it (docs/handoff.md, 6.4). Its
 * work is bounded, and no mail makes it fail in another way than with a reason.
 */
import { Effect, Result } from "effect"
import PostalMime from "postal-mime"
import {
  maximumReportHeaderBytes,
  maximumReportMailBytes,
  maximumReportMailLines,
  maximumReportNesting,
  maximumReportParts
} from "./limits.ts"
import type { DomainReport } from "./model.ts"
import { dmarcReportSteps } from "./parseDmarcReport.ts"
import { parseTlsReport } from "./parseTlsReport.ts"
import { isArchive, ReportUnreadable, unpackReport } from "./unpackReport.ts"

/** Whether a mail has at most so many lines. */
const hasFewLines = (bytes: Buffer, most: number): boolean => {
  let place = 0
  for (let line = 0; line <= most; line++) {
    place = bytes.indexOf(0x0a, place) + 1
    if (place === 0) return true
  }
  return false
}

/** Types of attachments that are reports without being packed. */
const plainTypes = ["application/xml", "text/xml", "application/tlsrpt+json", "application/json"]

/** The attachment that is the report: the first archive, or else the first of such a type. */
const attachmentOf = Effect.fnUntraced(function* (raw: Uint8Array) {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  if (bytes.length > maximumReportMailBytes || !hasFewLines(bytes, maximumReportMailLines))
    return yield* new ReportUnreadable({ reason: "the mail is too long" })
  const mail = yield* Effect.tryPromise({
    try: () =>
      PostalMime.parse(bytes, {
        forceRfc822Attachments: true,
        maxHeadersSize: maximumReportHeaderBytes,
        maxNestingDepth: maximumReportNesting
      }),
    catch: () => new ReportUnreadable({ reason: "the mail cannot be read" })
  })
  const parts = mail.attachments.slice(0, maximumReportParts).flatMap(({ content, mimeType }) =>
    // Only encoded attachments have texts as their content, and none was asked for.
    typeof content === "string" ? [] : [{ type: mimeType, content: new Uint8Array(content) }]
  )
  const found =
    parts.find(({ content }) => isArchive(content)) ?? parts.find(({ type }) => plainTypes.includes(type.toLowerCase()))
  return found?.content ?? (yield* new ReportUnreadable({ reason: "no attachment is a report" }))
})

/** Reads a long report without keeping the thread from others. */
const parsedInSteps = Effect.fnUntraced(function* (xml: string) {
  const steps = dmarcReportSteps(xml)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    yield* Effect.yieldNow
  }
})

/** The report in a mail. */
export const parseReportMail = Effect.fn("parseReportMail")(function* (
  raw: Uint8Array
): Effect.fn.Return<DomainReport, ReportUnreadable> {
  const text = yield* unpackReport(yield* attachmentOf(raw))
  const parsed: Result.Result<DomainReport, string> = /^[\s\ufeff]*\{/.test(text)
    ? parseTlsReport(text)
    : yield* parsedInSteps(text)
  return Result.isSuccess(parsed) ? parsed.success : yield* new ReportUnreadable({ reason: parsed.failure })
})
