/** Judges where live mail would go, for `sluice doctor`: the relay, its TLS and login, tried once without any mail. */
import { Clock, Effect } from "effect"
import { type Config, mailboxWanted } from "../../config/settings.ts"
import { tryRelay } from "../../send/handoff/smtp/Relay.ts"
import { type CheckResult, certificateCheck, failed, ok, warning } from "./CheckResult.ts"

/** The findings of the configured relay, or of none. */
export const mailChecks = Effect.fnUntraced(function* (config: Config): Effect.fn.Return<ReadonlyArray<CheckResult>> {
  const held = config.holdMail === "on" ? [warning("live mail", "it is held: SLUICE_HOLD_MAIL is on")] : []
  if (config.smtpUrl === undefined)
    return [
      ...held,
      mailboxWanted(config)
        ? ok("relay", "none: live mail goes to the local mailbox")
        : warning("relay", "none: live mail waits until SLUICE_SMTP_URL names one")
    ]
  const { name, trouble, validUntilMillis } = yield* tryRelay({ url: config.smtpUrl, tls: config.smtpTls })
  const now = yield* Clock.currentTimeMillis
  return [
    ...held,
    trouble === undefined ? ok("relay", `${name} takes mail`) : failed("relay", `${name}: ${trouble}`),
    ...(validUntilMillis === undefined ? [] : [certificateCheck("relay certificate", validUntilMillis, now)])
  ]
})
