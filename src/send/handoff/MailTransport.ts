/**
 * Takes mail over from the platform (docs/handoff.md, 2). Test mail never reaches a relay: it goes to the local
 * mailbox, or is accepted and dropped if there is none. Needs `CaptureMailbox`.
 */
import { Context, Effect, Layer } from "effect"
import type { Mode } from "../account/actors/index.ts"
import type { Message } from "../Message.ts"
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

/** Sender and recipients, as bare addresses, without the suppressed ones and without those that have it already. */
export interface Envelope {
  readonly from: string
  readonly to: ReadonlyArray<string>
}

/** A transport's answer for one recipient, or for all. `code` is a status such as 4.2.0 or 550, `reason` the words of the other side. */
export type PartAnswer =
  | { readonly _tag: "Accepted" }
  /** It may be tried again. */
  | { readonly _tag: "Temporary"; readonly code: string; readonly reason: string }
  /** The connection was lost before the other side had answered, so it may have the mail or not. It may be tried again, as the same mail. */
  | { readonly _tag: "Unknown"; readonly reason: string }
  /** It is refused for good. */
  | {
      readonly _tag: "Permanent"
      readonly code: string
      readonly reason: string
      /** Whether that says nothing of the recipient's address; without it the code decides. */
      readonly isReputation?: boolean
    }
  /** The relay refuses the account that mail is sent with: that says nothing of the mail, which waits and uses up none of its attempts. */
  | { readonly _tag: "Account"; readonly code: string; readonly reason: string }
  /** It was not attempted, because nothing could take it: no attempt counts. */
  | { readonly _tag: "Waits"; readonly reason: string }

/** One for each recipient of the envelope, where they differ. */
export interface PartedAnswer {
  readonly _tag: "Parted"
  readonly parts: ReadonlyArray<{ readonly recipient: string; readonly answer: PartAnswer }>
}

export type HandoffAnswer =
  | PartAnswer
  | PartedAnswer
  /** It cannot be made into a mail, ever; nobody has refused it. */
  | { readonly _tag: "Failed"; readonly kind: "attachment"; readonly reason: string }

/** The address in `Name <a@b>` or `a@b`, its local part as it was given: only the mail system that it belongs to knows whether its case matters. */
export const plainAddress = (address: string): string =>
  address
    .slice(address.lastIndexOf("<") + 1)
    .replace(/>$/, "")
    .trim()

export interface Transport {
  /** For metrics: `capture`, `none`, `smtp`. */
  readonly kind: string
  /** Why mail waits; undefined while it is taken. */
  readonly waits: Effect.Effect<string | undefined>
  /** Must not fail. It bounds its own time, because it alone knows how far a mail has come; who waits longer may interrupt it. */
  readonly deliver: (mail: OutgoingMail, envelope: Envelope) => Effect.Effect<HandoffAnswer>
}

const accepted: HandoffAnswer = { _tag: "Accepted" }

/** Keeps mail where one may look at it. */
export const intoMailbox = ({ keep }: CaptureMailbox["Service"]): Transport => ({
  kind: "capture",
  waits: Effect.undefined,
  deliver: (mail, envelope) =>
    Effect.match(keep(mail, envelope), {
      onSuccess: () => accepted,
      onFailure: ({ message }): HandoffAnswer => ({ _tag: "Temporary", code: "4.3.1", reason: message })
    })
})

/** A layer without a transport for live mail. It refers to the service when it is built, after this module. */
const layerNone = (reason: string): Layer.Layer<MailTransport, never, CaptureMailbox> =>
  Layer.unwrap(
    Effect.sync(() =>
      Layer.effect(
        MailTransport,
        Effect.map(CaptureMailbox, (mailbox) => ({
          live: {
            kind: "none",
            waits: Effect.succeed(`${reason}: accepted mail waits`),
            deliver: () => Effect.succeed({ _tag: "Temporary", code: "4.4.0", reason } as const)
          },
          test: intoMailbox(mailbox)
        }))
      )
    )
  )

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
  static readonly layerWaiting: Layer.Layer<MailTransport, never, CaptureMailbox> = layerNone("no relay is configured")

  /** Live mail waits until a start that does not hold it, whatever relay there is. */
  static readonly layerHeld: Layer.Layer<MailTransport, never, CaptureMailbox> = layerNone(
    "mail is held (SLUICE_HOLD_MAIL)"
  )
}
