/**
 * Accepts requests to send (docs/platform.md, 9.10): stores the contents, then decides. A request that may be refused or
 * be a repeat is previewed before (`PreviewNeed`), and stores nothing then. Contents stored for a request that is
 * refused after all have no email that points to them. Needs `Engine`, `MessageContents`, `Organizations`,
 * `HandoffFeed` and `AcceptedTerms`.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { BoundedMap } from "../../common/BoundedMap.ts"
import { randomText } from "../../common/identifiers.ts"
import { Engine } from "../../engine/Engine.ts"
import type { OnceError } from "../../engine/errors.ts"
import type { OnceReply } from "../../engine/once.ts"
import { OrganizationActor } from "../../platform/OrganizationActor.ts"
import { type OrganizationNotFound, Organizations } from "../../platform/Organizations.ts"
import {
  type AdmitEmail,
  type EmailAnswer,
  isAccountRejection,
  type Mode,
  SendAccount,
  type SendAccountCommand,
  type SendAccountRejection,
  type SendAccountReply,
  suppressedOf
} from "../account/actors/index.ts"
import { HandoffFeed } from "../handoff/HandoffFeed.ts"
import { groupOf } from "../handoff/jobs.ts"
import type { Message } from "../Message.ts"
import { isSendRejection, type SendRejection } from "../rules/rejections.ts"
import { AcceptedTerms } from "../search/AcceptedTerms.ts"
import { termsOf } from "../search/searchTerms.ts"
import { type ContentsUnavailable, MessageContents } from "./contents/MessageContents.ts"
import type { SentEmail } from "./forms.ts"
import { PreviewNeed } from "./PreviewNeed.ts"
import type { Checks, ReadEmail } from "./readMessage.ts"
import { onceOf } from "./repeats.ts"

/** The owner of the emails. */
export interface EmailOwner {
  readonly organizationId: string
  readonly mode: Mode
}

/** The owner, and the API key that sends. */
export interface EmailSender extends EmailOwner {
  readonly keyId: string
  /** The `X-Request-Id` of the request; left out where there is none. */
  readonly requestId?: string
}

/** By what a repeat of a request is known. */
export interface Repeated {
  /** The caller's idempotency key, at most 256 characters. */
  readonly key: string
  /** Digest of the request's body. */
  readonly digest: string
}

export interface Sent {
  readonly emails: ReadonlyArray<SentEmail>
  /** Whether the request was answered before. */
  readonly isReplay: boolean
}

/** The failures of a request to send. A `SendRejection` is the rules' own answer. */
export type AcceptFault = SendRejection | OnceError | ContentsUnavailable | OrganizationNotFound | SqlError.SqlError

export class AcceptEmails extends Context.Service<
  AcceptEmails,
  {
    /** The bounds for a request of a key of the mode. */
    readonly checks: (mode: Mode) => Effect.Effect<Checks>
    /** The whole request or nothing; one answer for each email, in order. `owner` names the key that sends. */
    readonly send: (
      owner: EmailSender,
      emails: ReadonlyArray<ReadEmail>,
      repeated: Repeated | undefined
    ) => Effect.Effect<Sent, AcceptFault>
  }
>()("sluice/send/Sending") {
  static readonly layer = (options: {
    /** The address at which an account finds a larger plan. */
    readonly upgradeUrl: string
    /** The reason why attachments are not fetched from an address; undefined if they are. */
    readonly pathProblem: (path: string) => string | undefined
  }): Layer.Layer<AcceptEmails, never, Engine | MessageContents | Organizations | HandoffFeed | AcceptedTerms> =>
    Layer.effect(
      AcceptEmails,
      Effect.gen(function* () {
        return make({
          engine: yield* Engine,
          contents: yield* MessageContents,
          organizations: yield* Organizations,
          feed: yield* HandoffFeed,
          terms: yield* AcceptedTerms,
          ...options
        })
      })
    )
}

interface Means {
  readonly engine: Engine["Service"]
  readonly contents: MessageContents["Service"]
  readonly organizations: Organizations["Service"]
  readonly feed: HandoffFeed["Service"]
  readonly terms: AcceptedTerms["Service"]
  readonly upgradeUrl: string
  readonly pathProblem: (path: string) => string | undefined
}

/** Accounts that are known to have begun; one that is not remembered is looked at again. */
const rememberedAccounts = 100_000

/**
 * Makes sure that an account's probation has begun, with its organization's risk: any other first command would begin
 * it with the standard one. An organization from a version without an engine has a plan in its row alone, which the
 * account is told.
 */
const makeBegin = ({ engine, organizations }: Means) => {
  const begun = new BoundedMap<string, true>(rememberedAccounts)
  return Effect.fnUntraced(function* ({ mode, organizationId: organization }: EmailOwner) {
    const name = `${mode}/${organization}`
    if (begun.get(name) === true) return
    const { risk, sendPlan: plan } = yield* organizations.get(organization)
    const tell = (command: SendAccountCommand) =>
      Effect.catch(engine.ask(SendAccount, { organization, key: mode }, command), unlessRejected)
    yield* tell({ _tag: "Begin", risk })
    // Changes nothing, and returns the limits that are set.
    const { sendPlan } = yield* engine.ask(OrganizationActor, { organization }, { _tag: "SetPlans" })
    if (sendPlan === null) yield* tell({ _tag: "SetPlan", plan })
    begun.set(name, true)
  })
}

