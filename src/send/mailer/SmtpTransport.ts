/**
 * The mailer: hands live mail to a relay (docs/handoff.md, 2.1 to 2.4), signed with its domain's key, and with a return path that names email and recipient where there is a
 * domain for bounces. Needs `SigningKeys` and `CaptureMailbox`.
 */
import { Clock, Effect, Layer } from "effect"
import { domainOf } from "../addresses.ts"
import { withDkim } from "../dkim/signing.ts"
import { SigningKeys } from "../domains/SigningKeys.ts"
import { verpOf } from "../feedback/verp.ts"
import { hasUnsubscribe, recipientsOf } from "../message/Message.ts"
import { CaptureMailbox } from "../transport/CaptureMailbox.ts"
import {
  type Envelope,
  type HandoffAnswer,
  intoMailbox,
  MailTransport,
  type OutgoingMail,
  type PartAnswer,
  plainAddress,
  type Transport
} from "../transport/MailTransport.ts"
import type { Unsubscription } from "../unsubscribe/links.ts"
import { AttachmentMissing, type FetchAttachments, type FetchGuard, makeFetchAttachments } from "./attachments.ts"
import { composed } from "./compose.ts"
import { makeInTurn } from "./inTurn.ts"
import { lastBeginMillis, placeMillis, recipientsAtOnce } from "./limits.ts"
import { makeRelay, type Relay, type RelayOptions } from "./Relay.ts"
import { RelayMetrics } from "./RelayMetrics.ts"

/** Return paths that nobody else can make. */
export interface ReturnPaths {
  /** The domain whose mail comes back to the platform. */
  readonly domain: string
  readonly key: Uint8Array
}

export interface SmtpTransportOptions extends RelayOptions {
  readonly guard: FetchGuard
  /** Undefined: bounces go to the address that the mail is from. */
  readonly returnPaths: ReturnPaths | undefined
  /** The address by which a recipient leaves an account's mail. */
  readonly unsubscribeLinkOf: (leaves: Unsubscription) => string
}

interface Parts {
  readonly relay: Relay
  readonly keys: SigningKeys["Service"]
  readonly fetch: FetchAttachments
  readonly returnPaths: SmtpTransportOptions["returnPaths"]
  readonly unsubscribeLinkOf: SmtpTransportOptions["unsubscribeLinkOf"]
}

const waits = (reason: string): PartAnswer => ({ _tag: "Waits", reason })

/** What makes the mail's bytes for a recipient, or for all, signed where its domain is verified. What it needs from elsewhere is there. */
const signedBytes = Effect.fnUntraced(function* ({ fetch, keys, unsubscribeLinkOf }: Parts, mail: OutgoingMail) {
  const { message, mode, organization: organizationId } = mail
  const paths = message.attachments.flatMap(({ path }) => (path === null ? [] : [path]))
  const fetched = paths.length === 0 ? undefined : yield* fetch(organizationId, paths)
  const domain = domainOf(message.from)
  const signer = yield* keys.signerOf({ organizationId, mode }, domain)
  const common = { message, fetched, messageId: `<${mail.id}@${domain}>`, date: yield* Clock.currentTimeMillis }
  return Effect.fnUntraced(function* (recipient?: string) {
    const headers =
      recipient === undefined
        ? undefined
        : {
            "List-Unsubscribe": `<${unsubscribeLinkOf({ organizationId, mode, address: recipient })}>`,
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"
          }
    const bytes = yield* composed({ ...common, headers })
    return signer === undefined ? bytes : yield* withDkim(signer, bytes)
  })
})

/** An email's return path for a recipient; undefined where it has none of its own, as a mail of the platform itself. */
const returnPathOf = ({ returnPaths }: Parts, { id, message }: OutgoingMail, recipient: string): string | undefined => {
  if (returnPaths === undefined || !id.startsWith("em_")) return undefined
  const recipientIndex = recipientsOf(message).findIndex(
    (one) => plainAddress(one).toLowerCase() === recipient.toLowerCase()
  )
  if (recipientIndex === -1) return undefined
  return verpOf({ emailId: id, recipientIndex }, returnPaths.domain, returnPaths.key)
}

