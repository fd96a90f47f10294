/**
 * Holds the idempotency keys of a partition whose answers no checkpoint has yet (docs/architecture.md, "Idempotency
 * keys"). Each is one fact that is the whole state, so it is held as the bytes of its future row, in a table beside the
 * heap: actors would cost the garbage collector more than the decisions. A key leaves memory with the checkpoint that
 * stores it. Drafts of a drain stay only if its frame is stored.
 */
import type { Cell, Organization, Registry } from "../actors/Organization.ts"
import { assert } from "../assert.ts"
import type { Remembrance } from "./KeyGuard.ts"
import { KeyHash } from "./KeyHash.ts"
import { KeyTable, type RememberedKey } from "./KeyTable.ts"
import { StoredKeys } from "./StoredKeys.ts"

/** The actors that leave their places to keys, and the bounds that keys share with them. */
interface SharedActors {
  readonly registry: Registry
  remove(cell: Cell): void
  countKey(organization: Organization, change: 1 | -1): void
  admitsActor(): boolean
}

export class KeyMemory {
  /** The keys in the checkpoints. Each life reads them again. */
  stored: StoredKeys
  private readonly memory: SharedActors
  private readonly hash = new KeyHash()
  /** In the order of their frames; those of the running drain are last. */
  private table = new KeyTable()
  /** How many of them are stored. */
  private durableCount = 0

  constructor(memory: SharedActors) {
    this.memory = memory
    this.stored = this.storedSince(undefined)
  }

  /** Starts a new life's knowledge: keys in checkpoints that count at this time; undefined without checkpoints. */
  storedSince(now: number | undefined): StoredKeys {
    const { actors, keyIndex } = this.memory.registry
    return new StoredKeys(actors[keyIndex]!.kind, now)
  }

  /** Keys that no checkpoint has. */
  get size(): number {
    return this.durableCount
  }

  private placeOf(organization: Organization, key: string): number {
    return this.table.find(organization, key, this.hash.of(organization.hash, key).first)
  }

  /** The fact remembered here, by the running drain or before it, as JSON; undefined if a checkpoint may have it. */
  find(organization: Organization, key: string): string | undefined {
    const place = this.placeOf(organization, key)
    return place === -1 ? undefined : this.table.textAt(place)
  }

  /** The stored answer of a key that is in memory. */
  durable(organization: Organization, key: string): RememberedKey | undefined {
    const found = this.placeOf(organization, key)
    const place = found < this.durableCount ? found : this.table.beforeOf(found)
    return place === -1 ? undefined : this.table.at(place)
  }

  /** Whether an actor of a key need not be looked up: its answer is here, or does not exist. */
  isKnown(organization: Organization, key: string): boolean {
    return this.placeOf(organization, key) !== -1 || this.stored.lacks(organization, key)
  }

  /** Remembers an answer that the running drain has decided. */
  draft(organization: Organization, key: string, remembrance: Remembrance): void {
    const before = this.table.add(organization, key, this.hash.of(organization.hash, key), remembrance)
    assert(before < this.durableCount, "a key is decided twice in a frame")
    // The actor's state as read is wrong once the frame is stored, and is read again if it is not.
    const cell = this.cellOf(organization, key)
    if (cell !== undefined) this.memory.remove(cell)
    this.memory.countKey(organization, 1)
  }

  /** Whether an answer can be remembered; its actor, if it was read, leaves its place to it. */
  admits(organization: Organization, key: string): boolean {
    return this.cellOf(organization, key) !== undefined || this.memory.admitsActor()
  }

  private cellOf(organization: Organization, key: string): Cell | undefined {
    return organization.cell(this.memory.registry.keyIndex, key)
  }

  /** Remembers an answer of a frame that is replayed. */
  replay(organization: Organization, key: string, remembrance: Remembrance, sequence: number): void {
    this.draft(organization, key, remembrance)
    this.commit(sequence)
  }

  /** Marks the drafts as stored. */
  commit(sequence: number): void {
    for (; this.durableCount < this.table.count; this.durableCount++) this.table.stored(this.durableCount, sequence)
  }

  /** Drops the drafts: their frame is not stored. */
  discard(): void {
    // The last one goes first, so that each place in the table is again what it was.
    while (this.table.count > this.durableCount) this.memory.countKey(this.table.takeLast(), -1)
  }

  /** All stored answers: the last one of each key. */
  all(): Iterable<RememberedKey> & { readonly count: number } {
    return this.table.view(this.durableCount)
  }

  /** Drops the keys up to `sequence`, which a checkpoint now has. */
  saved(sequence: number): void {
    const { memory, stored, table } = this
    let count = 0
    for (; count < this.durableCount && table.sequenceAt(count) <= sequence; count++) {
      stored.add(table.hashAt(count), table.untilAt(count))
      memory.countKey(table.organizationAt(count), -1)
    }
    if (count === 0) return
    this.table = table.from(count)
    this.durableCount -= count
  }

  /** Forgets everything; the memory counts from zero. */
  clear(): void {
    this.table = new KeyTable()
    this.durableCount = 0
  }
}
