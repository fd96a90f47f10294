/** Windows over event time: specifications, and each kind against a list of all events that is cut into windows anew. */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Windows from "../../src/windows/index.ts"
import { often } from "../support/often.ts"
import { type Cut, hops, NaiveWindows, visits, WindowHistory } from "./naiveWindows.ts"

const Ids = Schema.Array(Schema.Int)
const start = 1_767_225_600_000

/** An aggregate that shows which events it has. */
const ids = {
  aggregate: Ids,
  initial: [] as ReadonlyArray<number>,
  add: (known: ReadonlyArray<number>, id: number) => [...known, id]
}
const merge = (earlier: ReadonlyArray<number>, later: ReadonlyArray<number>) => [...earlier, ...later]
const sorted = (all: ReadonlyArray<number>) => [...all].sort((left, right) => left - right)
const shown = (windows: ReadonlyArray<Windows.EventWindow<ReadonlyArray<number>>>) =>
  windows.map(({ aggregate, ...window }) => ({ ...window, ids: sorted(aggregate) }))
const byStart = <W extends { readonly start: number }>(windows: ReadonlyArray<W>) =>
  [...windows].sort((left, right) => left.start - right.start)

const times = { outOfOrderMillis: 20, latenessMillis: 15, aheadMillis: 50, idleMillis: 90, maximumOpen: 6 }
type IdWindows = Windows.Windows<number, ReadonlyArray<number>>

const kinds: ReadonlyArray<readonly [name: string, windows: IdWindows, cut: Cut, spanMillis: number]> = [
  ["tumbling", Windows.tumbling({ ...ids, ...times, sizeMillis: 40, offsetMillis: 7 }), hops(40, 40, 7), 1e9],
  ["hopping", Windows.hopping({ ...ids, ...times, sizeMillis: 70, stepMillis: 30 }), hops(70, 30), 1e9],
  ["session", Windows.session({ ...ids, ...times, merge, gapMillis: 25, spanMillis: 60 }), visits(25), 60]
]

describe("windows against a list of all events", () => {
  it.prop(
    "close each window once and in order, keep the others open, and return late events, whatever the order of arrival",
    [WindowHistory],
    ([history]) => {
      for (const [, windows, cut, spanMillis] of kinds) {
        const naive = new NaiveWindows(cut, { ...times, spanMillis })
        const read = Schema.decodeUnknownSync(Schema.toCodecJson(windows.state))
        let state = windows.initial
        const closed: Array<Windows.EventWindow<ReadonlyArray<number>>> = []
        let now = start
        for (const [id, step] of history.entries()) {
          const due = windows.wakeAt(state)
          if (typeof step.elapsed === "number") now += step.elapsed
          else now = Math.max(now, (due ?? now) - (step.elapsed === "at" ? 0 : 1))
          // As it comes back from where it was stored.
          state = read(JSON.parse(JSON.stringify(state)))
          if (step._tag === "Add") {
            const at = now - step.behind
            const outcome = naive.add(at, id, now)
            const added = windows.add(state, { at, event: id }, now)
            expect(
              Result.isFailure(added) ? added.failure.reason : added.success.late.length > 0 ? "late" : "added"
            ).toBe(outcome)
            expect(windows.record(state, { at, event: id }, now)).toEqual(
              outcome === "added" ? Result.getOrThrow(added).state : state
            )
            if (Result.isFailure(added)) continue
            if (outcome === "late") expect(added.success).toEqual({ state, closed: [], late: [{ at, event: id }] })
            state = added.success.state
            closed.push(...added.success.closed)
          } else {
            if (step._tag === "Advance") naive.advance(now - step.behind, now)
            else naive.wake(now)
            const moved =
              step._tag === "Advance" ? windows.advance(state, now - step.behind, now) : windows.wake(state, now)
            if (step._tag === "Wake" && due !== undefined) expect(moved.closed.length > 0).toBe(now >= due)
            state = moved.state
            closed.push(...moved.closed)
          }
          const expected = naive.windows()
          expect(shown(state.open)).toEqual(expected.open)
          expect(byStart(shown(closed))).toEqual(expected.closed)
          expect(closed.map(({ end }) => end)).toEqual(sorted(closed.map(({ end }) => end)))
          expect(state.watermark ?? Number.NEGATIVE_INFINITY).toBe(naive.watermark)
        }
      }
    },
    { arbitrary: { runs: often(300) } }
  )

  const Shuffled = Schema.Struct({
    events: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 300 }))).check(
      Schema.isMinLength(1),
      Schema.isMaxLength(25)
    ),
    turns: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 24 }))).check(Schema.isMaxLength(40))
  })

  it.prop(
    "come to the same results in every order of arrival, one by one or together, if the watermark waits for it",
    [Shuffled],
    ([{ events, turns }]) => {
      const inOrder = events.map((offset, id) => ({ at: start + offset, event: id }))
      const shuffled = [...inOrder]
      for (const [index, turn] of turns.entries()) {
        const [one, other] = [index % shuffled.length, turn % shuffled.length]
        ;[shuffled[one], shuffled[other]] = [shuffled[other]!, shuffled[one]!]
      }
      const wide = { ...ids, outOfOrderMillis: 300, maximumOpen: 100 }
      for (const windows of [
        Windows.tumbling({ ...wide, sizeMillis: 40 }),
        Windows.hopping({ ...wide, sizeMillis: 70, stepMillis: 30 }),
        Windows.session({ ...wide, merge, gapMillis: 25 })
      ]) {
        const results = [inOrder, shuffled].map((all) => {
          const together = Result.getOrThrow(windows.addAll(windows.initial, all, start))
          let state = windows.initial
          for (const event of all) state = windows.record(state, event, start)
          expect(state).toEqual(together.state)
          expect(together.late).toEqual([])
          return shown(windows.advance(state, start + 1_000, start).closed)
        })
        expect(results[1]).toEqual(results[0])
      }
    },
    { arbitrary: { runs: often(200) } }
  )
})

