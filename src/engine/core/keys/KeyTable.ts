/**
 * A table of remembered answers in the order of arrival, each found by its key: numbers and bytes in typed arrays, so
 * that a hundred thousand of them are a few objects. The latest can be removed again. Pure.
 */
import type { Organization } from "../actors/Organization.ts"
import type { Remembrance } from "./KeyGuard.ts"
import { KeyHash } from "./KeyHash.ts"

/** Entries and bytes that a table begins with. It is never more than half full. */
const firstEntries = 512
const firstBytes = 64 * 1024

/** A remembered answer. */
export interface RememberedKey {
  readonly organization: Organization
  readonly key: string
  /** The fact as JSON. */
  readonly text: string
  readonly until: number
  /** Sequence of its frame. */
  readonly sequence: number
}

const grown = <A extends Int32Array | Float64Array>(from: A, to: A): A => {
  to.set(from)
  return to
}

export class KeyTable {
  count = 0
  private capacity: number
  /** Open addressing: for each slot the place of its entry, counted from 1; 0 for none. */
  private slots: Int32Array<ArrayBuffer>
  private hashes: Int32Array<ArrayBuffer>
  /** The second halves of the hashes. */
  private seconds: Int32Array<ArrayBuffer>
  /** The entry that each one has replaced, counted from 1; 0 for none. */
  private befores: Int32Array<ArrayBuffer>
  /** Sequences of their frames; 0 for a draft. */
  private sequences: Float64Array<ArrayBuffer>
  private untils: Float64Array<ArrayBuffer>
  /** The beginnings of each entry's key and text in `bytes`; the text ends at the beginning of the next key. */
  private keyStarts: Int32Array<ArrayBuffer>
  private textStarts: Int32Array<ArrayBuffer>
  private organizations: Array<Organization> = []
  /** Keys, which are ASCII, and texts behind each other. */
  private bytes: Buffer
  private readonly hash = new KeyHash()

  constructor(entries = firstEntries, bytes = firstBytes) {
    this.capacity = entries
    this.slots = new Int32Array(2 * entries)
    this.hashes = new Int32Array(entries)
    this.seconds = new Int32Array(entries)
    this.befores = new Int32Array(entries)
    this.sequences = new Float64Array(entries)
    this.untils = new Float64Array(entries)
    this.keyStarts = new Int32Array(entries + 1)
    this.textStarts = new Int32Array(entries)
    this.bytes = Buffer.allocUnsafe(bytes)
  }

  /** The place of a key's last entry, or -1. */
  find(organization: Organization, key: string, hash: number): number {
    return this.slots[this.slotOf(organization, key, hash)]! - 1
  }

  /** Adds an entry. Returns the place of the one that it replaces, or -1. */
  add(organization: Organization, key: string, hash: KeyHash, { bytes, text, until }: Remembrance): number {
    if (this.count === this.capacity) this.grow()
    const place = this.count
    const from = this.keyStarts[place]!
    const textFrom = from + key.length
    if (textFrom + bytes > this.bytes.length) this.growBytes(textFrom + bytes)
    this.bytes.write(key, from, "latin1")
    this.bytes.write(text, textFrom)
    const slot = this.slotOf(organization, key, hash.first)
    const before = this.slots[slot]!
    this.slots[slot] = place + 1
    this.hashes[place] = hash.first
    this.seconds[place] = hash.second
    this.befores[place] = before
    this.sequences[place] = 0
    this.untils[place] = until
    this.textStarts[place] = textFrom
    this.keyStarts[place + 1] = textFrom + bytes
    this.organizations.push(organization)
    this.count++
    return before - 1
  }

  /** Removes the entry that was added last. Returns its organization. */
  takeLast(): Organization {
    const place = --this.count
    const organization = this.organizations.pop()!
    let slot = this.hashes[place]! & (this.slots.length - 1)
    while (this.slots[slot] !== place + 1) slot = (slot + 1) & (this.slots.length - 1)
    this.slots[slot] = this.befores[place]!
    return organization
  }

  /** Notes that an entry's frame is stored. */
  stored(place: number, sequence: number): void {
    this.sequences[place] = sequence
  }

  beforeOf(place: number): number {
    return this.befores[place]! - 1
  }

  sequenceAt(place: number): number {
    return this.sequences[place]!
  }

