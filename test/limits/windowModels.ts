/**
 * The naive windows: lists of everything that was ever accepted, looked through anew for each question, and an earliest instant found by
 * trying. Slow, unbounded and too plain to be wrong; the rules are compared with them.
 */
import { Schema } from "effect"

interface Entry {
  readonly at: number
  readonly units: number
}

/** The first of the instants at which something ends, from `now` on, that passes. */
const firstThatPasses = (now: number, ends: ReadonlyArray<number>, passes: (at: number) => boolean): number =>
  [now, ...ends.filter((end) => end > now).sort((a, b) => a - b)].find(passes)!

export class NaiveRolling {
  readonly accepted: Array<Entry> = []

  time(now: number): number {
    return Math.max(now, ...this.accepted.map(({ at }) => at))
  }

  used(windowMillis: number, now: number): number {
    const time = this.time(now)
    return this.accepted
      .filter(({ at }) => at <= time && time < at + windowMillis)
      .reduce((sum, { units }) => sum + units, 0)
  }

  passes(windowMillis: number, limit: number, units: number, now: number): boolean {
    return this.used(windowMillis, now) + units <= limit
  }

  take(windowMillis: number, limit: number, units: number, now: number): boolean {
    const passes = this.passes(windowMillis, limit, units, now)
    if (passes) this.accepted.push({ at: this.time(now), units })
    return passes
  }

  resetsAt(windowMillis: number, limit: number, units: number, now: number): number {
    if (units > limit) return this.time(now) + windowMillis
    const ends = this.accepted.map(({ at }) => at + windowMillis)
    return firstThatPasses(now, ends, (at) => this.passes(windowMillis, limit, units, at))
  }
}

export class NaiveDistinct {
  readonly accepted: Array<{ readonly at: number; readonly value: string }> = []

  time(now: number): number {
    return Math.max(now, ...this.accepted.map(({ at }) => at))
  }

  living(windowMillis: number, now: number): ReadonlySet<string> {
    const time = this.time(now)
    return new Set(this.accepted.filter(({ at }) => time < at + windowMillis).map(({ value }) => value))
  }

  passes(windowMillis: number, limit: number, values: ReadonlyArray<string>, now: number): boolean {
    const living = this.living(windowMillis, now)
    return values.every((value) => living.has(value)) || new Set([...living, ...values]).size <= limit
  }

  take(windowMillis: number, limit: number, values: ReadonlyArray<string>, now: number): boolean {
    const passes = this.passes(windowMillis, limit, values, now)
    const at = this.time(now)
    if (passes) for (const value of values) this.accepted.push({ at, value })
    return passes
  }

  resetsAt(windowMillis: number, limit: number, values: ReadonlyArray<string>, now: number): number {
    if (new Set(values).size > limit && !this.passes(windowMillis, limit, values, now))
      return this.time(now) + windowMillis
    const ends = this.accepted.map(({ at }) => at + windowMillis)
    return firstThatPasses(now, ends, (at) => this.passes(windowMillis, limit, values, at))
  }
}

/** The month as it is written, such as 2028-02. */
const monthOf = (at: number): string => new Date(at).toISOString().slice(0, -17)

export class NaiveMonthly {
  readonly accepted: Array<Entry> = []

  time(now: number): number {
    return Math.max(now, ...this.accepted.map(({ at }) => at))
  }

  used(now: number): number {
    const month = monthOf(this.time(now))
    return this.accepted.filter(({ at }) => monthOf(at) === month).reduce((sum, { units }) => sum + units, 0)
  }

  take(limit: number | "unlimited", units: number, now: number): boolean {
    const passes = limit === "unlimited" || this.used(now) + units <= limit
    if (passes) this.accepted.push({ at: this.time(now), units })
    return passes
  }

  /** Midnight after midnight until the month is another one. */
  resetsAt(now: number): number {
    const dayMillis = 86_400_000
    const month = monthOf(this.time(now))
    let midnight = Math.floor(this.time(now) / dayMillis) * dayMillis + dayMillis
    while (monthOf(midnight) === month) midnight += dayMillis
    return midnight
  }
}

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** Where the clock goes before a step: on, back, or to within a millisecond of the end of something accepted. */
const Move = Schema.Union([
  Schema.TaggedStruct("By", { millis: Schema.Union([Schema.Literal(0), int(0, 40), int(0, 400), int(-150, 0)]) }),
  Schema.TaggedStruct("ToEdge", { which: int(0, 1_000), off: Schema.Literals([-1, 0, 1]) })
])

export const RollingHistory = Schema.Array(
  Schema.Struct({
    move: Move,
    kind: Schema.Literals(["take", "take", "peek"]),
    units: int(1, 7),
    limit: Schema.Literals([0, 1, 5, 12])
  })
).check(Schema.isMinLength(20), Schema.isMaxLength(60))

export const DistinctHistory = Schema.Array(
  Schema.Struct({
    move: Move,
    kind: Schema.Literals(["take", "take", "peek"]),
    values: Schema.NonEmptyArray(Schema.Literals(["a", "b", "c", "d", "e", "f", "g"])).check(Schema.isMaxLength(6)),
    limit: Schema.Literals([0, 1, 3, 5])
  })
).check(Schema.isMinLength(20), Schema.isMaxLength(60))

/** Instants around the ends of months, of leap years and of years that only look like leap years. */
export const MonthlyHistory = Schema.Array(
  Schema.Struct({
    year: Schema.Literals([1969, 1970, 2026, 2027, 2028, 2100]),
    month: int(0, 11),
    days: Schema.Union([Schema.Literal(0), int(-3, 3)]),
    millis: Schema.Literals([-1, 0, 1, 43_200_000]),
    kind: Schema.Literals(["take", "take", "peek"]),
    units: int(1, 7),
    limit: Schema.Literals([0, 5, 12, "unlimited"])
  })
).check(Schema.isMinLength(12), Schema.isMaxLength(40))

/** The clock's next reading; `ends` are the instants at which something accepted leaves the window. */
export const moved = (move: typeof Move.Type, now: number, ends: ReadonlyArray<number>): number => {
  if (move._tag === "By") return now + move.millis
  return ends.length === 0 ? now : ends[move.which % ends.length]! + move.off
}
