/**
 * Assembles sending: contents, hand-off, and the local mailbox that replaces a relay during development. Needs the
 * stores, the output of `layerDecisions`, and `WebhookSecrets`, whose keys seal those of the contents.
 */
import { Effect, Layer, Redacted } from "effect"
import type { SecretsKeys } from "../common/secretsKeys.ts"
import { Health } from "../platform/Health.ts"
import { ContentKeys, Sealing } from "../send/emails/contents/ContentKeys.ts"
import * as MessageContentsDurable from "../send/emails/contents/MessageContentsDurable.ts"
import { returnPathKeys } from "../send/feedback/parse/returnPathKeys.ts"
import { unsubscribeLink } from "../send/feedback/unsubscribe/unsubscribeLink.ts"
import { CaptureMailbox } from "../send/handoff/CaptureMailbox.ts"
import { defaultHandoffSettings, layerHandoff } from "../send/handoff/Handoff.ts"
import { MailTransport } from "../send/handoff/MailTransport.ts"
import { Notices } from "../send/handoff/Notices.ts"
import type { RelayOptions } from "../send/handoff/smtp/Relay.ts"
import { SigningKeys } from "../send/handoff/smtp/SigningKeys.ts"
import { layerSmtp } from "../send/handoff/smtp/SmtpTransport.ts"
import { WebhookSecrets } from "../webhooks/secret/WebhookSecrets.ts"
import { makeTargetGuard, type TargetPolicy } from "../webhooks/target/targets.ts"
import type { EngineSettings } from "./engine.ts"

export interface RelaySettings extends Pick<RelayOptions, "url" | "tls" | "connections" | "mailsPerSecond"> {
  /** From where attachments may be fetched. */
  readonly attachmentTargets: TargetPolicy
  /** Domain of return paths that name email and recipient. */
  readonly bounceDomain: string | undefined
  /** Keys under which domains' keys are stored; return paths are made with the first. */
  readonly secretsKeys: Redacted.Redacted<SecretsKeys>
  /** The address at which recipients reach the public API. */
  readonly publicUrl: () => string
}

export interface MailOptions {
  /** The folder of the local mailbox, to which live mail goes; without one it waits, and test mail is taken and dropped. */
  readonly mailboxFolder: string | undefined
  /** The relay for live mail; without one it goes to the mailbox or waits. */
  readonly relay?: RelaySettings | undefined
  /** Whether live mail waits until another start, as after a restore of a backup. */
  readonly isHeld?: boolean
  /** The address that the platform's own mail is from. */
  readonly noticesFrom?: string | undefined
  /** The store of the contents. */
  readonly stream: Pick<EngineSettings, "namespace" | "replicas"> & { readonly maximumBytes?: number | undefined }
}

const layerSealing = Layer.effect(
  Sealing,
  Effect.map(WebhookSecrets, ({ seal, unseal }) => ({ seal, unseal }))
)

/** Contents of emails, which survive the process. */
const layerContents = ({ stream }: MailOptions) =>
  MessageContentsDurable.layerDurable(stream).pipe(
    Layer.provideMerge(ContentKeys.layer.pipe(Layer.provide(layerSealing)))
  )

const layerRelay = ({ attachmentTargets, bounceDomain, publicUrl, secretsKeys, ...relay }: RelaySettings) =>
  layerSmtp({
    ...relay,
    guard: makeTargetGuard(attachmentTargets),
    unsubscribeLinkOf: (leaves) => `${publicUrl()}${unsubscribeLink(Redacted.value(secretsKeys), leaves)}`,
    returnPaths:
      bounceDomain === undefined
        ? undefined
        : { domain: bounceDomain, key: returnPathKeys(Redacted.value(secretsKeys))[0] }
  }).pipe(Layer.provide(SigningKeys.layer(secretsKeys)))

/** The transport of mail. */
const layerTransport = ({ isHeld = false, mailboxFolder, relay }: MailOptions) => {
  const unrelayed = mailboxFolder !== undefined ? MailTransport.layerCapture : MailTransport.layerWaiting
  const live = isHeld ? MailTransport.layerHeld : relay !== undefined ? layerRelay(relay) : unrelayed
  return live.pipe(
    Layer.provideMerge(mailboxFolder === undefined ? CaptureMailbox.layerClosed : CaptureMailbox.layerIn(mailboxFolder))
  )
}

const noticesOf = ({ noticesFrom = defaultHandoffSettings.noticesFrom }: MailOptions) => ({ noticesFrom })

/** Hands mail over; `Notices`, `MessageContents`, `ContentKeys`, `MailTransport` and `CaptureMailbox` come out too. */
export const layerMail = (options: MailOptions) =>
  Layer.merge(layerHandoff(noticesOf(options)), Notices.layer({ from: noticesOf(options).noticesFrom })).pipe(
    Layer.provideMerge(layerContents(options)),
    Layer.provideMerge(layerTransport(options))
  )

/** Shows in `/readyz` whether mail waits for a relay. */
export const layerMailHealth = Layer.effectDiscard(
  Effect.gen(function* () {
    const health = yield* Health
    const { live } = yield* MailTransport
    yield* health.register({
      name: "mail",
      part: "note",
      // A platform without a relay is as its operator made it, and in order.
      check: Effect.map(live.waits, (detail) =>
        detail === undefined
          ? { ok: true }
          : live.kind === "smtp"
            ? { ok: false, detail: `mail waits: ${detail}` }
            : { ok: true, detail }
      )
    })
  })
)
