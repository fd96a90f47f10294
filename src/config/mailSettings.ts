/** Defines the settings of sending (docs/platform.md, 9; docs/handoff.md), for the table in `settings.ts`. */
import { relayTlsPolicies } from "../send/handoff/smtp/relayAddress.ts"
import { integer, oneOf, secret, text, url } from "./kinds.ts"
import { hostname, mailAddress, mailAddresses, nameServers, relaySpf, smtpUrl } from "./roomKinds.ts"

export const mailSettings = {
  upgradeUrl: url(
    "http:",
    "https:"
  )({
    env: "SLUICE_UPGRADE_URL",
    description:
      "Where an account that has sent its month's emails finds a larger plan; default: the documentation of this platform"
  }),
  nameServers: nameServers({
    env: "SLUICE_NAME_SERVERS",
    description: "Name servers that are asked about domains of senders, as address:port; default: the system's"
  }),
  smtpUrl: secret(
    smtpUrl({
      env: "SLUICE_SMTP_URL",
      description:
        "The relay that live mail is handed to, as smtp://user:password@host:587, or smtps:// with TLS from the first byte; default: none, live mail waits or goes to the local mailbox"
    })
  ),
  smtpTls: oneOf(relayTlsPolicies)({
    env: "SLUICE_SMTP_TLS",
    fallback: "required",
    description:
      "Whether the relay must offer TLS with a certificate that this machine can verify, or mail also goes without; a relay on a loopback address never must"
  }),
  relaySpf: relaySpf({
    env: "SLUICE_RELAY_SPF",
    description:
      "The terms by which an SPF record allows the relay to send, such as the include that it documents, or its addresses; SPF records of domains are checked for them; default: the relay is not looked for"
  }),
  smtpConnections: integer(
    1,
    100
  )({
    env: "SLUICE_SMTP_CONNECTIONS",
    fallback: "10",
    description: "Connections to the relay at once; half of them at most for one recipient domain"
  }),
  smtpRate: integer(
    1,
    10_000
  )({ env: "SLUICE_SMTP_RATE", description: "Most mails that the relay is given in a second; default: as many as go" }),
  holdMail: oneOf(["off", "on"])({
    env: "SLUICE_HOLD_MAIL",
    fallback: "off",
    description:
      "Whether accepted live mail waits until a start with `off`; for a restored backup, whose queue was perhaps handed over since"
  }),
  bounceDomain: hostname({
    env: "SLUICE_BOUNCE_DOMAIN",
    description:
      "Domain of return paths that name email and recipient, whose mail comes back to this platform; default: none, bounces go to the address that a mail is from"
  }),
  bouncePort: integer(
    0,
    65_535
  )({
    env: "SLUICE_BOUNCE_PORT",
    description:
      "Port on which bounces and complaints for SLUICE_BOUNCE_DOMAIN are taken by SMTP, which is 25 for the world; default: none are taken"
  }),
  bounceHost: text({
    env: "SLUICE_BOUNCE_HOST",
    fallback: "127.0.0.1",
    description: "Address on which bounces are taken"
  }),
  bounceTlsCert: text({
    env: "SLUICE_BOUNCE_TLS_CERT",
    description:
      "File with the certificate, in PEM and with those that lead to its authority, with which bounces may come over TLS (STARTTLS); default: no TLS is offered"
  }),
  bounceTlsKey: text({
    env: "SLUICE_BOUNCE_TLS_KEY",
    description: "File with the private key of that certificate, in PEM"
  }),
  feedbackAddresses: mailAddresses({
    env: "SLUICE_FEEDBACK_ADDRESSES",
    description:
      "Addresses that are registered with feedback loops of mail providers, separated by commas, whose complaints are taken at SLUICE_BOUNCE_PORT too; default: none"
  }),
  submissionPort: integer(
    0,
    65_535
  )({
    env: "SLUICE_SUBMISSION_PORT",
    description:
      "Port on which applications submit mail by SMTP, with an API key as the password, usually 587; default: none may"
  }),
  submissionHost: text({
    env: "SLUICE_SUBMISSION_HOST",
    fallback: "127.0.0.1",
    description: "Address on which mail is submitted"
  }),
  submissionTlsCert: text({
    env: "SLUICE_SUBMISSION_TLS_CERT",
    description:
      "File with the certificate, in PEM and with those that lead to its authority, for mail that is submitted (STARTTLS); needed except in development mode on a loopback address"
  }),
  submissionTlsKey: text({
    env: "SLUICE_SUBMISSION_TLS_KEY",
    description: "File with the private key of that certificate, in PEM"
  }),
  mailFrom: mailAddress({
    env: "SLUICE_MAIL_FROM",
    fallback: "Sluice <no-reply@sluice.invalid>",
    description: "Address that the platform's own mail is from, such as links to confirm and notices"
  }),
  contentsMaxBytes: integer(
    67_108_864,
    1_099_511_627_776
  )({
    env: "SLUICE_CONTENTS_MAX_BYTES",
    description:
      "Most bytes of contents of emails; NATS sets as much aside; default: 4294967296, less at first where its store has no room for so many"
  })
} as const
