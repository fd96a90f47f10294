/**
 * Warns an account before the last step of an automatic pause (docs/platform.md, 9.4): once each time that a trigger
 * reaches it. Pure.
 */

import { spikeEmails, spikeWarning } from "../limits.ts"
import { type AccountFact, type AccountState, capsOf, evolve } from "./account.ts"
import { type TriggerCount, triggerCounts, warningsBetween } from "./pause.ts"
import { emailsInLastHour } from "./probation.ts"

const countsOf = (state: AccountState, now: number): ReadonlyArray<TriggerCount> =>
  triggerCounts(state.triggers, emailsInLastHour(state.probation, now), now)

/** Whether a fact may bring a trigger to its last step. Folding the others would double the cost of a decision. */
const mayWarn = ({ custom, trust }: AccountState, fact: AccountFact): boolean =>
  fact._tag === "Bounced" ||
  (fact._tag === "Accepted" &&
    (fact.signals > 0 || capsOf(custom, trust.risk).emailsPerHour >= spikeEmails * spikeWarning))

/** The warnings of a decision: `before` is the state that it was made on, `facts` is what it has decided. */
export const warningsOf = (
  before: AccountState,
  facts: ReadonlyArray<AccountFact>,
  now: number
): ReadonlyArray<TriggerCount> => {
  if (before.trust.stage !== "probation" || !facts.some((fact) => mayWarn(before, fact))) return []
  const after = facts.reduce<AccountState>(evolve, before)
  return after.trust.stage === "probation" ? warningsBetween(countsOf(before, now), countsOf(after, now)) : []
}
