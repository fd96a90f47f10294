/**
 * The mailer: hands live mail to a relay (docs/handoff.md, 2.1 to 2.4), signed with its domain's key, and with a return path that names email and recipient where there is a
 * domain for bounces. Needs `SigningKeys` and `CaptureMailbox`.
 */
import { Clock, type Context, Deferred, Duration, Effect, Layer, Metric } from "effect"
import { verpOf } from "../../feedback/parse/verp.ts"
import type { Unsubscription } from "../../feedback/unsubscribe/unsubscribeLink.ts"
import { hasUnsubscribe, recipientsOf } from "../../Message.ts"
import { domainOf } from "../../rules/domainKey.ts"
import { CaptureMailbox } from "../CaptureMailbox.ts"
import {
  type Envelope,
  type HandoffAnswer,
  intoMailbox,
  MailTransport,
  type OutgoingMail,
  type PartAnswer,
  plainAddress,
  type Transport
} from "../MailTransport.ts"
import { AccountTurns, type AccountTurnsOptions, type Wish } from "./AccountTurns.ts"
import { AttachmentMissing, type FetchAttachments, type FetchGuard, makeFetchAttachments } from "./attachments.ts"
import { composed } from "./compose.ts"
import { withDkim } from "./dkimSigner.ts"
import {
  fetchingEmails,
  fetchingEmailsOfOrganization,
  fetchPlaceMillis,
  lastBeginMillis,
  placeMillis,
  recipientsAtOnce
} from "./limits.ts"
import { type RelayTrouble, relayTroubles } from "./outcomes.ts"
import { makeRelay, type Relay, type RelayOptions } from "./Relay.ts"
import { SigningKeys } from "./SigningKeys.ts"

// Gives accounts places in turn (docs/handoff.md, 2.1). A work waits for a place for a bounded time; without one nothing
// was begun. Needs no service.

interface Waiting extends Wish {
  readonly turn: Deferred.Deferred<void>
}

export type InTurn = <A, E>(wish: Wish, work: Effect.Effect<A, E>, late: A) => Effect.Effect<A, E>

export const makeInTurn = (options: AccountTurnsOptions, waitMillis: number): InTurn => {
  const turns = new AccountTurns<Waiting>(options)
  const go = () => {
    for (let next = turns.next(); next !== undefined; next = turns.next()) Deferred.doneUnsafe(next.turn, Effect.void)
  }
  return ({ account, domain }, work, late) =>
    Effect.acquireUseRelease(
      Effect.sync((): Waiting => {
        const wish = { account, domain, turn: Deferred.makeUnsafe<void>() }
        turns.want(wish)
        go()
        return wish
      }),
      (wish) =>
        Effect.gen(function* () {
          const got = yield* Effect.timeoutOption(Deferred.await(wish.turn), Duration.millis(waitMillis))
          // A turn that has come in the same moment is given back behind the work.
          return got._tag === "None" ? late : yield* work
        }),
      (wish) =>
        Effect.sync(() => {
          if (!turns.withdraw(wish)) turns.ended(wish)
          go()
        })
    )
}

export class RelayMetrics {
  private readonly context: Context.Context<never>

  constructor(context: Context.Context<never>) {
    this.context = context
    for (const kind of relayTroubles) this.errors(kind, 0)
  }

  /** Counts trouble with the relay itself, which says nothing of any mail. */
  error(kind: RelayTrouble): void {
    this.errors(kind, 1)
  }

  /** Shows until when the certificate is valid that the relay has presented. */
  certificate(validUntilMillis: number): void {
    Metric.gauge("sluice_send_relay_certificate_expiry_timestamp_seconds", {
      description: "Until when the relay's certificate is valid, seconds since 1970"
    }).updateUnsafe(validUntilMillis / 1_000, this.context)
  }

  private errors(kind: RelayTrouble, times: number): void {
    Metric.counter("sluice_send_relay_errors_total", {
      description: "Times that the relay could not be reached or used, by kind",
      incremental: true,
      attributes: { kind }
    }).updateUnsafe(times, this.context)
  }
}

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
  /** Turns of accounts at the relay's connections. */
  readonly inTurn: InTurn
  readonly keys: SigningKeys["Service"]
  readonly fetch: FetchAttachments
  readonly returnPaths: SmtpTransportOptions["returnPaths"]
  readonly unsubscribeLinkOf: SmtpTransportOptions["unsubscribeLinkOf"]
}

const waits = (reason: string): PartAnswer => ({ _tag: "Waits", reason })

type Fetched = Effect.Success<ReturnType<FetchAttachments>> | undefined

