/** The external signals of a partition that were read and not yet decided, in their order (architecture, "External signals"). Bounded by its feeder. */
import type { Entry } from "./memory.ts"

/** Signals read ahead. */
export const maximumQueuedSignals = 256

export class SignalQueue {
  private entries: Array<Entry> = []
  /** Called when there is room again. */
  onRoom: (() => void) | undefined = undefined

  get hasRoom(): boolean {
    return this.entries.length < maximumQueuedSignals
  }

  get first(): Entry | undefined {
    return this.entries[0]
  }

  add(entry: Entry): void {
    this.entries.push(entry)
  }

  take(): Entry | undefined {
    const entry = this.entries.shift()
    if (this.onRoom !== undefined && this.entries.length <= maximumQueuedSignals / 2) this.onRoom()
    return entry
  }

  putBack(entry: Entry): void {
    this.entries.unshift(entry)
  }

  clear(): void {
    this.entries = []
  }
}
