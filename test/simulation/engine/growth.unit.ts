/** The growth of a state by its trend: given sizes after decisions, then it has a bound or not. */
import { describe, expect, it } from "vitest"
import { growthOf } from "../../../src/simulation/engine/edgeCommands.ts"

const sizes = (...given: ReadonlyArray<readonly [decisions: number, size: number]>) =>
  given.map(([decisions, size]) => ({ decisions, size }))

describe("the growth of a state", () => {
  it.each([
    ["that keeps its pace", sizes([100, 200], [200, 400], [300, 600]), 2],
    ["that gets faster", sizes([100, 200], [200, 400], [300, 900]), 5],
    ["that slows down", sizes([100, 200], [200, 700], [300, 900]), undefined],
    ["that stops", sizes([100, 200], [200, 400], [300, 400]), undefined],
    ["of a number that gets longer", sizes([100, 20], [200, 21], [300, 22]), undefined],
    ["whose commands were mostly refused", sizes([100, 200], [150, 400], [200, 600]), undefined],
    ["of which one size is known", sizes([100, 200]), undefined]
  ])("%s", (_, given, growth) => {
    expect(growthOf(given, 100)).toBe(growth)
  })
})
