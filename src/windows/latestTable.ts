/**
 * Keeps the latest value of each key by event time, for events to be joined with (docs/windows.md, "A table beside a
 * stream"). Pure: the state is plain JSON.
 */
import { Result, Schema } from "effect"
import { assertWhole, type JsonSchema, type Refusal, timeRefusal } from "./eventWindows.ts"
import { WindowRefused } from "./WindowRefused.ts"

/** Longest key of a table, in UTF-16 code units. See {@link latestTable}. */
export const maximumTableKeyLength = 256

/** A key with its latest change: a value, or none if it was removed. See {@link latestTable}. */
export interface TableEntry<Value> {
  readonly key: string
  /** Unix milliseconds of the change. */
  readonly at: number
  readonly value?: Value
}

/** The keys of a table in their order. Plain data. See {@link latestTable}. */
export interface TableState<Value> {
  readonly entries: ReadonlyArray<TableEntry<Value>>
}

/** A value and the time since which it is the value of its key. See {@link latestTable}. */
export interface TableValue<Value> {
  readonly at: number
  readonly value: Value
}

/** The result of a change. See {@link latestTable}. */
export interface TableChange<Value> {
  readonly state: TableState<Value>
  /** False if a later change of this key was there already; then nothing changed. */
  readonly isLatest: boolean
}

/** An event with the value of its key. See {@link latestTable}. */
export interface Joined<Event, Value> {
  readonly key: string
  readonly at: number
  readonly event: Event
  /** Undefined if the key has no value. Its time may be later than the event's. */
  readonly match: TableValue<Value> | undefined
}

/** The schema of the values, and how many keys there may be. See {@link latestTable}. */
export interface LatestTableOptions<Value> {
  readonly value: JsonSchema<Value>
  /** Most keys, removed ones included. Default 256, at most 4,096. The whole table is one state of 64 KiB. */
  readonly maximumKeys?: number | undefined
}

/** A table: pure functions over a state, for the rules of an actor. See {@link latestTable}. */
export interface LatestTable<Value> {
  /** The schema of the state, for the `state` of an actor or a part of it. */
  readonly state: JsonSchema<TableState<Value>>
  readonly initial: TableState<Value>
  /** Sets a value that counts from `at` on. Of two changes at one time the one that comes later stays. */
  readonly put: (
    state: TableState<Value>,
    change: { readonly key: string; readonly at: number; readonly value: Value }
  ) => Result.Result<TableChange<Value>, WindowRefused>
  /** Removes the value. The key is kept, so that an earlier change that comes later does not bring a value back. */
  readonly remove: (
    state: TableState<Value>,
    change: { readonly key: string; readonly at: number }
  ) => Result.Result<TableChange<Value>, WindowRefused>
  /** Drops keys that were removed before a time, when no earlier change of them can come any more. */
  readonly forget: (state: TableState<Value>, before: number) => TableState<Value>
  /** The value of a key. */
  readonly get: (state: TableState<Value>, key: string) => TableValue<Value> | undefined
  /** The event beside the value of its key as the table is now. Each event has one result. */
  readonly join: <Event>(
    state: TableState<Value>,
    event: { readonly key: string; readonly at: number; readonly event: Event }
  ) => Joined<Event, Value>
}

/** The place of a key, or the one where it belongs. */
const placeOf = <Value>(entries: ReadonlyArray<TableEntry<Value>>, key: string): number => {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((entries[middle] as TableEntry<Value>).key < key) low = middle + 1
    else high = middle
  }
  return low
}

const keyRefusal = (key: string): Refusal | undefined =>
  key.length >= 1 && key.length <= maximumTableKeyLength
    ? undefined
    : { reason: "key", message: `a key must have 1 to ${maximumTableKeyLength} characters, got ${key.length}` }

/**
 * A table of the latest value of each key, by event time (docs/windows.md, "A table beside a stream"). Throws when the
 * definition cannot work.
 *
 * @example
 * ```ts
 * import { Result, Schema } from "effect"
 * import * as Windows from "sluice/windows"
 *
 * const prices = Windows.latestTable({ value: Schema.Int })
 * const first = Result.getOrThrow(prices.put(prices.initial, { key: "tea", at: 2_000, value: 300 }))
 * const older = Result.getOrThrow(prices.put(first.state, { key: "tea", at: 1_000, value: 250 }))
 * const { match } = prices.join(older.state, { key: "tea", at: 3_000, event: { cups: 2 } })
 * console.log(older.isLatest, match) // false { at: 2000, value: 300 }
 * ```
 */
export const latestTable = <Value>({ maximumKeys = 256, value }: LatestTableOptions<Value>): LatestTable<Value> => {
  assertWhole("maximumKeys", maximumKeys, 1, 4_096)
  type State = TableState<Value>

  const change = (state: State, entry: TableEntry<Value>): Result.Result<TableChange<Value>, WindowRefused> => {
    const wrong = timeRefusal(entry.at) ?? keyRefusal(entry.key)
    if (wrong !== undefined) return Result.fail(new WindowRefused({ ...wrong, index: 0 }))
    const place = placeOf(state.entries, entry.key)
    const known = state.entries[place]
    const isKnown = known?.key === entry.key
    if (isKnown && known.at > entry.at) return Result.succeed({ state, isLatest: false })
    if (!isKnown && state.entries.length >= maximumKeys) {
      const message = `the table has its ${maximumKeys} keys`
      return Result.fail(new WindowRefused({ reason: "keys", index: 0, message }))
    }
    const entries = [...state.entries]
    entries.splice(place, isKnown ? 1 : 0, entry)
    return Result.succeed({ state: { entries }, isLatest: true })
  }

  const get = ({ entries }: State, key: string): TableValue<Value> | undefined => {
    const known = entries[placeOf(entries, key)]
    // The key of a removed entry is there without a value, which itself may be undefined or null.
    return known?.key === key && "value" in known ? { at: known.at, value: known.value as Value } : undefined
  }

  return {
    state: Schema.Struct({
      entries: Schema.Array(Schema.Struct({ key: Schema.String, at: Schema.Int, value: Schema.optionalKey(value) }))
      // The struct's types are those of the interface, which it cannot derive for an open type of values.
    }) as unknown as JsonSchema<State>,
    initial: { entries: [] },
    put: (state, { at, key, value: put }) => change(state, { key, at, value: put }),
    remove: (state, { at, key }) => change(state, { key, at }),
    forget: (state, before) => {
      const entries = state.entries.filter((entry) => "value" in entry || entry.at >= before)
      return entries.length === state.entries.length ? state : { entries }
    },
    get,
    join: (state, { at, event, key }) => ({ key, at, event, match: get(state, key) })
  }
}
