/** Signals that their actors have failed on, until they are parked. What comes beyond the bound is counted only. */
import type { FailedSignal } from "../../core/protocol.ts"
import { maximumFailedSignals } from "../../limits.ts"

export class FailedSignals {
  private waiting: Array<FailedSignal> = []

  /** Whether it is kept. A signal whose frame was not stored comes again, and is parked once all the same. */
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
