/**
 * Turns a mail that was submitted by SMTP into the request of `POST /v1/send/emails` (docs/platform.md, 9.18): its parts
 * with `postal-mime`, its recipients from the envelope. It checks nothing that `readEmail` checks. Needs no service.
 */
import { Data, Effect } from "effect"
import PostalMime, {
  type Address,
  type Attachment,
  addressParser,
  decodeWords,
  type Email,
  type Mailbox
} from "postal-mime"
import { readAddress } from "../emails/addresses.ts"
import type { EmailForm } from "../emails/forms.ts"
import { isReserved } from "../emails/headersAndAttachments.ts"
import { isLine } from "../emails/readFields.ts"
import { maximumFilenameLength, maximumSendBodyBytes } from "../limits.ts"
import { maximumHeaderBytes, maximumLines, maximumNesting } from "./limits.ts"

/** The mail is larger than a request may be. */
export class MailTooLarge extends Data.TaggedError("MailTooLarge")<{ readonly message: string }> {}

/** The mail cannot be a request. The message is for the sender. */
export class MailUnreadable extends Data.TaggedError("MailUnreadable")<{ readonly message: string }> {}

/** By what two spellings of an address are the same recipient; undefined if it is no address. */
export const recipientKey = (address: string): string | undefined => readAddress(address)?.text.toLowerCase()

/** A name that needs no quotes. */
const plainName = /^[^\s\p{Cc}"(),.:;<>@[\]\\]+(?: [^\s\p{Cc}"(),.:;<>@[\]\\]+)*$/u

const written = ({ address, name }: Mailbox): string => {
  if (name === "") return address
  return `${plainName.test(name) ? name : `"${name.replaceAll(/["\\]/g, "\\$&")}"`} <${address}>`
}

/** The mailboxes of an address list, those of groups too. */
const mailboxesOf = (addresses: ReadonlyArray<Address> | undefined): ReadonlyArray<Mailbox> =>
  (addresses ?? []).flatMap((one) => one.group ?? [one])

/** The recipients of the envelope, each where the mail shows it, and in `bcc` if it does not. */
export const recipientsOfMail = (
  { cc, to }: Pick<Email, "to" | "cc">,
  envelope: ReadonlyArray<string>
): Pick<EmailForm, "to" | "cc" | "bcc"> | undefined => {
  const left = new Map(envelope.map((address) => [recipientKey(address) ?? address, address]))
  const shownIn = (addresses: ReadonlyArray<Address> | undefined): ReadonlyArray<string> =>
    mailboxesOf(addresses).flatMap(({ address, name }) => {
      const key = recipientKey(address)
      const wanted = key === undefined ? undefined : left.get(key)
      if (key === undefined || wanted === undefined) return []
      left.delete(key)
      return [written({ address: wanted, name })]
    })
  const [shown, copied] = [shownIn(to), shownIn(cc)]
  const hidden = [...left.values()]
  if (shown.length > 0) return { to: shown, cc: copied, bcc: hidden }
  // A request needs somebody in `to`, and nobody may be shown to others who was hidden from them.
  if (copied.length > 0) return { to: copied, bcc: hidden }
  return hidden.length === 1 ? { to: hidden } : undefined
}

/** A header's value with its encoded words decoded, if that is a line. */
const decoded = (value: string): string => {
  const text = decodeWords(value)
  return isLine(text) ? text : value
}

const headersOf = ({ headers }: Email): Effect.Effect<Record<string, string>, MailUnreadable> => {
  const own = headers.filter(({ key }) => !isReserved(key) || key.startsWith("x-sluice-"))
  const seen = new Set<string>()
  for (const { key, originalKey } of own) {
    if (seen.has(key)) return unreadable(`The header '${originalKey}' comes twice.`)
    seen.add(key)
  }
  return Effect.succeed(Object.fromEntries(own.map(({ originalKey, value }) => [originalKey, decoded(value)])))
}

