/**
 * Implements the common parts of all windows over event time (docs/windows.md): the watermark, late events, closing in
 * order, idle sources, bounds. A kind of window adds how an event finds its windows. Pure: the states are plain JSON,
 * the time is an argument.
 */
import { Result, Schema } from "effect"
import { type RefusalReason, WindowRefused } from "./WindowRefused.ts"

/** A schema whose values can be written as JSON and read back. See {@link tumbling}. */
export type JsonSchema<A> = Schema.ConstraintCodec<A, unknown>

/** An event at its own time, Unix milliseconds. See {@link tumbling}. */
export interface TimedEvent<Event> {
  readonly at: number
  readonly event: Event
}

/**
 * A window with the aggregate of its events, from `start` to before `end`, Unix milliseconds. A session ends one gap
 * after its last event. See {@link tumbling}.
 */
export interface EventWindow<Aggregate> {
  readonly start: number
  readonly end: number
  readonly aggregate: Aggregate
}

/** The open windows of one key. Plain data. See {@link tumbling}. */
export interface WindowsState<Aggregate> {
  /** Unix milliseconds before which no more event is expected; null before the first event. It never goes back. */
  readonly watermark: number | null
  /** Windows with events that are not closed yet, by their start. */
  readonly open: ReadonlyArray<EventWindow<Aggregate>>
  /** The clock when the watermark was set or confirmed. */
  readonly seenAt: number
  /** Whether the clock has moved the watermark since the last event. */
  readonly isIdle: boolean
}

/** Windows that were closed, each once and in the order of their ends, and the state without them. See {@link tumbling}. */
export interface Advanced<Aggregate> {
  readonly state: WindowsState<Aggregate>
  readonly closed: ReadonlyArray<EventWindow<Aggregate>>
}

/** The result of added events. See {@link tumbling}. */
export interface Added<Event, Aggregate> extends Advanced<Aggregate> {
  /** Events behind the watermark by more than the allowed lateness. They are in no window, and changed nothing. */
  readonly late: ReadonlyArray<TimedEvent<Event>>
}

/** The bounds and the times of windows of every kind. See {@link tumbling}. */
export interface WindowsOptions<Event, Aggregate> {
  /** The schema of an aggregate. Keep its JSON small: all open windows are one state of 64 KiB. */
  readonly aggregate: JsonSchema<Aggregate>
  /** The aggregate of no events. */
  readonly initial: Aggregate
  /** Pure: must not change the aggregate that it is given. */
  readonly add: (aggregate: Aggregate, event: Event, at: number) => Aggregate
  /** How far events come out of order: the watermark is the latest event's time less this. Default 0. */
  readonly outOfOrderMillis?: number | undefined
  /** How long windows stay open behind the watermark, however that was moved. Default 0. */
  readonly latenessMillis?: number | undefined
  /** Most open windows. Default 64, at most 1,000. */
  readonly maximumOpen?: number | undefined
  /** How far an event's time may be ahead of the clock. Default an hour. */
  readonly aheadMillis?: number | undefined
  /** After so long without an event, the watermark goes on with the clock. Default never. */
  readonly idleMillis?: number | undefined
}

/** Windows of one kind: pure functions over a state, for the rules of an actor. See {@link tumbling}. */
export interface Windows<Event, Aggregate> {
  /** The schema of the state, for the `state` of an actor or a part of it. */
  readonly state: JsonSchema<WindowsState<Aggregate>>
  /** No window, and no watermark. */
  readonly initial: WindowsState<Aggregate>
  /** Adds an event at `now`, the clock's Unix milliseconds. A refusal changes nothing. */
  readonly add: (
    state: WindowsState<Aggregate>,
    event: TimedEvent<Event>,
    now: number
  ) => Result.Result<Added<Event, Aggregate>, WindowRefused>
  /** Adds events in their order. If one of them is refused, none is added; `index` of the refusal says which. */
  readonly addAll: (
    state: WindowsState<Aggregate>,
    events: ReadonlyArray<TimedEvent<Event>>,
    now: number
  ) => Result.Result<Added<Event, Aggregate>, WindowRefused>
  /** The state after `add` alone, for `evolve`; the same state if the event is late or refused. */
  readonly record: (state: WindowsState<Aggregate>, event: TimedEvent<Event>, now: number) => WindowsState<Aggregate>
  /**
   * Moves the watermark on to a time that the program knows, and closes what ends. A watermark that is not ahead
   * changes nothing; one more than `aheadMillis` ahead of the clock counts as that time.
   */
  readonly advance: (state: WindowsState<Aggregate>, watermark: number, now: number) => Advanced<Aggregate>
  /** When the clock will close the next window; undefined without `idleMillis` or without an open window. */
  readonly wakeAt: (state: WindowsState<Aggregate>) => number | undefined
  /** Moves the watermark on with the clock, if the source is idle at `now`, and closes what ends. */
  readonly wake: (state: WindowsState<Aggregate>, now: number) => Advanced<Aggregate>
}

