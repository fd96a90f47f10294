/**
 * An organization's account in one mode as an actor (docs/platform.md, 9): it decides over requests, over what is handed over, and over reports,
 * each in one decision with the senders, emails and suppression buckets that it concerns. Its time comes at the whole hours at which a stage may change,
 * and when a pause was lifted that senders wait for.
 */
import * as Actor from "../../../engine/Actor.ts"
import { InvalidArgument } from "../../../limits/errors.ts"
import { assertLimit } from "../../../limits/rules.ts"
import type { Risk } from "../../limits.ts"
import { type CustomLimits, evolve as evolveRules } from "../../rules/account.ts"
import { type AccountCommand, admission } from "../../rules/admission.ts"
import { assertProbationCaps } from "../../rules/probation.ts"
import { nextTransition, viewOf } from "../../rules/trust.ts"
import { accountEvents } from "./accountEvents.ts"
import { type Mode, otherMode, senderKey } from "./actorKeys.ts"
import { afterClose, close, closedAccount } from "./closedAccount.ts"
import { type AccountDecision, admit, admitTouches, preview } from "./decideAdmission.ts"
import { dispatch, dispatchTouches, report, reportTouches } from "./decideReport.ts"
import {
  initialSendAccount,
  SendAccountCommand,
  SendAccountFact,
  SendAccountRejection,
  SendAccountReply,
  SendAccountState
} from "./model.ts"
import { SendSender } from "./SendSender.ts"

/** Senders that one wake after a pause sets going. */
const sendersPerWake = 200

export const evolveAccount = (state: SendAccountState, fact: SendAccountFact): SendAccountState => {
  switch (fact._tag) {
    case "SenderAdded":
      return { ...state, senders: state.senders + 1 }
    case "SenderRemoved":
      return { ...state, senders: state.senders - 1 }
    case "SenderWaits":
      return { ...state, waiting: [...state.waiting, fact.sender] }
    case "SendersGoOn":
      return { ...state, waiting: state.waiting.slice(fact.senders) }
    case "Reset": {
      // Senders that wait for the end of a pause must still be set going.
      const { custom, plan, senders, waiting } = state
      return { ...initialSendAccount, custom, plan, senders, waiting }
    }
    case "Closed":
      return closedAccount(state, fact)
    default:
      return evolveRules(state, fact)
  }
}

/** @throws InvalidArgument for limits outside their range. */
export const assertCustomLimits = ({ emailsPerMonth, probation, requestsPerMinute }: CustomLimits): void => {
  if (emailsPerMonth !== null) assertLimit(emailsPerMonth)
  if (requestsPerMinute != null) assertLimit(requestsPerMinute)
  if (probation !== null) assertProbationCaps(probation)
}

/** Commands that concern the account alone. */
const alone = (
  state: SendAccountState,
  command: AccountCommand,
  { now, self }: Actor.DecideContext
): AccountDecision => {
  const { facts, rejection, reply } = admission.decide(state, command, now)
  if (rejection !== undefined) return Actor.rejected(rejection)
  const account = reply?.account ?? { trustStage: state.trust.stage }
  return Actor.decided({ facts, events: accountEvents(self.key as Mode, facts), reply: { emails: [], account } })
}

/** Limits are the organization's, so that both of its accounts get them in one decision. */
const setLimits = (
  state: SendAccountState,
  command: Extract<SendAccountCommand, { readonly _tag: "SetLimits" }>,
  context: Actor.DecideContext
): AccountDecision => {
  try {
    assertCustomLimits(command.custom)
  } catch (error) {
    if (error instanceof InvalidArgument) return Actor.rejected({ _tag: "RequestInvalid", message: error.message })
    throw error
  }
  const decision = alone(state, command, context)
  if (!decision.accepted || decision.reply === undefined) return decision
  const { events, facts, reply } = decision
  const set: SendAccountFact = { _tag: "LimitsSet", at: context.now, custom: command.custom }
  const others = [SendAccount.facts(otherMode(context.self.key as Mode), [set])]
  return Actor.decided({ facts, events, others, reply })
}

const look = ({ custom, trust }: SendAccountState): AccountDecision =>
  Actor.decided({
    reply: { emails: [], account: viewOf(trust), look: { custom, risk: trust.risk, hasBegun: trust.since !== null } }
  })

