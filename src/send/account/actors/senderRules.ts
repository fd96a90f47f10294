/** Computes a sender's tier, queue and custom cap from its state (docs/platform.md, 9.5 and 9.6). Pure. */
import type { PublicEvent } from "../../../engine/Actor.ts"
import { removedSenderMillis } from "../../limits.ts"
import { type HoldsCommand, type HoldsFact, holds, nextRelease, unspread, waiting } from "../../rules/hold.ts"
import { dailyCap, domainTier, nextPromotion, type TierCommand } from "../../rules/tier.ts"
import { promotionEvent } from "./accountEvents.ts"
import { initialSender, type SenderFact, type SenderReply, type SenderState } from "./model.ts"

export const capOf = ({ customCap, tier }: SenderState): number => dailyCap(tier, customCap)

export const isVerified = ({ removedAt, tier }: SenderState): boolean => tier.verifiedAt !== null && removedAt === null

export const viewOfSender = (state: SenderState): SenderReply => ({
  isVerified: isVerified(state),
  tier: state.tier.tier,
  dailyCap: capOf(state),
  waiting: waiting(state.holds)
})

/** After a raise of the cap, mail that fits under the new one goes immediately. */
const afterCap = (before: SenderState, after: SenderState, at: number): SenderState =>
  capOf(after) > capOf(before) ? { ...after, holds: unspread(after.holds, at) } : after

export const evolveSender = (state: SenderState, fact: SenderFact): SenderState => {
  switch (fact._tag) {
    case "Accepted":
    case "Released":
    case "Cancelled":
    case "Paused":
    case "Lifted":
      return { ...state, holds: holds.evolve(state.holds, fact) }
    case "Verified":
    case "HandedOver":
    case "Bounced":
    case "Complained":
      return { ...state, tier: domainTier.evolve(state.tier, fact) }
    case "Promoted":
      return afterCap(state, { ...state, tier: domainTier.evolve(state.tier, fact) }, fact.at)
    case "CapSet":
      return afterCap(state, { ...state, customCap: fact.cap }, fact.at)
    case "Scheduled":
      return { ...state, scheduled: state.scheduled + fact.emails }
    case "Unscheduled":
      return { ...state, scheduled: state.scheduled - 1 }
    case "Removed":
      return { ...state, removedAt: fact.at }
    case "Restored":
      return { ...state, removedAt: null }
    case "Forgotten": {
      // The queue is empty. Its places continue, because earlier emails may still name theirs.
      const { head, tail } = state.holds
      return { ...initialSender, holds: { ...initialSender.holds, head, tail } }
    }
  }
}

/** When the sender has something to do; undefined for never. */
export const wakeOfSender = (state: SenderState): number | undefined => {
  const promotion = isVerified(state) ? nextPromotion(state.tier)?.at : undefined
  const release = nextRelease(state.holds, capOf(state))
  return promotion === undefined || release === undefined ? (promotion ?? release) : Math.min(promotion, release)
}

/** A sender under decision: its facts so far with the events of its promotions, and its state after them. */
export class SenderDraft {
  state: SenderState
  readonly facts: Array<SenderFact> = []
  readonly events: Array<PublicEvent> = []
  readonly now: number
  private readonly key: string

  constructor(key: string, state: SenderState, now: number) {
    this.key = key
    this.state = state
    this.now = now
  }

  add(facts: ReadonlyArray<SenderFact>): void {
    for (const fact of facts) {
      this.facts.push(fact)
      this.state = evolveSender(this.state, fact)
      if (fact._tag === "Promoted") this.events.push(...promotionEvent(this.key, fact, capOf(this.state)))
    }
  }

  /**
   * Takes the promotions that are due, then lets the tier decide. A sender that is not verified any more counts no
   * more.
   */
  tier(command: TierCommand): void {
    if (isVerified(this.state)) this.add(domainTier.decide(this.state.tier, command, this.now).facts)
  }

  /** Lets the queue decide. */
  holds(command: HoldsCommand): ReadonlyArray<HoldsFact> {
    const { facts } = holds.decide(this.state.holds, command, this.now)
    this.add(facts)
    return facts
  }

  /** Takes emails in: returns how many may go, and the places of the others. */
  accept(emails: number) {
    const { facts, reply } = holds.decide(
      this.state.holds,
      { _tag: "Accept", emails, cap: capOf(this.state) },
      this.now
    )
    this.add(facts)
    return reply ?? { released: 0, held: [] }
  }
}

/** The facts of a verification. */
export const verifying = (state: SenderState, now: number): ReadonlyArray<SenderFact> => {
  if (isVerified(state)) return []
  const verified: SenderFact = { _tag: "Verified", at: now }
  if (state.removedAt === null) return [verified]
  return now < state.removedAt + removedSenderMillis
    ? [{ _tag: "Restored", at: now }]
    : [{ _tag: "Forgotten", at: now }, verified]
}
