/**
 * Defines the account that admission decides over (docs/platform.md, 9.7): stage, probation windows, pause triggers,
 * month and limits in one state, so that one decision covers them all. `evolve` gives each fact to the parts that it
 * concerns. Pure.
 */
import * as Monthly from "../../limits/monthlyRules.ts"
import {
  emailsPerMonthByPlan,
  type ProbationCaps,
  probationCaps,
  type Risk,
  requestsPerMinuteByPlan,
  type SendPlan
} from "../limits.ts"
import { type PauseReason, type PauseState, pauseTriggers } from "./pause.ts"
import { type ProbationState, probationWindow } from "./probation.ts"
import { type TrustFact, type TrustState, trustStage } from "./trust.ts"

/** Limits that an operator may set in place of the plan's and the risk's; null for those. See {@link admission}. */
export interface CustomLimits {
  readonly emailsPerMonth: number | "unlimited" | null
  /** At most `maximumProbationCaps`. */
  readonly probation: ProbationCaps | null
  /** The rate of each key (docs/platform.md, 9.10). Left out in older states. */
  readonly requestsPerMinute?: number | "unlimited" | null
}

/**
 * Plain data: numbers, short strings and flat arrays, at most 13 kB with the caps of any risk. See {@link admission}.
 */
export interface AccountState {
  readonly plan: SendPlan
  readonly custom: CustomLimits
  readonly trust: TrustState
  readonly probation: ProbationState
  readonly triggers: PauseState
  readonly month: Monthly.MonthlyState
  /** Emails accepted since the account began. */
  readonly accepted: number
}

/** A fact of an account. See {@link admission}. */
export type AccountFact =
  | Exclude<TrustFact, { readonly _tag: "Bounced" }>
  /**
   * A request was accepted: its number of emails, which of them are among the first 100, domains as `domainKey` names
   * them, and risky signals.
   */
  | {
      readonly _tag: "Accepted"
      readonly at: number
      readonly emails: number
      readonly first: ReadonlyArray<string>
      readonly domains: ReadonlyArray<string>
      readonly signals: number
    }
  | { readonly _tag: "Bounced"; readonly at: number; readonly email: string }
  | { readonly _tag: "PlanSet"; readonly at: number; readonly plan: SendPlan }
  | { readonly _tag: "LimitsSet"; readonly at: number; readonly custom: CustomLimits }

export const initialState: AccountState = {
  plan: "hobby",
  custom: { emailsPerMonth: null, probation: null },
  trust: trustStage.initialState,
  probation: probationWindow.initialState,
  triggers: pauseTriggers.initialState,
  month: Monthly.initial,
  accepted: 0
}

/** Send requests per minute of each key. */
export const sendRequestsPerMinute = (
  custom: Pick<CustomLimits, "requestsPerMinute">,
  plan: SendPlan
): number | "unlimited" => custom.requestsPerMinute ?? requestsPerMinuteByPlan[plan]

/** Emails per month in force. */
export const emailsPerMonth = ({ custom, plan }: Pick<AccountState, "custom" | "plan">): number | "unlimited" =>
  custom.emailsPerMonth ?? emailsPerMonthByPlan[plan]

/** The probation caps in force, whether or not the account is on probation. */
export const capsOf = (custom: CustomLimits, risk: Risk): ProbationCaps => custom.probation ?? probationCaps[risk]

const accepted = <State extends AccountState>(
  state: State,
  fact: Extract<AccountFact, { _tag: "Accepted" }>
): State => {
  const counted = {
    ...state,
    month: Monthly.record(state.month, fact.emails, fact.at),
    accepted: state.accepted + fact.emails
  }
  if (state.trust.stage !== "probation") return counted
  const { at, domains, emails, first, signals } = fact
  return {
    ...counted,
    probation: probationWindow.evolve(state.probation, { _tag: "Taken", at, emails, domains }),
    triggers: pauseTriggers.evolve(state.triggers, { _tag: "Accepted", at, emails, first, signals })
  }
}

/** Keeps what else a state has. */
export const evolve = <State extends AccountState>(state: State, fact: AccountFact): State => {
  switch (fact._tag) {
    case "Accepted":
      return accepted(state, fact)
    case "PlanSet":
      return { ...state, plan: fact.plan }
    case "LimitsSet":
      return { ...state, custom: fact.custom }
    case "Bounced":
      return {
        ...state,
        trust: trustStage.evolve(state.trust, { _tag: "Bounced", at: fact.at }),
        triggers: pauseTriggers.evolve(state.triggers, fact)
      }
    case "Lifted":
    case "Established":
      // Counts of a probation start over with the next one, or are never needed again.
      return {
        ...state,
        trust: trustStage.evolve(state.trust, fact),
        probation: probationWindow.initialState,
        triggers: pauseTriggers.initialState
      }
    default:
      return { ...state, trust: trustStage.evolve(state.trust, fact) }
  }
}

/** A pause as the trust stage takes it. */
export const pausedBy = (at: number, reason: PauseReason): AccountFact => ({ _tag: "Paused", at, reason })
