/** Reports as other mail systems write them, for a recipient of an email, and bring them. */
import { createTransport } from "nodemailer"

export interface Bounce {
  readonly to: string
  readonly recipient: string
  readonly action?: string
  readonly status?: string
  readonly diagnostic?: string
}

const multipart = (to: string, type: string, parts: ReadonlyArray<string>): string =>
  [
    "From: Mail Delivery System <mailer-daemon@mx.two.test>",
    `To: ${to}`,
    "Subject: Report",
    "MIME-Version: 1.0",
    `Content-Type: multipart/report; report-type=${type}; boundary="x"`,
    "",
    ...parts.flatMap((part) => ["--x", part]),
    "--x--",
    ""
  ].join("\r\n")

const original = (recipient: string) =>
  ["Content-Type: text/rfc822-headers", "", "From: ann@demo.test", `To: ${recipient}`, "Subject: Hi", ""].join("\r\n")

/** A delivery status notification (RFC 3464). */
export const deliveryStatus = (bounce: Bounce): string => {
  const { action = "failed", diagnostic = "smtp; 550 5.1.1 No such user", recipient, status = "5.1.1", to } = bounce
  const fields = [
    "Content-Type: message/delivery-status",
    "",
    "Reporting-MTA: dns; mx.two.test",
    "",
    `Final-Recipient: rfc822; ${recipient}`,
    `Action: ${action}`,
    `Status: ${status}`,
    `Diagnostic-Code: ${diagnostic}`,
    ""
  ].join("\r\n")
  return multipart(to, "delivery-status", ["Content-Type: text/plain\r\n\r\nSorry.\r\n", fields, original(recipient)])
}

/** An abuse report (RFC 5965), with more fields of its own and headers of the returned mail. */
export const abuseReport = (
  to: string,
  recipient: string,
  more: { readonly fields?: ReadonlyArray<string>; readonly returned?: ReadonlyArray<string> } = {}
): string => {
  const fields = [
    "Content-Type: message/feedback-report",
    "",
    "Feedback-Type: abuse",
    "User-Agent: Two/1",
    "Version: 1",
    ...(more.fields ?? []),
    ""
  ].join("\r\n")
  const returned = original(recipient).replace("From: ", [...(more.returned ?? []), "From: "].join("\r\n"))
  return multipart(to, "feedback-report", ["Content-Type: text/plain\r\n\r\nSpam.\r\n", fields, returned])
}

/** What a person's mail program answers while nobody is there. */
export const automaticReply = (to: string): string =>
  [
    "From: bob@two.test",
    `To: ${to}`,
    "Subject: Out of office",
    "Auto-Submitted: auto-replied",
    "",
    "I am away.",
    ""
  ].join("\r\n")

/** Brings a mail to the listener, as another mail system does. */
export const bring = (port: number, to: string, raw: string): Promise<unknown> =>
  createTransport({ host: "127.0.0.1", port, ignoreTLS: true }).sendMail({ envelope: { from: false, to }, raw })

/** The listener's port, as the platform says it at its start. */
export const bouncePortOf = (said: string): number => Number(/are taken on 127\.0\.0\.1:(\d+)/.exec(said)?.[1])
