/**
 * The promises of the hand-off (docs/handoff.md, 2): no email is lost, none is attempted twice at the same time by a
 * process, and none reaches a recipient twice but for a reason: a process ended, its partition began a new life, or the
 * relay's answer did not arrive.
 */
import type { HandoffSimulation } from "./HandoffSimulation.ts"

/** Reasons why an email may reach a recipient once more. */
interface Reasons {
  count: number
}

export class HandoffChecker {
  private readonly simulation: HandoffSimulation
  private readonly underWay = new Set<string>()
  private readonly taken = new Map<string, number>()
  private readonly ownReasons = new Map<string, Reasons>()
  private commonReasons = 0
  private readonly cancelled = new Set<string>()

  constructor(simulation: HandoffSimulation) {
    this.simulation = simulation
  }

  /** A process has ended. */
  ended(): void {
    this.commonReasons++
    this.underWay.clear()
  }

  /** A partition has begun a new life, whose queue does not know what the one before had under way. */
  newLife(): void {
    this.commonReasons++
  }

  cancel(id: string): void {
    this.cancelled.add(id)
  }

  begun(id: string): void {
    if (this.underWay.has(id)) this.simulation.violate("one attempt at a time", `${id} is under way already`)
    if (this.cancelled.has(id)) this.simulation.violate("cancelled mail stays", `${id} goes although it was cancelled`)
    this.underWay.add(id)
  }

  /** An attempt is over. Without an answer the process cannot know whether the relay has the mail. */
  over(id: string, isAnswered: boolean): void {
    this.underWay.delete(id)
    if (isAnswered) return
    const reasons = this.ownReasons.get(id) ?? { count: 0 }
    reasons.count++
    this.ownReasons.set(id, reasons)
  }

  /** The relay has taken an email for a recipient. */
  took(id: string, recipient: string): void {
    if (this.simulation.isOut) this.simulation.marks.reach("taken without the database")
    const times = (this.taken.get(recipient) ?? 0) + 1
    this.taken.set(recipient, times)
    const allowed = 1 + this.commonReasons + (this.ownReasons.get(id)?.count ?? 0)
    if (times > allowed) this.simulation.violate("once", `${recipient} got ${id} ${times} times`)
  }

  /** Nothing goes wrong any more, and time has passed. */
  healed(): void {
    const { accounts, queue } = this.simulation
    if (queue.jobs.size > 0) this.simulation.violate("the queue empties", [...queue.jobs.keys()].join(", "))
    for (const { id, organization, recipients } of accounts.emails) {
      const { state } = accounts.email(organization, id)
      if (state === "queued" || state === "held" || state === "sending")
        this.simulation.violate("no email is lost", `${id} is ${state}`)
      if (state === "sent" && !recipients.some((recipient) => this.taken.has(recipient)))
        this.simulation.violate("what is sent was taken", `${id} reached nobody`)
      if (state === "canceled" && recipients.some((recipient) => this.taken.has(recipient)))
        this.simulation.violate("cancelled mail stays", `${id} was taken`)
    }
  }
}
