/**
 * Decides admission (docs/platform.md, 9.7): accepts or rejects a request of one or more emails, in one decision over
 * sender, suppression, pause, month and probation caps, in this order. The whole request passes or nothing does, and a
 * rejected one changes nothing. Pure: the command brings the senders and suppressed addresses.
 */
import * as Monthly from "../../limits/monthlyRules.ts"
import { probationMillis, type Risk, type SendPlan } from "../limits.ts"
import {
  type AccountFact,
  type AccountState,
  type CustomLimits,
  capsOf,
  emailsPerMonth,
  evolve,
  initialState,
  pausedBy
} from "./account.ts"
import { type Decider, decided, rejected } from "./decider.ts"
import { domainKey, domainOf } from "./domainKey.ts"
import { amongFirst, type PauseFigures, type PauseReason, pauseFigures, pauseTriggersBy } from "./pause.ts"
import { emailsInLastHour, probationWindow } from "./probation.ts"
import {
  monthlyLimitReached,
  probationLimitReached,
  type SendRejection,
  senderNotVerified,
  sendingPaused
} from "./rejections.ts"
import {
  type NotPaused,
  type ProbationLengths,
  type TrustView,
  takeDueTransitions,
  trustStageBy,
  viewOf
} from "./trust.ts"

/** Kinds of risky content (docs/platform.md, 9.4). Each counts once for an email. See {@link riskySignalsOf}. */
export const riskySignals = ["foreign_link", "shortened_link", "verification_subject"] as const
/** A kind of risky content. See {@link riskySignalsOf}. */
export type RiskySignal = (typeof riskySignals)[number]

/** An email as admission needs it. See {@link admission}. */
export interface AdmittedEmail {
  /** Made before the decision. */
  readonly id: string
  /** The sender as `isVerified` knows it: a domain, or an address. */
  readonly sender: string
  /** All recipients, to, cc and bcc together. */
  readonly recipients: ReadonlyArray<string>
  readonly signals?: ReadonlyArray<RiskySignal>
}

/** A command of the rule of admission. See {@link admission}. */
export type AccountCommand =
  | {
      readonly _tag: "Send"
      readonly emails: ReadonlyArray<AdmittedEmail>
      readonly isVerified: (sender: string) => boolean
      readonly isSuppressed: (recipient: string) => boolean
      /** The address at which an account finds a larger plan. */
      readonly upgradeUrl: string
    }
  | { readonly _tag: "Begin"; readonly risk: Risk }
  | { readonly _tag: "HandOver"; readonly emails: number }
  /** The first permanent bounce of an email. */
  | { readonly _tag: "Bounce"; readonly email: string }
  | { readonly _tag: "Complain"; readonly email: string }
  | { readonly _tag: "Lift" }
  | { readonly _tag: "SetRisk"; readonly risk: Risk }
  | { readonly _tag: "SetPlan"; readonly plan: SendPlan }
  | { readonly _tag: "SetLimits"; readonly custom: CustomLimits }
  /** Takes the transitions that are due, and nothing else. */
  | { readonly _tag: "Check" }

/** The result for one email. See {@link admission}. */
export interface AdmissionAnswer {
  readonly id: string
  /**
   * `held`: accepted, but this very request paused the account. `suppressed`: no recipient is left; counted nowhere.
   */
  readonly state: "accepted" | "held" | "suppressed"
  /** Recipients that were taken out, as they were given. */
  readonly suppressed: ReadonlyArray<string>
}

/** The answer of admission. See {@link admission}. */
export interface AccountAnswer {
  /** One for each email of a request, in order; none for other commands. */
  readonly emails: ReadonlyArray<AdmissionAnswer>
  readonly account: TrustView
}

type Send = Extract<AccountCommand, { _tag: "Send" }>

/** The emails with their remaining recipients. */
const withoutSuppressed = ({ emails, isSuppressed }: Send) =>
  emails.map((email) => {
    const suppressed = email.recipients.filter(isSuppressed)
    const gone = new Set(suppressed)
    return { email, suppressed, recipients: email.recipients.filter((recipient) => !gone.has(recipient)) }
  })

/** Each kind once; most emails have none. */
const countOf = (signals: ReadonlyArray<RiskySignal> = []): number =>
  signals.length > 1 ? new Set(signals).size : signals.length

/** The rules of stage and pauses under the figures of an admission. */
interface Rules {
  readonly stage: ReturnType<typeof trustStageBy>
  readonly triggers: ReturnType<typeof pauseTriggersBy>
}

