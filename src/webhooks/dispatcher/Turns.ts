/**
 * Picks the next turn among those waiting for a slot: the one with the fewest slots, and of equals the one that has
 * waited longest. Holding slots for long earns no more turns than returning them immediately. Needs no service.
 */
export class Turns<Key> {
  /** The waiting members, by the places that they hold. */
  private readonly levels: Array<Set<Key>> = []
  /** No level below this one has anybody: an organization that holds many places alone is found without a search. */
  private least = 0
  private waiting = 0

  get isEmpty(): boolean {
    return this.waiting === 0
  }

  /** Puts one that holds `own` places behind its equals. */
  add(key: Key, own: number): void {
    const level = this.level(own)
    const before = level.size
    level.add(key)
    this.least = Math.min(this.least, own)
    this.waiting += level.size - before
  }

  /** Takes one out that holds `own` places; answers whether it waited. */
  remove(key: Key, own: number): boolean {
    const isThere = this.levels[own]?.delete(key) === true
    if (isThere) this.waiting--
    return isThere
  }

  /** Notes that one holds another number of places, if it waits. */
  moved(key: Key, before: number, after: number): void {
    if (this.remove(key, before)) this.add(key, after)
  }

  /** The first result of `find`, over the members that may have one place more. */
  first<A>(mayHave: (own: number) => boolean, find: (key: Key, own: number) => A | undefined): A | undefined {
    if (this.waiting === 0) return undefined
    while (this.levels[this.least]!.size === 0) this.least++
    for (let own = this.least; own < this.levels.length && mayHave(own); own++)
      for (const key of this.levels[own]!) {
        const found = find(key, own)
        if (found !== undefined) return found
      }
    return undefined
  }

  private level(own: number): Set<Key> {
    while (this.levels.length <= own) this.levels.push(new Set())
    return this.levels[own]!
  }
}