/** A refusal as a kind of window has it. */
export interface Refusal {
  readonly reason: RefusalReason
  readonly message: string
}

/** Puts an event into its windows, in place; returns a refusal if a bound is met. The list is in the order of starts. */
export type PutEvent<Event, Aggregate> = (
  open: Array<EventWindow<Aggregate>>,
  event: TimedEvent<Event>,
  maximumOpen: number
) => Refusal | undefined

const maximumWindows = 1_000
const defaultOpen = 64
const defaultAheadMillis = 3_600_000
/** Longest of the times of a definition: a hundred years. */
const maximumMillis = 36_525 * 86_400_000
const maximumTimeMillis = 8_640_000_000_000_000

/** Throws unless a figure of a definition is a whole number in its range. */
export const assertWhole = (name: string, value: number, minimum: number, maximum: number = maximumMillis): void => {
  if (!(Number.isInteger(value) && value >= minimum && value <= maximum))
    throw new Error(`windows: ${name} must be an integer from ${minimum} to ${maximum}, got ${value}`)
}

/** The refusal of a time that is no time; undefined for a time. */
export const timeRefusal = (at: number): Refusal | undefined =>
  Number.isInteger(at) && Math.abs(at) <= maximumTimeMillis
    ? undefined
    : { reason: "event_time", message: `an event's time must be whole Unix milliseconds, got ${at}` }

/** The refusal of an event that needs another window. */
export const openRefusal = (maximumOpen: number): Refusal => ({
  reason: "open_windows",
  message: `at most ${maximumOpen} windows are open; move the watermark on to close some`
})

/**
 * The schema of a state, for windows that are defined elsewhere.
 *
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import * as Windows from "sluice/windows"
 *
 * const State = Schema.Struct({ name: Schema.String, visits: Windows.state(Schema.Int) })
 * console.log(Schema.is(State)({ name: "ann", visits: { watermark: null, open: [], seenAt: 0, isIdle: false } })) // true
 * ```
 */
export const state = <Aggregate>(aggregate: JsonSchema<Aggregate>): JsonSchema<WindowsState<Aggregate>> =>
  Schema.Struct({
    watermark: Schema.NullOr(Schema.Int),
    open: Schema.Array(Schema.Struct({ start: Schema.Int, end: Schema.Int, aggregate })),
    seenAt: Schema.Int,
    isIdle: Schema.Boolean
    // The struct's types are those of the interface, which it cannot derive for an open type of aggregates.
  }) as unknown as JsonSchema<WindowsState<Aggregate>>

const byEnd = <Aggregate>(left: EventWindow<Aggregate>, right: EventWindow<Aggregate>): number =>
  left.end - right.end || left.start - right.start

/** Takes the windows that end at or before the horizon out of the list, in the order of their ends. */
const takeEnded = <Aggregate>(
  open: Array<EventWindow<Aggregate>>,
  horizon: number,
  closed: Array<EventWindow<Aggregate>>
): void => {
  if (!open.some(({ end }) => end <= horizon)) return
  const ended = open.filter(({ end }) => end <= horizon).sort(byEnd)
  closed.push(...ended)
  open.splice(0, open.length, ...open.filter(({ end }) => end > horizon))
}

