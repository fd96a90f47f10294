/** The times and numbers of connections that submit mail (docs/handoff.md, 7.1). */
import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { SubmissionConnections } from "../../../src/send/submission/SubmissionConnections.ts"

const loginOf = (organizationId: string) => ({
  key: Redacted.make("sk"),
  principal: {
    keyId: "key",
    organizationId,
    mode: "live",
    plan: "team",
    sendPlan: "pro",
    services: new Set(["send"]),
    scopes: new Set<string>(),
    expiresAtMillis: null
  } as const
})

const begun = (count: number, address: (index: number) => string = String) => {
  const connections = new SubmissionConnections()
  for (let index = 0; index < count; index++) expect(connections.begin(`c${index}`, address(index), 0)).toBe(true)
  return connections
}

describe("[handoff 7.1] a connection", () => {
  it("given no login within 30 s, then it is late", () => {
    const connections = begun(1)
    expect([29_999, 30_000].map((now) => connections.isLate("c0", now))).toEqual([false, true])
  })

  it("given a login, then it has 2 minutes for each mail, and as long as it takes for our answer", () => {
    const connections = begun(1)
    expect(connections.logIn("c0", loginOf("a"), 1_000)).toBe(true)
    expect([120_999, 121_000].map((now) => connections.isLate("c0", now))).toEqual([false, true])
    connections.wait("c0")
    expect([connections.isWaiting("c0"), connections.isLate("c0", 999_999)]).toEqual([true, false])
    connections.answer("c0", 500_000)
    expect([connections.isWaiting("c0"), connections.isLate("c0", 619_999)]).toEqual([false, false])
    expect(connections.isLate("c0", 620_000)).toBe(true)
    expect([3_599_999, 3_600_000].map((now) => connections.isOld("c0", now))).toEqual([false, true])
  })

  it("is one of at most 100 of its network, and of 100 of its organization", () => {
    const connections = begun(100, () => "here")
    expect([connections.begin("more", "here", 0), connections.begin("other", "there", 0)]).toEqual([false, true])
    connections.end("more")
    for (let index = 0; index < 100; index++) expect(connections.logIn(`c${index}`, loginOf("a"), 0)).toBe(true)
    expect(connections.logIn("other", loginOf("a"), 0)).toBe(false)
    expect(connections.logIn("other", loginOf("b"), 0)).toBe(true)
    connections.end("c0")
    connections.end("c0")
    expect(connections.begin("next", "here", 0)).toBe(true)
    expect(connections.logIn("next", loginOf("a"), 0)).toBe(true)
    expect(connections.size).toBe(101)
  })

  it("has the first half of its IPv6 address as its network", () => {
    const connections = begun(100, (index) => `2001:db8:1:2::${index.toString(16)}`)
    expect(connections.begin("more", "2001:db8:1:2:ffff::1", 0)).toBe(false)
    expect(connections.begin("other", "2001:db8:1:3::1", 0)).toBe(true)
  })

  it("given a second login after STARTTLS, then it counts once", () => {
    const connections = begun(101)
    for (let index = 0; index < 100; index++) expect(connections.logIn("c0", loginOf("a"), 0)).toBe(true)
    for (let index = 1; index < 100; index++) expect(connections.logIn(`c${index}`, loginOf("a"), 0)).toBe(true)
    expect(connections.logIn("c100", loginOf("a"), 0)).toBe(false)
  })

  it("given a login that comes back after its end, then it is none", () => {
    const connections = begun(1)
    connections.end("c0")
    expect(connections.logIn("c0", loginOf("a"), 0)).toBe(false)
    expect(connections.loginOf("c0")).toBeUndefined()
  })

  it("may fail to log in twice, and its address 60 times in a minute", () => {
    const connections = begun(31, () => "here")
    expect([1, 2, 3].map(() => connections.failLogin("c0", 0))).toEqual([true, true, false])
    for (let index = 1; index < 29; index++)
      expect([1, 2].map(() => connections.failLogin(`c${index}`, 0))).toEqual([true, true])
    expect([1, 2].map(() => connections.failLogin("c30", 59_999))).toEqual([true, false])
    expect(connections.failLogin("c29", 60_000)).toBe(true)
  })
})
