/**
 * Queues the external signals of a partition that were read and not yet decided, in order (docs/architecture.md,
 * "External signals"). Bounded.
 */
import { maximumQueuedSignals } from "../../limits.ts"
import type { Entry } from "../actors/Organization.ts"

export class SignalQueue {
  private readonly entries: Array<Entry> = []
  /** Called when there is room again. */
  onRoom: (() => void) | undefined = undefined

  get size(): number {
    return this.entries.length
  }

  get hasRoom(): boolean {
    return this.entries.length < maximumQueuedSignals
  }

  get first(): Entry | undefined {
    return this.entries[0]
  }

  /** Whether the first signal can be decided now, because it does not wait for its actor. */
  get isReady(): boolean {
    const first = this.entries[0]
    if (first === undefined) return false
    const cell = first.organization.cell(first.actorIndex, first.key)
    return cell === undefined || !cell.requested
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
}
