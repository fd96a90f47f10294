/**
 * The naive windows over event time: a list of every accepted event, cut into windows anew for each question. Slow, unbounded and too plain to be
 * wrong; the windows are compared with it.
 */
import { Schema } from "effect"

interface Entry {
  readonly at: number
  readonly id: number
}

/** A window with the ids of its events in their order. */
export interface NaiveWindow {
  readonly start: number
  readonly end: number
  readonly ids: ReadonlyArray<number>
}

/** Cuts all events into windows. */
export type Cut = (entries: ReadonlyArray<Entry>) => ReadonlyArray<NaiveWindow>

const idsOf = (entries: ReadonlyArray<Entry>) => entries.map(({ id }) => id).sort((left, right) => left - right)

/** Every window of the lattice that has an event. */
export const hops =
  (size: number, step: number, offset = 0): Cut =>
  (entries) => {
    const windows: Array<NaiveWindow> = []
    const times = entries.map(({ at }) => at)
    const from = Math.floor((Math.min(...times) - size - offset) / step) * step + offset
    for (let start = from; start <= Math.max(...times); start += step) {
      const inside = entries.filter(({ at }) => start <= at && at < start + size)
      if (inside.length > 0) windows.push({ start, end: start + size, ids: idsOf(inside) })
    }
    return windows
  }

/** Events in their order, cut where nothing happens for a gap. */
export const visits =
  (gap: number): Cut =>
  (entries) => {
    const windows: Array<Array<Entry>> = []
    for (const entry of [...entries].sort((left, right) => left.at - right.at)) {
      const latest = windows.at(-1)
      if (latest === undefined || entry.at - latest.at(-1)!.at >= gap) windows.push([entry])
      else latest.push(entry)
    }
    return windows.map((inside) => ({ start: inside[0]!.at, end: inside.at(-1)!.at + gap, ids: idsOf(inside) }))
  }

export interface NaiveTimes {
  readonly outOfOrderMillis: number
  readonly latenessMillis: number
  readonly aheadMillis: number
  readonly idleMillis: number
  readonly maximumOpen: number
  /** Longest time from the first to the last event of a window. */
  readonly spanMillis: number
}

export class NaiveWindows {
  readonly accepted: Array<Entry> = []
  private readonly cut: Cut
  private readonly times: NaiveTimes
  /** The watermark at the last sign of the source, and the clock then. */
  private sign: { readonly watermark: number; readonly at: number } | undefined
  /** The clock while it moves the watermark. */
  private idleUntil = Number.NEGATIVE_INFINITY

  constructor(cut: Cut, times: NaiveTimes) {
    this.cut = cut
    this.times = times
  }

  get watermark(): number {
    if (this.sign === undefined) return Number.NEGATIVE_INFINITY
    return this.sign.watermark + Math.max(0, this.idleUntil - this.sign.at)
  }

  horizon(watermark = this.watermark): number {
    return watermark - this.times.latenessMillis
  }

  windows(): { readonly closed: ReadonlyArray<NaiveWindow>; readonly open: ReadonlyArray<NaiveWindow> } {
    const all = this.accepted.length === 0 ? [] : this.cut(this.accepted)
    const horizon = this.horizon()
    return { closed: all.filter(({ end }) => end <= horizon), open: all.filter(({ end }) => end > horizon) }
  }

  /** What comes of an event. */
  add(at: number, id: number, now: number): "added" | "late" | string {
    if (at > now + this.times.aheadMillis) return "ahead_of_clock"
    if (at < this.horizon()) return "late"
    const watermark = Math.max(this.watermark, at - this.times.outOfOrderMillis)
    const open = this.cut([...this.accepted, { at, id }]).filter(({ end }) => end > this.horizon(watermark))
    const own = open.filter(({ ids }) => ids.includes(id))
    const timesOf = (ids: ReadonlyArray<number>) => [...this.accepted, { at, id }].filter((one) => ids.includes(one.id))
    for (const { ids } of own) {
      const inside = timesOf(ids).map((one) => one.at)
      if (Math.max(...inside) - Math.min(...inside) > this.times.spanMillis) return "session_span"
    }
    if (open.length > this.times.maximumOpen) return "open_windows"
    this.accepted.push({ at, id })
    this.sign = { watermark, at: now }
    this.idleUntil = now
    return "added"
  }

  advance(watermark: number, now: number): void {
    const asked = Math.min(watermark, now + this.times.aheadMillis)
    if (asked <= this.watermark) return
    this.sign = { watermark: asked, at: now }
    this.idleUntil = now
  }

  wake(now: number): void {
    if (this.sign !== undefined && now - this.sign.at >= this.times.idleMillis)
      this.idleUntil = Math.max(this.idleUntil, now)
  }
}

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** Steps of a source whose events come out of order, sometimes late, sometimes from the future, and which rests at times. */
export const WindowHistory = Schema.Array(
  Schema.Union([
    Schema.TaggedStruct("Add", {
      elapsed: Schema.Union([int(0, 10), int(0, 60), int(0, 400)]),
      behind: Schema.Union([int(-5, 30), int(-5, 30), int(-60, 250)])
    }),
    Schema.TaggedStruct("Add", { elapsed: int(0, 8), behind: int(0, 40) }),
    Schema.TaggedStruct("Advance", { elapsed: int(0, 40), behind: int(-80, 120) }),
    Schema.TaggedStruct("Wake", { elapsed: Schema.Union([Schema.Literals(["before", "at"]), int(0, 200)]) })
  ])
).check(Schema.isMinLength(10), Schema.isMaxLength(60))
