/**
 * A BoundedMap is a map with a maximum number of entries: a new one replaces the one that was set longest ago. Needs no
 * service.
 */
export class BoundedMap<Key, Value> {
  private readonly maximum: number
  private readonly entries = new Map<Key, Value>()

  constructor(maximum: number) {
    this.maximum = maximum
  }

  get size(): number {
    return this.entries.size
  }

  get(key: Key): Value | undefined {
    return this.entries.get(key)
  }

  /** Sets an entry, which is the newest then. */
  set(key: Key, value: Value): void {
    this.entries.delete(key)
    this.entries.set(key, value)
    if (this.entries.size <= this.maximum) return
    for (const oldest of this.entries.keys()) {
      this.entries.delete(oldest)
      return
    }
  }

  delete(key: Key): boolean {
    return this.entries.delete(key)
  }

  values(): Iterable<Value> {
    return this.entries.values()
  }

  clear(): void {
    this.entries.clear()
  }
}
