/**
 * Shows a sender's progress: tier, cap, today's count, and what it still needs for the next tier (docs/platform.md,
 * 9.5). Pure.
 */
import type { SenderState } from "../../account/actors/index.ts"
import { dayMillis, promotions, type Tier } from "../../limits.ts"
import { waiting } from "../../rules/hold.ts"
import { dailyCap, nextPromotion } from "../../rules/tier.ts"

/** The conditions of the next tier. Rates are shares of the emails handed over. */
export interface NextTier {
  readonly tier: Tier
  readonly emailsMissing: number
  /** Unix milliseconds before which no check promotes. */
  readonly notBefore: number
  readonly bounceRate: number
  readonly bounceRateBelow: number
  readonly complaintRate: number
  readonly complaintRateBelow: number
}

export interface SenderProgress {
  readonly tier: Tier
  readonly dailyCap: number
  /** Emails released on this UTC day. */
  readonly releasedToday: number
  readonly held: number
  readonly scheduled: number
  /** Null in the highest tier, and before the sender is verified. */
  readonly nextTier: NextTier | null
}

const basisPoints = 10_000

/** The share of the emails handed over; zero of none. */
const rateOf = (count: number, handedOver: number): number => (handedOver === 0 ? 0 : count / handedOver)

export const senderProgressOf = (state: SenderState, now: number): SenderProgress => {
  const { customCap, holds, scheduled, tier } = state
  const promotion = promotions[tier.tier]
  return {
    tier: tier.tier,
    dailyCap: dailyCap(tier, customCap),
    releasedToday: holds.day === Math.floor(now / dayMillis) ? holds.released : 0,
    held: waiting(holds),
    scheduled,
    nextTier:
      promotion === undefined || tier.verifiedAt === null
        ? null
        : {
            tier: promotion.to,
            emailsMissing: Math.max(0, promotion.emails - tier.handedOver),
            notBefore: nextPromotion(tier)?.at ?? tier.verifiedAt + promotion.millis,
            bounceRate: rateOf(tier.bounced, tier.handedOver),
            bounceRateBelow: promotion.bounceBasisPoints / basisPoints,
            complaintRate: rateOf(tier.complained, tier.handedOver),
            complaintRateBelow: promotion.complaintBasisPoints / basisPoints
          }
  }
}
