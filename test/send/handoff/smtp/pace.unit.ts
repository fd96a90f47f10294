import { describe, expect, it } from "vitest"
import { RateSpacer } from "../../../../src/send/handoff/smtp/Relay.ts"

describe("a pace of 5 in a second", () => {
  it("gives turns 200 ms apart, at once where it is idle, and none too far ahead", () => {
    const pace = new RateSpacer(5)
    expect([0, 0, 0].map((now) => pace.take(now, 1_000))).toEqual([0, 200, 400])
    expect(pace.take(0, 599)).toBeUndefined()
    expect([pace.take(0, 600), pace.take(5_000, 5_000), pace.take(5_000, 6_000)]).toEqual([600, 5_000, 5_200])
  })
})
