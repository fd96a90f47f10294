/**
 * The timers of a partition: those of actors in memory and the earliest of the evicted ones, in (time, id) order (architecture, rule 10).
 * Evicted actors' later timers stay in the checkpoints' index; `horizon` says from where on. Entries are never taken out early: one
 * whose actor has another time by now is skipped when it comes up.
 */
import { type ActorAddress, compareAddresses } from "./address.ts"
import type { TimerRow } from "./Checkpoints.ts"

/** Entries held in memory. Above this the timers of evicted actors are dropped and read again from the checkpoints. */
export const maximumTimerEntries = 65_536

const compareTimers = (left: TimerRow, right: TimerRow): number =>
  left.wakeAt - right.wakeAt || compareAddresses(left, right)

export class Timers {
  private heap: Array<TimerRow> = []
  /** Due timers in their order, taken from the heap; they wait here while their actors are loaded. */
  private due: Array<TimerRow> = []
  /** The last timer of evicted actors that is in the heap; undefined when none was read yet. */
  private readUpTo: TimerRow | undefined = undefined
  /** Whether the checkpoints may hold timers after `readUpTo`. */
  private more: boolean

  /** `more`: whether the checkpoints may hold timers at all. */
  constructor(more: boolean) {
    this.more = more
  }

  get size(): number {
    return this.heap.length + this.due.length
  }

  /** The next timers to fire, in order, at most `limit`. They stay until `fired`. */
  takeDue(now: number, limit: number): ReadonlyArray<TimerRow> {
    while (this.due.length < limit) {
      const next = this.pop(now)
      if (next === undefined) break
      this.due.push(next)
    }
    return this.due
  }

  /** Due timers that wait for their actors are due no more when a clock that was far ahead was set back. */
  recede(now: number): void {
    while (true) {
      const last = this.due[this.due.length - 1]
      if (last === undefined || last.wakeAt <= now) return
      this.due.pop()
      this.add(last, last.wakeAt)
    }
  }

  /** The first `count` due timers were fired or are void. */
  fired(count: number): void {
    this.due.splice(0, count)
  }

  /** Puts a timer that was fired back to the front. */
  putBack(timer: TimerRow): void {
    this.due.unshift(timer)
  }

  /** The first of the due timers that wait for their actors. */
  get firstDue(): TimerRow | undefined {
    return this.due[0]
  }

  add(address: ActorAddress, wakeAt: number): void {
    const entry: TimerRow = { organization: address.organization, kind: address.kind, key: address.key, wakeAt }
    const heap = this.heap
    let index = heap.push(entry) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (compareTimers(heap[parent]!, entry) <= 0) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = entry
  }

  /** When to look next: the earliest entry or, where the checkpoints hold later ones, the place up to which they were read. */
  nextAt(): number {
    if (this.due.length > 0) return Number.NEGATIVE_INFINITY
    const first = this.heap[0]?.wakeAt ?? Number.POSITIVE_INFINITY
    return this.more ? Math.min(first, this.readUpTo?.wakeAt ?? Number.NEGATIVE_INFINITY) : first
  }

  /** Whether a page must be read from the checkpoints before the timers due at `now` can be fired in order. */
  needsPage(now: number): boolean {
    return this.more && (this.readUpTo?.wakeAt ?? Number.NEGATIVE_INFINITY) <= now
  }

  /** Where the next page begins. */
  get pageAfter(): TimerRow | undefined {
    return this.readUpTo
  }

  /** Takes in a page; `full` when there may be more behind it. */
  addPage(rows: ReadonlyArray<TimerRow>, full: boolean): void {
    for (const row of rows) this.add(row, row.wakeAt)
    const last = rows[rows.length - 1]
    if (last !== undefined) this.readUpTo = last
    this.more = full
  }

  /** Takes the earliest entry if it is due. */
  private pop(now: number): TimerRow | undefined {
    const heap = this.heap
    const first = heap[0]
    if (first === undefined || first.wakeAt > now) return undefined
    const last = heap.pop()!
    const length = heap.length
    if (length > 0) {
      let index = 0
      while (true) {
        let child = 2 * index + 1
        if (child >= length) break
        if (child + 1 < length && compareTimers(heap[child + 1]!, heap[child]!) < 0) child++
        if (compareTimers(last, heap[child]!) <= 0) break
        heap[index] = heap[child]!
        index = child
      }
      heap[index] = last
    }
    return first
  }

  /** Starts anew from the timers of the actors in memory; evicted actors' are read again from the checkpoints. */
  rebuild(inMemory: Iterable<TimerRow>, more: boolean): void {
    this.heap = []
    this.due = []
    this.readUpTo = undefined
    this.more = more
    for (const row of inMemory) this.add(row, row.wakeAt)
  }
}
