/** Which requests are refused when more come than the process gets through, and how long their clients wait. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { patienceMillis, type RequestClass, Turn, turnFloor } from "../../src/http/LoadShedder.ts"
import { calmMillis, leastSeconds, mostSeconds, RetryGrowth, waitSeconds } from "../../src/http/RetryGrowth.ts"

/** A turn that began at 0 and has admitted so many requests of each organization. */
const turnOf = (shares: Readonly<Record<string, number>>): Turn => {
  const turn = new Turn(0)
  for (const [organization, count] of Object.entries(shares))
    for (let n = 0; n < count; n++) turn.admits(organization, "write", 0)
  return turn
}

describe("[platform 8.5] a turn with many requests", () => {
  const shares = { large: 90, small: 10 }

  it.each([
    ["read", 300, ["large", "small"]],
    ["read", 301, ["small"]],
    ["read", 600, ["small"]],
    ["read", 601, []],
    ["write", 600, ["large", "small"]],
    ["write", 601, ["small"]],
    ["write", 1_200, ["small"]],
    ["write", 1_201, []]
  ] as const)("given a %s after %d ms, then those go on: %j", (of, waited, admitted) => {
    const found = Object.keys(shares).filter((organization) => turnOf(shares).admits(organization, of, waited))
    expect(found).toEqual(admitted)
  })

  it("given one organization alone, then its share is no reason, until all are refused", () => {
    expect(turnOf({ only: 200 }).admits("only", "read", 600)).toBe(true)
    expect(turnOf({ only: 200 }).admits("only", "read", 601)).toBe(false)
  })

  it("given few requests, then none is refused: a machine that stood still has not too much to do", () => {
    expect(turnOf({ only: turnFloor - 1 }).admits("only", "read", 60_000)).toBe(true)
    expect(turnOf({ only: turnFloor }).admits("only", "read", 60_000)).toBe(false)
  })

  const Step = Schema.Struct({
    organization: Schema.Literals(["a", "b", "c", "d"]),
    of: Schema.Literals(["read", "write"]),
    passes: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
  })

  it.prop(
    "admits what a naive model admits",
    [Arbitrary.schema(Schema.Array(Step).check(Schema.isMaxLength(400)))],
    ([steps]) => {
      const turn = turnOf({ a: 60, b: 30, c: 10 })
      const admitted: Array<string> = [..."a".repeat(60), ..."b".repeat(30), ..."c".repeat(10)]
      let now = 0
      for (const { of, organization, passes } of steps) {
        now += passes
        const own = admitted.filter((one) => one === organization).length
        const mean = admitted.length / new Set(admitted).size
        const [shares, all] = patienceMillis[of as RequestClass]
        const expected = now <= shares || (now <= all && own <= mean)
        expect(turn.admits(organization, of, now)).toBe(expected)
        if (expected) admitted.push(organization)
      }
    }
  )
})

describe("[platform 8.5] the wait of clients", () => {
  it.each([
    [0, leastSeconds],
    [5_000, 1],
    [5_001, 2],
    [60_000, 12],
    [3_600_000, mostSeconds]
  ])("given 503 for %d ms, then it is %d s", (millis, seconds) => {
    expect(waitSeconds(millis)).toBe(seconds)
  })

  it("grows while 503 follow each other, and begins anew after a calm time", () => {
    const growth = new RetryGrowth()
    const told = [0, 4_000, 12_000, 20_000, 20_000 + calmMillis].map((at) => growth.refused(at))
    expect(told).toEqual([1, 1, 3, 4, 6])
    expect(growth.refused(20_000 + 2 * calmMillis + 1)).toBe(1)
  })
})
