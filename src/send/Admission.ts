/**
 * `Admission`: whether a request to send is accepted, decided at once over sender, suppression, pause, month and probation caps (docs/send.md, 2.6). Time comes from
 * the Clock. `layerMemory` keeps accounts in this process and needs nothing else; which senders are verified and which recipients suppressed it is told.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { attempt } from "../limits/attempt.ts"
import { InvalidArgument } from "../limits/errors.ts"
import { assertLimit } from "../limits/rules.ts"
import { assertInteger } from "../limits/windowDecision.ts"
import type { CustomLimits } from "./accountRules.ts"
import { type AccountCommand, type AdmissionAnswer, type AdmittedEmail, admission } from "./admissionRules.ts"
import { type MemoryFull, SendRejected } from "./errors.ts"
import { assertCount, checked, type MemoryOptions, makeKeyedDecider } from "./keyedDecider.ts"
import { maximumEmails, maximumRecipients, type Risk, type SendPlan } from "./limits.ts"
import { assertProbationCaps } from "./probationRules.ts"
import { retryAfterSeconds, type SendRejection, statusOf } from "./rejections.ts"
import type { NotPaused, TrustView } from "./trustRules.ts"

export interface AdmissionOptions extends MemoryOptions {
  readonly isVerified: (account: string, sender: string) => boolean
  /** Default: nobody is. */
  readonly isSuppressed?: ((account: string, recipient: string) => boolean) | undefined
  /** Where an account finds a larger plan. */
  readonly upgradeUrl: string
}

/** The account's stage after the call. */
type View = Effect.Effect<TrustView, InvalidArgument | MemoryFull>

export class Admission extends Context.Service<
  Admission,
  {
    /** The whole request or nothing. One answer for each email, in order. */
    readonly send: (
      account: string,
      emails: ReadonlyArray<AdmittedEmail>
    ) => Effect.Effect<ReadonlyArray<AdmissionAnswer>, SendRejected | InvalidArgument | MemoryFull>
    /** Begins probation, once; any other first call begins it with the standard risk. */
    readonly begin: (account: string, risk: Risk) => View
    readonly handOver: (account: string, emails: number) => View
    /** The first permanent bounce of an email. */
    readonly bounce: (account: string, email: string) => View
    readonly complain: (account: string, email: string) => View
    readonly lift: (account: string) => Effect.Effect<TrustView, NotPaused | InvalidArgument | MemoryFull>
    readonly setRisk: (account: string, risk: Risk) => View
    readonly setPlan: (account: string, plan: SendPlan) => View
    readonly setLimits: (account: string, custom: CustomLimits) => View
    /** The stage now. */
    readonly check: (account: string) => View
  }
>()("sluice/send/Admission") {
  /** Accounts in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: AdmissionOptions): Layer.Layer<Admission, InvalidArgument> =>
    Layer.effect(
      Admission,
      Effect.suspend(() => attempt(() => makeMemory(options)))
    )
}

const assertEmails = (emails: ReadonlyArray<AdmittedEmail>): void => {
  assertInteger("emails", emails.length, 1, maximumEmails)
  for (const { recipients } of emails) assertInteger("recipients", recipients.length, 1, maximumRecipients)
  if (new Set(emails.map(({ id }) => id)).size < emails.length)
    throw new InvalidArgument({ argument: "emails", message: "each email needs an id of its own" })
}

const assertLimits = ({ emailsPerMonth, probation }: CustomLimits): void => {
  if (emailsPerMonth !== null) assertLimit(emailsPerMonth)
  if (probation !== null) assertProbationCaps(probation)
}

/** A rejection as the error of the service, at the time of the decision. */
const asRejected = (rejection: SendRejection, now: number): SendRejected => {
  const seconds = retryAfterSeconds(rejection, now)
  return new SendRejected({
    status: statusOf(rejection),
    error: rejection,
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds })
  })
}

const makeMemory = (options: AdmissionOptions): Admission["Service"] => {
  const { isSuppressed = () => false, isVerified, upgradeUrl } = options
  const accounts = makeKeyedDecider(admission, options)
  type Told = Exclude<AccountCommand, { _tag: "Send" | "Lift" }>
  // Of these none is ever rejected.
  const tell = (account: string, command: Told): View =>
    accounts.ask(account, command).pipe(
      Effect.map(({ reply }) => reply.account),
      Effect.catch(
        (error): View => ("code" in error || error._tag === "NotPaused" ? Effect.die(error) : Effect.fail(error))
      )
    )
  return {
    send: (account, emails) => {
      const asked = accounts.ask(account, {
        _tag: "Send",
        emails,
        isVerified: (sender) => isVerified(account, sender),
        isSuppressed: (recipient) => isSuppressed(account, recipient),
        upgradeUrl
      })
      return checked(() => assertEmails(emails), asked).pipe(
        Effect.map(({ reply }) => reply.emails),
        Effect.catch((error): Effect.Effect<never, SendRejected | InvalidArgument | MemoryFull> => {
          if ("code" in error)
            return Clock.clockWith((clock) => Effect.fail(asRejected(error, clock.currentTimeMillisUnsafe())))
          return error._tag === "NotPaused" ? Effect.die(error) : Effect.fail(error)
        })
      )
    },
    begin: (account, risk) => tell(account, { _tag: "Begin", risk }),
    handOver: (account, emails) =>
      checked(() => assertCount("emails", emails), tell(account, { _tag: "HandOver", emails })),
    bounce: (account, email) => tell(account, { _tag: "Bounce", email }),
    complain: (account, email) => tell(account, { _tag: "Complain", email }),
    lift: (account) =>
      accounts.ask(account, { _tag: "Lift" }).pipe(
        Effect.map(({ reply }) => reply.account),
        Effect.catch(
          (error): Effect.Effect<never, NotPaused | InvalidArgument | MemoryFull> =>
            "code" in error ? Effect.die(error) : Effect.fail(error)
        )
      ),
    setRisk: (account, risk) => tell(account, { _tag: "SetRisk", risk }),
    setPlan: (account, plan) => tell(account, { _tag: "SetPlan", plan }),
    setLimits: (account, custom) => checked(() => assertLimits(custom), tell(account, { _tag: "SetLimits", custom })),
    check: (account) => tell(account, { _tag: "Check" })
  }
}
