/**
 * Decides for accounts: over requests to send, what is handed over, and reports, each in one decision with the senders,
 * emails and suppression buckets that it concerns (docs/platform.md, 9). Pure.
 */
import * as Actor from "../../../engine/Actor.ts"
import { InvalidArgument } from "../../../limits/errors.ts"
import * as Monthly from "../../../limits/monthlyRules.ts"
import { assertLimit } from "../../../limits/rules.ts"
import type { Risk } from "../../limits.ts"
import type { CustomLimits } from "../../rules/account.ts"
import { type AccountCommand, admission } from "../../rules/admission.ts"
import { triggerCounts } from "../../rules/pause.ts"
import { assertProbationCaps, emailsInLastHour } from "../../rules/probation.ts"
import { viewOf } from "../../rules/trust.ts"
import { accountEvents } from "./accountEvents.ts"
import { type Mode, otherMode, senderKey } from "./actorKeys.ts"
import { type AccountDecision, admit, admitTouches, preview } from "./decideAdmission.ts"
import { dispatch, dispatchTouches, report, reportTouches } from "./decideReport.ts"
import type { SendAccountCommand, SendAccountFact, SendAccountState } from "./model.ts"
import { type AccountRules, evolveAccount, hasPastPause, SendAccount } from "./SendAccount.ts"
import { SendSender } from "./SendSender.ts"
import { SendSuppressions } from "./SendSuppressions.ts"

// Decides for an account whose organization was deleted (docs/platform.md, 2.9): it accepts and releases nothing more.
// Late delivery reports update only the email they name, so that it can expire. Pure.

/** Closes both accounts of the organization. `at` is the actor of a mode. */
export const close = (
  state: SendAccountState,
  { now, self }: Actor.DecideContext,
  factsOf: (mode: Mode, facts: ReadonlyArray<SendAccountFact>) => Actor.OtherFacts
): AccountDecision => {
  const reply = { emails: [], account: viewOf(state.trust) }
  if (state.closedAt !== undefined) return Actor.decided({ reply })
  const fact: SendAccountFact = { _tag: "Closed", at: now }
  return Actor.decided({ facts: [fact], others: [factsOf(otherMode(self.key as Mode), [fact])], reply })
}

export const afterClose = (
  state: SendAccountState,
  command: SendAccountCommand,
  context: Actor.DecideContext
): AccountDecision => {
  const account = viewOf(state.trust)
  switch (command._tag) {
    case "Admit":
    case "Preview":
      return Actor.rejected({ code: "sender_not_verified", message: "The account was deleted" })
    case "Dispatch":
      return Actor.decided({
        reply: { emails: command.emails.map(({ id }) => ({ id, state: "canceled", suppressed: 0 })), account }
      })
    case "Report": {
      const decision = report(state, command, context)
      if (!decision.accepted) return decision
      const others = decision.others.filter(({ actor }) => actor !== SendSuppressions)
      return Actor.decided({ others, reply: { emails: decision.reply?.emails ?? [], account } })
    }
    default:
      return Actor.decided({ reply: { emails: [], account } })
  }
}

/** Senders that one wake after a pause sets going. */
const sendersPerWake = 200

/** @throws InvalidArgument for limits outside their range. */
const assertCustomLimits = ({ emailsPerMonth, probation, requestsPerMinute }: CustomLimits): void => {
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

const look = ({ custom, month, probation, triggers, trust }: SendAccountState, now: number): AccountDecision =>
  Actor.decided({
    reply: {
      emails: [],
      account: viewOf(trust),
      look: {
        custom,
        risk: trust.risk,
        hasBegun: trust.since !== null,
        triggers: trust.stage === "probation" ? triggerCounts(triggers, emailsInLastHour(probation, now), now) : [],
        emailsThisMonth: Monthly.advance(month, now).used
      }
    }
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
      return look(state, context.now)
    case "Reset":
      return reset(state, command.risk, context)
    default:
      return alone(state, command, context)
  }
}

/** Takes the transitions that are due, and lets the waiting senders continue. */
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

const touches: AccountRules["touches"] = (command, { key, organization }) => {
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
}

const wakeTouches: AccountRules["wakeTouches"] = (state, { key }) =>
  hasPastPause(state)
    ? state.waiting.slice(0, sendersPerWake).map((name) => SendSender.at(senderKey(key as Mode, name)))
    : []

export const accountRules: AccountRules = { decide, touches, wake, wakeTouches }
