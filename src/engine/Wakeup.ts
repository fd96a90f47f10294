/** Makes one fiber wait for "something has changed" without losing a change that came while it was busy. */
import { Effect } from "effect"

export class Wakeup {
  private resume: ((effect: Effect.Effect<void>) => void) | undefined = undefined
  private pending = false

  /**
   * Wakes the waiting fiber, or makes its next wait return immediately. The fiber continues in a later turn, so that
   * others can add their news first.
   */
  notify(): void {
    const resume = this.resume
    if (resume === undefined) {
      this.pending = true
      return
    }
    this.resume = undefined
    resume(Effect.yieldNow)
  }

  /** Forgets a change that has been seen. */
  clear(): void {
    this.pending = false
  }

  /** Waits for the next change. One fiber at a time. */
  readonly wait: Effect.Effect<void> = Effect.callback<void>((resume) => {
    if (this.pending) {
      this.pending = false
      resume(Effect.void)
      return
    }
    this.resume = resume
    return Effect.sync(() => {
      // Another wait may have begun before this one learned that it should end.
      if (this.resume === resume) this.resume = undefined
    })
  })
}
