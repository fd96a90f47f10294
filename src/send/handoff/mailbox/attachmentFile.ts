/** Says how a browser may open an attachment of the local mailbox (docs/handoff.md, 3.3). Pure. */
import type { Attachment } from "../../Message.ts"

/** Types that a browser shows without running anything of them. All others are downloaded. */
const shown: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"])

/** Types that are shown as plain text. */
const asText: ReadonlySet<string> = new Set(["text/plain", "text/csv", "text/calendar", "application/json"])

const mediaType = /^[a-z0-9!#$&^_.+-]{1,100}\/[a-z0-9!#$&^_.+-]{1,100}$/

const typesByExtension: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  txt: "text/plain",
  csv: "text/csv",
  ics: "text/calendar",
  json: "application/json",
  pdf: "application/pdf"
}

/** The media type without its parameters: the given one, else that of the name. */
export const typeOf = ({ contentType, filename }: Pick<Attachment, "contentType" | "filename">): string => {
  const given = (contentType ?? "").split(";", 1)[0]!.trim().toLowerCase()
  if (mediaType.test(given)) return given
  const extension = filename?.slice(filename.lastIndexOf(".") + 1).toLowerCase() ?? ""
  return Object.hasOwn(typesByExtension, extension) ? typesByExtension[extension]! : "application/octet-stream"
}

/** Whether a browser shows a file of this type, and does not download it. */
export const opensInBrowser = (type: string): boolean => shown.has(type) || asText.has(type)

/** A file's name for a header (RFC 6266): in ASCII, and whole in the other form. */
const dispositionOf = (kind: "inline" | "attachment", name: string): string => {
  const ascii = name.replaceAll(/[^\w.\- ]/g, "_")
  const whole = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16)}`
  )
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${whole}`
}

export interface AttachmentHeaders {
  readonly contentType: string
  readonly disposition: string
}

/** Nothing in a shown file runs or loads. */
export const attachmentPolicy = "sandbox; default-src 'none'; frame-ancestors 'none'"

/** The headers of an attachment; `isDownload` never shows it. */
export const attachmentHeaders = (
  attachment: Pick<Attachment, "contentType" | "filename">,
  number: number,
  isDownload: boolean
): AttachmentHeaders => {
  const type = typeOf(attachment)
  const name = attachment.filename ?? `attachment-${number + 1}`
  if (!isDownload && shown.has(type)) return { contentType: type, disposition: dispositionOf("inline", name) }
  if (!isDownload && asText.has(type))
    return { contentType: "text/plain; charset=utf-8", disposition: dispositionOf("inline", name) }
  return { contentType: "application/octet-stream", disposition: dispositionOf("attachment", name) }
}
