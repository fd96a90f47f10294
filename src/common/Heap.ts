/**
 * A Heap is a binary heap whose entries know their place, so that each can be moved and removed. Entries that compare
 * as equal come in no particular order. Needs no service.
 */

/** An entry of a heap. It is in at most one heap. */
export interface HeapEntry {
  /** Its place, which the heap alone changes. */
  index: number
}

export class Heap<Entry extends HeapEntry> {
  private readonly entries: Array<Entry> = []
  private readonly compare: (left: Entry, right: Entry) => number

  /** `compare` is below 0 where `left` comes before `right`. */
  constructor(compare: (left: Entry, right: Entry) => number) {
    this.compare = compare
  }

  get size(): number {
    return this.entries.length
  }

  /** The first one. */
  get first(): Entry | undefined {
    return this.entries[0]
  }

  has(entry: Entry): boolean {
    return this.entries[entry.index] === entry
  }

  push(entry: Entry): void {
    entry.index = this.entries.push(entry) - 1
    this.moveUp(entry)
  }

  /** Takes an entry out, which must be in it. */
  remove(entry: Entry): void {
    const last = this.entries.pop()!
    if (last === entry) return
    this.entries[entry.index] = last
    last.index = entry.index
    this.moved(last)
  }

  /** Finds the place of an entry that now compares otherwise. */
  moved(entry: Entry): void {
    this.moveUp(entry)
    this.moveDown(entry)
  }

  private moveUp(entry: Entry): void {
    const { entries } = this
    let { index } = entry
    while (index > 0) {
      const parent = (index - 1) >> 1
      const other = entries[parent]!
      if (this.compare(other, entry) <= 0) break
      entries[index] = other
      other.index = index
      index = parent
    }
    entries[index] = entry
    entry.index = index
  }

  private moveDown(entry: Entry): void {
    const { entries } = this
    let { index } = entry
    while (true) {
      let child = 2 * index + 1
      if (child >= entries.length) break
      if (child + 1 < entries.length && this.compare(entries[child + 1]!, entries[child]!) < 0) child++
      const other = entries[child]!
      if (this.compare(entry, other) <= 0) break
      entries[index] = other
      other.index = index
      index = child
    }
    entries[index] = entry
    entry.index = index
  }
}
