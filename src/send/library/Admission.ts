/**
 * Defines `Admission`: an account with its senders, queues and suppression list. It decides a request to send over
 * sender, suppression, pause, month, probation caps and daily caps together (docs/send.md, 2.6). Time comes from the
 * Clock. `layerMemory` keeps accounts in this process and needs nothing else; `layer` keeps them on an engine.
 */
import { Clock, Context, Effect, type Layer } from "effect"
import type { AnyActor } from "../../engine/Actor.ts"
import type { Engine } from "../../engine/Engine.ts"
import { InvalidArgument } from "../../limits/errors.ts"
import { keyedLayers } from "../../limits/keyedLayers.ts"
import { OrganizationActor } from "../../platform/OrganizationActor.ts"
import {
  type AdmitEmail,
  type EmailReport,
  isAccountRejection,
  type Mode,
  SendAccount,
  type SendAccountCommand,
  type SendAccountRejection,
  type SendAccountReply,
  SendEmail,
  type SenderCommand,
  type SenderRejection,
  type SenderReply,
  SendSender,
  SendSuppressions,
  type SuppressionCommand,
  sendActors,
  senderKey,
  senderName,
  suppressedOf,
  suppressionPlace
} from "../account/actors/index.ts"
import { SendRejected, type Unanswered } from "../errors.ts"
import type { Risk, SendPlan } from "../limits.ts"
import type { CustomLimits } from "../rules/account.ts"
import type { EmailStage } from "../rules/emailStates.ts"
import { isSendRejection, retryAfterSeconds, type SendRejection, statusOf } from "../rules/rejections.ts"
import type { NotPaused, TrustView } from "../rules/trust.ts"
import { type AdmissionAsks, engineAsks, memoryAsks } from "./admissionAsks.ts"
import type { EngineOptions } from "./engineDecider.ts"
import type { MemoryOptions } from "./keyedDecider.ts"

/** The options of accounts: the address of larger plans, and the mode. See {@link Admission}. */
export interface AccountOptions {
  /** The address at which an account finds a larger plan. */
  readonly upgradeUrl: string
  /** Which of the two accounts of each name. Default `live`. */
  readonly mode?: Mode | undefined
}

/** The result for one email of a request. See {@link Admission}. */
export interface SentAnswer {
  readonly id: string
  readonly state: EmailStage
  /** Recipients that were taken out, as they were given. */
  readonly suppressed: ReadonlyArray<string>
  /** Unix milliseconds of the midnight at which a held email fits; left out if it is unknown. */
  readonly heldUntil?: number
}

/** A report of an email, whose sender the account knows. See {@link Admission}. */
export type ReportOf = Omit<EmailReport, "sender">

/**
 * Decides requests to send whole: plan, probation, pauses, tiers and holds together (docs/send.md, 2.6).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Admission } from "sluice/send"
 *
 * const refused = Effect.flatMap(Admission, ({ send }) =>
 *   Effect.flip(send("ann", [{ id: "1", from: "ann@one.test", recipients: ["bob@two.test"] }]))
 * ).pipe(Effect.provide(Admission.layerMemory({ upgradeUrl: "https://one.test/plans" })))
 * console.log((await Effect.runPromise(refused)).message) // The sender "ann@one.test" is not verified
 * ```
 */
export class Admission extends Context.Service<
  Admission,
  {
    /** The whole request or nothing. One answer for each email, in order. */
    readonly send: (
      account: string,
      emails: ReadonlyArray<AdmitEmail>
    ) => Effect.Effect<ReadonlyArray<SentAnswer>, SendRejected | Unanswered>
    /** Which of the emails may be handed over now: those that are `sending` afterwards. */
    readonly dispatch: (
      account: string,
      emails: ReadonlyArray<Pick<AdmitEmail, "id" | "recipients">>
    ) => Effect.Effect<ReadonlyArray<SentAnswer>, Unanswered>
    /** Reports the outcomes of emails. A repeated report counts once. */
    readonly report: (account: string, reports: ReadonlyArray<ReportOf>) => Effect.Effect<TrustView, Unanswered>
    /** Takes an email back that is queued, held or scheduled; answers whether it was. */
    readonly cancel: (account: string, email: string) => Effect.Effect<boolean, Unanswered>
    /** A domain, or an address where its domain is not verified. */
    readonly verify: (account: string, sender: string) => Effect.Effect<SenderReply, SenderRejection | Unanswered>
    /** A daily cap in place of the tier's; null for the tier's own. */
    readonly setDailyCap: (
      account: string,
      sender: string,
      cap: number | null
    ) => Effect.Effect<SenderReply, SenderRejection | Unanswered>
    readonly suppress: (account: string, address: string) => Effect.Effect<void, Unanswered>
    readonly unsuppress: (account: string, address: string) => Effect.Effect<void, Unanswered>
    /** Begins probation, once; any other first call begins it with the standard risk. */
    readonly begin: (account: string, risk: Risk) => Effect.Effect<TrustView, Unanswered>
    readonly lift: (account: string) => Effect.Effect<TrustView, NotPaused | Unanswered>
    readonly setRisk: (account: string, risk: Risk) => Effect.Effect<TrustView, Unanswered>
    readonly setPlan: (account: string, plan: SendPlan) => Effect.Effect<TrustView, Unanswered>
    readonly setLimits: (account: string, custom: CustomLimits) => Effect.Effect<TrustView, Unanswered>
    /** The stage now. */
    readonly check: (account: string) => Effect.Effect<TrustView, Unanswered>
  }