/** One answer where all are alike. */
const joined = (to: ReadonlyArray<string>, answers: ReadonlyArray<PartAnswer>): HandoffAnswer => {
  const [first] = answers
  const isOne = answers.every(
    (answer) => answer === first || (answer._tag === "Accepted" && first?._tag === "Accepted")
  )
  if (first !== undefined && isOne) return first
  return { _tag: "Parted", parts: to.map((recipient, index) => ({ recipient, answer: answers[index]! })) }
}

/** Hands an email over, to each recipient by itself where each has a return path. */
const handOver = Effect.fnUntraced(function* (parts: Parts, mail: OutgoingMail, envelope: Envelope, begunAt: number) {
  const { relay } = parts
  const bytesFor = yield* signedBytes(parts, mail)
  const isPersonal = hasUnsubscribe(mail.message)
  const shared = isPersonal ? undefined : yield* bytesFor()
  const paths = envelope.to.map((recipient) => returnPathOf(parts, mail, recipient))
  if (shared !== undefined && paths.every((path) => path === undefined)) {
    return joined(envelope.to, yield* relay.send({ from: envelope.from, to: envelope.to, raw: shared }))
  }
  const answers = yield* Effect.forEach(
    envelope.to,
    (recipient, index) =>
      Effect.gen(function* () {
        if ((yield* Clock.currentTimeMillis) > begunAt + lastBeginMillis) return waits("the relay is slow")
        const raw = shared ?? (yield* bytesFor(recipient))
        const [answer] = yield* relay.send({ from: paths[index] ?? envelope.from, to: [recipient], raw })
        return answer!
      }),
    { concurrency: recipientsAtOnce }
  )
  return joined(envelope.to, answers)
})

/** What becomes of a mail that could not be made. */
const unmade = (mail: OutgoingMail) => (error: { readonly _tag: string; readonly message: string }) =>
  Effect.gen(function* () {
    if (error instanceof AttachmentMissing) return error.answer
    if (error._tag === "DkimKeyUnusable") {
      yield* Effect.logError(`the mail ${mail.id} is not signed and so not sent: ${error.message}`)
      return { _tag: "Temporary", code: "4.7.5", reason: "The domain's key cannot sign" } as const
    }
    yield* Effect.logWarning(`the key of the mail ${mail.id} could not be read`, error)
    return waits("the database does not answer")
  })

const makeTransport = (parts: Parts): Transport => {
  const { connections } = parts.relay
  const inTurn = makeInTurn({ connections, ofDomain: Math.ceil(connections / 2) }, placeMillis)
  return {
    kind: "smtp",
    waits: parts.relay.trouble,
    deliver: Effect.fn("SmtpTransport.deliver")((mail, envelope) =>
      Effect.flatMap(Clock.currentTimeMillis, (begunAt) =>
        inTurn(
          { account: `${mail.organization}/${mail.mode}`, domain: domainOf(envelope.to[0] ?? "") },
          Effect.catch(handOver(parts, mail, envelope, begunAt), unmade(mail)),
          waits("the relay is busy")
        )
      )
    )
  }
}

/** Live mail goes to the relay, test mail to the local mailbox. */
export const layerSmtp = (
  options: SmtpTransportOptions
): Layer.Layer<MailTransport, never, SigningKeys | CaptureMailbox> =>
  Layer.effect(
    MailTransport,
    Effect.gen(function* () {
      const metrics = new RelayMetrics(yield* Effect.context<never>())
      const relay = yield* makeRelay(options, (kind) => metrics.error(kind))
      const fetch = yield* makeFetchAttachments(options.guard)
      const keys = yield* SigningKeys
      return MailTransport.of({
        live: makeTransport({
          relay,
          fetch,
          keys,
          returnPaths: options.returnPaths,
          unsubscribeLinkOf: options.unsubscribeLinkOf
        }),
        test: intoMailbox(yield* CaptureMailbox)
      })
    })
  )
