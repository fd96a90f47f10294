/**
 * Follows what accounts send to chests of other organizations: each message of a log is taken in once, with its amount, in the order in which
 * one organization sends to another, and none is lost.
 */
import type { FrameMessage } from "../../src/engine/frame.ts"

interface Letter {
  readonly pair: string
  readonly amount: number
  /** Its number among those of its pair. */
  readonly number: number
  isTaken: boolean
}

interface Booked {
  readonly decision: number
  readonly amount: number
}

export class SentAudit {
  private readonly violation: (text: string) => void
  private readonly letters = new Map<number, Letter>()
  private readonly pairs = new Map<string, { sent: number; taken: number }>()
  /** Taken in before the log of the sender was read so far. */
  private readonly early = new Map<number, { readonly receiver: string; readonly amount: number }>()
  sentAmount = 0
  takenAmount = 0
  taken = 0

  constructor(violation: (text: string) => void) {
    this.violation = violation
  }

  get sent(): number {
    return this.letters.size
  }

  /** Messages that no log holds as taken in yet. */
  get left(): number {
    return this.letters.size - this.taken + this.early.size
  }

  send(sender: string, { command, organization }: FrameMessage): void {
    const { amount, decision } = command as Booked
    const pair = `${sender} ${organization}`
    const counts = this.pairs.get(pair) ?? { sent: 0, taken: 0 }
    this.pairs.set(pair, counts)
    if (this.letters.has(decision)) this.violation(`decision ${decision} has sent its message twice`)
    this.letters.set(decision, { pair, amount, number: counts.sent++, isTaken: false })
    this.sentAmount += amount
    const early = this.early.get(decision)
    this.early.delete(decision)
    if (early !== undefined) this.take(early.receiver, { decision, amount: early.amount })
  }

  take(receiver: string, { amount, decision }: Booked): void {
    const letter = this.letters.get(decision)
    if (letter === undefined) {
      // The two logs are read side by side.
      if (this.early.has(decision)) this.violation(`the message of decision ${decision} was taken in twice`)
      this.early.set(decision, { receiver, amount })
      return
    }
    if (letter.isTaken) {
      this.violation(`the message of decision ${decision} was taken in twice`)
      return
    }
    letter.isTaken = true
    this.taken++
    this.takenAmount += amount
    const counts = this.pairs.get(letter.pair)!
    if (!letter.pair.endsWith(` ${receiver}`)) this.violation(`the message of decision ${decision} came to ${receiver}`)
    if (letter.number < counts.taken) this.violation(`the message of decision ${decision} came out of order`)
    counts.taken = Math.max(counts.taken, letter.number)
  }

  /** Nothing is under way: money is where it was sent to. */
  compare(): void {
    if (this.left > 0) this.violation(`${this.left} of ${this.sent} messages were not taken in, or came from nowhere`)
    if (this.sentAmount !== this.takenAmount)
      this.violation(`${this.sentAmount} were sent to other organizations, ${this.takenAmount} arrived`)
  }
}
