/**
 * Sending as the platform runs it: contents, hand-off, and the mailbox that stands for a relay while one develops. Needs the stores, what `layerDecisions` gives, and
 * `WebhookSecrets`, whose keys seal those of the contents.
 */
import { Effect, Layer } from "effect"
import { Health } from "../platform/Health.ts"
import { ContentKeys, Sealing } from "../send/contents/ContentKeys.ts"
import * as MessageContentsDurable from "../send/contents/MessageContentsDurable.ts"
import { defaultHandoffSettings, layerHandoff } from "../send/handoff/Handoff.ts"
import { Notices } from "../send/handoff/Notices.ts"
import { CaptureMailbox } from "../send/transport/CaptureMailbox.ts"
import { MailTransport } from "../send/transport/MailTransport.ts"
import { WebhookSecrets } from "../webhooks/secret/WebhookSecrets.ts"
import type { EngineSettings } from "./engine.ts"

export interface MailOptions {
  /** Whether live mail goes to the local mailbox; else it waits, and test mail is taken and dropped. */
  readonly mailbox: boolean
  /** Where the contents are kept. */
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

/** What takes mail over. */
const layerTransport = ({ mailbox }: MailOptions) =>
  mailbox
    ? MailTransport.layerCapture.pipe(Layer.provideMerge(CaptureMailbox.layer))
    : MailTransport.layerWaiting.pipe(Layer.provideMerge(CaptureMailbox.layerClosed))

/** Hands mail over; `Notices`, `MessageContents`, `ContentKeys`, `MailTransport` and `CaptureMailbox` come out too. */
export const layerMail = (options: MailOptions) =>
  Layer.merge(layerHandoff(), Notices.layer({ from: defaultHandoffSettings.noticesFrom })).pipe(
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
      required: false,
      // A platform without a relay is as its operator made it, and in order.
      check: Effect.map(live.waits, (detail) => ({ ok: true, ...(detail === undefined ? {} : { detail }) }))
    })
  })
)
