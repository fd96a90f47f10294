/**
 * Manages the single addresses that are to become senders (docs/platform.md, 9.14). A mailed link proves that somebody
 * reads the address; its `SendSender` decides whether it is verified, and the row follows. Needs `SqlClient`, `Engine`
 * and `VerificationMail`.
 */
import { Clock, Context, Data, Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { keyDigest, randomText } from "../../../common/identifiers.ts"
import { Engine } from "../../../engine/Engine.ts"
import type { AskError } from "../../../engine/errors.ts"
import { type IdempotencyConflict, type IdempotentRequest, replayOf } from "../../../http/idempotency.ts"
import { type SenderRejection, SendSender, senderKey, senderName } from "../../account/actors/index.ts"
import { maximumSenders, type Tier } from "../../limits.ts"
import { listedTiers } from "../domains/listedTiers.ts"
import type { Account } from "../domains/model.ts"
import { type SenderProgress, senderProgressOf } from "../domains/senderProgress.ts"
import { linkMillis, mailPauseMillis, tokenLength } from "./limits.ts"
import { normalizedAddress, type SingleSender } from "./model.ts"
import { senderRows } from "./rows.ts"
import { VerificationMail, type VerificationMailFailed } from "./VerificationMail.ts"

/** The given text is no address. */
export class AddressInvalid extends Data.TaggedError("AddressInvalid")<{ readonly given: string }> {}

/** The account has no sender of this id. */
export class SenderNotFound extends Data.TaggedError("SenderNotFound")<{ readonly id: string }> {
  override get message(): string {
    return `No sender has the id ${JSON.stringify(this.id)}.`
  }
}

/** The request does not fit the present state; the message says why. */
export class SenderConflict extends Data.TaggedError("SenderConflict")<{ readonly message: string }> {}

/** The address was mailed a moment ago. */
export class VerificationTooSoon extends Data.TaggedError("VerificationTooSoon")<{
  /** The time until it may be mailed again. */
  readonly retryAfterMillis: number
}> {}

/** No address waits for this link: it is used up, too old, or none of ours. */
export class LinkInvalid extends Data.TaggedError("LinkInvalid") {}

/** An address, and where it stands as a sender. */
export interface SenderView extends SenderProgress {
  readonly sender: SingleSender
}

export interface SendersOptions {
  /**
   * The address under which clients reach the API, without a slash at its end; asked when a link is made. Default:
   * where the API listens by default.
   */
  readonly publicUrl?: () => string
}

const defaultPublicUrl = () => "http://127.0.0.1:8080"

/** The page behind a link. */
export const confirmationPath = "/senders/confirm"

export class Senders extends Context.Service<
  Senders,
  {
    /** Mails a link, for a new address or again. A repeat with the same idempotency key mails nothing. */
    readonly create: (
      account: Account,
      email: string,
      request?: IdempotentRequest
    ) => Effect.Effect<
      { readonly view: SenderView; readonly isReplayed: boolean },
      | AddressInvalid
      | SenderConflict
      | VerificationTooSoon
      | VerificationMailFailed
      | IdempotencyConflict
      | AskError
      | SqlError.SqlError
    >
    /** Newest first, or oldest first behind `beyond` where that asks for newer ones. */
    readonly page: (
      account: Account,
      beyond: { readonly at: number; readonly id: string; readonly isNewer: boolean } | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<SingleSender>, SqlError.SqlError>
    /** The tier of each, in order; null of one whose owner cannot be reached now. */
    readonly tiers: (senders: ReadonlyArray<SingleSender>) => Effect.Effect<ReadonlyArray<Tier | null>>
    readonly find: (account: Account, id: string) => Effect.Effect<SingleSender, SenderNotFound | SqlError.SqlError>
    readonly get: (
      account: Account,
      id: string
    ) => Effect.Effect<SenderView, SenderNotFound | AskError | SqlError.SqlError>
    /** `SenderConflict` while mail of it waits. */
    readonly remove: (
      account: Account,
      id: string
    ) => Effect.Effect<void, SenderNotFound | SenderConflict | AskError | SqlError.SqlError>
    /** Finds the sender of a link. Changes nothing. */
    readonly linked: (token: string) => Effect.Effect<SingleSender, LinkInvalid | SqlError.SqlError>
    /** Verifies the address of a link, and uses the link up. */
    readonly confirm: (
      token: string
    ) => Effect.Effect<SingleSender, LinkInvalid | SenderConflict | AskError | SqlError.SqlError>
  }
>()("sluice/send/Senders") {
  static readonly layer = (
    options: SendersOptions
  ): Layer.Layer<Senders, never, SqlClient.SqlClient | Engine | VerificationMail> =>
    Layer.effect(Senders, make(options))
}

const tooMany = new SenderConflict({ message: `An account has at most ${maximumSenders} domains and senders.` })

const rejections: ReadonlySet<string> = new Set(["NotVerified", "HasWaitingMail", "TooManySenders", "CapInvalid"])
const isRejection = (error: SenderRejection | AskError): error is SenderRejection => rejections.has(error._tag)

const targetOf = ({ email, mode, organizationId }: Account & Pick<SingleSender, "email">) => ({
  organization: organizationId,
  key: senderKey(mode, senderName(email))
})

/** Test mail stays here, so it takes no turn of the address itself. */
const turnOf = ({ mode }: Account, email: string): string => keyDigest(`${mode}\n${email}`)

/** The reason why a sender cannot be removed; one that was never verified can. */
const removalRefused = ({ email }: SingleSender, rejection: SenderRejection): Effect.Effect<void, SenderConflict> => {
  switch (rejection._tag) {
    case "NotVerified":
      return Effect.void
    case "HasWaitingMail": {
      const { held, scheduled } = rejection
      const message = `Mail of ${email} waits: ${held} held, ${scheduled} scheduled. Cancel it first, or wait until it is sent.`
      return Effect.fail(new SenderConflict({ message }))
    }
    default:
      return Effect.die(rejection)
  }
}

const makeCreate = Effect.fnUntraced(function* ({ publicUrl = defaultPublicUrl }: SendersOptions) {
  const rows = yield* senderRows
  const mail = yield* VerificationMail

  const earlierOf = Effect.fnUntraced(function* (account: Account, request: IdempotentRequest | undefined) {
    if (request === undefined) return undefined
    const earlier = yield* rows.byKey(account, request.key, yield* Clock.currentTimeMillis)
    if (earlier === undefined) return undefined
    const { sender } = yield* replayOf(request, earlier, earlier.digest)
    return { sender, isReplayed: true }
  })

  /** The row with a new link, and the link's token. */
  const put = Effect.fnUntraced(function* (account: Account, email: string, request: IdempotentRequest | undefined) {
    const now = yield* Clock.currentTimeMillis
    const token = randomText(tokenLength)
    const stored = { digest: keyDigest(token), expiresAt: now + linkMillis }
    if (request !== undefined) yield* rows.forgetKeys(account, now)
    const made = { ...account, id: `snd_${randomText()}`, email, createdAt: now, verifiedAt: null }
    const sender = yield* rows.put({ ...made, status: "pending" }, stored, request)
    if (sender === undefined) return yield* new SenderConflict({ message: `The sender ${email} is verified already.` })
    return { sender, token }
  })

  return Effect.fnUntraced(function* (account: Account, given: string, request?: IdempotentRequest) {
    const email = normalizedAddress(given)
    if (email === undefined) return yield* new AddressInvalid({ given })
    const earlier = yield* earlierOf(account, request)
    if (earlier !== undefined) return earlier
    const known = yield* rows.byEmail(account, email)
    if (known?.status === "verified")
      return yield* new SenderConflict({ message: `The sender ${email} is verified already.` })
    if (known === undefined && (yield* rows.count(account)) >= maximumSenders) return yield* tooMany
    const now = yield* Clock.currentTimeMillis
    const turn = turnOf(account, email)
    const mailedAt = yield* rows.takeTurn(turn, now)
    if (mailedAt !== undefined)
      return yield* new VerificationTooSoon({ retryAfterMillis: Math.max(1, mailedAt + mailPauseMillis - now) })
    return yield* Effect.gen(function* () {
      const { sender, token } = yield* put(account, email, request)
      const link = `${publicUrl()}${confirmationPath}?token=${token}`
      yield* Effect.tapError(mail.send({ account, to: email, link }), () => Effect.ignore(rows.forgetKey(sender.id)))
      return { sender, isReplayed: false }
    }).pipe(Effect.tapError(() => Effect.ignore(rows.giveTurnBack(turn, now))))
  })
})

const make = Effect.fnUntraced(function* (options: SendersOptions) {
  const rows = yield* senderRows
  const engine = yield* Engine
  const create = yield* makeCreate(options)

  const viewOf = Effect.fnUntraced(function* (sender: SingleSender) {
    const state = yield* engine.state(SendSender, targetOf(sender))
    return { sender, ...senderProgressOf(state, yield* Clock.currentTimeMillis) }
  })

  const find = Effect.fnUntraced(function* (account: Account, id: string) {
    return (yield* rows.byId(account, id)) ?? (yield* new SenderNotFound({ id }))
  })

  const linked = Effect.fnUntraced(function* (token: string) {
    return (yield* rows.byToken(keyDigest(token), yield* Clock.currentTimeMillis)) ?? (yield* new LinkInvalid())
  })

  const confirm = Effect.fn("Senders.confirm")(function* (token: string) {
    const sender = yield* linked(token)
    yield* Effect.catchIf(engine.ask(SendSender, targetOf(sender), { _tag: "Verify" }), isRejection, (rejection) =>
      rejection._tag === "TooManySenders" ? Effect.fail(tooMany) : Effect.die(rejection)
    )
    const verified = yield* rows.verified(sender.id, yield* Clock.currentTimeMillis)
    if (verified !== undefined) return verified
    // A deletion removes the sender before the row, and a verification in between would outlive both.
    if ((yield* rows.byEmail(sender, sender.email)) === undefined)
      yield* Effect.ignore(engine.ask(SendSender, targetOf(sender), { _tag: "Remove" }))
    return yield* new LinkInvalid()
  })

  const remove = Effect.fn("Senders.remove")(function* (account: Account, id: string) {
    for (;;) {
      const sender = yield* find(account, id)
      yield* Effect.catchIf(engine.ask(SendSender, targetOf(sender), { _tag: "Remove" }), isRejection, (rejection) =>
        removalRefused(sender, rejection)
      )
      // Its link may have been confirmed in between; then it is removed once more.
      if (yield* rows.remove(sender)) return
    }
  })

  return Senders.of({
    create: Effect.fn("Senders.create")(function* (account, email, request) {
      const { isReplayed, sender } = yield* create(account, email, request)
      return { view: yield* viewOf(sender), isReplayed }
    }),
    tiers: Effect.fn("Senders.tiers")((senders) => listedTiers(engine, senders.map(targetOf))),
    page: Effect.fn("Senders.page")(rows.page),
    find: Effect.fn("Senders.find")(find),
    get: Effect.fn("Senders.get")((account, id) => Effect.flatMap(find(account, id), viewOf)),
    remove,
    linked: Effect.fn("Senders.linked")(linked),
    confirm
  })
})
