/**
 * States of many keys in memory, so many at most, with a time that never goes back. A key is dropped when its state says no more than a new one's;
 * no other key gives way, so that a flood of keys resets nobody's count. Needs no service.
 */

import { InvalidArgument } from "./errors.ts"
import { defaultMaxKeys, maximumKeyLength, maximumMaxKeys } from "./memory.ts"
import { assertInteger } from "./windowDecision.ts"

export class KeyedStates<State> {
  private readonly maxKeys: number
  private readonly endOf: (state: State) => number
  private readonly states = new Map<string, State>()
  private latest = Number.NEGATIVE_INFINITY

  /**
   * @param endOf Unix milliseconds from which on a state equals a new one; it must grow with each `set`, for every key alike
   * @throws InvalidArgument if `maxKeys` is outside its range.
   */
  constructor(maxKeys: number | undefined, endOf: (state: State) => number) {
    this.maxKeys = maxKeys ?? defaultMaxKeys
    assertInteger("maxKeys", this.maxKeys, 1, maximumMaxKeys)
    this.endOf = endOf
  }

  get size(): number {
    return this.states.size
  }

  /** The clock's time, but none before one that was seen: a key that was dropped must not have its entries back in force. */
  time(now: number): number {
    if (now > this.latest) this.latest = now
    return this.latest
  }

  /** @throws InvalidArgument unless the key has 1 to `maximumKeyLength` characters. */
  get(key: string): State | undefined {
    if (key.length === 0 || key.length > maximumKeyLength) {
      throw new InvalidArgument({
        argument: "key",
        message: `key must have 1 to ${maximumKeyLength} characters, got ${key.length}`
      })
    }
    return this.states.get(key)
  }

  /** Undefined if there is room for a new key, else Unix milliseconds at which the next key is dropped. */
  fullUntil(now: number): number | undefined {
    for (const [key, state] of this.states) {
      if (this.endOf(state) > now) return this.states.size < this.maxKeys ? undefined : this.endOf(state)
      this.states.delete(key)
    }
    return undefined
  }

  /** Keeps a state. The keys are in the order of their latest `set`, so that those that end first stand in front. */
  set(key: string, state: State): void {
    this.states.delete(key)
    this.states.set(key, state)
  }
}
