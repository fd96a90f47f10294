/**
 * Queues signals and messages of ingests on which their actors have failed, until they are parked. Those beyond the bound
 * are only counted; ingests wait for room before that.
 */
import { Effect } from "effect"
import type { FailedSignal } from "../../core/protocol.ts"
import { failedSignalsPause, maximumFailedSignals } from "../../limits.ts"

export class FailedSignals {
  private waiting: Array<FailedSignal> = []
  private readonly readers = new Set<() => void>()

  /** Waits until few enough are to be parked that more messages may be read. */
  readonly room: Effect.Effect<void> = Effect.callback<void>((resume) => {
    if (this.waiting.length < failedSignalsPause) {
      resume(Effect.void)
      return
    }
    const reader = () => resume(Effect.void)
    this.readers.add(reader)
    return Effect.sync(() => {
      this.readers.delete(reader)
    })
  })

  /**
   * Adds a signal; returns whether it is kept. A signal whose frame was not stored comes again, and is still parked
   * once.
   */
  add(signal: FailedSignal): boolean {
    if (this.waiting.length >= maximumFailedSignals) return false
    this.waiting.push(signal)
    return true
  }

  get first(): FailedSignal | undefined {
    return this.waiting[0]
  }

  isDone(signal: FailedSignal): void {
    this.waiting = this.waiting.filter((one) => one !== signal)
    if (this.waiting.length >= failedSignalsPause) return
    const readers = [...this.readers]
    this.readers.clear()
    for (const reader of readers) reader()
  }
}
