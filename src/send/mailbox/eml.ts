/** A captured mail as a mail program would get it (RFC 5322). */
import type { Effect } from "effect"
import { composed } from "../mailer/compose.ts"
import type { CapturedMail } from "../transport/CaptureMailbox.ts"

/** The mail's bytes. Attachments that are named by an address alone are left out. */
export const emlOf = ({ mail }: CapturedMail): Effect.Effect<Buffer> =>
  composed({ message: mail.message, messageId: `<${mail.id}@sluice.invalid>`, date: mail.acceptedAt })
