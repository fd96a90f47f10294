/**
 * Names the rules of sending that a history may be decided by again (docs/what-if.md), and puts them in place of those
 * in force. Pure.
 */
import type { SendPlan, Tier } from "../limits.ts"
import { emailsPerDayByTier, hourMillis, maximumProbationCaps, probationMillis, risks } from "../limits.ts"
import { type CustomLimits, capsOf } from "../rules/account.ts"
import { type AdmissionFigures, admissionFigures } from "../rules/admission.ts"
import { pauseFigures } from "../rules/pause.ts"

/** Rules that differ from those in force; those that are left out stay as they were. */
export interface OtherRules {
  readonly plan?: SendPlan | undefined
  readonly emailsPerMonth?: number | "unlimited" | undefined
  /** Emails in any hour and in any 24 hours on probation. */
  readonly probationHour?: number | undefined
  readonly probationDay?: number | undefined
  /** Hours of a probation window, whatever the risk is. */
  readonly probationHours?: number | undefined
  /** Emails a day of a sender, by its tier. */
  readonly tiers?: Partial<Readonly<Record<Tier, number>>> | undefined
  /** Bounces among the first 25 emails that pause an account; 0 for none. */
  readonly pauseBounces?: number | undefined
  /** Whether a complaint about one of the first 100 emails pauses an account. */
  readonly pauseComplaints?: boolean | undefined
  /** The least emails of a spike; 0 for no pause by a spike. */
  readonly pauseSpike?: number | undefined
  /** Risky signals in 24 hours that pause an account; 0 for none. */
  readonly pauseSignals?: number | undefined
  /** Hours after which a pause is lifted that was not in the history; without it the next lift of the history ends it. */
  readonly liftHours?: number | undefined
}

/** Zero stands for a trigger that never pauses. */
const least = (count: number | undefined, standard: number): number =>
  count === undefined ? standard : count === 0 ? Number.POSITIVE_INFINITY : count

/** The figures of admission under other rules. */
export const figuresOf = (rules: OtherRules): AdmissionFigures => {
  const millis = rules.probationHours === undefined ? undefined : rules.probationHours * hourMillis
  return {
    probationMillis:
      millis === undefined
        ? admissionFigures.probationMillis
        : { ...probationMillis, ...Object.fromEntries(risks.map((risk) => [risk, millis])) },
    pauses: {
      ...pauseFigures,
      bounces: least(rules.pauseBounces, pauseFigures.bounces),
      complaints: rules.pauseComplaints ?? pauseFigures.complaints,
      spikeEmails: least(rules.pauseSpike, pauseFigures.spikeEmails),
      signals: least(rules.pauseSignals, pauseFigures.signals)
    }
  }
}

/** Emails a day of each tier. */
export const tierCapsOf = ({ tiers }: OtherRules): Readonly<Record<Tier, number>> => ({
  ...emailsPerDayByTier,
  // A tier that is left out may be there as undefined.
  ...Object.fromEntries(Object.entries(tiers ?? {}).filter(([, cap]) => cap !== undefined))
})

/**
 * The limits of an account under other rules, by those that an operator had set. Caps on recipients' domains are not
 * decided again, because the history does not name these.
 */
export const limitsUnder = (rules: OtherRules, custom: CustomLimits, risk: "standard" | "higher"): CustomLimits => {
  const { emailsPerDay, emailsPerHour } = capsOf(custom, risk)
  return {
    ...custom,
    // Another plan brings its own limit.
    emailsPerMonth: rules.emailsPerMonth ?? (rules.plan === undefined ? custom.emailsPerMonth : null),
    probation: {
      emailsPerHour: rules.probationHour ?? emailsPerHour,
      emailsPerDay: rules.probationDay ?? emailsPerDay,
      domainsPerHour: maximumProbationCaps.domainsPerHour
    }
  }
}