const pathsOf = ({ message }: OutgoingMail): ReadonlyArray<string> =>
  message.attachments.flatMap(({ path }) => (path === null ? [] : [path]))

/** Makes the mail's bytes for a recipient, or for all, signed where its domain is verified. */
const signedBytes = Effect.fnUntraced(function* (
  { keys, unsubscribeLinkOf }: Parts,
  mail: OutgoingMail,
  fetched: Fetched
) {
  const { message, mode, organization: organizationId } = mail
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

/** Hands an email over, to each recipient by itself where each has a return path. Each transaction is a turn of the account, in which alone there are bytes to be made and sent. */
const handOver = Effect.fnUntraced(function* (parts: Parts, mail: OutgoingMail, envelope: Envelope, begunAt: number) {
  const { inTurn, relay } = parts
  const attachments = pathsOf(mail)
  // Fetched before the turn: a server that is slow takes no connection from anybody.
  const fetched = attachments.length === 0 ? undefined : yield* parts.fetch(mail.organization, attachments)
  const making = yield* Effect.cached(signedBytes(parts, mail, fetched))
  const shared = yield* Effect.cached(Effect.flatMap(making, (bytesFor) => bytesFor()))
  const isPersonal = hasUnsubscribe(mail.message)
  const isLate = Effect.map(Clock.currentTimeMillis, (now) => now > begunAt + lastBeginMillis)
  const send = Effect.fnUntraced(function* (from: string, to: ReadonlyArray<string>) {
    const all = (reason: string) => to.map(() => waits(reason))
    const slow = all("the relay is slow")
    if (yield* isLate) return slow
    const begin = Effect.gen(function* () {
      // It may have waited long for its turn.
      if (yield* isLate) return slow
      const raw = yield* isPersonal ? Effect.flatMap(making, (bytesFor) => bytesFor(to[0])) : shared
      return yield* relay.send({ from, to, raw })
    })
    return yield* inTurn(
      { account: `${mail.organization}/${mail.mode}`, domain: domainOf(to[0] ?? "") },
      begin,
      all("the relay is busy")
    )
  })
  const paths = envelope.to.map((recipient) => returnPathOf(parts, mail, recipient))
  if (!isPersonal && paths.every((path) => path === undefined))
    return joined(envelope.to, yield* send(envelope.from, envelope.to))
  const answers = yield* Effect.forEach(
    envelope.to,
    (recipient, index) =>
      Effect.map(send(paths[index] ?? envelope.from, [recipient]), ([answer]): PartAnswer => answer!),
    { concurrency: recipientsAtOnce }
  )
  return joined(envelope.to, answers)
})

/** The outcome of a mail that could not be made. */
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

/** So many turns that none waits longer for the pace than a mail may: turns, and not the pace, say who is next. */
const turnsOf = ({ connections }: Relay, mailsPerSecond: number | undefined): number =>
  mailsPerSecond === undefined
    ? connections
    : Math.min(connections, Math.max(1, Math.floor((mailsPerSecond * placeMillis) / 1_000)))

const makeTransport = (parts: Parts): Transport => {
  // An organization is limited here as a domain is at the connections.
  const inFetchPlace = makeInTurn(
    { connections: fetchingEmails, ofDomain: fetchingEmailsOfOrganization },
    fetchPlaceMillis
  )
  return {
    kind: "smtp",
    waits: parts.relay.trouble,
    deliver: Effect.fn("SmtpTransport.deliver")((mail, envelope) =>
      Effect.flatMap(Clock.currentTimeMillis, (begunAt) => {
        const work: Effect.Effect<HandoffAnswer> = Effect.catch(handOver(parts, mail, envelope, begunAt), unmade(mail))
        const { organization } = mail
        return pathsOf(mail).length === 0
          ? work
          : inFetchPlace({ account: organization, domain: organization }, work, waits("other attachments are fetched"))
      })
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
      const relay = yield* makeRelay(
        options,
        (kind) => metrics.error(kind),
        (until) => metrics.certificate(until)
      )
      const connections = turnsOf(relay, options.mailsPerSecond)
      const fetch = yield* makeFetchAttachments(options.guard)
      const keys = yield* SigningKeys
      return MailTransport.of({
        live: makeTransport({
          relay,
          inTurn: makeInTurn({ connections, ofDomain: Math.ceil(connections / 2) }, placeMillis),
          fetch,
          keys,
          returnPaths: options.returnPaths,
          unsubscribeLinkOf: options.unsubscribeLinkOf
        }),
        test: intoMailbox(yield* CaptureMailbox)
      })
    })
  )
