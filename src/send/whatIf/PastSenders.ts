/**
 * Plays the senders of a history: their tiers and their queues of held mail, under other caps (docs/what-if.md). It
 * decides as the senders' actors do. No service is needed; the caller brings the time.
 */
import { Heap, type HeapEntry } from "../../common/Heap.ts"
import type { SenderFact, SenderState } from "../account/actors/model.ts"
import { evolveSender } from "../account/actors/senderRules.ts"
import type { Tier } from "../limits.ts"
import { emptyPage, type HoldsCommand, holds, nextRelease, unspread } from "../rules/hold.ts"
import { domainTier, nextPromotion, type TierCommand } from "../rules/tier.ts"
import type { PastEmail } from "./sendHistory.ts"

/** An email that waits in a queue, since when. */
interface Waiting {
  readonly email: PastEmail
  readonly since: number
}

interface Sender extends HeapEntry {
  state: SenderState
  /** When it has something to do, in Unix milliseconds. */
  wakeAt: number
  readonly queue: Array<Waiting>
  /** The first of the queue that still waits. */
  head: number
}

/** Nothing of a history is cancelled while it waits. */
const pages = () => emptyPage

/** Gets an email that is free to go, and how long it has waited. */
export type Released = (email: PastEmail, at: number, waitedMillis: number) => void

export class PastSenders {
  private readonly senders = new Map<string, Sender>()
  private readonly wakes = new Heap<Sender>((one, other) => one.wakeAt - other.wakeAt)
  private readonly caps: Readonly<Record<Tier, number>>
  private readonly initial: (name: string) => SenderState
  private readonly released: Released

  /** `initial` gives the state of a sender at the beginning of the history. */
  constructor(caps: Readonly<Record<Tier, number>>, initial: (name: string) => SenderState, released: Released) {
    this.caps = caps
    this.initial = initial
    this.released = released
  }

  /** When a sender has something to do next, in Unix milliseconds; undefined for never. */
  get nextAt(): number | undefined {
    return this.wakes.first?.wakeAt
  }

  /** Lets the next sender do what is due: a promotion, or a step of the release. */
  wake(at: number, isPaused: boolean): void {
    const sender = this.wakes.first!
    this.tier(sender, { _tag: "Check" }, at)
    const due = nextRelease(sender.state.holds, this.capOf(sender))
    if (due !== undefined && due <= at)
      this.queue(sender, isPaused ? { _tag: "Pause" } : { _tag: "Release", cap: this.capOf(sender), pages }, at)
    this.schedule(sender, at)
  }

  /** Takes emails in. Returns how many of them wait. */
  accept(name: string, emails: ReadonlyArray<PastEmail>, at: number, isPaused: boolean): number {
    const sender = this.of(name)
    this.tier(sender, { _tag: "Check" }, at)
    if (isPaused) this.queue(sender, { _tag: "Pause" }, at)
    const command = { _tag: "Accept", emails: emails.length, cap: this.capOf(sender) } as const
    const { facts, reply } = holds.decide(sender.state.holds, command, at)
    this.add(sender, facts)
    const going = reply?.released ?? 0
    for (const email of emails.slice(going)) sender.queue.push({ email, since: at })
    this.schedule(sender, at)
    for (const email of emails.slice(0, going)) this.released(email, at, 0)
    return emails.length - going
  }

  /** Counts an outcome of one of its emails. */
  count(name: string, command: TierCommand, at: number): void {
    const sender = this.of(name)
    this.tier(sender, command, at)
    this.schedule(sender, at)
  }

  /** A pause of the account is over. */
  lift(at: number): void {
    for (const sender of this.senders.values()) {
      this.queue(sender, { _tag: "Lift" }, at)
      this.schedule(sender, at)
    }
  }

  private of(name: string): Sender {
    let sender = this.senders.get(name)
    if (sender === undefined) {
      sender = { state: this.initial(name), wakeAt: Number.POSITIVE_INFINITY, queue: [], head: 0, index: 0 }
      this.senders.set(name, sender)
    }
    return sender
  }

  private capOf({ state: { customCap, tier } }: Sender): number {
    return customCap ?? this.caps[tier.tier]
  }

  private tier(sender: Sender, command: TierCommand, at: number): void {
    this.add(sender, domainTier.decide(sender.state.tier, command, at).facts)
  }

  private queue(sender: Sender, command: HoldsCommand, at: number): void {
    const { facts, reply } = holds.decide(sender.state.holds, command, at)
    this.add(sender, facts)
    for (let left = reply?.released ?? 0; left > 0; left--) {
      const { email, since } = sender.queue[sender.head++]!
      this.released(email, at, at - since)
    }
  }

  private add(sender: Sender, facts: ReadonlyArray<SenderFact>): void {
    for (const fact of facts) {
      const before = this.capOf(sender)
      sender.state = evolveSender(sender.state, fact)
      // Its own rule compares the caps in force, which are not those of this play.
      if (fact._tag === "Promoted" && this.capOf(sender) > before)
        sender.state = { ...sender.state, holds: unspread(sender.state.holds, fact.at) }
    }
  }

  private schedule(sender: Sender, now: number): void {
    const promotion = nextPromotion(sender.state.tier)?.at ?? Number.POSITIVE_INFINITY
    const release = nextRelease(sender.state.holds, this.capOf(sender)) ?? Number.POSITIVE_INFINITY
    const wakeAt = Math.max(now, Math.min(promotion, release))
    if (this.wakes.has(sender)) this.wakes.remove(sender)
    sender.wakeAt = wakeAt
    if (wakeAt !== Number.POSITIVE_INFINITY) this.wakes.push(sender)
  }
}
