/** A queue whose operations cost the same however long it is. Needs no service. */
export class Fifo<A> {
  private items: Array<A | undefined> = []
  private first = 0

  get length(): number {
    return this.items.length - this.first
  }

  push(item: A): void {
    this.items.push(item)
  }

  shift(): A | undefined {
    if (this.first === this.items.length) return undefined
    const item = this.items[this.first]
    // clear the slot, so that the garbage collector can free the taken item
    this.items[this.first++] = undefined
    if (this.first === this.items.length) {
      this.items = []
      this.first = 0
    } else if (this.first >= 1_024 && this.first * 2 >= this.items.length) {
      this.items = this.items.slice(this.first)
      this.first = 0
    }
    return item
  }

  takeAll(): ReadonlyArray<A> {
    const items = this.items.slice(this.first) as Array<A>
    this.items = []
    this.first = 0
    return items
  }
}
