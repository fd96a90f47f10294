/**
 * Draws the random numbers of simulations from a seed: sfc32, its four words mixed from a seed and a stream's name, so
 * that the draws of one part of a simulation do not shift those of another. Needs no service.
 */
import type { Random } from "effect"

/** Mixes a word so that near seeds give far states (MurmurHash3's finalizer). */
const mix = (value: number): number => {
  let word = value >>> 0
  word = Math.imul(word ^ (word >>> 16), 0x85ebca6b)
  word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35)
  return (word ^ (word >>> 16)) >>> 0
}

const hashOfName = (name: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
  return hash >>> 0
}

/** Random numbers from a seed. See {@link engineCheckers}. */
export class Prng {
  private a: number
  private b: number
  private c: number
  private counter = 1

  /** `seed` is a safe integer; streams of different names are independent. */
  constructor(seed: number, stream: string) {
    const low = seed >>> 0
    const high = Math.floor(seed / 0x1_0000_0000) >>> 0
    const name = hashOfName(stream)
    this.a = mix(low ^ name)
    this.b = mix(high + 0x9e3779b9)
    this.c = mix(low + Math.imul(name, 0x85ebca6b) + 0x6a09e667)
    for (let warm = 0; warm < 12; warm++) this.word()
  }

  private word(): number {
    const sum = (this.a + this.b + this.counter++) >>> 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) >>> 0
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) >>> 0
    return sum
  }

  /** From 0 (included) to 1 (excluded). */
  next(): number {
    return this.word() / 0x1_0000_0000
  }

  /** An integer from `minimum` to `maximum`, both included. */
  int(minimum: number, maximum: number): number {
    return minimum + Math.floor(this.next() * (maximum - minimum + 1))
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability
  }

  pick<A>(values: ReadonlyArray<A>): A {
    return values[Math.floor(this.next() * values.length)]!
  }

  /** One of the keys, drawn by weight. */
  weighted<K extends string>(weights: Readonly<Partial<Record<K, number>>>): K {
    const keys = Object.keys(weights) as Array<K>
    let sum = 0
    for (const key of keys) sum += weights[key]!
    let rest = this.next() * sum
    for (const key of keys) {
      rest -= weights[key]!
      if (rest < 0) return key
    }
    return keys[keys.length - 1]!
  }

  /** Some of the values, in order, each with the given probability. */
  some<A>(values: ReadonlyArray<A>, probability: number): Array<A> {
    return values.filter(() => this.chance(probability))
  }

  /** As effect's Random service. */
  readonly service: typeof Random.Random.Service = {
    nextIntUnsafe: () => this.int(Number.MIN_SAFE_INTEGER / 2, Number.MAX_SAFE_INTEGER / 2),
    nextDoubleUnsafe: () => this.next()
  }
}
