/** Reports an account's use of each of its limits, for its owner (docs/platform.md, 9.16). Pure. */
import * as Distinct from "../../../limits/distinctRules.ts"
import * as Monthly from "../../../limits/monthlyRules.ts"
import * as Rolling from "../../../limits/rollingRules.ts"
import { dayMillis, hourMillis, maximumSenders, type SendPlan } from "../../limits.ts"
import { capsOf, emailsPerMonth } from "../../rules/account.ts"
import { type TriggerCount, triggerCounts } from "../../rules/pause.ts"
import { emailsInLastHour } from "../../rules/probation.ts"
import { type TrustView, viewOf } from "../../rules/trust.ts"
import type { SendAccountState } from "../actors/index.ts"

/** A limit and its use. */
export interface Cap {
  /** Null for no limit. */
  readonly limit: number | null
  readonly used: number
  /**
   * Unix milliseconds at which one more passes, of a month its end; null where one more passes now, or time changes
   * nothing.
   */
  readonly resetsAt: number | null
}

export interface LimitUsage {
  readonly trust: TrustView
  readonly month: Cap
  /** The caps of a probation; null in every other stage. */
  readonly probation: { readonly hour: Cap; readonly day: Cap; readonly domains: Cap } | null
  readonly senders: Cap
  /** The progress of each trigger of a pause; null in every stage but probation. */
  readonly triggers: ReadonlyArray<TriggerCount> | null
}

/** A value that is no domain, to ask when one more would pass. */
const another = " "

interface Judged {
  readonly allowed: boolean
  readonly used: number
  readonly resetsAt: number
}

const capOf = (limit: number, { allowed, resetsAt, used }: Judged): Cap => ({
  limit,
  used,
  resetsAt: allowed ? null : resetsAt
})

export const limitUsageOf = (state: SendAccountState, plan: SendPlan, now: number): LimitUsage => {
  const { custom, month, probation, senders, trust } = state
  const perMonth = emailsPerMonth({ custom, plan })
  const { endMillis, used } = Monthly.advance(month, now)
  const caps = capsOf(custom, trust.risk)
  const emails = (windowMillis: number, limit: number): Cap =>
    capOf(limit, Rolling.peek(probation.emails, { windowMillis, limit }, 1, now))
  const domains = { windowMillis: hourMillis, limit: caps.domainsPerHour }
  return {
    trust: viewOf(trust),
    month: { limit: perMonth === "unlimited" ? null : perMonth, used, resetsAt: endMillis },
    probation:
      trust.stage === "probation"
        ? {
            hour: emails(hourMillis, caps.emailsPerHour),
            day: emails(dayMillis, caps.emailsPerDay),
            domains: capOf(domains.limit, Distinct.peek(probation.domains, domains, [another], now))
          }
        : null,
    senders: { limit: maximumSenders, used: senders, resetsAt: null },
    triggers: trust.stage === "probation" ? triggerCounts(state.triggers, emailsInLastHour(probation, now), now) : null
  }
}
