/** A captured mail as a mail program would get it (RFC 5322). */
import type { Effect } from "effect"
import type { CapturedMail } from "../CaptureMailbox.ts"
import { composed } from "../smtp/compose.ts"

/** The mail's bytes. Attachments that are named by an address alone are left out. */
export const emlOf = ({ mail }: CapturedMail): Effect.Effect<Buffer> =>
  composed({ message: mail.message, messageId: `<${mail.id}@sluice.invalid>`, date: mail.acceptedAt })
