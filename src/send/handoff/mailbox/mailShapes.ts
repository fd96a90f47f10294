/** Writes mails of the local mailbox as JSON (docs/handoff.md, 3.1). Pure. */
import { decodeWords } from "postal-mime"
import type { Attachment } from "../../Message.ts"
import { opensInBrowser, typeOf } from "./attachmentFile.ts"
import type { CapturedMail } from "./MailboxFolder.ts"

/** Characters of a mail's text that the list shows. */
const maximumSnippet = 160

export const mailboxPath = "/dev/mailbox"

const addressOf = (id: string): string => `${mailboxPath}/${encodeURIComponent(id)}`

const snippetOf = ({ mail: { message } }: CapturedMail): string =>
  (message.text ?? "")
    .slice(0, maximumSnippet * 4)
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, maximumSnippet)

/** One mail of the list. */
export const summaryOf = (captured: CapturedMail) => {
  const { capturedAt, isRead, mail } = captured
  return {
    id: mail.id,
    organization: mail.organization,
    mode: mail.mode,
    from: mail.message.from,
    to: mail.message.to,
    subject: mail.message.subject,
    snippet: snippetOf(captured),
    attachments: mail.message.attachments.length,
    read: isRead,
    capturedAt: new Date(capturedAt).toISOString(),
    url: addressOf(mail.id)
  }
}

export type MailSummary = ReturnType<typeof summaryOf>

/** An attachment without its bytes. One that is named by an address has none here. */
const attachmentOf = (id: string) => (attachment: Attachment, number: number) => {
  const { content, contentId, filename, path } = attachment
  return {
    number,
    filename,
    contentType: typeOf(attachment),
    opens: content !== null && opensInBrowser(typeOf(attachment)),
    contentId,
    bytes: content === null ? null : Buffer.byteLength(content, "base64"),
    path,
    url: content === null ? null : `${addressOf(id)}/attachments/${number}`
  }
}

/** The header lines of a mail's bytes, folded lines joined and encoded words read. */
export const headersOf = (eml: Uint8Array): ReadonlyArray<{ readonly name: string; readonly value: string }> => {
  const text = Buffer.from(eml).toString("utf8")
  const end = text.indexOf("\r\n\r\n")
  return (end === -1 ? text : text.slice(0, end))
    .replaceAll(/\r\n(?=[ \t])/g, "")
    .split("\r\n")
    .flatMap((line) => {
      const colon = line.indexOf(":")
      return colon < 1 ? [] : [{ name: line.slice(0, colon), value: decodeWords(line.slice(colon + 1).trim()) }]
    })
}

/** A whole mail, its attachments without their bytes. */
export const detailOf = (captured: CapturedMail, eml: Uint8Array) => {
  const { envelope, mail } = captured
  const { attachments, bcc, cc, headers, html, replyTo, tags, text } = mail.message
  return {
    ...summaryOf(captured),
    acceptedAt: new Date(mail.acceptedAt).toISOString(),
    envelope,
    cc,
    bcc,
    replyTo,
    html,
    text,
    tags,
    /** The sender's own headers. `allHeaders` are those of the whole mail. */
    headers,
    allHeaders: headersOf(eml),
    attachments: attachments.map(attachmentOf(mail.id)),
    bytes: eml.length
  }
}

export type MailDetail = ReturnType<typeof detailOf>
