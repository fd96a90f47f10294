/**
 * Folds facts of accounts into the row that operators list accounts by (docs/platform.md, 9.9): stage, risk, the last
 * pause, and the last warning sign. Pure. The times are those of the decisions, so that a fact that comes a second time
 * changes nothing.
 */
import type { Risk } from "../../limits.ts"
import type { PauseReason } from "../../rules/pause.ts"
import type { Stage } from "../../rules/trust.ts"
import type { SendAccountFact } from "../actors/index.ts"

/** The table of accounts that have begun, one row each. */
export const accountsTable = "send_accounts"

/** The standing of an account. Times are Unix milliseconds. */
export interface AccountStage {
  readonly stage: Stage
  readonly risk: Risk
  /** When one of the other fields changed last. */
  readonly changedAt: number
  readonly pausedAt: number | null
  readonly pauseReason: PauseReason | null
  /** The last bounce, complaint or risky content of the present probation. */
  readonly warnedAt: number | null
}

const clean = { pausedAt: null, pauseReason: null, warnedAt: null }

const warned = (account: AccountStage, at: number): AccountStage =>
  account.stage === "probation" ? { ...account, changedAt: at, warnedAt: at } : account

/** The stage that a fact alone tells. */
const stageOf = (fact: SendAccountFact): Stage | undefined => {
  switch (fact._tag) {
    case "Began":
    case "Lifted":
      return "probation"
    case "Paused":
      return "sending_paused"
    case "Established":
      return "established"
    case "Trusted":
      return "trusted"
    default:
      return undefined
  }
}

/**
 * The standing of an account of which no row was written: a node of an older version has served it while it began. Its
 * risk is not known, and is the usual one until it is set.
 */
const late = (fact: SendAccountFact): AccountStage | undefined => {
  const stage = stageOf(fact)
  return stage && { ...clean, stage, risk: "standard", changedAt: fact.at }
}

/** The standing after a fact; undefined before the account has begun, and after it was closed. */
export const nextStage = (known: AccountStage | undefined, fact: SendAccountFact): AccountStage | undefined => {
  const account = known ?? late(fact)
  // A fact of before the last change was folded already.
  if (account !== undefined && fact.at < account.changedAt) return account
  if (fact._tag === "Began") return { ...clean, stage: "probation", risk: fact.risk, changedAt: fact.at }
  if (fact._tag === "Closed" || account === undefined) return undefined
  switch (fact._tag) {
    case "Lifted":
      return { ...account, ...clean, stage: "probation", changedAt: fact.at }
    case "RiskSet":
      return { ...account, risk: fact.risk, changedAt: fact.at }
    case "Paused":
      return { ...account, stage: "sending_paused", pausedAt: fact.at, pauseReason: fact.reason, changedAt: fact.at }
    case "Established":
      return { ...account, ...clean, stage: "established", changedAt: fact.at }
    case "Trusted":
      return { ...account, ...clean, stage: "trusted", changedAt: fact.at }
    case "Bounced":
    case "Complained":
      return warned(account, fact.at)
    case "Accepted":
      return fact.signals > 0 ? warned(account, fact.at) : account
    default:
      return account
  }
}

/** The facts that may change a standing. The others need no look at it. */
export const changesStage = (fact: SendAccountFact): boolean => {
  switch (fact._tag) {
    case "Began":
    case "Closed":
    case "Lifted":
    case "RiskSet":
    case "Paused":
    case "Established":
    case "Trusted":
    case "Bounced":
    case "Complained":
      return true
    case "Accepted":
      return fact.signals > 0
    default:
      return false
  }
}
