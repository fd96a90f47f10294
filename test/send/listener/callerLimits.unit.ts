import { describe, expect, it } from "vitest"
import { CallerLimits } from "../../../src/send/listener/CallerLimits.ts"

const times = <A>(count: number, of: () => A): ReadonlyArray<A> => Array.from({ length: count }, of)

describe("an address", () => {
  it("may do so much in a minute, and others as many", () => {
    const callers = new CallerLimits({ connections: 10, perMinute: 300 })
    expect(times(300, () => callers.count("a", 59_999)).every(Boolean)).toBe(true)
    expect([callers.count("a", 59_999), callers.count("b", 59_999), callers.count("a", 60_000)]).toEqual([
      false,
      true,
      true
    ])
  })

  it("may have so many connections, and one more when one has ended", () => {
    const callers = new CallerLimits({ connections: 10, perMinute: 300 })
    expect(times(10, () => callers.connect("a")).every(Boolean)).toBe(true)
    expect([callers.connect("a"), callers.connect("b")]).toEqual([false, true])
    callers.close("a")
    expect([callers.connect("a"), callers.connect("a")]).toEqual([true, false])
  })
})
