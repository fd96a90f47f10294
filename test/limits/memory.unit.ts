import { describe, expect, it } from "@effect/vitest"
import {
  FixedWindow,
  InvalidArgument,
  makeMemory,
  maximumBytesPerKey,
  maximumKeyLength
} from "../../src/limits/index.ts"
import { heldBytes } from "../support/memory.ts"

const noon = Date.UTC(2026, 6, 1, 12, 0, 0)

describe("the table of many keys", () => {
  it("counts each key by itself", () => {
    const memory = makeMemory()
    expect(memory.take("a", 2, 2, noon).remaining).toBe(0)
    expect(memory.take("b", 2, 1, noon).remaining).toBe(1)
    expect(memory.take("a", 2, 1, noon).allowed).toBe(false)
    expect(memory.size(noon)).toBe(2)
  })

  it("keeps every count right while it grows", () => {
    const memory = makeMemory()
    for (let i = 0; i < 10_000; i++) memory.take(`key-${i}`, 100, (i % 50) + 1, noon)
    for (let i = 0; i < 10_000; i++) expect(memory.peek(`key-${i}`, 100, 1, noon).remaining).toBe(99 - (i % 50))
  })

  it("tells keys apart that look like properties of objects", () => {
    const memory = makeMemory()
    for (const key of ["__proto__", "constructor", "toString", " ", "0"]) {
      expect(memory.take(key, 1, 1, noon).allowed).toBe(true)
      expect(memory.take(key, 1, 1, noon).allowed).toBe(false)
    }
  })

  it("takes no room for a request that is refused", () => {
    const memory = makeMemory()
    memory.take("a", 0, 1, noon)
    memory.take("b", 5, 6, noon)
    memory.peek("c", 5, 1, noon)
    memory.refund("d", { allowed: true, cost: 1, reset: noon / 1000 + 60 }, noon)
    expect(memory.size(noon)).toBe(0)
  })
})

describe("at its bound", () => {
  const flooded = () => {
    const memory = makeMemory({ maxKeys: 1000 })
    memory.take("victim", 10, 10, noon)
    memory.take("half", 10, 5, noon)
    for (let i = 0; i < 100_000; i++) memory.take(`flood-${i}`, 10, 1, noon)
    return memory
  }

  it("holds no more keys than it may", () => {
    expect(flooded().size(noon)).toBe(1000)
  })

  it("refuses new keys with an outcome of its own, until the window ends", () => {
    const memory = flooded()
    const decision = memory.take("late", 10, 1, noon + 1000)
    expect(decision).toMatchObject({ allowed: false, outcome: "full", remaining: 0, retryAfterSeconds: 59 })
    expect(memory.peek("late", 10, 1, noon)).toMatchObject({ allowed: false, outcome: "full" })
    expect(memory.take("late", 10, 1, decision.reset * 1000)).toMatchObject({ allowed: true, remaining: 9 })
  })

  it("resets nobody's count: known keys are decided as before", () => {
    const memory = flooded()
    expect(memory.take("victim", 10, 1, noon)).toMatchObject({ allowed: false, outcome: "limited" })
    expect(memory.take("half", 10, 5, noon)).toMatchObject({ allowed: true, remaining: 0 })
    expect(memory.take("half", 10, 1, noon)).toMatchObject({ allowed: false, outcome: "limited" })
  })

  it("lets an unlimited key pass, uncounted, and still says when a cost never fits", () => {
    const memory = flooded()
    expect(memory.take("late", "unlimited", 1, noon).allowed).toBe(true)
    expect(memory.take("late", 10, 11, noon).outcome).toBe("cost_above_limit")
    expect(memory.size(noon)).toBe(1000)
  })
})

