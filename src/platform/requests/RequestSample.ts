/**
 * Samples the requests of a second: all of them up to a bound, and beyond it a random choice in which each has the same
 * chance (reservoir sampling). Each chosen one knows for how many it stands, and together they stand for all. Costs an
 * addition for a request that is not chosen. Pure but for the given randomness.
 */
export interface Sampled<Item> {
  readonly item: Item
  /** How many requests it stands for, itself included. */
  readonly count: number
}

export class RequestSample<Item> {
  private total = 0
  private readonly items: Array<Item | undefined> = []
  private readonly bound: number
  /** From 0 to 1, 1 excluded. */
  private readonly random: () => number

  constructor(bound: number, random: () => number) {
    this.bound = bound
    this.random = random
  }

  /** Counts a request, and returns its place; undefined when it is not chosen. */
  place(): number | undefined {
    const before = this.total++
    if (before < this.bound) return before
    const at = Math.floor(this.random() * this.total)
    return at < this.bound ? at : undefined
  }

  /** Puts a chosen one at its place. Returns the one that gives way. */
  put(place: number, item: Item): Item | undefined {
    const before = this.items[place]
    this.items[place] = item
    return before
  }

  /** The chosen ones in order of their places. */
  sampled(): ReadonlyArray<Sampled<Item>> {
    const chosen = this.items.filter((item) => item !== undefined)
    const each = Math.floor(this.total / chosen.length)
    const rest = this.total - each * chosen.length
    return chosen.map((item, index) => ({ item, count: index < rest ? each + 1 : each }))
  }
}
