/**
 * `VerificationMail`: mails a link to an address that is to become a sender (docs/platform.md, 9.14). `layer` hands it over at once, by the way of all mail; `layerMemory` keeps
 * the mails for tests. Needs `MailTransport`.
 */
import { Clock, Context, Data, Effect, Layer } from "effect"
import { randomText } from "../../common/identifiers.ts"
import { bareAddress } from "../actors/index.ts"
import type { Account } from "../domains/model.ts"
import { defaultHandoffSettings } from "../handoff/Handoff.ts"
import type { Message } from "../message/Message.ts"
import { MailTransport } from "../transport/MailTransport.ts"

/** A link for the owner of an address. */
export interface VerificationLink {
  /** Who asks to send from the address; a test account's mail never leaves the platform. */
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

  /** By the transport of the account's mode. What it does not take, and mail that would wait for a relay, is a failure: who asks can repeat it. */
  static readonly layer: Layer.Layer<VerificationMail, never, MailTransport> = Layer.effect(
    VerificationMail,
    Effect.map(MailTransport, (transports) =>
      VerificationMail.of({
        send: Effect.fn("VerificationMail.send")(function* ({ account: { mode, organizationId }, link, to }) {
          const transport = transports[mode]
          const waits = yield* transport.waits
          if (waits !== undefined) return yield* new VerificationMailFailed({ message: waits })
          const acceptedAt = yield* Clock.currentTimeMillis
          const mail = { id: `vrf_${randomText()}`, organization: organizationId, mode, acceptedAt }
          const envelope = { from: bareAddress(from), to: [to] }
          const answer = yield* transport.deliver({ ...mail, message: messageOf(to, link) }, envelope)
          if (answer._tag !== "Accepted")
            return yield* new VerificationMailFailed({ message: `${answer.code} ${answer.reason}` })
        })
      })
    )
  )
}

/** Who writes to owners of addresses: the platform itself. */
const from = defaultHandoffSettings.noticesFrom

const messageOf = (to: string, link: string): Message => ({
  from,
  to: [to],
  cc: [],
  bcc: [],
  replyTo: [],
  subject: "Confirm that email may be sent from your address",
  html: null,
  text: `Somebody asked to send email from ${to}. If that was you, open this address and confirm it within 24 hours:\n\n${link}\n\nIf it was not you, do nothing: no email will be sent from your address.\n`,
  headers: {},
  tags: [],
  attachments: []
})
