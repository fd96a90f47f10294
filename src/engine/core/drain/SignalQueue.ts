/**
 * Queues the external signals of a partition, or the messages of one ingest, that were read and not yet decided, in
 * order (docs/architecture.md, "External signals"). Bounded.
 */
import { maximumQueuedIngestBytes, maximumQueuedSignals } from "../../limits.ts"
import type { Entry } from "../actors/Organization.ts"

export class SignalQueue {
  private readonly entries: Array<Entry> = []
  private bytes = 0
  /** Up to this place everything was read: what is not queued means nothing here. -1 before the first. */
  passed = -1
  /** Called when there is room again. */
  onRoom: (() => void) | undefined = undefined

  get size(): number {
    return this.entries.length
  }

  get hasRoom(): boolean {
    return this.entries.length < maximumQueuedSignals && this.bytes < maximumQueuedIngestBytes
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
    this.bytes += entry.bytes
  }

  take(): Entry | undefined {
    const entry = this.entries.shift()
    this.bytes -= entry?.bytes ?? 0
    const isHalfEmpty = this.entries.length <= maximumQueuedSignals / 2 && this.bytes <= maximumQueuedIngestBytes / 2
    if (this.onRoom !== undefined && isHalfEmpty) this.onRoom()
    return entry
  }

  putBack(entry: Entry): void {
    this.entries.unshift(entry)
    this.bytes += entry.bytes
  }
}
