/** Actors that are built on windows and tables, as docs/windows.md has them: specified, and played by the simulator. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Effect, Result, Schema } from "effect"
import * as Actor from "../../src/engine/Actor.ts"
import { given, simulate } from "../../src/simulation/index.ts"
import * as Windows from "../../src/windows/index.ts"
import { often } from "../support/often.ts"

/** Counts and bounds of the sizes of events, so that a window that was lost, repeated or torn shows. */
const Load = Schema.Struct({ events: Schema.Int, units: Schema.Int })
const options = {
  aggregate: Load,
  initial: { events: 0, units: 0 },
  add: ({ events, units }: typeof Load.Type, size: number) => ({ events: events + 1, units: units + size }),
  outOfOrderMillis: 5_000,
  latenessMillis: 2_000,
  maximumOpen: 8,
  idleMillis: 60_000
}

const ClosedWindow = Schema.Struct({ start: Schema.Int, end: Schema.Int, aggregate: Load })
const TotalsState = Schema.Struct({ windows: Schema.Int, ...Load.fields, lastEnd: Schema.NullOr(Schema.Int) })

/** Everything that was closed, as another actor of the organization gets it in the same decision. */
const Totals = Actor.make<null, typeof ClosedWindow.Type, typeof TotalsState.Type>({
  kind: "totals",
  command: Schema.Null,
  fact: ClosedWindow,
  state: TotalsState,
  initial: () => ({ windows: 0, events: 0, units: 0, lastEnd: null }),
  decide: () => Actor.decided({}),
  evolve: ({ events, units, windows }, { aggregate, end }) => ({
    windows: windows + 1,
    events: events + aggregate.events,
    units: units + aggregate.units,
    lastEnd: end
  })
})

const Command = Schema.Struct({ at: Schema.Int, size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })) })
const Fact = Schema.Union([
  Schema.TaggedStruct("Arrived", { at: Schema.Int, size: Schema.Int, now: Schema.Int }),
  Schema.TaggedStruct("Rested", { now: Schema.Int })
])
type Rejection = Windows.WindowRefused | "late"

/** An actor that keeps its windows in its state, and gives the closed ones away. */
const meterOf = (windows: Windows.Windows<number, typeof Load.Type>) => {
  const State = Schema.Struct({ windows: windows.state, ...Load.fields })
  return Actor.make<typeof Command.Type, typeof Fact.Type, typeof State.Type, number, Rejection>({
    kind: "meter",
    command: Command,
    fact: Fact,
    state: State,
    rejection: Schema.Union([Windows.WindowRefused, Schema.Literal("late")]),
    initial: () => ({ windows: windows.initial, events: 0, units: 0 }),
    touches: () => [Totals.at()],
    decide: (state, { at, size }, { now }) =>
      Result.match(windows.add(state.windows, { at, event: size }, now), {
        onFailure: Actor.rejected,
        onSuccess: ({ closed, late }) =>
          late.length > 0
            ? Actor.rejected("late")
            : Actor.decided({
                facts: [{ _tag: "Arrived", at, size, now }],
                others: [Totals.facts("", closed)],
                reply: closed.length
              })
      }),
    evolve: (state, fact) =>
      fact._tag === "Arrived"
        ? {
            windows: windows.record(state.windows, { at: fact.at, event: fact.size }, fact.now),
            events: state.events + 1,
            units: state.units + fact.size
          }
        : { ...state, windows: windows.wake(state.windows, fact.now).state },
    wakeAt: (state) => windows.wakeAt(state.windows),
    wakeTouches: () => [Totals.at()],
    wake: (state, { now }) =>
      Actor.decided({
        facts: [{ _tag: "Rested", now }],
        others: [Totals.facts("", windows.wake(state.windows, now).closed)]
      })
  })
}

const perMinute = Windows.tumbling({ ...options, sizeMillis: 60_000 })
const start = 1_767_225_600_000

