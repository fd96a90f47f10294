/** The streams of facts and states that a process has open: how many, and that they end with the engine. */
import type { Wakeup } from "../../Wakeup.ts"

export class OpenStreams {
  /** How many there are. */
  count = 0
  /** Whether the engine stops: what has come is still given, then streams end. */
  isClosed = false
  private readonly waiting = new Set<Wakeup>()

  /** Ends all streams. */
  close(): void {
    this.isClosed = true
    for (const wakeup of this.waiting) wakeup.notify()
  }

  /** Has a wakeup notified when streams end, until the returned function is called. */
  watch(wakeup: Wakeup): () => void {
    this.waiting.add(wakeup)
    return () => void this.waiting.delete(wakeup)
  }
}