const reset = (state: SendAccountState, risk: Risk, { now: at, self }: Actor.DecideContext): AccountDecision => {
  if (self.key !== "test")
    return Actor.rejected({ _tag: "RequestInvalid", message: "Only a test account can be started anew" })
  const facts: ReadonlyArray<SendAccountFact> = [
    { _tag: "Reset", at },
    { _tag: "Began", at, risk }
  ]
  return Actor.decided({ facts, reply: { emails: [], account: viewOf(facts.reduce(evolveAccount, state).trust) } })
}

const decide = (
  state: SendAccountState,
  command: SendAccountCommand,
  context: Actor.DecideContext
): AccountDecision => {
  if (command._tag === "Close") return close(state, context, (mode, facts) => SendAccount.facts(mode, facts))
  if (state.closedAt !== undefined && command._tag !== "Look") return afterClose(state, command, context)
  switch (command._tag) {
    case "Admit":
      return admit(state, command, context)
    case "Preview":
      return preview(state, command, context)
    case "Dispatch":
      return dispatch(state, command, context)
    case "Report":
      return report(state, command, context)
    case "SetLimits":
      return setLimits(state, command, context)
    case "Look":
      return look(state)
    case "Reset":
      return reset(state, command.risk, context)
    default:
      return alone(state, command, context)
  }
}

/** Whether senders wait for a pause that is over. */
const hasPastPause = ({ trust, waiting }: SendAccountState): boolean =>
  waiting.length > 0 && trust.stage !== "sending_paused"

const wakeAt = (state: SendAccountState): number | undefined =>
  state.closedAt !== undefined
    ? undefined
    : hasPastPause(state)
      ? (state.trust.since ?? 0)
      : nextTransition(state.trust)?.at

/** The transitions that are due, and the senders that may go on. */
const wake = (state: SendAccountState, { now: at, self }: Actor.DecideContext): AccountDecision => {
  const { facts, reply } = admission.decide(state, { _tag: "Check" }, at)
  const account = reply?.account ?? { trustStage: state.trust.stage }
  const events = accountEvents(self.key as Mode, facts)
  if (!hasPastPause(state)) return Actor.decided({ facts, events, reply: { emails: [], account } })
  const senders = state.waiting.slice(0, sendersPerWake)
  return Actor.decided({
    facts: [...facts, { _tag: "SendersGoOn", at, senders: senders.length }],
    others: senders.map((name) => SendSender.facts(senderKey(self.key as Mode, name), [{ _tag: "Lifted", at }])),
    events,
    reply: { emails: [], account }
  })
}

/**
 * The actor of an account that sends; its key is the mode.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Engine } from "sluice"
 * import { SendAccount, sendActors } from "sluice/send"
 *
 * const view = Effect.flatMap(Engine.Engine, (engine) => engine.state(SendAccount, { organization: "acme", key: "live" }))
 * export const senders = Effect.map(view, (state) => state.senders).pipe(
 *   Effect.provide(Engine.layerMemory({ actors: sendActors }))
 * )
 * ```
 */
export const SendAccount: Actor.Actor<
  SendAccountCommand,
  SendAccountFact,
  SendAccountState,
  SendAccountReply,
  SendAccountRejection
> = Actor.make<SendAccountCommand, SendAccountFact, SendAccountState, SendAccountReply, SendAccountRejection>({
  kind: "sendAccount",
  command: SendAccountCommand,
  fact: SendAccountFact,
  state: SendAccountState,
  reply: SendAccountReply,
  rejection: SendAccountRejection,
  initial: () => initialSendAccount,
  evolve: evolveAccount,
  decide,
  touches: (command, { key, organization }) => {
    // An account's key is its mode.
    const mode = key as Mode
    switch (command._tag) {
      case "Admit":
      case "Preview":
        return admitTouches(command, organization, mode)
      case "Dispatch":
        return dispatchTouches(command, organization, mode)
      case "Report":
        return reportTouches(command, organization, mode)
      case "SetLimits":
      case "Close":
        return [SendAccount.at(otherMode(mode))]
      default:
        return []
    }
  },
  wakeAt,
  wakeTouches: (state, { key }) =>
    hasPastPause(state)
      ? state.waiting.slice(0, sendersPerWake).map((name) => SendSender.at(senderKey(key as Mode, name)))
      : [],
  wake
})
