/**
 * `MailTransport`: what takes mail over from the platform (docs/handoff.md, 2). Test mail never reaches a relay: it goes to the local mailbox, or is taken and
 * dropped where there is none. Needs `CaptureMailbox`.
 */
import { Context, Effect, Layer } from "effect"
import type { Mode } from "../actors/index.ts"
import type { Message } from "../message/Message.ts"
import { CaptureMailbox } from "./CaptureMailbox.ts"

/** A mail as it is handed over. */
export interface OutgoingMail {
  /** The same at each attempt: a transport may know a mail again by it. */
  readonly id: string
  readonly organization: string
  readonly mode: Mode
  readonly message: Message
  /** Unix milliseconds. */
  readonly acceptedAt: number
}

/** Who it is from and whom it goes to, as bare addresses: those that are suppressed are missing. */
export interface Envelope {
  readonly from: string
  readonly to: ReadonlyArray<string>
}

/** `code` is a status such as 4.2.0 or 550, `reason` the words of the other side. */
export type HandoffAnswer =
  | { readonly _tag: "Accepted" }
  /** It may be tried again. */
  | { readonly _tag: "Temporary"; readonly code: string; readonly reason: string }
  /** It is refused for good. */
  | { readonly _tag: "Permanent"; readonly code: string; readonly reason: string }

export interface Transport {
  /** For metrics: `capture`, `none`. */
  readonly kind: string
  /** Why mail waits; undefined while it is taken. */
  readonly waits: Effect.Effect<string | undefined>
  /** Must not fail; what is not known to be accepted is temporary. */
  readonly deliver: (mail: OutgoingMail, envelope: Envelope) => Effect.Effect<HandoffAnswer>
}

const accepted: HandoffAnswer = { _tag: "Accepted" }

const intoMailbox = ({ keep }: CaptureMailbox["Service"]): Transport => ({
  kind: "capture",
  waits: Effect.undefined,
  deliver: (mail, envelope) => Effect.as(keep(mail, envelope), accepted)
})

export class MailTransport extends Context.Service<
  MailTransport,
  {
    readonly live: Transport
    readonly test: Transport
  }
>()("sluice/send/MailTransport") {
  /** Everything goes to the local mailbox. */
  static readonly layerCapture: Layer.Layer<MailTransport, never, CaptureMailbox> = Layer.effect(
    MailTransport,
    Effect.map(CaptureMailbox, (mailbox) => ({ live: intoMailbox(mailbox), test: intoMailbox(mailbox) }))
  )

  /** Live mail waits, because nothing takes it over. */
  static readonly layerWaiting: Layer.Layer<MailTransport, never, CaptureMailbox> = Layer.effect(
    MailTransport,
    Effect.map(CaptureMailbox, (mailbox) => ({
      live: {
        kind: "none",
        waits: Effect.succeed("no relay is configured: accepted mail waits"),
        deliver: () => Effect.succeed({ _tag: "Temporary", code: "4.4.0", reason: "no relay is configured" } as const)
      },
      test: intoMailbox(mailbox)
    }))
  )
}
