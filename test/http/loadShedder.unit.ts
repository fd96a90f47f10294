/** Which requests are refused when more come than the process gets through, and how long their clients wait. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import {
  busyFrom,
  type InWork,
  isBehind,
  LoadShedder,
  type Pace,
  paceMillis,
  patienceMillis,
  type RequestClass,
  Turn,
  turnFloor
} from "../../src/http/LoadShedder.ts"
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

describe("[platform 8.5] requests in work", () => {
  const busy: Pace = { answersPerSecond: 1_000, busy: 0.95 }
  const shares = (all: number, own: number): InWork => ({ all, own, organizations: 4 })

  it.each([
    ["read", shares(300, 300), false],
    ["read", shares(301, 76), true],
    ["read", shares(301, 75), false],
    ["read", shares(601, 0), false],
    ["read", shares(600, 150), true],
    ["read", shares(600, 149), false],
    ["write", shares(600, 600), false],
    ["write", shares(601, 151), true],
    ["write", shares(601, 150), false],
    ["write", shares(1_201, 0), false],
    ["write", { all: 1_200, own: 1_200, organizations: 1 }, true],
    ["write", { all: 1_199, own: 1_199, organizations: 1 }, false],
    // One organization holds many open, and the others have few.
    ["write", { all: 90_000, own: 299, organizations: 4 }, false],
    ["write", { all: 90_000, own: 300, organizations: 4 }, true]
  ] as const)("given a %s behind %j at 1,000 answers a second, then it waits too long: %s", (of, inWork, expected) => {
    expect(isBehind(inWork, busy, of)).toBe(expected)
  })

  it("given a process that waits for others, or few requests, then none waits too long", () => {
    expect(isBehind(shares(9_000, 9_000), { ...busy, busy: busyFrom - 0.01 }, "read")).toBe(false)
    expect(isBehind(shares(turnFloor - 1, turnFloor - 1), { ...busy, answersPerSecond: 0 }, "read")).toBe(false)
    expect(isBehind(shares(turnFloor, turnFloor), { ...busy, answersPerSecond: 0 }, "read")).toBe(true)
  })

  const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

  /** A process whose event loop is busy for a part of each millisecond, with so many requests in work. */
  const loaded = (requests: number, part: number) => {
    let now = 0
    const shedder = new LoadShedder(() => ({ active: now * part, idle: now * (1 - part) }))
    const states: Array<{ admitted: string | undefined }> = []
    const offer = (organization: string) => {
      const isAdmitted = shedder.admits(organization, "write", now)
      if (isAdmitted) states.push({ admitted: organization })
      return isAdmitted
    }
    for (let n = 0; n < requests; n++) offer(n % 10 === 0 ? "small" : "large")
    const pass = async (millis: number, answers: number) => {
      await nextTurn()
      now += millis
      for (const state of states.splice(0, answers)) shedder.answered(state)
      return offer
    }
    return { shedder, pass }
  }

  it("given a busy process, then the largest share is refused after two periods, and admitted when it has caught up", async () => {
    const { pass, shedder } = loaded(2_000, 1)
    expect((await pass(paceMillis, 100))("large")).toBe(true)
    const offer = await pass(paceMillis, 700)
    expect([offer("large"), offer("small")]).toEqual([false, true])
    expect((await pass(1, 1_300))("large")).toBe(true)
    expect(shedder.requests).toBe(1)
  })

  it("given a process that was busy for one period alone, then none is refused", async () => {
    let now = 0
    let active = 0
    const shedder = new LoadShedder(() => ({ active, idle: now - active }))
    for (let n = 0; n < 2_000; n++) shedder.admits("large", "read", now)
    for (const worked of [paceMillis, 0, paceMillis, 0, paceMillis]) {
      await nextTurn()
      now += paceMillis
      active += worked
      expect(shedder.admits("large", "read", now)).toBe(true)
    }
  })

  it("given an answer twice, or one of a request that was refused, then it counts once", () => {
    const shedder = new LoadShedder(() => ({ active: 0, idle: 0 }))
    const state: { admitted: string | undefined } = { admitted: "a" }
    shedder.admits("a", "read", 0)
    shedder.answered(state)
    shedder.answered(state)
    shedder.answered({ admitted: undefined })
    expect([shedder.requests, state.admitted]).toEqual([0, undefined])
  })
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