  /** The hash of an entry's key. */
  hashAt(place: number): KeyHash {
    return this.hash.set(this.hashes[place]!, this.seconds[place]!)
  }

  untilAt(place: number): number {
    return this.untils[place]!
  }

  organizationAt(place: number): Organization {
    return this.organizations[place]!
  }

  keyAt(place: number): string {
    return this.bytes.toString("latin1", this.keyStarts[place], this.textStarts[place])
  }

  textAt(place: number): string {
    return this.bytes.toString("utf8", this.textStarts[place], this.keyStarts[place + 1])
  }

  at(place: number): RememberedKey {
    return {
      organization: this.organizations[place]!,
      key: this.keyAt(place),
      text: this.textAt(place),
      until: this.untils[place]!,
      sequence: this.sequences[place]!
    }
  }

  /** The entries before a place, without the replaced ones. It does not change when entries are added. */
  view(end: number): Iterable<RememberedKey> & { readonly count: number } {
    const isPast = new Uint8Array(end)
    let count = end
    for (let place = 0; place < end; place++) {
      const before = this.befores[place]!
      if (before === 0) continue
      isPast[before - 1] = 1
      count--
    }
    const at = (place: number) => this.at(place)
    return {
      count,
      *[Symbol.iterator]() {
        for (let place = 0; place < end; place++) if (isPast[place] === 0) yield at(place)
      }
    }
  }

  /** A table with the entries from a place on. */
  from(start: number): KeyTable {
    const rest = this.count - start
    const byteStart = this.keyStarts[start]!
    const byteEnd = this.keyStarts[this.count]!
    let entries = firstEntries
    while (entries < rest) entries *= 2
    const table = new KeyTable(entries, Math.max(firstBytes, byteEnd - byteStart))
    this.bytes.copy(table.bytes, 0, byteStart, byteEnd)
    for (let place = 0; place < rest; place++) {
      const of = start + place
      table.hashes[place] = this.hashes[of]!
      table.seconds[place] = this.seconds[of]!
      table.befores[place] = Math.max(0, this.befores[of]! - start)
      table.sequences[place] = this.sequences[of]!
      table.untils[place] = this.untils[of]!
      table.textStarts[place] = this.textStarts[of]! - byteStart
      table.keyStarts[place + 1] = this.keyStarts[of + 1]! - byteStart
    }
    table.organizations = this.organizations.slice(start)
    table.count = rest
    table.fillSlots()
    return table
  }

  /** The slot of a key, or the one that it would get. */
  private slotOf(organization: Organization, key: string, hash: number): number {
    const { slots } = this
    const mask = slots.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const place = slots[slot]!
      if (place === 0 || (this.hashes[place - 1] === hash && this.isAt(place - 1, organization, key))) return slot
    }
  }

  private isAt(place: number, organization: Organization, key: string): boolean {
    return this.organizations[place] === organization && this.keyAt(place) === key
  }

  private grow(): void {
    this.capacity *= 2
    const { capacity } = this
    this.hashes = grown(this.hashes, new Int32Array(capacity))
    this.seconds = grown(this.seconds, new Int32Array(capacity))
    this.befores = grown(this.befores, new Int32Array(capacity))
    this.sequences = grown(this.sequences, new Float64Array(capacity))
    this.untils = grown(this.untils, new Float64Array(capacity))
    this.keyStarts = grown(this.keyStarts, new Int32Array(capacity + 1))
    this.textStarts = grown(this.textStarts, new Int32Array(capacity))
    this.slots = new Int32Array(2 * capacity)
    this.fillSlots()
  }

  /** Puts the entries into empty slots, in their order, so that the last ones can be taken out again. */
  private fillSlots(): void {
    const mask = this.slots.length - 1
    for (let place = 0; place < this.count; place++) {
      const before = this.befores[place]!
      let slot = this.hashes[place]! & mask
      while (this.slots[slot] !== 0 && this.slots[slot] !== before) slot = (slot + 1) & mask
      this.slots[slot] = place + 1
    }
  }

  private growBytes(least: number): void {
    const larger = Buffer.allocUnsafe(Math.max(least, 2 * this.bytes.length))
    this.bytes.copy(larger, 0, 0, this.keyStarts[this.count])
    this.bytes = larger
  }
}
