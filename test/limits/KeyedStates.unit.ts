/** The bounded table of many keys against a list that is looked through anew for each question. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { KeyedStates } from "../../src/limits/KeyedStates.ts"
import { often } from "../support/often.ts"

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Steps = Schema.Array(
  Schema.Struct({ elapsed: int(0, 6), key: int(0, 30), lasts: Schema.Union([int(1, 10), int(1, 60)]), keys: int(1, 3) })
).check(Schema.isMinLength(20), Schema.isMaxLength(120))

describe("the states of many keys", () => {
  it.prop(
    "are kept until they end, and no longer than that when a new key needs their room",
    [Steps],
    ([steps]) => {
      const states = new KeyedStates<number>(8)
      const naive = new Map<number, number>()
      let now = 0
      for (const { elapsed, key, keys, lasts } of steps) {
        now += elapsed
        const until = states.fullUntil(now, keys)
        for (const [other, end] of naive) if (end <= now) naive.delete(other)
        expect(states.size).toBe(naive.size)
        expect(until).toBe(naive.size + keys <= 8 ? undefined : Math.min(...naive.values()))
        for (const [other, end] of naive) expect(states.get(String(other))).toBe(end)
        if (!naive.has(key) && naive.size >= 8) continue
        // A limit's use lasts longer the more of it there is.
        const end = Math.max(naive.get(key) ?? 0, now + lasts)
        states.set(String(key), end, end)
        naive.set(key, end)
      }
    },
    { arbitrary: { runs: often(200) } }
  )

  it.each([
    ["full", 100],
    ["with room", 200]
  ])("that have ended are gone after some new keys of a table %s, and at once where room is needed", (_name, maxKeys) => {
    const states = new KeyedStates<number>(maxKeys)
    for (let key = 0; key < 100; key++) states.set(`early ${key}`, 0, 10)
    // In use for longer than their places say.
    for (let key = 0; key < 50; key++) states.set(`early ${key}`, 1, 30)
    const sizes: Array<number> = []
    for (let key = 0; key < 8; key++) {
      expect(states.fullUntil(20)).toBeUndefined()
      states.set(`late ${key}`, 2, 40)
      sizes.push(states.size)
    }
    expect(sizes.at(-1)).toBe(58)
    if (maxKeys === 100) expect(Math.max(...sizes)).toBeLessThanOrEqual(100)
    for (let key = 0; key < 50; key++) expect(states.get(`early ${key}`)).toBe(1)
    expect(states.fullUntil(30, maxKeys)).toBe(40)
    expect(states.size).toBe(8)
  })
})
