/** Defines the settings of the connection to NATS (docs/operating.md), for the table in `settings.ts`. */
import { oneOf, secret, text } from "./kinds.ts"
import { natsUrl } from "./roomKinds.ts"

export const natsSettings = {
  natsUrl: secret(natsUrl({ env: "NATS_URL", description: "An external NATS to use instead of the embedded one" })),
  natsCredentials: text({
    env: "NATS_CREDS",
    description: "File with the credentials of a user at that NATS, as nsc writes them; default: those in NATS_URL"
  }),
  natsNkey: text({
    env: "NATS_NKEY",
    description: "File with the seed of an NKey that is a user at that NATS; default: none"
  }),
  natsAuthority: text({
    env: "NATS_CA",
    description:
      "File with the certificates of the authorities that may vouch for that NATS, in PEM; default: those that Node trusts"
  }),
  natsCertificate: text({
    env: "NATS_CERT",
    description: "File with this platform's certificate for that NATS, in PEM; needs NATS_KEY; default: none"
  }),
  natsCertificateKey: text({ env: "NATS_KEY", description: "File with the private key of that certificate, in PEM" }),
  natsWeakSync: oneOf(["refuse", "accept"])({
    env: "SLUICE_NATS_WEAK_SYNC",
    fallback: "refuse",
    description: "Whether a NATS server that acknowledges before it has synced to disk is refused"
  })
} as const
