/**
 * Keeps the states of many keys within a bound, and drops those that equal a new one: the one that ends first is found
 * without looking at the others, whatever the order in which they were set. Needs nothing; the time is an argument.
 */
import { defaultMaxKeys, maximumMaxKeys } from "./memory.ts"
import { assertInteger } from "./windowDecision.ts"

/** Steps of tidying for a new key while there is room: more than one, so that the table does not lag behind. */
const maximumSteps = 32

interface Entry<State> {
  readonly key: string
  state: State
  /** Unix milliseconds from which on the state equals a new one. */
  end: number
  /** The end by which the entry is in its place of the heap. A later set may have moved the end. */
  placed: number
}

export class KeyedStates<State> {
  private readonly maxKeys: number
  private readonly entries = new Map<string, Entry<State>>()
  /** A binary heap of all entries: none is placed before its parent, at half of its index. */
  private readonly heap: Array<Entry<State>> = []
  private latest = Number.NEGATIVE_INFINITY

  /** @throws InvalidArgument if `maxKeys` is outside its range. */
  constructor(maxKeys: number | undefined, leastKeys = 1) {
    this.maxKeys = maxKeys ?? defaultMaxKeys
    assertInteger("maxKeys", this.maxKeys, leastKeys, maximumMaxKeys)
  }

  get size(): number {
    return this.entries.size
  }

  /** The clock's time, but never earlier than one that was seen: the entries of a dropped key must not count again. */
  time(now: number): number {
    if (now > this.latest) this.latest = now
    return this.latest
  }

  get(key: string): State | undefined {
    return this.entries.get(key)?.state
  }

  /**
   * Undefined if there is room for so many new keys, else Unix milliseconds at which the next key is dropped. It drops
   * what has ended, with room left only so many steps of it: a table of busy keys would take all their places anew.
   */
  fullUntil(now: number, keys = 1): number | undefined {
    const isFull = () => this.entries.size + keys > this.maxKeys
    let steps = 0
    for (let first = this.heap[0]; first !== undefined; first = this.heap[0]) {
      if (steps++ >= maximumSteps && !isFull()) return undefined
      if (first.end <= now) this.dropFirst(first)
      else if (first.end > first.placed) this.place(first)
      else return isFull() ? first.end : undefined
    }
    return undefined
  }

  /** Keeps a state until `end`. */
  set(key: string, state: State, end: number): void {
    const known = this.entries.get(key)
    if (known !== undefined) {
      known.state = state
      known.end = end
      return
    }
    const entry = { key, state, end, placed: end }
    this.entries.set(key, entry)
    this.heap.push(entry)
    this.rise(this.heap.length - 1)
  }

  private dropFirst(first: Entry<State>): void {
    this.entries.delete(first.key)
    const last = this.heap.pop() as Entry<State>
    if (last === first) return
    this.heap[0] = last
    this.sink()
  }

  /** Gives the first entry the place of its present end. */
  private place(first: Entry<State>): void {
    first.placed = first.end
    this.sink()
  }

  private rise(from: number): void {
    const { heap } = this
    const entry = heap[from] as Entry<State>
    let index = from
    while (index > 0) {
      const above = (index - 1) >> 1
      const parent = heap[above] as Entry<State>
      if (parent.placed <= entry.placed) break
      heap[index] = parent
      index = above
    }
    heap[index] = entry
  }

  private sink(): void {
    const { heap } = this
    const entry = heap[0] as Entry<State>
    let index = 0
    for (let below = 1; below < heap.length; below = 2 * index + 1) {
      const left = heap[below] as Entry<State>
      const right = heap[below + 1]
      const least = right === undefined || left.placed <= right.placed ? below : below + 1
      const child = heap[least] as Entry<State>
      if (entry.placed <= child.placed) break
      heap[index] = child
      index = least
    }
    heap[index] = entry
  }
}