describe("a window over event time", () => {
  const perHour = Windows.tumbling({ ...ids, sizeMillis: 100, outOfOrderMillis: 10, latenessMillis: 5, maximumOpen: 2 })
  const add = (state: Windows.WindowsState<ReadonlyArray<number>>, at: number, event = 0, now = at) =>
    Result.getOrThrow(perHour.add(state, { at, event }, now))

  it("closes when the watermark has passed its end by the lateness, and an event behind that is late", () => {
    const first = add(perHour.initial, 50, 1)
    expect(first.state).toMatchObject({ watermark: 40, open: [{ start: 0, end: 100, aggregate: [1] }] })
    expect(add(first.state, 114, 2).closed).toEqual([])
    const second = add(first.state, 115, 2)
    expect(second.closed).toEqual([{ start: 0, end: 100, aggregate: [1] }])
    expect(add(second.state, 99, 3)).toMatchObject({ state: second.state, closed: [], late: [{ at: 99, event: 3 }] })
    expect(add(second.state, 100, 3)).toMatchObject({ late: [], state: { open: [{ aggregate: [2, 3] }] } })
  })

  it("takes times before 1970", () => {
    expect(add(perHour.initial, -1, 1).state.open).toMatchObject([{ start: -100, end: 0 }])
  })

  it.each([
    ["event_time", { at: 0.5, event: 1 }, 0],
    ["event_time", { at: Number.NaN, event: 1 }, 0],
    ["event_time", { at: Number.POSITIVE_INFINITY, event: 1 }, 0],
    ["ahead_of_clock", { at: 3_600_001, event: 1 }, 0]
  ])("refuses an event as %s, with the others that came with it", (reason, event, now) => {
    const refused = perHour.addAll(perHour.initial, [{ at: now, event: 0 }, event], now)
    expect(Result.isFailure(refused) && refused.failure).toMatchObject({ _tag: "WindowRefused", reason, index: 1 })
  })

  it("refuses one more open window than there may be, and takes it once another one has closed", () => {
    const wide = Windows.tumbling({ ...ids, sizeMillis: 100, outOfOrderMillis: 500, maximumOpen: 2 })
    const { state } = Result.getOrThrow(
      wide.addAll(
        wide.initial,
        [
          { at: 950, event: 1 },
          { at: 850, event: 2 }
        ],
        1_000
      )
    )
    const refused = wide.add(state, { at: 750, event: 3 }, 1_000)
    expect(Result.isFailure(refused) && refused.failure.message).toBe(
      "at most 2 windows are open; move the watermark on to close some"
    )
    const moved = wide.advance(state, 900, 1_000)
    expect(moved.closed).toMatchObject([{ start: 800, aggregate: [2] }])
    expect(Result.isSuccess(wide.add(moved.state, { at: 1_000, event: 3 }, 1_000))).toBe(true)
  })

  it("of a session joins two by an event between them, and refuses an event that makes it too long", () => {
    const visit = Windows.session({ ...ids, merge, gapMillis: 10, spanMillis: 15, outOfOrderMillis: 100 })
    const { state } = Result.getOrThrow(
      visit.addAll(
        visit.initial,
        [0, 12, 40].map((at, event) => ({ at, event })),
        100
      )
    )
    expect(state.open.map(({ end, start }) => [start, end])).toEqual([
      [0, 10],
      [12, 22],
      [40, 50]
    ])
    const joined = Result.getOrThrow(visit.add(state, { at: 6, event: 3 }, 100))
    expect(joined.state.open).toEqual([
      { start: 0, end: 22, aggregate: [0, 1, 3] },
      { start: 40, end: 50, aggregate: [2] }
    ])
    const refused = visit.add(joined.state, { at: 16, event: 4 }, 100)
    expect(Result.isFailure(refused) && refused.failure).toMatchObject({
      reason: "session_span",
      message: "the session would last 16 ms, at most 15"
    })
  })

  it("is not closed by a watermark that is no number or behind, and by a far one only up to the clock", () => {
    const { state } = add(perHour.initial, 50, 1, 1_000)
    for (const watermark of [Number.NaN, 40, -1])
      expect(perHour.advance(state, watermark, 1_000)).toEqual({ state, closed: [] })
    const flushed = perHour.advance(state, Number.POSITIVE_INFINITY, 1_000)
    expect(flushed.closed).toHaveLength(1)
    expect(flushed.state.watermark).toBe(1_000 + 3_600_000)
  })

  it("keeps windows that an earlier definition has opened, and closes them in the order of their ends", () => {
    const before = Windows.tumbling({ ...ids, sizeMillis: 150, outOfOrderMillis: 500 })
    const { state } = Result.getOrThrow(before.add(before.initial, { at: 20, event: 1 }, 20))
    const after = Windows.tumbling({ ...ids, sizeMillis: 100, outOfOrderMillis: 500 })
    const added = Result.getOrThrow(after.add(state, { at: 30, event: 2 }, 30))
    expect(after.advance(added.state, 1_000, 1_000).closed).toEqual([
      { start: 0, end: 100, aggregate: [2] },
      { start: 0, end: 150, aggregate: [1] }
    ])
  })

  it.each([
    ["sizeMillis", () => Windows.tumbling({ ...ids, sizeMillis: 0 })],
    ["offsetMillis", () => Windows.tumbling({ ...ids, sizeMillis: 10, offsetMillis: 10 })],
    ["stepMillis", () => Windows.hopping({ ...ids, sizeMillis: 10, stepMillis: 11 })],
    ["overlap", () => Windows.hopping({ ...ids, sizeMillis: 65, stepMillis: 1 })],
    ["gapMillis", () => Windows.session({ ...ids, merge, gapMillis: 0.5 })],
    ["latenessMillis", () => Windows.tumbling({ ...ids, sizeMillis: 1, latenessMillis: -1 })],
    ["maximumOpen", () => Windows.tumbling({ ...ids, sizeMillis: 1, maximumOpen: 1_001 })],
    ["idleMillis", () => Windows.tumbling({ ...ids, sizeMillis: 1, idleMillis: 0 })],
    ["maximumKeys", () => Windows.latestTable({ value: Schema.Int, maximumKeys: 0 })]
  ])("is not defined with a bad %s", (name, define) => {
    expect(define).toThrow(name)
  })
})
