/**
 * Mails a link to an address that is to become a sender (docs/platform.md, 9.14). `layer` hands the mail over like any
 * other; `layerMemory` keeps the mails for tests. Needs `Notices`.
 */
import { Context, Data, Effect, Layer } from "effect"
import { randomText } from "../../../common/identifiers.ts"
import { Notices } from "../../handoff/Notices.ts"
import type { Account } from "../domains/model.ts"

/** A link for the owner of an address. */
export interface VerificationLink {
  /** The account that wants to send from the address; a test account's mail never leaves the platform. */
  readonly account: Account
  readonly to: string
  readonly link: string
}

/** The mail could not be handed over. Repeating is safe. */
export class VerificationMailFailed extends Data.TaggedError("VerificationMailFailed")<{ readonly message: string }> {}

export class VerificationMail extends Context.Service<
  VerificationMail,
  {
    /** Answers when the mail is in safe hands. */
    readonly send: (mail: VerificationLink) => Effect.Effect<void, VerificationMailFailed>
  }
>()("sluice/send/VerificationMail") {
  /** Puts the mails into the list. */
  static readonly layerMemory = (sent: Array<VerificationLink>): Layer.Layer<VerificationMail> =>
    Layer.succeed(VerificationMail, VerificationMail.of({ send: (mail) => Effect.sync(() => void sent.push(mail)) }))

  /**
   * Mails through the queue of the hand-off: a mail that is not taken immediately is tried again, and waits if there is
   * no relay.
   */
  static readonly layer: Layer.Layer<VerificationMail, never, Notices> = Layer.effect(
    VerificationMail,
    Effect.map(Notices, ({ order }) =>
      VerificationMail.of({
        send: ({ account: { mode, organizationId }, link, to }) =>
          Effect.mapError(
            order({
              id: `vrf_${randomText()}`,
              organization: organizationId,
              mode,
              to,
              subject,
              text: textOf(to, link)
            }),
            ({ message }) => new VerificationMailFailed({ message })
          )
      })
    )
  )
}

const subject = "Confirm that email may be sent from your address"

const textOf = (to: string, link: string): string =>
  `Somebody asked to send email from ${to}. If that was you, open this address and confirm it within 24 hours:\n\n${link}\n\nIf it was not you, do nothing: no email will be sent from your address.\n`