describe("a window that has ended", () => {
  it.each([
    ["take", (memory: ReturnType<typeof makeMemory>, now: number) => memory.take("b", 10, 1, now), 1],
    ["peek", (memory: ReturnType<typeof makeMemory>, now: number) => memory.peek("b", 10, 1, now), 0],
    [
      "refund",
      (memory: ReturnType<typeof makeMemory>, now: number) =>
        memory.refund("b", { allowed: true, cost: 1, reset: noon / 1000 + 60 }, now),
      0
    ],
    ["size", (memory: ReturnType<typeof makeMemory>, now: number) => memory.size(now), 0]
  ] as const)("is dropped whole by the first %s after it", (_name, call, left) => {
    const memory = makeMemory()
    for (let i = 0; i < 5000; i++) memory.take(`key-${i}`, 10, 1, noon)
    call(memory, noon + 59_999)
    expect(memory.size(noon + 59_999)).toBeGreaterThanOrEqual(5000)
    call(memory, noon + 60_000)
    expect(memory.size(noon + 60_000)).toBe(left)
  })

  it("leaves nothing of its counts in the next one", () => {
    const memory = makeMemory()
    for (let minute = 0; minute < 5; minute++) {
      for (let i = 0; i < 3000; i++) {
        expect(memory.take(`key-${(i * (minute + 1)) % 3001}`, 10, 4, noon + minute * 60_000).remaining).toBe(6)
      }
    }
  })
})

describe("its memory", () => {
  it("stays within the stated bytes per key beside the key, and is given back after the window", () => {
    // Just past a doubling, where a key takes most.
    const keys = Array.from({ length: 262_145 }, (_, i) => `org_${String(i).padStart(22, "0")}`)
    const memory = makeMemory({ maxKeys: keys.length })
    memory.take(keys[0]!, 10, 1, noon)
    const before = heldBytes()
    for (const key of keys) memory.take(key, 10, 1, noon)
    const perKey = (heldBytes() - before) / keys.length
    expect(memory.size(noon)).toBe(keys.length)
    // A counted key cannot take less than its map entry and its counter.
    expect(perKey).toBeGreaterThan(28)
    expect(perKey).toBeLessThanOrEqual(maximumBytesPerKey * 1.1)
    expect(memory.size(noon + 60_000)).toBe(0)
    expect((heldBytes() - before) / keys.length).toBeLessThan(8)
    // The strings are still held here, so what was given back above was the table's own.
    expect(keys.at(-1)).toBe("org_0000000000000000262144")
  })
})

describe("what it refuses", () => {
  it.each([0, -1, 1.5, Number.NaN, 8_388_609])("room for %s keys", (maxKeys) => {
    expect(() => makeMemory({ maxKeys })).toThrow(InvalidArgument)
  })

  it.each([0, 999, 1500, -60_000, 86_401_000, Number.NaN])("a window of %s ms", (windowMillis) => {
    expect(() => makeMemory({ windowMillis })).toThrow(InvalidArgument)
  })

  it("an empty key, one that is too long, and says no part of it", () => {
    const memory = makeMemory()
    expect(memory.take("k".repeat(maximumKeyLength), 1, 1, noon).allowed).toBe(true)
    const secret = "sk_live_".padEnd(maximumKeyLength + 1, "s")
    for (const call of [
      () => memory.take(secret, 1, 1, noon),
      () => memory.peek(secret, 1, 1, noon),
      () => memory.refund(secret, { allowed: true, cost: 1, reset: 0 }, noon)
    ]) {
      expect(call).toThrow(InvalidArgument)
      expect(call).not.toThrow("sk_live_")
    }
    expect(() => memory.take("", 1, 1, noon)).toThrow("key must have 1 to 256 characters, got 0")
  })

  it("a cost, limit or time outside its range, and counts nothing for it", () => {
    const memory = makeMemory()
    expect(() => memory.take("a", 1, 0, noon)).toThrow(InvalidArgument)
    expect(() => memory.take("a", -1, 1, noon)).toThrow(InvalidArgument)
    expect(() => memory.take("a", 1, 1, Number.NaN)).toThrow(InvalidArgument)
    expect(() => memory.refund("a", { allowed: true, cost: -5, reset: 0 }, noon)).toThrow(InvalidArgument)
    expect(memory.size(noon)).toBe(0)
    expect(memory.windowMillis).toBe(FixedWindow.minuteMillis)
  })
})
