/** The local mailbox as pages and JSON (docs/handoff.md, 3). Everything in a mail was written by others: it is escaped, and no page runs a script. Pure. */
import { createHash } from "node:crypto"
import type { CapturedMail } from "../CaptureMailbox.ts"

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/** Text as it may stand between tags and in quoted attributes. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!)

const style = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid #8884;overflow-wrap:anywhere}
pre{padding:1rem;overflow-x:auto;white-space:pre-wrap;background:#8882;border-radius:.4rem}
iframe{width:100%;height:32rem;border:1px solid #8884;background:#fff}`

/** Pages have this one style, no script, and a frame of the server's own. */
export const pagePolicy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** The HTML of a mail, in a frame: styles and pictures inside it alone, nothing that runs or leads out. */
export const mailPolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title>
<style>${style}</style></head>
<body>
${body}
</body></html>
`

const timeOf = (millis: number): string => new Date(millis).toISOString()

const addressOf = (id: string): string => `/dev/mailbox/${encodeURIComponent(id)}`

/** One mail of the list, as JSON. */
export const summaryOf = ({ capturedAt, mail }: CapturedMail) => ({
  id: mail.id,
  organization: mail.organization,
  mode: mail.mode,
  from: mail.message.from,
  to: mail.message.to,
  subject: mail.message.subject,
  capturedAt: timeOf(capturedAt),
  url: addressOf(mail.id)
})

/** A whole mail, as JSON. */
export const detailOf = (captured: CapturedMail) => ({
  ...summaryOf(captured),
  envelope: captured.envelope,
  message: captured.mail.message
})

/** The list, newest first. */
export const listPage = (mails: ReadonlyArray<CapturedMail>): string => {
  const rows = mails.map(
    ({ capturedAt, mail }) =>
      `<tr><td><time>${timeOf(capturedAt)}</time></td><td><a href="${escaped(addressOf(mail.id))}">${escaped(mail.message.subject || "(no subject)")}</a></td><td>${escaped(mail.message.from)}</td><td>${escaped(mail.message.to.join(", "))}</td><td>${mail.mode}</td></tr>`
  )
  const table =
    rows.length === 0
      ? "<p>No mail was handed over yet.</p>"
      : `<table><caption>Newest first; old ones give way</caption>
<thead><tr><th scope="col">Time</th><th scope="col">Subject</th><th scope="col">From</th><th scope="col">To</th><th scope="col">Mode</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody></table>`
  return page(
    "Mailbox",
    `<h1>Mailbox</h1>
<p>Mail that would have been handed over. It is kept in memory, and a restart empties it.</p>
${table}`
  )
}

const rowsOf = (pairs: ReadonlyArray<readonly [name: string, value: string]>): string =>
  pairs
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `<tr><th scope="row">${escaped(name)}</th><td>${escaped(value)}</td></tr>`)
    .join("\n")

/** One mail. */
export const mailPage = ({ capturedAt, envelope, mail }: CapturedMail): string => {
  const { message } = mail
  const { attachments, bcc, cc, from, headers, html, replyTo, subject, tags, text, to } = message
  const named = attachments.map(({ filename, path }, index) => filename ?? path ?? `attachment ${index + 1}`)
  return page(
    subject || "(no subject)",
    `<p><a href="/dev/mailbox">Mailbox</a></p>
<h1>${escaped(subject || "(no subject)")}</h1>
<table><tbody>
${rowsOf([
  ["From", from],
  ["To", to.join(", ")],
  ["Cc", cc.join(", ")],
  ["Bcc", bcc.join(", ")],
  ["Reply-To", replyTo.join(", ")],
  ["Handed over for", envelope.to.join(", ")],
  ["Time", timeOf(capturedAt)],
  ["Organization", `${mail.organization}, ${mail.mode}`],
  ["Id", mail.id],
  ...Object.entries(headers),
  ["Tags", tags.map(({ name, value }) => `${name}=${value}`).join(", ")],
  ["Attachments", named.join(", ")]
])}
</tbody></table>
<p><a href="${escaped(addressOf(mail.id))}.eml">The whole mail as a file</a></p>
${html === null ? "" : `<h2>HTML</h2>\n<iframe title="The mail's HTML" sandbox="" referrerpolicy="no-referrer" src="${escaped(addressOf(mail.id))}/html"></iframe>`}
${text === null ? "" : `<h2>Text</h2>\n<pre>${escaped(text)}</pre>`}`
  )
}
