/**
 * Decides the daily tier of a sender (docs/platform.md, 9.5): new, warming, trusted. Promotions depend on totals since
 * verification, at whole UTC hours; there is no way back. Pure.
 */

import { ceilHour, emailsPerDayByTier, isBelow, nextHour, promotions, type Tier } from "../limits.ts"
import { type Decider, decided, rejected, type Transition, takeDue } from "./decider.ts"

/** Plain data. Times are Unix milliseconds. See {@link domainTier}. */
export interface TierState {
  readonly tier: Tier
  /** Null before the sender was verified. */
  readonly verifiedAt: number | null
  readonly handedOver: number
  readonly bounced: number
  readonly complained: number
  /** When a total or the tier changed last. */
  readonly changedAt: number
}

/** A command of the rule of tiers. See {@link domainTier}. */
export type TierCommand =
  | { readonly _tag: "Verify" }
  | { readonly _tag: "HandOver"; readonly emails: number }
  /** The first permanent bounce of an email. */
  | { readonly _tag: "Bounce" }
  | { readonly _tag: "Complain" }
  /** Takes the promotions that are due, and nothing else. */
  | { readonly _tag: "Check" }

/** A fact of a sender's tier. See {@link domainTier}. */
export type TierFact =
  | { readonly _tag: "Verified"; readonly at: number }
  | { readonly _tag: "HandedOver"; readonly at: number; readonly emails: number }
  | { readonly _tag: "Bounced"; readonly at: number }
  | { readonly _tag: "Complained"; readonly at: number }
  | { readonly _tag: "Promoted"; readonly at: number; readonly tier: Tier }

/** A sender's tier, and what it may hand over. See {@link domainTier}. */
export interface TierView {
  readonly tier: Tier
  /** Emails per UTC day. */
  readonly dailyCap: number
}

/** Mail of a sender that is not verified. See {@link domainTier}. */
export interface NotVerified {
  readonly _tag: "NotVerified"
}

const initialState: TierState = {
  tier: "new",
  verifiedAt: null,
  handedOver: 0,
  bounced: 0,
  complained: 0,
  changedAt: 0
}

/**
 * The promotion that comes if nothing happens before it; undefined where the totals do not suffice.
 *
 * @example
 * ```ts
 * import { domainTier, nextPromotion } from "sluice/send"
 *
 * const told = [{ _tag: "Verify" }, { _tag: "HandOver", emails: 100 }] as const
 * const state = told.reduce(
 *   (before, command) => domainTier.decide(before, command, 0).facts.reduce(domainTier.evolve, before),
 *   domainTier.initialState
 * )
 * console.log(nextPromotion(state)?.at) // 259200000
 * ```
 */
export const nextPromotion = (state: TierState): Transition<TierFact> | undefined => {
  const { bounced, changedAt, complained, handedOver, tier, verifiedAt } = state
  const promotion = promotions[tier]
  if (
    promotion === undefined ||
    verifiedAt === null ||
    handedOver < promotion.emails ||
    !isBelow(bounced, handedOver, promotion.bounceBasisPoints) ||
    !isBelow(complained, handedOver, promotion.complaintBasisPoints)
  )
    return undefined
  const at = Math.max(ceilHour(verifiedAt + promotion.millis), nextHour(changedAt))
  return { at, fact: () => ({ _tag: "Promoted", at, tier: promotion.to }) }
}

const evolve = (state: TierState, fact: TierFact): TierState => {
  const changed = { ...state, changedAt: fact.at }
  switch (fact._tag) {
    case "Verified":
      return { ...changed, verifiedAt: fact.at }
    case "HandedOver":
      return { ...changed, handedOver: state.handedOver + fact.emails }
    case "Bounced":
      return { ...changed, bounced: state.bounced + 1 }
    case "Complained":
      return { ...changed, complained: state.complained + 1 }
    case "Promoted":
      return { ...changed, tier: fact.tier }
  }
}

/** The cap in force: a custom one where there is one. */
export const dailyCap = (state: TierState, custom: number | null = null): number =>
  custom ?? emailsPerDayByTier[state.tier]

const factsOf = (state: TierState, command: TierCommand, at: number): ReadonlyArray<TierFact> => {
  switch (command._tag) {
    case "Verify":
      return state.verifiedAt === null ? [{ _tag: "Verified", at }] : []
    case "HandOver":
      return [{ _tag: "HandedOver", at, emails: command.emails }]
    case "Bounce":
      return [{ _tag: "Bounced", at }]
    case "Complain":
      return [{ _tag: "Complained", at }]
    case "Check":
      return []
  }
}

/**
 * The rule of `DomainTier` alone, as a decider.
 *
 * @example
 * ```ts
 * import { domainTier } from "sluice/send"
 *
 * const { facts } = domainTier.decide(domainTier.initialState, { _tag: "Verify" }, 0)
 * const state = facts.reduce(domainTier.evolve, domainTier.initialState)
 * console.log(domainTier.decide(state, { _tag: "HandOver", emails: 100 }, 0).reply) // { tier: 'new', dailyCap: 200 }
 * ```
 */
export const domainTier: Decider<TierCommand, TierFact, TierState, TierView, NotVerified> = {
  initialState,
  evolve,
  decide: (state, command, now) => {
    if (state.verifiedAt === null && command._tag !== "Verify" && command._tag !== "Check")
      return rejected({ _tag: "NotVerified" })
    const due = takeDue(state, now, nextPromotion, evolve)
    const own = factsOf(due.state, command, now)
    const after = own.reduce(evolve, due.state)
    return decided({ facts: [...due.facts, ...own], reply: { tier: after.tier, dailyCap: dailyCap(after) } })
  }
}
