/** Makes sessions over event time: events of a key without a longer gap between them (docs/windows.md, "Sessions"). Pure. */
import {
  assertWhole,
  makeWindows,
  openRefusal,
  type PutEvent,
  type Windows,
  type WindowsOptions
} from "./eventWindows.ts"

/** Sessions. See {@link session}. */
export interface SessionOptions<Event, Aggregate> extends WindowsOptions<Event, Aggregate> {
  /** A session ends so long after its last event. */
  readonly gapMillis: number
  /** Longest time from the first to the last event of a session. Default a day. */
  readonly spanMillis?: number | undefined
  /** Joins two sessions that an event between them has made one. Pure. */
  readonly merge: (earlier: Aggregate, later: Aggregate) => Aggregate
}

const daySpan = 86_400_000

/**
 * Sessions: an event within the gap of others is in their session, and one between two sessions joins them
 * (docs/windows.md, "Sessions"). Throws when the definition cannot work.
 *
 * @example
 * ```ts
 * import { Result, Schema } from "effect"
 * import * as Windows from "sluice/windows"
 *
 * const visits = Windows.session({
 *   gapMillis: 1_800_000,
 *   outOfOrderMillis: 3_600_000,
 *   aggregate: Schema.Int,
 *   initial: 0,
 *   add: (pages, _page: string) => pages + 1,
 *   merge: (earlier, later) => earlier + later
 * })
 * const events = [{ at: 0, event: "/a" }, { at: 3_000_000, event: "/b" }, { at: 1_500_000, event: "/c" }]
 * const { state } = Result.getOrThrow(visits.addAll(visits.initial, events, 3_000_000))
 * console.log(state.open) // [ { start: 0, end: 4800000, aggregate: 3 } ]
 * ```
 */
export const session = <Event, Aggregate>(options: SessionOptions<Event, Aggregate>): Windows<Event, Aggregate> => {
  const { add, gapMillis, initial, merge, spanMillis = daySpan } = options
  assertWhole("gapMillis", gapMillis, 1)
  assertWhole("spanMillis", spanMillis, 0)
  const put: PutEvent<Event, Aggregate> = (open, { at, event }, most) => {
    // Sessions are apart from each other, so those that the event reaches are neighbours.
    let until = open.length
    while (until > 0 && (open[until - 1]?.start ?? 0) >= at + gapMillis) until--
    let from = until
    while (from > 0 && (open[from - 1]?.end ?? 0) > at) from--
    const reached = open.slice(from, until)
    const [first, ...others] = reached
    if (first === undefined) {
      if (open.length >= most) return openRefusal(most)
      open.splice(from, 0, { start: at, end: at + gapMillis, aggregate: add(initial, event, at) })
      return undefined
    }
    const start = Math.min(at, first.start)
    const end = reached.reduce((latest, one) => Math.max(latest, one.end), at + gapMillis)
    const span = end - gapMillis - start
    if (span > spanMillis)
      return { reason: "session_span", message: `the session would last ${span} ms, at most ${spanMillis}` }
    const merged = others.reduce((aggregate, one) => merge(aggregate, one.aggregate), first.aggregate)
    open.splice(from, reached.length, { start, end, aggregate: add(merged, event, at) })
    return undefined
  }
  return makeWindows(options, put)
}
