import { describe, expect, it } from "@effect/vitest"
import { Arrivals, rememberedArrivals } from "../../src/engine/shell/remote/ownerCalls.ts"
import { Prng } from "../../src/simulation/kernel/Prng.ts"

describe("numbered messages", () => {
  it("are taken once each, in any order, as long as they are remembered", () => {
    for (let seed = 0; seed < 6; seed++) {
      const draw = new Prng(seed, "arrivals")
      const arrivals = new Arrivals()
      const taken = new Set<number>()
      let highest = 0
      for (let count = 0; count < 400; count++) {
        const number = draw.chance(0.02)
          ? highest + draw.int(1, 2 * rememberedArrivals)
          : Math.max(1, highest + draw.int(-rememberedArrivals - 10, 8))
        const isNew = number > highest - rememberedArrivals && !taken.has(number)
        if (arrivals.add(number) !== isNew) expect.fail(`${number} after ${highest}: taken ${!isNew}`)
        taken.add(number)
        highest = Math.max(highest, number)
      }
    }
  })
})
