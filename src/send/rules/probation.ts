/**
 * Decides the caps of an account on probation (docs/platform.md, 9.2): emails in any hour, emails in any 24 hours,
 * different recipient domains in any hour. Exact: an entry at t counts in [t, t + window), and a refusal names the
 * earliest instant at which the same request would pass. Pure.
 */
import * as Distinct from "../../limits/distinctRules.ts"
import * as Rolling from "../../limits/rollingRules.ts"
import { assertInteger, type WindowDecision } from "../../limits/windowDecision.ts"
import { dayMillis, hourMillis, maximumProbationCaps, type ProbationCaps } from "../limits.ts"
import { type Decider, decided, rejected } from "./decider.ts"

/** The accepted emails. One history of emails answers for the hour and for the day. See {@link probationWindow}. */
export interface ProbationState {
  readonly emails: Rolling.RollingState
  readonly domains: Distinct.DistinctState
}

/** A command of a probation. See {@link probationWindow}. */
export type ProbationCommand =
  /** A whole request: at least one email, with the domains of all its recipients as `domainKey` names them. */
  | {
      readonly _tag: "Take"
      readonly emails: number
      readonly domains: ReadonlyArray<string>
      readonly caps: ProbationCaps
    }
  /** Probation begins again: the caps start over. */
  | { readonly _tag: "Restart" }

/** A fact of a probation. See {@link probationWindow}. */
export type ProbationFact =
  | { readonly _tag: "Taken"; readonly at: number; readonly emails: number; readonly domains: ReadonlyArray<string> }
  | { readonly _tag: "Restarted"; readonly at: number }

/** The cap that a request crosses; of several the one that it must wait for longest. See {@link ProbationWindow}. */
export interface CapReached {
  readonly _tag: "CapReached"
  readonly limit: number
  readonly window: "hour" | "day"
  readonly metric: "sends" | "recipient_domains"
  /** Unix milliseconds of the earliest instant at which the request would pass this cap. */
  readonly resetsAt: number
  /** The request alone is over the cap, so that it never passes. */
  readonly neverFits: boolean
}

/** @throws InvalidArgument unless each cap is an integer from 0 to the one of `maximumProbationCaps`. */
export const assertProbationCaps = (caps: ProbationCaps): void => {
  assertInteger("emailsPerHour", caps.emailsPerHour, 0, maximumProbationCaps.emailsPerHour)
  assertInteger("emailsPerDay", caps.emailsPerDay, 0, maximumProbationCaps.emailsPerDay)
  assertInteger("domainsPerHour", caps.domainsPerHour, 0, maximumProbationCaps.domainsPerHour)
}

const crossedBy = (
  decision: WindowDecision,
  limit: number,
  window: CapReached["window"],
  metric: CapReached["metric"]
): ReadonlyArray<CapReached> =>
  decision.allowed
    ? []
    : [
        {
          _tag: "CapReached",
          limit,
          window,
          metric,
          resetsAt: decision.resetsAt,
          neverFits: decision.outcome === "cost_above_limit"
        }
      ]

const evolve = (state: ProbationState, fact: ProbationFact): ProbationState => {
  switch (fact._tag) {
    case "Taken":
      return {
        emails: Rolling.record(state.emails, dayMillis, fact.emails, fact.at),
        domains: Distinct.record(state.domains, hourMillis, fact.domains, fact.at)
      }
    case "Restarted":
      return probationWindow.initialState
  }
}

/** Emails accepted in the hour that ends at `now`. */
export const emailsInLastHour = (state: ProbationState, now: number): number =>
  Rolling.used(state.emails, hourMillis, now)

/**
 * The rule of `ProbationWindow` alone, as a decider.
 *
 * @example
 * ```ts
 * import { probationWindow, SendLimits } from "sluice/send"
 *
 * const take = { _tag: "Take", emails: 51, domains: ["two.test"], caps: SendLimits.probationCaps.standard } as const
 * console.log(probationWindow.decide(probationWindow.initialState, take, 0).rejection?.metric) // sends
 * ```
 */
export const probationWindow: Decider<ProbationCommand, ProbationFact, ProbationState, null, CapReached> = {
  initialState: { emails: Rolling.initial, domains: Distinct.initial },
  evolve,
  decide: (state, command, now) => {
    if (command._tag === "Restart") return decided({ facts: [{ _tag: "Restarted", at: now }], reply: null })
    const { caps, domains, emails } = command
    const day = Rolling.peek(state.emails, { windowMillis: dayMillis, limit: caps.emailsPerDay }, emails, now)
    const hour = Rolling.peek(state.emails, { windowMillis: hourMillis, limit: caps.emailsPerHour }, emails, now)
    const different = Distinct.peek(
      state.domains,
      { windowMillis: hourMillis, limit: caps.domainsPerHour },
      domains,
      now
    )
    // In the order in which ties are decided.
    const crossed = [
      ...crossedBy(day, caps.emailsPerDay, "day", "sends"),
      ...crossedBy(hour, caps.emailsPerHour, "hour", "sends"),
      ...crossedBy(different, caps.domainsPerHour, "hour", "recipient_domains")
    ]
    const first = crossed[0]
    if (first === undefined) return decided({ facts: [{ _tag: "Taken", at: now, emails, domains }], reply: null })
    return rejected(crossed.reduce((longest, cap) => (cap.resetsAt > longest.resetsAt ? cap : longest), first))
  }
}