const unreadable = (message: string) => Effect.fail(new MailUnreadable({ message }))

/** A file's name as a request may have it. */
const filenameOf = (given: string | null, number: number, mimeType: string): string => {
  const name = (given ?? "").replaceAll(/[/\\\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/gu, "_").slice(0, maximumFilenameLength)
  if (name !== "") return name
  if (mimeType === "message/rfc822") return `message-${number}.eml`
  return mimeType === "text/calendar" ? `event-${number}.ics` : `attachment-${number}`
}

const mediaType = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/

const attachmentOf = ({ content, contentId, filename, method, mimeType }: Attachment, index: number) => ({
  // It was asked for in base64.
  content: typeof content === "string" ? content : "",
  filename: filenameOf(filename, index + 1, mimeType),
  content_type: !mediaType.test(mimeType)
    ? "application/octet-stream"
    : method === undefined
      ? mimeType
      : `${mimeType}; method=${method}; charset=utf-8`,
  ...(contentId === undefined ? {} : { content_id: contentId.replace(/^<(.*)>$/, "$1") })
})

const lineCount = (raw: Uint8Array): number => {
  let count = 0
  for (let at = raw.indexOf(0x0a); at >= 0; at = raw.indexOf(0x0a, at + 1)) count++
  return count
}

const parsed = (raw: Buffer) =>
  Effect.tryPromise({
    try: () =>
      PostalMime.parse(raw, {
        attachmentEncoding: "base64",
        forceRfc822Attachments: true,
        maxRfc822NestingDepth: 0,
        maxHeadersSize: maximumHeaderBytes,
        maxNestingDepth: maximumNesting
      }),
    catch: () =>
      new MailUnreadable({
        message: `The mail cannot be read: its headers have more than ${maximumHeaderBytes} bytes, or its parts lie deeper than ${maximumNesting}.`
      })
  })

/** The one address in `From`, as a request has it. */
const fromOf = ({ headers }: Email): Effect.Effect<string, MailUnreadable> => {
  const fields = headers.filter(({ key }) => key === "from")
  const [from, ...others] = fields.flatMap(({ value }) => mailboxesOf(addressParser(value)))
  if (from === undefined) return unreadable("Missing header 'From'.")
  return others.length > 0 ? unreadable("Expected one address in 'From'.") : Effect.succeed(written(from))
}

/** Reads a mail that was submitted for the recipients of its envelope. */
export const formOfMail = Effect.fn("formOfMail")(function* (
  raw: Buffer,
  envelope: ReadonlyArray<string>
): Effect.fn.Return<
  { readonly form: EmailForm; readonly messageId: string | undefined },
  MailTooLarge | MailUnreadable
> {
  if (lineCount(raw) > maximumLines)
    return yield* new MailTooLarge({ message: `The mail has more than ${maximumLines} lines.` })
  const mail = yield* parsed(raw)
  const recipients = recipientsOfMail(mail, envelope)
  if (recipients === undefined)
    return yield* new MailUnreadable({
      message: `None of the ${envelope.length} recipients is in 'To' or 'Cc'. Name one of them there, or send one mail to each.`
    })
  const form: EmailForm = {
    from: yield* fromOf(mail),
    ...recipients,
    reply_to: mailboxesOf(mail.replyTo).map(written),
    subject: mail.subject ?? "",
    ...(mail.html === undefined ? {} : { html: mail.html }),
    // A mail may have nothing but an attachment.
    ...(mail.text === undefined ? (mail.html === undefined ? { text: "" } : {}) : { text: mail.text }),
    headers: yield* headersOf(mail),
    attachments: mail.attachments.map(attachmentOf)
  }
  // The text of some character sets is longer in UTF-8.
  if (Buffer.byteLength(JSON.stringify(form)) > maximumSendBodyBytes)
    return yield* new MailTooLarge({ message: `As a request the mail has more than ${maximumSendBodyBytes} bytes.` })
  return { form, messageId: mail.messageId }
})
