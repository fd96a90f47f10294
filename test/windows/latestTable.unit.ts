/** The table beside a stream against a list of all changes, and its bounds. */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Windows from "../../src/windows/index.ts"
import { often } from "../support/often.ts"

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const names = ["ann", "ben", "__proto__", "constructor", "a", "b"] as const
const Changes = Schema.Array(
  Schema.Struct({
    at: int(0, 20),
    key: Schema.Literals(names),
    value: Schema.Union([int(0, 9), int(0, 9), Schema.Null])
  })
).check(Schema.isMaxLength(60))

describe("a table of latest values", () => {
  const table = Windows.latestTable({ value: Schema.Int, maximumKeys: 4 })
  const stored = (state: typeof table.initial) =>
    Schema.decodeUnknownSync(Schema.toCodecJson(table.state))(JSON.parse(JSON.stringify(state)))

  it.prop(
    "has the latest change of each key by event time, whatever the order of arrival, and joins each event once with it",
    [Changes],
    ([changes]) => {
      let state = table.initial
      const accepted: Array<(typeof changes)[number]> = []
      for (const { at, key, value } of changes) {
        const keys = new Set(accepted.map((one) => one.key))
        const changed =
          value === null ? table.remove(stored(state), { at, key }) : table.put(stored(state), { at, key, value })
        const isFull = !keys.has(key) && keys.size === 4
        expect(Result.isFailure(changed) ? changed.failure.reason : "changed").toBe(isFull ? "keys" : "changed")
        if (Result.isFailure(changed)) continue
        const isLatest = accepted.every((one) => one.key !== key || one.at <= at)
        expect(changed.success.isLatest).toBe(isLatest)
        accepted.push({ at, key, value })
        state = changed.success.state
        for (const name of names) {
          const own = accepted.filter((one) => one.key === name)
          const latest = own.findLast((one) => one.at === Math.max(...own.map((each) => each.at)))
          const match = latest?.value == null ? undefined : { at: latest.at, value: latest.value }
          expect(table.join(state, { key: name, at, event: "e" })).toEqual({ key: name, at, event: "e", match })
        }
      }
    },
    { arbitrary: { runs: often(200) } }
  )

  it("keeps a removed key, so that an earlier change brings no value back, until it is forgotten", () => {
    const removed = Result.getOrThrow(table.remove(table.initial, { key: "ann", at: 10 })).state
    const earlier = Result.getOrThrow(table.put(removed, { key: "ann", at: 9, value: 1 }))
    expect(earlier).toEqual({ state: removed, isLatest: false })
    expect(table.forget(removed, 10)).toBe(removed)
    expect(table.forget(removed, 11)).toEqual(table.initial)
  })

  it.each([
    ["key", { key: "", at: 0, value: 1 }],
    ["key", { key: "k".repeat(257), at: 0, value: 1 }],
    ["event_time", { key: "ann", at: 0.5, value: 1 }]
  ])("refuses a change for its %s", (reason, change) => {
    const refused = table.put(table.initial, change)
    expect(Result.isFailure(refused) && refused.failure).toMatchObject({ _tag: "WindowRefused", reason })
  })
})
