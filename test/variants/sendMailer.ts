/** Variants of the mailer, and of what takes other mail systems' reports in. */
import type { Finder, Variant } from "./runner/variant.ts"

const relay: Finder = { kind: "servers", files: ["test/send/mailer/relay.it.ts"] }
const wire: Finder = { kind: "servers", files: ["test/send/mailer/smtpTransport.it.ts"] }
const reports: Finder = { kind: "unit", files: ["test/send/inbound/feedbackReports.unit.ts"] }
const listener: Finder = { kind: "servers", files: ["test/send/inbound/bounceListener.it.ts"] }

const src = (name: string): string => `src/send/${name}.ts`

export const sendMailer: ReadonlyArray<Variant> = [
  {
    name: "mailer: a connection lost after the whole mail is a plain failure",
    file: src("mailer/Relay"),
    find: "progress.hasPassed = true",
    replace: "progress.hasPassed = false",
    sentence: "a mail that the relay may have taken is told as not taken",
    finders: [relay]
  },
  {
    name: "mailer: a refused sender is the recipient's fault",
    file: src("mailer/outcomes"),
    find: 'error.command === "RCPT TO" || (error.command !== "MAIL FROM" && recipients === 1)',
    replace: 'error.command !== ""',
    sentence: "addresses are suppressed because the relay does not like the sender",
    finders: [relay]
  },
  {
    name: "mailer: a second From may be added to a signed mail",
    file: src("dkim/signing"),
    find: 'const sealedNames = ["from", "to",',
    replace: 'const sealedNames = ["to",',
    sentence: "somebody on the way shows another sender under a good signature",
    finders: [wire]
  },
  {
    name: "reports: a delivery that was given up counts as a bounce",
    file: src("inbound/feedbackReports"),
    find: 'kind: "temporary", suppresses: false, counts: false }',
    replace: 'kind: "temporary", suppresses: false, counts: true }',
    sentence: "an account is paused for full mailboxes",
    finders: [reports]
  },
  {
    name: "reports: a renewed certificate waits for a restart",
    file: src("inbound/BounceListener"),
    find: "server.updateSecureContext({ cert: found.cert, key: found.key })",
    replace: "",
    sentence: "three months after a start other mail systems refuse the listener's certificate",
    finders: [listener]
  },
  {
    name: "reports: the listener offers TLS without its certificate",
    file: src("inbound/BounceListener"),
    find: "{ cert: handlers.tls.cert, key: handlers.tls.key }",
    replace: "{}",
    sentence: "mail systems that verify certificates bring no bounces",
    finders: [listener]
  },
  {
    name: "reports: a certificate with the key of another one is taken",
    file: src("inbound/listenerTls"),
    find: "createSecureContext({ cert, key })",
    replace: "",
    sentence: "a mistake in the settings shows when the first bounce is lost",
    finders: [listener]
  },
  {
    name: "reports: the listener takes mail for other domains",
    file: src("inbound/BounceListener"),
    find: "address.toLowerCase().endsWith(",
    replace: "address.length > 0 || address.endsWith(",
    sentence: "a return path of another installation under the same key is taken for one of ours",
    finders: [listener]
  }
]
