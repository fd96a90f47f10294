/**
 * Applies the request rate rule to many keys, in memory and synchronously. Needs nothing: no Effect, no server, the
 * time is an argument. All keys share one clock window, so there is one table per window and the first call in a new
 * window drops the old table whole: no timer, no scan. A key costs one entry of a map and one 32-bit counter.
 */
import { InvalidArgument } from "./errors.ts"
import type { Decision, Limit, Receipt } from "./rules.ts"
import * as Rules from "./rules.ts"

/**
 * The default number of keys in one window. A map that doubles delays its caller: 2-4 ms at this size, 25-75 ms at a
 * million keys. See {@link makeMemory}.
 */
export const defaultMaxKeys = 100_000

/** Highest `maxKeys`: half of what a JavaScript `Map` can hold. See {@link makeMemory}. */
export const maximumMaxKeys = 8_388_608

/** Longest key, in UTF-16 code units; with `maxKeys` it bounds the memory. See {@link makeMemory}. */
export const maximumKeyLength = 256

/**
 * Most bytes that the table of a window takes per key beside the key's own string, right after it has doubled: 56 for
 * the map (three words an entry, half a word of buckets, half of it free) and 8 for the counters. On average 3/4 of it.
 * See {@link makeMemory}.
 */
export const maximumBytesPerKey = 64

/** Counters of a fresh window's table; it doubles as keys arrive. */
const firstSlots = 1024

/** The number of keys that a limiter counts, and its window. See {@link makeMemory}. */
export interface MemoryOptions {
  /** Keys counted per window, at most `maximumMaxKeys`. Default `defaultMaxKeys`. */
  readonly maxKeys?: number | undefined
  /** Length of the window, whole seconds up to a day, aligned to UTC. Default `minuteMillis`. */
  readonly windowMillis?: number | undefined
}

/** A request limiter in this process, synchronous. Made by `makeMemory`. See {@link makeMemory}. */
export interface MemoryLimiter {
  readonly maxKeys: number
  readonly windowMillis: number
  /**
   * Asks for `cost` requests of `key` under `limit` at `now` (Unix milliseconds) and counts them if they pass. A key
   * that is new to the window while `maxKeys` are counted is refused with the outcome `full` (or passes, if unlimited):
   * the limiter keeps every count until its window has ended, so a flood of keys resets nobody's count. A refused
   * request takes up no memory.
   * @throws InvalidArgument for a key, cost, limit or time outside its range.
   */
  take(key: string, limit: Limit, cost: number, now: number): Decision
  /**
   * Returns the answer that `take` would give, counting nothing.
   * @throws InvalidArgument as `take`.
   */
  peek(key: string, limit: Limit, cost: number, now: number): Decision
  /**
   * Returns the units that an allowed decision of this key counted, once, while its window lasts; else 0.
   * @throws InvalidArgument as `take`.
   */
  refund(key: string, receipt: Receipt, now: number): number
  /** Keys counted in the window that contains `now`. */
  size(now: number): number
}

const assertKey = (key: string): void => {
  if (key.length === 0 || key.length > maximumKeyLength) {
    throw new InvalidArgument({
      argument: "key",
      message: `key must have 1 to ${maximumKeyLength} characters, got ${key.length}`
    })
  }
}

/** The options with their defaults, checked. */
const checked = ({
  maxKeys = defaultMaxKeys,
  windowMillis = Rules.minuteMillis
}: MemoryOptions): Pick<MemoryLimiter, "maxKeys" | "windowMillis"> => {
  if (!(Number.isInteger(maxKeys) && maxKeys >= 1 && maxKeys <= maximumMaxKeys)) {
    throw new InvalidArgument({
      argument: "maxKeys",
      message: `maxKeys must be an integer from 1 to ${maximumMaxKeys}, got ${maxKeys}`
    })
  }
  Rules.assertWindow(windowMillis)
  return { maxKeys, windowMillis }
}

/**
 * Makes a limiter that counts in this process. Its strings are kept until the window ends, so hand it flat ones: a
 * slice of a large text keeps the whole text.
 * @throws InvalidArgument for options outside their range.
 *
 * @example
 * ```ts
 * import { makeMemory } from "sluice/limits"
 *
 * const limiter = makeMemory({ windowMillis: 86_400_000 })
 * const take = (key: string) => limiter.take(key, 1, 1, Date.UTC(2026, 0, 1)).allowed
 * console.log(take("ann"), take("ann"), take("ben")) // true false true
 * ```
 */
export const makeMemory = (options: MemoryOptions = {}): MemoryLimiter => {
  const { maxKeys, windowMillis } = checked(options)
  let endMillis = Rules.initial.endMillis
  let slots = new Map<string, number>()
  let used = new Int32Array(firstSlots)

  /** Starts an empty table when the clock has left the window. A clock that was set back does not come here. */
  const advance = (now: number): void => {
    endMillis = Rules.windowEnd(now, windowMillis)
    if (slots.size === 0) return
    slots = new Map()
    if (used.length > firstSlots) used = new Int32Array(firstSlots)
  }

  const insert = (key: string, cost: number): void => {
    const slot = slots.size
    if (slot === used.length) {
      const grown = new Int32Array(slot * 2)
      grown.set(used)
      used = grown
    }
    used[slot] = Rules.count(0, cost)
    slots.set(key, slot)
  }

  return {
    maxKeys,
    windowMillis,
    take(key, limit, cost, now) {
      assertKey(key)
      Rules.assertLimit(limit)
      Rules.assertCost(cost)
      if (!(now < endMillis)) advance(now)
      const slot = slots.get(key)
      if (slot === undefined) {
        const outcome = Rules.judge(0, limit, cost)
        if (outcome !== "allowed") return Rules.decision(outcome, limit, cost, 0, endMillis, now)
        // Shown as used up, so that a refusal never says that requests are left.
        if (slots.size >= maxKeys) return Rules.decision("full", limit, cost, Rules.maximumLimit, endMillis, now)
        insert(key, cost)
        return Rules.decision(outcome, limit, cost, cost, endMillis, now)
      }
      const before = used[slot] as number
      const outcome = Rules.judge(before, limit, cost)
      if (outcome !== "allowed") return Rules.decision(outcome, limit, cost, before, endMillis, now)
      const after = Rules.count(before, cost)
      used[slot] = after
      return Rules.decision(outcome, limit, cost, after, endMillis, now)
    },
    peek(key, limit, cost, now) {
      assertKey(key)
      Rules.assertLimit(limit)
      Rules.assertCost(cost)
      if (!(now < endMillis)) advance(now)
      const slot = slots.get(key)
      const before = slot === undefined ? 0 : (used[slot] as number)
      const outcome = Rules.judge(before, limit, cost)
      return outcome === "allowed" && slot === undefined && slots.size >= maxKeys
        ? Rules.decision("full", limit, cost, Rules.maximumLimit, endMillis, now)
        : Rules.decision(outcome, limit, cost, before, endMillis, now)
    },
    refund(key, receipt, now) {
      assertKey(key)
      Rules.assertCost(receipt.cost)
      if (!(now < endMillis)) advance(now)
      const slot = slots.get(key)
      if (slot === undefined) return 0
      const before = used[slot] as number
      const refunded = Rules.refundable(before, endMillis, receipt)
      used[slot] = before - refunded
      return refunded
    },
    size(now) {
      if (!(now < endMillis)) advance(now)
      return slots.size
    }
  }
}
