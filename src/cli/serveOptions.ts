/** Derives the options of the platform's parts from the configuration of `sluice serve`. */
import { Redacted } from "effect"
import { builtInCatalogue } from "../billing/index.ts"
import type { SecretsKeys } from "../common/secretsKeys.ts"
import { type Config, mailboxWanted } from "../config/settings.ts"
import { parseRelayAddress, relayName } from "../send/handoff/smtp/relayAddress.ts"

/** The configured speech service; undefined without one. */
export const speechServiceOf = ({ talkKey, talkModel, talkUrl, talkVoices }: Config) =>
  talkUrl === undefined ? undefined : { url: talkUrl, key: talkKey, model: talkModel, voices: talkVoices }

const dayMillis = 24 * 60 * 60 * 1000

/** The prices on sale, and the way of payment. */
export const billingOf = (config: Config) => ({
  ...soldBy(config),
  allowsLoopback: config.billingPayments === "automatic",
  stripe:
    config.stripeKey === undefined || config.stripeWebhookSecret === undefined
      ? undefined
      : { key: config.stripeKey, webhookSecret: config.stripeWebhookSecret, url: config.stripeUrl }
})

const soldBy = ({ billingDueDays, billingGraceDays, billingPayments, billingPrices }: Config) => ({
  catalogue: billingPrices ?? builtInCatalogue,
  terms: {
    settlement: billingPayments === "automatic" ? ("at once" as const) : ("by operator" as const),
    graceMillis: billingGraceDays * dayMillis,
    dueMillis: billingDueDays * dayMillis
  }
})
/** The configured relay; undefined without one. */
export const relayOf = (
  config: Config,
  keys: { readonly secretsKeys: Redacted.Redacted<SecretsKeys>; readonly publicUrl: () => string }
) =>
  config.smtpUrl === undefined
    ? undefined
    : {
        url: config.smtpUrl,
        tls: config.smtpTls,
        connections: config.smtpConnections,
        mailsPerSecond: config.smtpRate,
        attachmentTargets: config.webhookTargets,
        bounceDomain: config.bounceDomain,
        ...keys
      }

/** The destination of live mail, in a sentence. */
export const mailSentence = (config: Config): string => {
  if (config.holdMail === "on") return "Live mail is held until a start without SLUICE_HOLD_MAIL=on"
  if (config.smtpUrl !== undefined) {
    const relay = relayName(parseRelayAddress(Redacted.value(config.smtpUrl))!)
    return `Live mail goes to the relay ${relay}`
  }
  return mailboxWanted(config)
    ? "Live mail goes to the local mailbox, /dev/mailbox, because there is no relay (SLUICE_SMTP_URL)"
    : "Live mail waits, because there is no relay (SLUICE_SMTP_URL)"
}