/** The rule rejects no such request, so a rejection is a fault of this program. */
const unlessRejected = (error: SendAccountRejection | OnceError): Effect.Effect<never, OnceError> =>
  isAccountRejection(error) ? Effect.die(error) : Effect.fail(error)

/** The rules' own answers, and faults of the engine. */
const refused = (error: SendAccountRejection | OnceError): Effect.Effect<never, SendRejection | OnceError> =>
  isSendRejection(error) ? Effect.fail(error) : unlessRejected(error)

const sentEmail = (answer: EmailAnswer, recipients: ReadonlyArray<string>): SentEmail => {
  const { heldUntil, id, scheduledAt, state, suppressed } = answer
  const left = suppressed === 0 ? [] : suppressedOf(recipients, { suppressed })
  return {
    id,
    // Admission makes an email of no other state.
    state: state as SentEmail["state"],
    ...(heldUntil === undefined ? {} : { heldUntil: new Date(heldUntil).toISOString() }),
    ...(scheduledAt === undefined ? {} : { scheduled_at: new Date(scheduledAt).toISOString() }),
    ...(left.length === 0 ? {} : { suppressed: left })
  }
}

/** Keeps what finds the emails until their rows are written. */
const keepTerms = (
  { contents, terms }: Means,
  organization: string,
  emails: ReadonlyArray<{ readonly id: string }>,
  messages: ReadonlyArray<Message>
) =>
  Effect.forEach(
    emails,
    ({ id }, index) =>
      Effect.map(contents.digests(organization, termsOf(messages[index]!)), (digests) => terms.put(id, digests)),
    { discard: true }
  )

const make = (means: Means): AcceptEmails["Service"] => {
  const { contents, engine, feed, terms, upgradeUrl } = means
  const begin = makeBegin(means)
  const need = new PreviewNeed()
  return AcceptEmails.of({
    checks: (mode) => Effect.map(Clock.currentTimeMillis, (now) => ({ mode, now, pathProblem: means.pathProblem })),
    send: Effect.fn("Sending.send")(function* (owner, emails, repeated) {
      const { mode, organizationId: organization } = owner
      yield* begin(owner)
      const target = { organization, key: mode }
      const once = repeated && onceOf(owner, repeated)
      const ask = (
        command: SendAccountCommand
      ): Effect.Effect<OnceReply<SendAccountReply>, SendAccountRejection | OnceError> =>
        once === undefined
          ? Effect.map(engine.ask(SendAccount, target, command), (reply) => ({ reply, isReplay: false }))
          : engine.askOnce(SendAccount, target, command, once)
      const admitted = emails.map(
        ({ message, recipients, scheduledAt, signals }): AdmitEmail => ({
          id: `em_${randomText()}`,
          from: message.from,
          recipients,
          signals,
          ...(scheduledAt === undefined ? {} : { scheduledAt })
        })
      )
      const answer = ({ isReplay, reply }: OnceReply<SendAccountReply>): Sent => ({
        emails: reply.emails.map((one, index) => sentEmail(one, emails[index]?.recipients ?? [])),
        isReplay
      })
      const group = groupOf(organization, mode)
      const { keyId, requestId } = owner
      const by = requestId === undefined ? { keyId } : { keyId, requestId }
      const messages = emails.map(({ message }) => ({ ...message, ...by }))
      const notRefused = (error: SendAccountRejection | OnceError) => {
        if (isSendRejection(error)) need.answered(group, false)
        return refused(error)
      }
      const stored = Effect.tap(contents.write(organization, messages), () =>
        keepTerms(means, organization, admitted, messages)
      )
      const forgetTerms = Effect.sync(() => {
        for (const { id } of admitted) terms.take(id)
      })
      const decide = Effect.flatMap(stored, (kept) => {
        const pointed = admitted.map((one, index) => ({ ...one, ...kept[index]! }))
        const room = feed.roomOf({ partition: engine.partitionOf(organization), group })
        const goes = emails.length <= room
        return ask({ _tag: "Admit", emails: pointed, upgradeUrl, goes }).pipe(
          Effect.tap(({ isReplay }) => {
            need.answered(group, true)
            return isReplay ? forgetTerms : Effect.void
          }),
          Effect.tapError(() => forgetTerms),
          Effect.catch(notRefused)
        )
      })
      if (!need.isNeeded(group, messages, repeated?.key)) return answer(yield* decide)
      return answer(
        yield* ask({ _tag: "Preview", emails: admitted, upgradeUrl }).pipe(
          Effect.catch((error): typeof decide | ReturnType<typeof refused> =>
            isAccountRejection(error) && "_tag" in error && error._tag === "Acceptable" ? decide : notRefused(error)
          )
        )
      )
    })
  })
}
