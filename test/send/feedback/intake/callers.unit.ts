import { describe, expect, it } from "vitest"
import { CallerLimits } from "../../../../src/send/feedback/intake/BounceListener.ts"

const times = <A>(count: number, of: () => A): ReadonlyArray<A> => Array.from({ length: count }, of)

describe("an address", () => {
  it("may send so many mails in a minute, and others as many", () => {
    const callers = new CallerLimits()
    expect(times(300, () => callers.mail("a", 59_999)).every(Boolean)).toBe(true)
    expect([callers.mail("a", 59_999), callers.mail("b", 59_999), callers.mail("a", 60_000)]).toEqual([
      false,
      true,
      true
    ])
  })

  it("may have so many connections, and one more when one has ended", () => {
    const callers = new CallerLimits()
    expect(times(10, () => callers.connect("a")).every(Boolean)).toBe(true)
    expect([callers.connect("a"), callers.connect("b")]).toEqual([false, true])
    callers.close("a")
    expect([callers.connect("a"), callers.connect("a")]).toEqual([true, false])
  })
})
