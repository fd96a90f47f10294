/**
 * The naive token bucket: a list of everything that was ever accepted, poured out anew for each question, in exact fractions of a token. Slow,
 * unbounded and too plain to be wrong; the rule is compared with it.
 */
import { Schema } from "effect"
import type { BucketCap } from "../../src/limits/index.ts"

/** A fraction: numerator and a positive denominator. */
type Fraction = readonly [top: bigint, bottom: bigint]

const whole = (value: number): Fraction => [BigInt(value), 1n]
const divisorOf = (a: bigint, b: bigint): bigint => (b === 0n ? a : divisorOf(b, a % b))
const plus = ([a, b]: Fraction, [c, d]: Fraction): Fraction => {
  const [top, bottom] = [a * d + c * b, b * d]
  const common = divisorOf(bottom, top < 0n ? -top : top)
  return [top / common, bottom / common]
}
const minus = (left: Fraction, [c, d]: Fraction): Fraction => plus(left, [-c, d])
const isAtLeast = ([a, b]: Fraction, [c, d]: Fraction): boolean => a * d >= c * b
const orZero = (value: Fraction): Fraction => (value[0] < 0n ? whole(0) : value)
const down = ([a, b]: Fraction): number => Number(a >= 0n ? a / b : -((-a + b - 1n) / b))

export class NaiveBucket {
  readonly accepted: Array<{ readonly at: number; readonly cost: number; readonly cap: BucketCap }> = []

  /** Tokens that are missing at `now`: what was taken, less what has arrived since. */
  private missing(cap: BucketCap, now: number): Fraction {
    let missing: Fraction = whole(0)
    let latest = Number.NEGATIVE_INFINITY
    const arrive = (by: BucketCap, at: number): void => {
      if (latest !== Number.NEGATIVE_INFINITY)
        missing = orZero(minus(missing, [BigInt(by.tokens) * BigInt(at - latest), BigInt(by.everyMillis)]))
      latest = at
    }
    for (const entry of this.accepted) {
      arrive(entry.cap, Math.max(entry.at, latest))
      missing = plus(missing, whole(entry.cost))
    }
    arrive(cap, Math.max(now, latest))
    return missing
  }

  remaining(cap: BucketCap, now: number): number {
    return Math.max(0, down(minus(whole(cap.burst), this.missing(cap, now))))
  }

  passes(cap: BucketCap, cost: number, now: number): boolean {
    return isAtLeast(minus(whole(cap.burst), this.missing(cap, now)), whole(cost))
  }

  isFull(cap: BucketCap, now: number): boolean {
    return this.missing(cap, now)[0] === 0n
  }

  take(cap: BucketCap, cost: number, now: number): boolean {
    const passes = this.passes(cap, cost, now)
    if (passes) this.accepted.push({ at: now, cost, cap })
    return passes
  }
}

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** Caps whose tokens come after broken milliseconds, many a millisecond, after weeks; and one that lets nothing pass. */
export const caps: ReadonlyArray<BucketCap> = [
  { burst: 5, tokens: 3, everyMillis: 7 },
  { burst: 12, tokens: 7, everyMillis: 1_000 },
  { burst: 1, tokens: 1, everyMillis: 60_000 },
  { burst: 10_000_000, tokens: 9_999_991, everyMillis: 1 },
  { burst: 10_000_000, tokens: 1, everyMillis: 604_800_000 },
  { burst: 0, tokens: 1, everyMillis: 1 }
]

/** One cap for the most part, and others in between: a plan that changes. */
export const BucketHistory = Schema.Struct({
  cap: int(0, caps.length - 1),
  steps: Schema.Array(
    Schema.Struct({
      move: Schema.Union([
        Schema.TaggedStruct("By", {
          millis: Schema.Union([int(0, 3), int(0, 900), int(-40, 0), Schema.Literal(8_000_000_000)])
        }),
        Schema.TaggedStruct("ToEdge", { off: Schema.Literals([-1, 0, 1]) })
      ]),
      kind: Schema.Literals(["take", "take", "peek"]),
      otherCap: Schema.Union([Schema.Null, Schema.Null, Schema.Null, int(0, caps.length - 1)]),
      cost: Schema.Union([int(1, 7), int(1, 7), Schema.Literals([9_999_999, 10_000_000, 10_000_001])])
    })
  ).check(Schema.isMinLength(10), Schema.isMaxLength(40))
})
