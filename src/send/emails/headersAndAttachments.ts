/** Checks the headers, tags and attachments of an email in a request (docs/platform.md, 9.10). Pure. */
import {
  maximumAttachments,
  maximumContentIdLength,
  maximumFilenameLength,
  maximumHeaderNameLength,
  maximumHeaders,
  maximumHeaderValueLength,
  maximumTagLength,
  maximumTags
} from "../limits.ts"
import { type Attachment, type Tag, unsubscribeHeader } from "../Message.ts"
import type { EmailForm } from "./forms.ts"
import { Fault, fault, isLine } from "./readFields.ts"

/** Names of header fields (RFC 5322, 2.2), without the signs that some programs stumble over. */
const headerName = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/

/** Headers that the platform writes itself, and those by which mail servers trust each other. In lower case. */
const reservedHeaders: ReadonlySet<string> = new Set([
  "from",
  "sender",
  "to",
  "cc",
  "bcc",
  "reply-to",
  "subject",
  "date",
  "message-id",
  "mime-version",
  "return-path",
  "received",
  "received-spf",
  "authentication-results",
  "dkim-signature",
  "domainkey-signature",
  // No object of a program that reads it can have this name.
  "__proto__"
])

const reservedBeginnings = ["content-", "arc-", "resent-", "x-sluice-"] as const

/** Whether the platform writes a header itself, or leaves it to mail servers. The name is in lower case. */
export const isReserved = (name: string): boolean =>
  reservedHeaders.has(name) || reservedBeginnings.some((beginning) => name.startsWith(beginning))

/** A line of a mail has at most 998 octets, and a header is folded at its blanks alone. */
const maximumHeaderRun = 900
const longRun = new RegExp(`[\\x21-\\x7e]{${maximumHeaderRun + 1}}`)

export const headersOf = (given: EmailForm["headers"]): Readonly<Record<string, string>> => {
  const entries = Object.entries(given ?? {})
  if (entries.length > maximumHeaders)
    throw new Fault(`Expected at most ${maximumHeaders} headers; ${entries.length} were given.`)
  const seen = new Set<string>()
  for (const [name, value] of entries) {
    const lower = name.toLowerCase()
    if (name.length > maximumHeaderNameLength || !headerName.test(name))
      throw fault("headers", name, `Expected names of letters, digits, - and _, at most ${maximumHeaderNameLength}`)
    if (lower === unsubscribeHeader && value.toLowerCase() !== "one-click")
      throw fault(`headers.${name}`, value, "Expected one-click")
    if (lower !== unsubscribeHeader && isReserved(lower))
      throw fault("headers", name, "The platform writes this header itself")
    if (seen.has(lower)) throw fault("headers", name, "Upper and lower case are the same header, given twice")
    if (value.length > maximumHeaderValueLength || !isLine(value))
      throw fault(`headers.${name}`, value, `Expected one line of at most ${maximumHeaderValueLength} characters`)
    if (longRun.test(value))
      throw fault(
        `headers.${name}`,
        value,
        `Expected at most ${maximumHeaderRun} characters without a blank between them`
      )
    seen.add(lower)
  }
  if (seen.has(unsubscribeHeader) && (seen.has("list-unsubscribe") || seen.has("list-unsubscribe-post")))
    throw new Fault("Expected either 'X-Sluice-Unsubscribe' or headers 'List-Unsubscribe' of your own.")
  return Object.fromEntries(entries)
}

const tagText = /^[A-Za-z0-9_-]+$/

export const tagsOf = (given: EmailForm["tags"]): ReadonlyArray<Tag> => {
  const tags = given ?? []
  if (tags.length > maximumTags) throw new Fault(`Expected at most ${maximumTags} tags; ${tags.length} were given.`)
  for (const [index, tag] of tags.entries()) {
    for (const part of ["name", "value"] as const) {
      if (tag[part].length > maximumTagLength || !tagText.test(tag[part]))
        throw fault(
          `tags.${index}.${part}`,
          tag[part],
          `Expected 1 to ${maximumTagLength} letters, digits, underscores and hyphens`
        )
    }
  }
  return tags
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/
const token = "[A-Za-z0-9!#$&^_.+-]+"
const contentType = new RegExp(`^${token}/${token}(?:; ?${token}=(?:${token}|"[^"\\\\\\p{C}]*"))*$`, "u")
const contentId = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.@-]+$/

type AttachmentForm = NonNullable<EmailForm["attachments"]>[number]

const filenameOf = (field: string, given: AttachmentForm["filename"]): string | null => {
  if (given == null || given === false) return null
  if (given === "" || given.length > maximumFilenameLength || !isLine(given) || /[/\\]/.test(given))
    throw fault(
      `${field}.filename`,
      given,
      `Expected a name without slashes, at most ${maximumFilenameLength} characters`
    )
  return given
}

const contentOf = (field: string, given: string | null | undefined): string | null => {
  if (given == null) return null
  if (given.length % 4 !== 0 || !base64.test(given)) throw fault(`${field}.content`, given, "Expected base64")
  return given
}

const attachmentOf = (
  given: AttachmentForm,
  field: string,
  pathProblem: (path: string) => string | undefined
): Attachment => {
  const filename = filenameOf(field, given.filename)
  const content = contentOf(field, given.content)
  const { content_id = null, content_type = null, path = null } = given
  if ((content === null) === (path === null))
    throw new Fault(`Expected either 'content' or 'path' in the field '${field}'.`)
  if (content !== null && filename === null) throw new Fault(`Missing required field '${field}.filename'.`)
  const problem = path === null ? undefined : pathProblem(path)
  if (path !== null && problem !== undefined) throw fault(`${field}.path`, path, problem)
  if (content_type !== null && (content_type.length > maximumFilenameLength || !contentType.test(content_type)))
    throw fault(`${field}.content_type`, content_type, "Expected a media type, such as application/pdf")
  if (content_id !== null && (content_id.length > maximumContentIdLength || !contentId.test(content_id)))
    throw fault(`${field}.content_id`, content_id, `Expected 1 to ${maximumContentIdLength} characters, without blanks`)
  return { filename, content, path, contentType: content_type, contentId: content_id }
}

export const attachmentsOf = (
  given: EmailForm["attachments"],
  pathProblem: (path: string) => string | undefined
): ReadonlyArray<Attachment> => {
  const attachments = given ?? []
  if (attachments.length > maximumAttachments)
    throw new Fault(`Expected at most ${maximumAttachments} attachments; ${attachments.length} were given.`)
  return attachments.map((one, index) => attachmentOf(one, `attachments.${index}`, pathProblem))
}