describe("an actor with windows", () => {
  const Meter = meterOf(perMinute)
  const arrived = { _tag: "Arrived" as const, at: start + 1_000, size: 3, now: start + 1_500 }

  it("is specified as any other: a window is closed by a later event, or by the clock", () => {
    const closed = { start, end: start + 60_000, aggregate: { events: 1, units: 3 } }
    const later = { at: start + 67_000, size: 1 }
    given(Meter, [arrived], { now: start + 67_000 })
      .when(later)
      .then({
        facts: [{ _tag: "Arrived", ...later, now: start + 67_000 }],
        others: [{ kind: "totals", key: "", facts: [closed] }],
        reply: 1
      })
    // The watermark is 5 s behind the event, and the window 2 s longer open.
    given(Meter, [arrived])
      .whenWoken()
      .then({
        facts: [{ _tag: "Rested", now: start + 67_500 }],
        others: [{ kind: "totals", key: "", facts: [closed] }]
      })
    given(Meter, [arrived, { _tag: "Rested" as const, now: start + 67_500 }], { now: start + 67_500 })
      .when({ at: start + 59_000, size: 1 })
      .then({ rejection: "late" })
    given(Meter, [arrived], { now: start })
      .when({ at: start + 3_600_001, size: 1 })
      .then({
        rejection: new Windows.WindowRefused({
          reason: "ahead_of_clock",
          index: 0,
          message: "the event is 3600001 ms ahead of the clock, at most 3600000"
        })
      })
  })

  // Times around the scenarios' clock, which begins there; most events come a little late or out of order.
  const At = Schema.Union([
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30_000 })),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400_000 })),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20_000_000 }))
  ])
  const commands = Arbitrary.map(
    Arbitrary.schema(Schema.Struct({ at: At, size: Command.fields.size })),
    ({ at, size }) => ({ at: start + at, size })
  )

  it.effect.each([
    ["tumbling", perMinute, 1],
    ["hopping", Windows.hopping({ ...options, sizeMillis: 90_000, stepMillis: 45_000, offsetMillis: 500 }), 2],
    [
      "session",
      Windows.session({
        ...options,
        gapMillis: 20_000,
        spanMillis: 120_000,
        merge: (earlier, later) => ({ events: earlier.events + later.events, units: earlier.units + later.units })
      }),
      1
    ]
  ] as const)(
    "is proved with %s windows: every event is in its closed or open windows, whatever fails",
    ([, windows, each]) =>
      Effect.map(
        simulate(meterOf(windows), {
          commands,
          others: [Totals],
          after: [60_000, 67_000, 127_000],
          invariants: {
            "no open window has ended": ({ windows: { open, watermark } }) =>
              open.every(({ end }) => end > (watermark ?? Number.NEGATIVE_INFINITY) - options.latenessMillis)
          },
          together: {
            "every accepted event is in each of its windows once": (states) => {
              const [meter, totals] = [states.get(meterOf(windows)), states.get(Totals)]
              const open = (meter?.windows.open ?? []).map(({ aggregate }) => aggregate)
              return (["events", "units"] as const).every(
                (field) =>
                  each * (meter?.[field] ?? 0) === open.reduce((sum, one) => sum + one[field], totals?.[field] ?? 0)
              )
            },
            "windows are closed in their order": (states) =>
              (states.get(meterOf(windows))?.windows.open ?? []).every(
                ({ end }) => end > (states.get(Totals)?.lastEnd ?? Number.NEGATIVE_INFINITY)
              )
          },
          seeds: often(24),
          steps: 60,
          floods: false
        }),
        ({ reach }) => {
          expect(reach.warnings).toEqual([])
          expect(reach.wakes.meter).toBeGreaterThan(0)
          expect(reach.commands[0]!.rejected).toBeGreaterThan(0)
        }
      )
  )
})

describe("a decision over a stream and a table of another actor", () => {
  const prices = Windows.latestTable({ value: Schema.Int, maximumKeys: 2 })
  const Change = Schema.Struct({ item: Schema.String, at: Schema.Int, cents: Schema.Int })
  const Prices = Actor.make<
    typeof Change.Type,
    typeof Change.Type,
    Windows.TableState<number>,
    boolean,
    Windows.WindowRefused
  >({
    kind: "prices",
    command: Change,
    fact: Change,
    state: prices.state,
    rejection: Windows.WindowRefused,
    initial: () => prices.initial,
    decide: (state, change) =>
      Result.match(prices.put(state, { ...change, key: change.item, value: change.cents }), {
        onFailure: Actor.rejected,
        onSuccess: ({ isLatest }) => Actor.decided({ facts: isLatest ? [change] : [], reply: isLatest })
      }),
    evolve: (state, { at, cents, item }) =>
      Result.getOrElse(prices.put(state, { key: item, at, value: cents }), () => ({ state })).state
  })
  const Order = Schema.Struct({ item: Schema.String, at: Schema.Int, pieces: Schema.Int })
  const Orders = Actor.makeStateless<typeof Order.Type, typeof Order.Type, number, string>({
    kind: "orders",
    command: Order,
    fact: Order,
    touches: () => [Prices.at()],
    decide: (order, { read }) => {
      const { match } = prices.join(read(Prices), { key: order.item, at: order.at, event: order })
      return match === undefined
        ? Actor.rejected("it has no price")
        : Actor.decided({ facts: [order], reply: match.value * order.pieces })
    }
  })
  const tea = { item: "tea", at: 2_000, cents: 300 }

  it("joins an order with the latest price, and refuses one item too many", () => {
    const others = [{ actor: Prices, facts: [tea] }]
    const order = { item: "tea", at: 3_000, pieces: 2 }
    given(Orders, [], { others })
      .when(order)
      .then({ facts: [order], reply: 600 })
    given(Orders, [], { others })
      .when({ ...order, item: "ink" })
      .then({ rejection: "it has no price" })
    given(Prices, [tea])
      .when({ ...tea, at: 1_000, cents: 250 })
      .then({ facts: [], reply: false })
    given(Prices, [tea, { ...tea, item: "ink" }])
      .when({ ...tea, item: "pen" })
      .then({
        rejection: new Windows.WindowRefused({ reason: "keys", index: 0, message: "the table has its 2 keys" })
      })
  })

  const Drawn = Schema.Struct({
    item: Schema.Literals(["tea", "ink", "pen"]),
    at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 })),
    cents: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
  })

  it.effect("is proved: whatever fails, the table has the latest changes, and no key too many", () =>
    simulate(Prices, {
      commands: Arbitrary.schema(Drawn),
      invariants: { "it has at most its keys": ({ entries }) => entries.length <= 2 },
      oracle: {
        initial: (): ReadonlyArray<typeof Change.Type> => [],
        step: (changes: ReadonlyArray<typeof Change.Type>, change) => {
          const own = changes.filter(({ item }) => item === change.item)
          if (own.length === 0 && new Set(changes.map(({ item }) => item)).size === 2)
            return {
              rejection: new Windows.WindowRefused({ reason: "keys", index: 0, message: "the table has its 2 keys" })
            }
          return { model: [...changes, change], reply: own.every(({ at }) => at <= change.at) }
        }
      },
      seeds: often(16),
      steps: 60,
      floods: false
    })
  )
})
