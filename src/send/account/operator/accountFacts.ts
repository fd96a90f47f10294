/**
 * Describes facts of an account for operators (docs/platform.md, 9.9): changes of its stage, risk and limits, and the
 * reasons of pauses. Pure.
 */

import { hourMillis, type probationCaps, signalsMillis, spikeHours } from "../../limits.ts"
import type { PauseReason } from "../../rules/pause.ts"
import type { SendAccountFact } from "../actors/index.ts"

/** The table of the facts that are kept, by day of the decision. See {@link accountFactsProjection}. */
export const accountFactsTable = "send_account_facts"

/**
 * The time for which they are kept, in milliseconds: the reason of a pause may be asked for late. See
 * {@link accountFactsProjection}.
 */
export const accountFactsMillis = 180 * 24 * hourMillis

/** Most facts that an answer shows, the newest ones. */
export const maximumShownFacts = 500

/** A fact as it is kept and shown. Recipients' domains are left out. */
export type ShownFact = Exclude<SendAccountFact, { readonly _tag: "Accepted" | AlwaysLeftOut }> | AcceptedFact
type AlwaysLeftOut = "HandedOver" | "SenderAdded" | "SenderRemoved" | "SenderWaits" | "SendersGoOn"
export interface AcceptedFact {
  readonly _tag: "Accepted"
  readonly at: number
  readonly emails: number
  readonly signals: number
}

/** A fact as it is kept; undefined for one that operators do not need. */
export const shownFact = (fact: SendAccountFact): ShownFact | undefined => {
  switch (fact._tag) {
    case "Accepted": {
      const { at, domains, emails, signals } = fact
      // Domains are recorded only on probation, and only there do accepted emails cause a pause.
      return domains.length > 0 ? { _tag: "Accepted", at, emails, signals } : undefined
    }
    case "HandedOver":
    case "SenderAdded":
    case "SenderRemoved":
    case "SenderWaits":
    case "SendersGoOn":
      return undefined
    default:
      return fact
  }
}

/** The facts that are always shown: changes of stage, risk, plan or limits. */
export const decidingTags = [
  "Began",
  "Reset",
  "Paused",
  "Lifted",
  "RiskSet",
  "PlanSet",
  "LimitsSet",
  "ProbationProlonged",
  "Established",
  "Trusted"
] as const satisfies ReadonlyArray<ShownFact["_tag"]>

/** The facts that a pause rests on, beside the deciding ones. */
export interface Evidence {
  readonly tag: "Accepted" | "Bounced" | "Complained"
  /** From when they count, in Unix milliseconds. */
  readonly since: number
  readonly onlyWithSignals: boolean
}

/** The facts behind a pause at a time, in a probation that began at `since`. */
export const evidenceOf = (reason: PauseReason, pausedAt: number, since: number): Evidence => {
  switch (reason) {
    case "bounces":
      return { tag: "Bounced", since, onlyWithSignals: false }
    case "complaint":
      return { tag: "Complained", since, onlyWithSignals: false }
    case "spike":
      return {
        tag: "Accepted",
        since: Math.max(since, pausedAt - (spikeHours + 1) * hourMillis),
        onlyWithSignals: false
      }
    case "risky_content":
      return { tag: "Accepted", since: Math.max(since, pausedAt - signalsMillis), onlyWithSignals: true }
  }
}

const reasons: Readonly<Record<PauseReason, string>> = {
  bounces: "three of its first 25 emails have bounced for good",
  complaint: "a complaint about one of its first 100 emails",
  spike: "many more emails in an hour than in the hours before",
  risky_content: "five risky signals in its emails within 24 hours"
}

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`

const capsText = ({ domainsPerHour, emailsPerDay, emailsPerHour }: (typeof probationCaps)["standard"]): string =>
  `${emailsPerHour} emails an hour, ${emailsPerDay} a day, ${counted(domainsPerHour, "recipient domain")} an hour`

/** The fact as a sentence. */
export const sentenceOf = (fact: ShownFact): string => {
  switch (fact._tag) {
    case "Began":
      return `Probation began, with ${fact.risk} risk`
    case "Reset":
      return "The test account was started anew"
    case "Accepted":
      return `Accepted ${counted(fact.emails, "email")}${fact.signals === 0 ? "" : `, with ${counted(fact.signals, "risky signal")}`}`
    case "Bounced":
      return `Email ${fact.email} bounced for good`
    case "Complained":
      return "A recipient complained"
    case "Paused":
      return `Sending was paused: ${reasons[fact.reason]}`
    case "Lifted":
      return "The pause was lifted, and probation began again"
    case "RiskSet":
      return `The risk was set to ${fact.risk}`
    case "PlanSet":
      return `The send plan was set to ${fact.plan}`
    case "LimitsSet": {
      const { emailsPerMonth, probation, requestsPerMinute = null } = fact.custom
      const month = emailsPerMonth === null ? "the plan's emails a month" : `${emailsPerMonth} emails a month`
      const minute = requestsPerMinute === null ? "" : `; ${requestsPerMinute} send requests a minute for each key`
      return `Limits were set: ${month}; on probation ${probation === null ? "the risk's caps" : capsText(probation)}${minute}`
    }
    case "ProbationProlonged":
      return "The probation window was not clean, and a new one began"
    case "Established":
      return "The account was established"
    case "Trusted":
      return "The account became trusted"
    case "Closed":
      return "The organization was deleted"
  }
}
