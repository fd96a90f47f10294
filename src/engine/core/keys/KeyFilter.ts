/**
 * Filters idempotency keys that the checkpoints may hold, with a few bits for each (a Bloom filter in blocks): a key
 * that it does not know is surely not stored, so a new key needs no read (docs/architecture.md, "Idempotency keys"). It
 * consists of generations, each of which is dropped when all of its keys are over. When all are full, the last one
 * takes more, with more false positives. Pure.
 */
import { keysPerGeneration, maximumGenerations } from "../../limits.ts"
import type { KeyHash } from "./KeyHash.ts"

/** Bits for each key of a full generation, and those of a block, which is a cache line. */
const bitsPerKey = 16
const blockBits = 512
const wordsPerBlock = blockBits / 32

/** The bits of a place in a block; each key has four places. */
const placeBits = 9
const placeMask = blockBits - 1

class Generation {
  readonly words: Int32Array
  readonly blocks: number
  keys = 0
  /** When the last of its keys is over, milliseconds since the Unix epoch. */
  until = 0

  constructor(keys: number) {
    this.blocks = Math.ceil((keys * bitsPerKey) / blockBits)
    this.words = new Int32Array(this.blocks * wordsPerBlock)
  }

  private has(from: number, place: number): boolean {
    return (this.words[from + (place >>> 5)]! & (1 << (place & 31))) !== 0
  }

  private set(from: number, place: number): void {
    this.words[from + (place >>> 5)]! |= 1 << (place & 31)
  }

  private blockOf(first: number): number {
    return ((first >>> 0) % this.blocks) * wordsPerBlock
  }

  mayHave({ first, second }: KeyHash): boolean {
    const from = this.blockOf(first)
    return (
      this.has(from, second & placeMask) &&
      this.has(from, (second >>> placeBits) & placeMask) &&
      this.has(from, (second >>> (2 * placeBits)) & placeMask) &&
      this.has(from, first >>> (32 - placeBits))
    )
  }

  add({ first, second }: KeyHash): void {
    const from = this.blockOf(first)
    this.set(from, second & placeMask)
    this.set(from, (second >>> placeBits) & placeMask)
    this.set(from, (second >>> (2 * placeBits)) & placeMask)
    this.set(from, first >>> (32 - placeBits))
  }
}

export class KeyFilter {
  private generations: Array<Generation> = []

  /** Whether the last generation holds more than it is designed for. */
  get isFull(): boolean {
    const { generations } = this
    return generations.length === maximumGenerations && generations[generations.length - 1]!.keys >= keysPerGeneration
  }

  /** Whether a key may be there. False is sure. */
  mayHave(hash: KeyHash): boolean {
    for (const generation of this.generations) if (generation.mayHave(hash)) return true
    return false
  }

  /** Adds a key that is there until a time. */
  add(hash: KeyHash, until: number): void {
    let last = this.generations[this.generations.length - 1]
    if (last === undefined || (last.keys >= keysPerGeneration && this.generations.length < maximumGenerations)) {
      last = new Generation(keysPerGeneration)
      this.generations.push(last)
    }
    last.keys++
    last.until = Math.max(last.until, until)
    last.add(hash)
  }

  /** Forgets generations whose keys are all over at a time. */
  forget(now: number): void {
    this.generations = this.generations.filter(({ until }) => until > now)
  }
}