/**
 * Windows that put their events by `put`. An event at or ahead of the horizon (the watermark less the lateness) is in
 * windows that end behind it, and so are still open: it is in all of its windows or, late, in none.
 */
export const makeWindows = <Event, Aggregate>(
  options: WindowsOptions<Event, Aggregate>,
  put: PutEvent<Event, Aggregate>
): Windows<Event, Aggregate> => {
  const { idleMillis, latenessMillis = 0, maximumOpen = defaultOpen, outOfOrderMillis = 0 } = options
  const { aheadMillis = defaultAheadMillis } = options
  assertWhole("outOfOrderMillis", outOfOrderMillis, 0)
  assertWhole("latenessMillis", latenessMillis, 0)
  assertWhole("aheadMillis", aheadMillis, 0)
  assertWhole("maximumOpen", maximumOpen, 1, maximumWindows)
  if (idleMillis !== undefined) assertWhole("idleMillis", idleMillis, 1)
  type State = WindowsState<Aggregate>

  const refusalOf = (at: number, now: number): Refusal | undefined =>
    timeRefusal(at) ??
    (at - now > aheadMillis
      ? { reason: "ahead_of_clock", message: `the event is ${at - now} ms ahead of the clock, at most ${aheadMillis}` }
      : undefined)

  const addAll = (state: State, events: ReadonlyArray<TimedEvent<Event>>, now: number) => {
    const open = [...state.open]
    const closed: Array<EventWindow<Aggregate>> = []
    const late: Array<TimedEvent<Event>> = []
    let watermark = state.watermark
    for (const [index, event] of events.entries()) {
      const wrong = refusalOf(event.at, now)
      if (wrong !== undefined) return Result.fail(new WindowRefused({ ...wrong, index }))
      if (watermark !== null && event.at < watermark - latenessMillis) {
        late.push(event)
        continue
      }
      const reached = event.at - outOfOrderMillis
      if (watermark === null || reached > watermark) {
        watermark = reached
        // First, for their room: none of them is a window of this event.
        takeEnded(open, watermark - latenessMillis, closed)
      }
      const refusal = put(open, event, maximumOpen)
      if (refusal !== undefined) return Result.fail(new WindowRefused({ ...refusal, index }))
    }
    if (late.length === events.length) return Result.succeed({ state, closed, late })
    return Result.succeed({ state: { watermark, open, seenAt: now, isIdle: false }, closed, late })
  }

  const moved = (state: State, watermark: number, now: number, isIdle: boolean): Advanced<Aggregate> => {
    const open = [...state.open]
    const closed: Array<EventWindow<Aggregate>> = []
    takeEnded(open, watermark - latenessMillis, closed)
    return { state: { watermark, open, seenAt: now, isIdle }, closed }
  }

  const add = (state: State, event: TimedEvent<Event>, now: number) => addAll(state, [event], now)

  return {
    state: stateOf(options.aggregate),
    initial: { watermark: null, open: [], seenAt: 0, isIdle: false },
    add,
    addAll,
    record: (state, event, now) => {
      const added = add(state, event, now)
      return Result.isSuccess(added) ? added.success.state : state
    },
    advance: (state, asked, now) => {
      const watermark = Math.floor(Math.min(asked, now + aheadMillis))
      return Number.isFinite(watermark) && watermark > (state.watermark ?? Number.NEGATIVE_INFINITY)
        ? moved(state, watermark, now, false)
        : { state, closed: [] }
    },
    wakeAt: ({ isIdle, open, seenAt, watermark }) => {
      if (idleMillis === undefined || watermark === null || open.length === 0) return undefined
      const firstEnd = open.reduce((first, { end }) => Math.min(first, end), Number.POSITIVE_INFINITY)
      return seenAt + Math.max(isIdle ? 0 : idleMillis, firstEnd + latenessMillis - watermark)
    },
    wake: (state, now) => {
      const { isIdle, seenAt, watermark } = state
      const elapsed = now - seenAt
      const isStill = idleMillis === undefined || elapsed < (isIdle ? 1 : idleMillis)
      return isStill || watermark === null ? { state, closed: [] } : moved(state, watermark + elapsed, now, true)
    }
  }
}

const stateOf = state
