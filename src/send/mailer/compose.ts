/**
 * An email as mail programs get it (RFC 5322), in lines that end in CRLF. What a customer wrote reaches neither a file nor a network address from here: attachments that
 * are named by an address are given as bytes. Needs no service.
 */
import { Effect } from "effect"
import MailComposer from "nodemailer/lib/mail-composer"
import { type Message, unsubscribeHeader } from "../message/Message.ts"

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

type ComposedAttachment = { content: Buffer; filename: string | false; contentType?: string; cid?: string }

/** What no file's name has. */
const unnamable = /[\p{Cc}/\\]/gu

/** What the last part of an address names, for an attachment without a name of its own. */
const nameIn = (path: string): string => {
  const last = URL.parse(path)?.pathname.split("/").at(-1) ?? ""
  try {
    return decodeURIComponent(last).replaceAll(unnamable, "").slice(0, 255) || "attachment"
  } catch {
    return "attachment"
  }
}

const attachmentsOf = ({ fetched, message }: ComposeOptions): ReadonlyArray<ComposedAttachment> =>
  message.attachments.flatMap(({ content, contentId, contentType, filename, path }) => {
    const bytes = content !== null ? Buffer.from(content, "base64") : fetched?.get(path ?? "")
    if (bytes === undefined) return []
    return [
      {
        content: bytes,
        filename: filename ?? (path === null ? false : nameIn(path)),
        ...(contentType === null ? {} : { contentType }),
        ...(contentId === null ? {} : { cid: contentId })
      }
    ]
  })

/** The customer's headers, without what was meant for the platform. */
const ownHeaders = (headers: Message["headers"]): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== unsubscribeHeader))

/** The mail's bytes, without a signature. */
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
      ...(html === null ? {} : { html }),
      ...(text === null ? {} : { text }),
      headers: { ...options.headers, ...ownHeaders(headers) },
      attachments: [...attachmentsOf(options)],
      messageId: options.messageId,
      date: new Date(options.date),
      // Who it goes to is the caller's; without an envelope the library would make one of the headers.
      envelope: { from: false, to: [] },
      disableFileAccess: true,
      disableUrlAccess: true,
      newline: "win"
    })
    return composer.compile().build()
  })
