/** Decides the result of a check of a domain's records (docs/platform.md, 9.13). Pure. */

import type { NeededRecords, RecordStatus, Seen } from "./dnsRecords.ts"
import { checkingMillis, firstCheckMillis, longestCheckMillis, recheckMillis } from "./limits.ts"
import type { Domain } from "./model.ts"

/** The changes of a domain by a check. */
export type CheckResult = Pick<Domain, "stage" | "records" | "checkedAt" | "checkAt" | "checks">

const statusAfter = (before: RecordStatus, seen: Seen): RecordStatus => {
  if (seen === "found") return "verified"
  if (seen === "unknown") return before
  return before === "verified" || before === "temporary_failure" ? "temporary_failure" : "pending"
}

/** The pause after a number of checks without success: twice as long each time, up to an hour. */
const pauseAfter = (checks: number): number =>
  Math.min(firstCheckMillis * 2 ** Math.min(checks - 1, 10), longestCheckMillis)

/**
 * The domain after name servers were asked. A verified one stays so whatever is missing: somebody repairs a zone, and
 * mail goes on meanwhile. `stage` becomes `verified` where both records are there; whether the account has room for
 * another sender is not known here.
 */
export const afterCheck = (domain: Domain, seen: NeededRecords<Seen>, now: number): CheckResult => {
  const records = {
    ownership: statusAfter(domain.records.ownership, seen.ownership),
    dkim: statusAfter(domain.records.dkim, seen.dkim)
  }
  const checks = domain.checks + 1
  const isComplete = seen.ownership === "found" && seen.dkim === "found"
  if (isComplete) return { stage: "verified", records, checkedAt: now, checkAt: now + recheckMillis, checks: 0 }
  const next = { records, checkedAt: now, checkAt: now + pauseAfter(checks), checks }
  if (domain.stage === "verified") {
    // A domain that an operator vouched for has never had records to lose.
    const isLost = records.ownership === "temporary_failure" || records.dkim === "temporary_failure"
    return isLost
      ? { ...next, stage: "verified" }
      : { ...next, stage: "verified", checkAt: now + recheckMillis, checks: 0 }
  }
  if (now - domain.checksSince < checkingMillis) return { ...next, stage: "pending" }
  const failed = (status: RecordStatus): RecordStatus => (status === "verified" ? status : "failed")
  return {
    ...next,
    stage: "failed",
    records: { ownership: failed(records.ownership), dkim: failed(records.dkim) },
    checkAt: null
  }
}