/** The decision over a request, on a state in which nothing is due. */
const admit = (
  state: AccountState,
  command: Send,
  at: number,
  { triggers }: Rules
): { readonly facts: ReadonlyArray<AccountFact>; readonly emails: ReadonlyArray<AdmissionAnswer> } | SendRejection => {
  const unverified = command.emails.find(({ sender }) => !command.isVerified(sender))
  if (unverified !== undefined) return senderNotVerified(unverified.sender)
  const reduced = withoutSuppressed(command)
  const going = reduced.filter(({ recipients }) => recipients.length > 0)
  if (state.trust.stage === "sending_paused") return sendingPaused()
  const answer = (stateOfGoing: "accepted" | "held"): ReadonlyArray<AdmissionAnswer> =>
    reduced.map(({ email, recipients, suppressed }) => ({
      id: email.id,
      state: recipients.length === 0 ? "suppressed" : stateOfGoing,
      suppressed
    }))
  // An email without recipients is counted nowhere, so a limit that is used up does not stop it.
  if (going.length === 0) return { facts: [], emails: answer("accepted") }
  const month = Monthly.peek(state.month, emailsPerMonth(state), going.length, at)
  if (!month.allowed && month.limit !== "unlimited")
    return monthlyLimitReached(month.limit, month.used, month.resetsAt, command.upgradeUrl)
  const onProbation = state.trust.stage === "probation"
  // Only a probation asks for them, and they cost more than the rest of the decision.
  const domains = onProbation
    ? [...new Set(going.flatMap(({ recipients }) => recipients.map((one) => domainKey(domainOf(one)))))]
    : []
  if (onProbation) {
    const caps = capsOf(state.custom, state.trust.risk)
    const { rejection } = probationWindow.decide(
      state.probation,
      { _tag: "Take", emails: going.length, domains, caps },
      at
    )
    if (rejection !== undefined) return probationLimitReached(rejection, at)
  }
  const ids = going.map(({ email }) => email.id)
  const signals = going.reduce((sum, { email }) => sum + countOf(email.signals), 0)
  // Counts that only a probation reads are not recorded without one.
  const fact: AccountFact = onProbation
    ? { _tag: "Accepted", at, emails: ids.length, first: amongFirst(state.triggers, ids), domains, signals }
    : { _tag: "Accepted", at, emails: ids.length, first: [], domains, signals: 0 }
  const pause = onProbation ? pauseOf(state, ids, signals, at, triggers) : null
  return pause === null
    ? { facts: [fact], emails: answer("accepted") }
    : { facts: [fact, pausedBy(at, pause)], emails: answer("held") }
}

const pauseOf = (
  state: AccountState,
  emails: ReadonlyArray<string>,
  signals: number,
  at: number,
  triggers: Rules["triggers"]
): PauseReason | null => {
  const lastHour = emailsInLastHour(state.probation, at) + emails.length
  return triggers.decide(state.triggers, { _tag: "Accept", emails, signals, lastHour }, at).reply?.pause ?? null
}

/** Feedback about an email, and the pause that it causes on probation. */
const feedback = (
  state: AccountState,
  command: Extract<AccountCommand, { _tag: "Bounce" | "Complain" }>,
  at: number,
  { triggers }: Rules
): ReadonlyArray<AccountFact> => {
  const { email } = command
  const fact: AccountFact = command._tag === "Bounce" ? { _tag: "Bounced", at, email } : { _tag: "Complained", at }
  const pause = triggers.decide(state.triggers, command, at).reply?.pause ?? null
  return pause === null || state.trust.stage !== "probation" ? [fact] : [fact, pausedBy(at, pause)]
}

const otherFacts = (
  state: AccountState,
  command: Exclude<AccountCommand, Send>,
  at: number,
  rules: Rules
): ReadonlyArray<AccountFact> | NotPaused => {
  switch (command._tag) {
    case "Bounce":
    case "Complain":
      return feedback(state, command, at, rules)
    case "SetPlan":
      return state.plan === command.plan ? [] : [{ _tag: "PlanSet", at, plan: command.plan }]
    case "SetLimits":
      return [{ _tag: "LimitsSet", at, custom: command.custom }]
    default: {
      const { facts, rejection } = rules.stage.decide(state.trust, command, at)
      // A trust stage that is asked for none of these makes no `Bounced`, which of an account names the email.
      return rejection ?? facts.filter((fact) => fact._tag !== "Bounced")
    }
  }
}

/** The figures of admission that are not limits of an account. See {@link admissionBy}. */
export interface AdmissionFigures {
  readonly probationMillis: ProbationLengths
  readonly pauses: PauseFigures
}

/** The figures in force. See {@link admissionBy}. */
export const admissionFigures: AdmissionFigures = { probationMillis, pauses: pauseFigures }

/** The rule of admission with other figures than those in force. See {@link admission}. */
export const admissionBy = (
  figures: AdmissionFigures
): Decider<AccountCommand, AccountFact, AccountState, AccountAnswer, SendRejection | NotPaused> => {
  const rules: Rules = { stage: trustStageBy(figures.probationMillis), triggers: pauseTriggersBy(figures.pauses) }
  return {
    initialState,
    evolve,
    decide: (before, command, now) => {
      const risk = command._tag === "Begin" ? command.risk : "standard"
      const taken = takeDueTransitions(before.trust, risk, now, figures.probationMillis)
      const due = taken.facts.filter((fact) => fact._tag !== "Bounced")
      const state = due.reduce<AccountState>(evolve, before)
      if (command._tag === "Send") {
        const admitted = admit(state, command, now, rules)
        if ("code" in admitted) return rejected(admitted)
        // Accepted emails change no stage; folding them here would double the cost of a decision.
        const after = admitted.facts.filter(({ _tag }) => _tag !== "Accepted").reduce(evolve, state)
        return decided({
          facts: [...due, ...admitted.facts],
          reply: { emails: admitted.emails, account: viewOf(after.trust) }
        })
      }
      const own = otherFacts(state, command, now, rules)
      if ("_tag" in own) return rejected(own)
      return decided({
        facts: [...due, ...own],
        reply: { emails: [], account: viewOf(own.reduce(evolve, state).trust) }
      })
    }
  }
}

/**
 * The rule of `Admission` alone, as a decider over one account's plain state.
 *
 * @example
 * ```ts
 * import { admission } from "sluice/send"
 *
 * const begun = admission.decide(admission.initialState, { _tag: "Begin", risk: "higher" }, 0)
 * const state = begun.facts.reduce(admission.evolve, admission.initialState)
 * console.log(state.trust.stage) // probation
 * ```
 */
export const admission: Decider<AccountCommand, AccountFact, AccountState, AccountAnswer, SendRejection | NotPaused> =
  admissionBy(admissionFigures)
