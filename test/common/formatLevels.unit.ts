/** The rule of levels of formats against a naive model: nodes come, go and are upgraded, and nobody ever meets what it does not know. */
import { describe, expect, it } from "vitest"
import { forgottenMillis, formatsProblem, knownFormats, raisedLevel } from "../../src/common/formatLevels.ts"

/** Whole numbers below a bound, the same for a seed. */
const randomOf = (seed: number) => {
  let state = seed + 1
  return (bound: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % bound
  }
}

describe("levels of formats", () => {
  it("a program may run at every level from its oldest to its newest, and is told what to do at others", () => {
    const known = { newest: 4, oldest: 2 }
    expect([2, 3, 4].map((level) => formatsProblem(known, level, "1.2.0"))).toEqual([undefined, undefined, undefined])
    expect(formatsProblem(known, 5, "1.2.0")).toMatch(
      /level 5 are in force, and this version \(1\.2\.0\) knows level 4.*start the newer version.*backup/
    )
    expect(formatsProblem(known, 1, "1.2.0")).toMatch(/level 1 are in force.*level 2 and later.*version in between/)
    expect(formatsProblem(knownFormats, knownFormats.newest, "")).toBeUndefined()
  })

  it("the level never falls, and never passes what a node knows", () => {
    for (let seed = 0; seed < 50; seed++) {
      const random = randomOf(seed)
      const nodes: Array<number> = []
      let inForce = 1
      for (let step = 0; step < 40; step++) {
        const known = 1 + random(4)
        if (random(3) === 0) nodes.splice(random(nodes.length + 1), 1)
        else if (formatsProblem({ newest: known, oldest: 1 }, inForce, "") === undefined) nodes.push(known)
        const before = inForce
        inForce = raisedLevel(
          inForce,
          nodes.map((level) => ({ level, silentMillis: random(2) * 90_000 })),
          false
        )
        expect(inForce).toBeGreaterThanOrEqual(before)
        for (const node of nodes) expect(node).toBeGreaterThanOrEqual(inForce)
        // Nothing holds it down but a node that is there.
        if (nodes.length > 0) expect(nodes).toContain(inForce)
      }
    }
  })

  it("who has just come back leaves nobody out, and who has been there for a while leaves out those silent for long", () => {
    const nodes = [
      { level: 3, silentMillis: 100 },
      { level: 2, silentMillis: forgottenMillis },
      { level: 1, silentMillis: forgottenMillis + 1 }
    ]
    expect(raisedLevel(1, nodes, false)).toBe(1)
    expect(raisedLevel(1, nodes, true)).toBe(2)
    expect(raisedLevel(1, nodes.slice(2), true)).toBe(1)
  })
})
