/**
 * Tracks a sender's numbered messages that have arrived, so that one that is delivered twice is accepted once. It
 * remembers the latest numbers only; an older one counts as accepted. Needs no service.
 */

/** Latest numbers that are remembered: a multiple of 32. */
export const rememberedArrivals = 65_536

export class Arrivals {
  /** A bit for each remembered number, at its place modulo their count. */
  private readonly bits = new Uint32Array(rememberedArrivals / 32)
  private highest = 0

  /** Notes a number, from 1 on. False where it came before, or is too old to tell. */
  add(number: number): boolean {
    if (number <= this.highest - rememberedArrivals) return false
    if (number > this.highest) {
      this.forget(Math.max(this.highest + 1, number - rememberedArrivals + 1), number)
      this.highest = number
    }
    const at = number % rememberedArrivals
    const bit = 1 << (at % 32)
    const word = this.bits[at >> 5]!
    if ((word & bit) !== 0) return false
    this.bits[at >> 5] = word | bit
    return true
  }

  /** Frees the places of numbers that have not come yet. */
  private forget(from: number, through: number): void {
    for (let number = from; number <= through; number++) {
      const at = number % rememberedArrivals
      this.bits[at >> 5] = this.bits[at >> 5]! & ~(1 << (at % 32))
    }
  }
}
