/**
 * Makes windows of a fixed length over event time (docs/windows.md, "Tumbling and hopping windows"): one after the
 * other, or overlapping. Pure.
 */
import {
  assertWhole,
  makeWindows,
  openRefusal,
  type PutEvent,
  type Windows,
  type WindowsOptions
} from "./eventWindows.ts"

/** Windows one after the other. See {@link tumbling}. */
export interface TumblingOptions<Event, Aggregate> extends WindowsOptions<Event, Aggregate> {
  /** Length of a window. */
  readonly sizeMillis: number
  /** Where windows begin, in milliseconds after multiples of the size since 1970-01-01T00:00Z. Default 0. */
  readonly offsetMillis?: number | undefined
}

/** Windows that overlap. See {@link hopping}. */
export interface HoppingOptions<Event, Aggregate> extends TumblingOptions<Event, Aggregate> {
  /** From the start of a window to that of the next one, at most the size. */
  readonly stepMillis: number
}

/**
 * Windows of one length, one after the other: each event is in one of them (docs/windows.md, "Tumbling and hopping
 * windows"). Throws when the definition cannot work.
 *
 * @example
 * ```ts
 * import { Result, Schema } from "effect"
 * import * as Windows from "sluice/windows"
 *
 * const perMinute = Windows.tumbling({
 *   sizeMillis: 60_000,
 *   aggregate: Schema.Int,
 *   initial: 0,
 *   add: (sum, cents: number) => sum + cents
 * })
 * const events = [{ at: 5_000, event: 300 }, { at: 59_000, event: 200 }, { at: 61_000, event: 7 }, { at: 100, event: 1 }]
 * const { closed, late } = Result.getOrThrow(perMinute.addAll(perMinute.initial, events, 61_000))
 * console.log(closed, late.length) // [ { start: 0, end: 60000, aggregate: 500 } ] 1
 * ```
 */
export const tumbling = <Event, Aggregate>(options: TumblingOptions<Event, Aggregate>): Windows<Event, Aggregate> =>
  hopping({ ...options, stepMillis: options.sizeMillis })

/**
 * Windows of one length that begin every `stepMillis`: each event is in as many of them as overlap there
 * (docs/windows.md, "Tumbling and hopping windows"). Throws when the definition cannot work.
 *
 * @example
 * ```ts
 * import { Result, Schema } from "effect"
 * import * as Windows from "sluice/windows"
 *
 * const lastMinute = Windows.hopping({
 *   sizeMillis: 60_000,
 *   stepMillis: 30_000,
 *   aggregate: Schema.Int,
 *   initial: 0,
 *   add: (count, _event: null) => count + 1
 * })
 * const { state } = Result.getOrThrow(lastMinute.add(lastMinute.initial, { at: 40_000, event: null }, 40_000))
 * console.log(state.open.map(({ start }) => start)) // [ 0, 30000 ]
 * ```
 */
export const hopping = <Event, Aggregate>(options: HoppingOptions<Event, Aggregate>): Windows<Event, Aggregate> => {
  const { add, initial, maximumOpen, offsetMillis = 0, sizeMillis, stepMillis } = options
  assertWhole("sizeMillis", sizeMillis, 1)
  assertWhole("stepMillis", stepMillis, 1, sizeMillis)
  assertWhole("offsetMillis", offsetMillis, 0, sizeMillis - 1)
  const put: PutEvent<Event, Aggregate> = (open, { at, event }, most) => {
    const last = Math.floor((at - offsetMillis) / stepMillis) * stepMillis + offsetMillis
    const first = last - Math.floor((last + sizeMillis - 1 - at) / stepMillis) * stepMillis
    let index = open.length
    while (index > 0 && (open[index - 1]?.start ?? 0) >= first) index--
    for (let start = first; start <= last; start += stepMillis) {
      const end = start + sizeMillis
      // Windows of an earlier definition may be among them.
      while (index < open.length && isBefore(open[index], start, end)) index++
      const known = open[index]
      if (known?.start === start && known.end === end) {
        open[index] = { start, end, aggregate: add(known.aggregate, event, at) }
      } else {
        if (open.length >= most) return openRefusal(most)
        open.splice(index, 0, { start, end, aggregate: add(initial, event, at) })
      }
      index++
    }
    return undefined
  }
  const made = makeWindows(options, put)
  if (Math.ceil(sizeMillis / stepMillis) > (maximumOpen ?? 64))
    throw new Error(`windows: ${Math.ceil(sizeMillis / stepMillis)} windows overlap, more than may be open`)
  return made
}

const isBefore = (window: { readonly start: number; readonly end: number } | undefined, start: number, end: number) =>
  window !== undefined && (window.start < start || (window.start === start && window.end < end))
