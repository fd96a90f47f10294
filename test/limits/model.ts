/**
 * The naive request rate: a list of every request that was ever let through, summed up anew for each question. Slow and unbounded,
 * and too plain to be wrong; the implementations are compared with it.
 */
import { Schema } from "effect"
import type { Limit } from "../../src/limits/index.ts"

interface Entry {
  readonly key: string
  readonly window: number
  readonly cost: number
}

export class NaiveLimiter {
  readonly accepted: Array<Entry> = []
  readonly windowMillis: number
  latestWindow = Number.NEGATIVE_INFINITY

  constructor(windowMillis: number) {
    this.windowMillis = windowMillis
  }

  /** The window of `now`, or the latest one ever seen if the clock was set back. */
  window(now: number): number {
    this.latestWindow = Math.max(this.latestWindow, Math.floor(now / this.windowMillis))
    return this.latestWindow
  }

  used(key: string, now: number): number {
    const window = this.window(now)
    return this.accepted.reduce(
      (sum, entry) => (entry.key === key && entry.window === window ? sum + entry.cost : sum),
      0
    )
  }

  take(key: string, limit: Limit, cost: number, now: number): boolean {
    const passes = limit === "unlimited" || this.used(key, now) + cost <= limit
    if (passes) this.accepted.push({ key, window: this.window(now), cost })
    return passes
  }

  /** Takes back the accepted request number `index`, if its window is still the current one. */
  refund(index: number, now: number): number {
    const entry = this.accepted[index]!
    if (entry.window !== this.window(now)) return 0
    this.accepted[index] = { ...entry, cost: 0 }
    return entry.cost
  }
}

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** How far the clock moves before a step: often not at all, often a little, sometimes over windows, sometimes back. */
const Elapsed = Schema.Union([Schema.Literal(0), int(0, 2_000), int(0, 200_000), int(-90_000, 0)])
const Key = Schema.Literals(["a", "b", "c"])
const SomeLimit = Schema.Union([Schema.Literals([0, 1, 5, 20, "unlimited"])])

/** One step of a generated history. `which` picks among the requests accepted so far. */
export const Step = Schema.Union([
  Schema.TaggedStruct("Take", { elapsed: Elapsed, key: Key, limit: SomeLimit, cost: int(1, 7) }),
  Schema.TaggedStruct("Peek", { elapsed: Elapsed, key: Key, limit: SomeLimit, cost: int(1, 7) }),
  Schema.TaggedStruct("Refund", { elapsed: Elapsed, which: int(0, 1_000) })
])
export type Step = typeof Step.Type

export const History = Schema.Array(Step).check(Schema.isMaxLength(80))
