/** The trust in a warm key, beside a model that remembers every change. */
import { describe, expect, it } from "@effect/vitest"
import type { Principal } from "../../src/platform/model.ts"
import { isTrusted, WarmKeys } from "../../src/platform/WarmKeys.ts"
import { Prng } from "../../src/simulation/kernel/Prng.ts"

const principal: Principal = {
  keyId: "key_1",
  organizationId: "org_1",
  mode: "live",
  plan: "free",
  sendPlan: "hobby",
  services: new Set(),
  scopes: new Set(),
  expiresAtMillis: null
}

describe("isTrusted", () => {
  const graceMillis = 60_000
  const cases = [
    // heard, away, active, current, age, trusted
    [true, false, true, true, 1e9, true],
    [true, false, false, true, 1e9, true],
    [true, false, true, false, 0, false],
    [false, false, true, true, 5_000, true],
    [false, false, true, true, 5_001, false],
    [false, true, true, true, 5_001, true],
    [false, true, true, false, 60_000, true],
    [false, true, true, true, 60_001, false],
    [false, true, false, true, 5_000, true],
    [false, true, false, true, 5_001, false]
  ] as const
  for (const [isHearing, isAway, isActiveKey, isCurrent, age, trusted] of cases)
    it(`${isHearing ? "heard" : "deaf"}${isAway ? ", PostgreSQL away" : ""}: ${isActiveKey ? "a key" : "an unknown text"}${isCurrent ? "" : " of before the loss"}, ${age} ms: ${trusted}`, () => {
      const known = { isActiveKey, isCurrent, trueAtMillis: 1_000_000 }
      expect(isTrusted(known, { isHearing, isAway }, 1_000_000 + age, graceMillis)).toBe(trusted)
    })
})

describe("WarmKeys", () => {
  const steps = ["hear", "lose", "go away", "come back", "look up", 0, 1, 4_999, 5_000, 5_001, 59_999, 60_000, 60_001]

  it("gives out no key for longer than was allowed after it may have been revoked, and asks only where it must", () => {
    for (let seed = 0; seed < 2_000; seed++) {
      const random = new Prng(seed, "keys")
      let now = 1_000_000
      let connected = false
      let away = false
      // The model: when the key was last known to be true, and whether it has been looked up since changes are heard.
      let trueAt: number | undefined
      let current = false
      const keys = new WarmKeys({ isConnected: () => connected, isAway: () => away, graceMillis: 60_000 })
      for (let taken = 0; taken < 40; taken++) {
        const one = random.pick(steps)
        if (typeof one === "number") {
          now += one
          if (connected && current) trueAt = now
        } else if (one === "hear" && !connected) {
          connected = true
          away = false
          current = false
          keys.doubtAll()
        } else if (one === "lose" && connected) {
          connected = false
          keys.goDeaf(now)
        } else if (one === "go away" && !connected) away = true
        else if (one === "come back") away = false
        else if (one === "look up" && !away) {
          keys.remember("digest", principal, now)
          trueAt = now
          current = true
        }
        const age = trueAt === undefined ? Number.POSITIVE_INFINITY : now - trueAt
        const allowed = connected ? current : age <= 5_000 || (away && age <= 60_000)
        const expected = trueAt !== undefined && allowed ? principal : undefined
        expect(keys.principalOf("digest", now), `seed ${seed}, step ${taken}: ${one}`).toBe(expected)
      }
    }
  })

  it("counts the grace from the loss of the channel, also where the loss is seen by a request first", () => {
    let connected = true
    const keys = new WarmKeys({ isConnected: () => connected, isAway: () => true, graceMillis: 60_000 })
    keys.doubtAll()
    keys.remember("digest", principal, 1_000)
    connected = false
    expect(keys.principalOf("digest", 1_000_000)).toBe(principal)
    expect(keys.principalOf("digest", 1_060_000)).toBe(principal)
    expect(keys.principalOf("digest", 1_060_001)).toBeUndefined()
  })
})
