/** Chooses the options of the connection to NATS by the configuration. */
import type { Redacted } from "effect"
import type { Config } from "../config/settings.ts"
import type { NatsConnectionOptions } from "../nats/connection.ts"

/** The connection as configured. The files are for a server that is named: an embedded one has a password of its own. */
export const natsOptions = (config: Config, url: Redacted.Redacted<string>): NatsConnectionOptions => ({
  url,
  weakSync: config.natsWeakSync,
  files:
    config.natsUrl === undefined
      ? {}
      : {
          credentials: config.natsCredentials,
          nkey: config.natsNkey,
          authority: config.natsAuthority,
          certificate: config.natsCertificate,
          certificateKey: config.natsCertificateKey
        }
})
