/** A captured mail as a mail program would get it (RFC 5322). What a customer wrote reaches neither a file nor a network address from here. */
import { Effect } from "effect"
import MailComposer from "nodemailer/lib/mail-composer"
import type { CapturedMail } from "../transport/CaptureMailbox.ts"

/** The mail's bytes. Attachments that are named by an address alone are left out. */
export const emlOf = ({ envelope, mail }: CapturedMail): Effect.Effect<Buffer> =>
  Effect.promise(() => {
    const { attachments, bcc, cc, from, headers, html, replyTo, subject, text, to } = mail.message
    const composer = new MailComposer({
      from,
      to: [...to],
      cc: [...cc],
      bcc: [...bcc],
      replyTo: [...replyTo],
      subject,
      ...(html === null ? {} : { html }),
      ...(text === null ? {} : { text }),
      headers: { ...headers },
      attachments: attachments.flatMap(({ content, contentId, contentType, filename }) =>
        content === null
          ? []
          : [
              {
                content: Buffer.from(content, "base64"),
                filename: filename ?? false,
                ...(contentType === null ? {} : { contentType }),
                ...(contentId === null ? {} : { cid: contentId })
              }
            ]
      ),
      messageId: `<${mail.id}@sluice.invalid>`,
      date: new Date(mail.acceptedAt),
      // Without it the library would make one of the headers, hidden recipients included.
      envelope: { from: envelope.from, to: [...envelope.to] },
      disableFileAccess: true,
      disableUrlAccess: true,
      newline: "win"
    })
    return composer.compile().build()
  })
