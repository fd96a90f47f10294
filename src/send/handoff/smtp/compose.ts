/**
 * An email as mail programs get it (RFC 5322), in lines that end in CRLF. What a customer wrote reaches neither a file nor a network address from here: attachments that
 * are named by an address are given as bytes. Needs no service.
 */
import { Effect } from "effect"
import MailComposer from "nodemailer/lib/mail-composer"
import { type Message, unsubscribeHeader } from "../../Message.ts"
import { wireBytes, withCrlf } from "./wireBytes.ts"

export interface ComposeOptions {
  readonly message: Message
  /** With its angle brackets. */
  readonly messageId: string
  /** Unix milliseconds. */
  readonly date: number
  /** Bytes of attachments that are named by an address, by that address; without them they are left out. */
  readonly fetched?: ReadonlyMap<string, Buffer> | undefined
  /** Headers of the platform's own, before those of the message. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

type ComposedAttachment = {
  content: Buffer
  filename: string | false
  contentType?: string
  contentTransferEncoding?: "7bit" | "base64"
  cid?: string
}

/** The characters that no file's name has. */
const unnamable = /[\p{Cc}/\\]/gu

/** The last part of an address, for an attachment without a name of its own. */
const nameIn = (path: string): string => {
  const last = URL.parse(path)?.pathname.split("/").at(-1) ?? ""
  try {
    return decodeURIComponent(last).replaceAll(unnamable, "").slice(0, 255) || "attachment"
  } catch {
    return "attachment"
  }
}

/** Types whose parts may not be encoded (RFC 2046, 5.1 and 5.2), so that their bytes go as they are. */
const isUnencoded = /^(?:message|multipart)\//i

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the octets that go everywhere as they are.
const sevenBitLines = /^(?:[\x01-\x09\x0b\x0c\x0e-\x7f]{0,998}\r\n)*$/

/**
 * How an attachment's bytes are passed on. An attached mail whose lines any relay lets through stays one; any other, and what only says that it has parts, becomes a file: encoded, and so
 * byte for byte what was given.
 */
const wireOf = (content: Buffer, contentType: string | null): Omit<ComposedAttachment, "filename" | "cid"> => {
  if (contentType === null || !isUnencoded.test(contentType))
    return contentType === null ? { content } : { content, contentType }
  const text = withCrlf(content.toString("latin1"))
  const lines = text.endsWith("\r\n") ? text : `${text}\r\n`
  if (/^message\//i.test(contentType) && sevenBitLines.test(lines))
    return { content: Buffer.from(lines, "latin1"), contentType, contentTransferEncoding: "7bit" }
  return { content, contentType: "application/octet-stream", contentTransferEncoding: "base64" }
}

const attachmentsOf = ({ fetched, message }: ComposeOptions): ReadonlyArray<ComposedAttachment> =>
  message.attachments.flatMap(({ content, contentId, contentType, filename, path }) => {
    const bytes = content !== null ? Buffer.from(content, "base64") : fetched?.get(path ?? "")
    if (bytes === undefined) return []
    const name = filename ?? (path === null ? false : nameIn(path))
    return [
      {
        // Without a type the library takes that of the name.
        ...wireOf(
          bytes,
          contentType ?? (name !== false && /\.(?:eml|mht(?:ml)?|nws|mime)$/i.test(name) ? "message/rfc822" : null)
        ),
        filename: name,
        ...(contentId === null ? {} : { cid: contentId })
      }
    ]
  })

/** Headers of message ids, which have ASCII alone and no encoded words: an id with other letters is nobody's. */
const idHeaders: ReadonlySet<string> = new Set(["references", "in-reply-to"])

const asciiIds = (value: string): string =>
  value
    .split(/\s+/)
    .filter((id) => /^[\x21-\x7e]+$/.test(id))
    .join(" ")

/** The customer's headers, without what was meant for the platform. */
const ownHeaders = (headers: Message["headers"]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      const lower = name.toLowerCase()
      if (lower === unsubscribeHeader) return []
      return [[name, idHeaders.has(lower) ? asciiIds(value) : value]]
    })
  )

/** The mail's final bytes, without a signature. */
export const composed = (options: ComposeOptions): Effect.Effect<Buffer> =>
  Effect.promise(() => {
    const { bcc, cc, from, headers, html, replyTo, subject, text, to } = options.message
    const composer = new MailComposer({
      from,
      to: [...to],
      cc: [...cc],
      bcc: [...bcc],
      replyTo: [...replyTo],
      subject,
      // Otherwise the ends of lines would be mended behind the signature.
      ...(html === null ? {} : { html: withCrlf(html) }),
      ...(text === null ? {} : { text: withCrlf(text) }),
      headers: { ...options.headers, ...ownHeaders(headers) },
      attachments: [...attachmentsOf(options)],
      messageId: options.messageId,
      date: new Date(options.date),
      // The caller gives the recipients; without an envelope the library would make one of the headers.
      envelope: { from: false, to: [] },
      disableFileAccess: true,
      disableUrlAccess: true,
      newline: "win"
    })
    return composer.compile().build().then(wireBytes)
  })
