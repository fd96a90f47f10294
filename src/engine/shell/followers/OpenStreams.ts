/** Counts the open streams of facts and states of a process, and ends them with the engine. */
import type { Wakeup } from "../../Wakeup.ts"

export class OpenStreams {
  /** How many there are. */
  count = 0
  /** Whether the engine is stopping: facts that have come are still given, then streams end. */
  isClosed = false
  private readonly waiting = new Set<Wakeup>()

  /** Ends all streams. */
  close(): void {
    this.isClosed = true
    for (const wakeup of this.waiting) wakeup.notify()
  }

  /** Notifies a wakeup when streams end, until the returned function is called. */
  watch(wakeup: Wakeup): () => void {
    this.waiting.add(wakeup)
    return () => void this.waiting.delete(wakeup)
  }
}
