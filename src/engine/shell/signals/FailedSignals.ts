/**
 * Queues signals on which their actors have failed, until they are parked. Signals beyond the bound are only counted.
 */
import type { FailedSignal } from "../../core/protocol.ts"
import { maximumFailedSignals } from "../../limits.ts"

export class FailedSignals {
  private waiting: Array<FailedSignal> = []

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
  }
}