>()("sluice/send/Admission") {
  /** Accounts in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: AccountOptions & MemoryOptions): Layer.Layer<Admission, InvalidArgument> =>
    layers.layerMemory(Admission, options, (asks) => make(asks, options))

  /** The actor that an engine for `layer` must have. */
  static readonly actors: ReadonlyArray<AnyActor> = [OrganizationActor, ...sendActors]

  /** Accounts on an engine. */
  static readonly layer = (options: AccountOptions & EngineOptions): Layer.Layer<Admission, never, Engine> =>
    layers.layer(Admission, options, (asks) => make(asks, options))
}

const layers = keyedLayers(memoryAsks, engineAsks)

/** A rejection as the error of the service, at the time of the decision. */
const asRejected = (rejection: SendRejection, now: number): SendRejected => {
  const seconds = retryAfterSeconds(rejection, now)
  return new SendRejected({
    status: statusOf(rejection),
    error: rejection,
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds })
  })
}

const answersOf = (
  { emails }: SendAccountReply,
  asked: ReadonlyArray<Pick<AdmitEmail, "recipients">>
): ReadonlyArray<SentAnswer> =>
  emails.map((answer, index) => ({ ...answer, suppressed: suppressedOf(asked[index]?.recipients ?? [], answer) }))

/** Commands that are rejected only where they are no good. */
type Told = Exclude<SendAccountCommand, { readonly _tag: "Admit" | "Preview" | "Lift" }>

const make = (asks: AdmissionAsks, { mode = "live", upgradeUrl }: AccountOptions): Admission["Service"] => {
  const ask = (account: string, command: SendAccountCommand) => asks.ask(account, SendAccount, mode, command)
  const invalid = (rejection: SendAccountRejection): Effect.Effect<never, InvalidArgument> =>
    "_tag" in rejection && rejection._tag === "RequestInvalid"
      ? Effect.fail(new InvalidArgument({ argument: "request", message: rejection.message }))
      : Effect.die(rejection)
  const tell = (account: string, command: Told): Effect.Effect<SendAccountReply, Unanswered> =>
    Effect.catch(ask(account, command), (error) => (isAccountRejection(error) ? invalid(error) : Effect.fail(error)))
  const view = (account: string, command: Told): Effect.Effect<TrustView, Unanswered> =>
    Effect.map(tell(account, command), (reply) => reply.account)
  const sender = (account: string, name: string, command: SenderCommand) =>
    asks.ask(account, SendSender, senderKey(mode, senderName(name)), command)
  const suppression = (account: string, command: SuppressionCommand) =>
    asks.ask(
      account,
      SendSuppressions,
      suppressionPlace(asks.organizationOf(account), mode, command.address).key,
      command
    )
  const withSender = <Named extends { readonly id: string }>(account: string, named: ReadonlyArray<Named>) =>
    Effect.forEach(named, (one) =>
      Effect.map(asks.state(account, SendEmail, one.id), (email) => ({ ...one, sender: email.sender }))
    )
  return {
    send: (account, emails) =>
      ask(account, { _tag: "Admit", emails, upgradeUrl }).pipe(
        Effect.map((reply) => answersOf(reply, emails)),
        Effect.catch((error): Effect.Effect<never, SendRejected | Unanswered> => {
          if (!isAccountRejection(error)) return Effect.fail(error)
          if (!isSendRejection(error)) return invalid(error)
          return Clock.clockWith((clock) => Effect.fail(asRejected(error, clock.currentTimeMillisUnsafe())))
        })
      ),
    dispatch: (account, emails) =>
      Effect.flatMap(withSender(account, emails), (named) =>
        Effect.map(tell(account, { _tag: "Dispatch", emails: named }), (reply) => answersOf(reply, emails))
      ),
    report: (account, reports) =>
      Effect.flatMap(withSender(account, reports), (named) => view(account, { _tag: "Report", reports: named })),
    cancel: (account, id) =>
      Effect.flatMap(asks.state(account, SendEmail, id), ({ mode: of, place, sender: name }) =>
        asks.ask(account, SendEmail, id, { _tag: "Cancel", mode: of, sender: name, place })
      ).pipe(
        // It moves once at most, from its schedule into the queue.
        Effect.retry({ times: 1, while: (error) => error._tag === "Moved" }),
        Effect.as(true),
        Effect.catchTags({
          NotWaiting: () => Effect.succeed(false),
          Moved: Effect.die,
          ScheduleInvalid: Effect.die
        })
      ),
    verify: (account, name) => sender(account, name, { _tag: "Verify" }),
    setDailyCap: (account, name, cap) => sender(account, name, { _tag: "SetDailyCap", cap }),
    suppress: (account, address) =>
      Effect.asVoid(suppression(account, { _tag: "Suppress", address, reason: "manual" })),
    unsuppress: (account, address) => Effect.asVoid(suppression(account, { _tag: "Unsuppress", address })),
    begin: (account, risk) => view(account, { _tag: "Begin", risk }),
    lift: (account) =>
      ask(account, { _tag: "Lift" }).pipe(
        Effect.map((reply) => reply.account),
        Effect.catch((error): Effect.Effect<never, NotPaused | Unanswered> => {
          if (isAccountRejection(error) && (isSendRejection(error) || error._tag !== "NotPaused"))
            return Effect.die(error)
          return Effect.fail(error as NotPaused | Unanswered)
        })
      ),
    setRisk: (account, risk) => view(account, { _tag: "SetRisk", risk }),
    setPlan: (account, plan) => view(account, { _tag: "SetPlan", plan }),
    setLimits: (account, custom) => view(account, { _tag: "SetLimits", custom }),
    check: (account) => view(account, { _tag: "Check" })
  }
}
