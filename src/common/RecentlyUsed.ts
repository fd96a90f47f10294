/**
 * RecentlyUsed is a bounded map that keeps the entries that are read again. It has two halves: a read moves an entry
 * from the old half to the young one, and the rest goes when the old half is dropped. A reader pays one look-up, and a
 * crawl over everything cannot evict entries that others read meanwhile. A set that is read in turn stays whole while
 * it fits into one half. Needs no service.
 */

interface Entry<Value> {
  readonly value: Value
  readonly cost: number
}

export class RecentlyUsed<Value> {
  private readonly halfCost: number
  private young = new Map<string, Entry<Value>>()
  private old = new Map<string, Entry<Value>>()
  private youngCost = 0
  private oldCost = 0

  /** @param maximumCost bound of the sum of all costs, in whatever unit `set` is given */
  constructor(maximumCost: number) {
    this.halfCost = maximumCost / 2
  }

  /** Sum of the costs of what is kept. */
  get cost(): number {
    return this.youngCost + this.oldCost
  }

  get(key: string): Value | undefined {
    const found = this.young.get(key)
    if (found !== undefined) return found.value
    const aged = this.old.get(key)
    if (aged === undefined) return undefined
    this.old.delete(key)
    this.oldCost -= aged.cost
    this.keep(key, aged)
    return aged.value
  }

  /**
   * Keeps a value under a key that `get` has just not found. A value that costs more than half of the bound is not
   * kept.
   */
  set(key: string, value: Value, cost: number): void {
    if (cost <= this.halfCost) this.keep(key, { value, cost })
  }

  private keep(key: string, entry: Entry<Value>): void {
    if (this.youngCost + entry.cost > this.halfCost) {
      this.old = this.young
      this.oldCost = this.youngCost
      this.young = new Map()
      this.youngCost = 0
    }
    this.young.set(key, entry)
    this.youngCost += entry.cost
  }
}
