/** Each organization gets a share of something bounded, and leaves room for the others; against a naive model. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { roomOf, Shares } from "../../src/common/Shares.ts"

/** Takes one after the other for each organization in turn, as long as there is room. Answers what each has. */
const filled = (capacity: number, organizations: ReadonlyArray<string>): ReadonlyArray<number> => {
  const shares = new Shares(capacity)
  let isGrowing = true
  while (isGrowing) {
    isGrowing = false
    for (const organization of organizations) {
      if (shares.roomOf(organization) === 0) continue
      shares.take(organization)
      isGrowing = true
    }
  }
  return organizations.map((organization) => shares.of(organization))
}

describe("a share", () => {
  it.each([
    [["a"], [128]],
    [
      ["a", "b"],
      [86, 85]
    ],
    [
      ["a", "b", "c"],
      [64, 64, 64]
    ]
  ])("given %j that want all of 256, then they have %j, and something is left", (organizations, expected) => {
    expect(filled(256, organizations)).toEqual(expected)
  })

  it("given one that has its half, then the next one has room all the same", () => {
    const shares = new Shares(8)
    for (let count = 0; count < 4; count++) shares.take("a")
    expect([shares.roomOf("a"), shares.roomOf("b")]).toEqual([0, 2])
  })

  it("given a capacity of one, then who comes first has it", () => {
    expect(roomOf(0, { capacity: 1, used: 0 })).toBe(1)
    expect(roomOf(0, { capacity: 1, used: 1 })).toBe(0)
  })

  it("given more taken than there was room, then nobody has room until it is given back", () => {
    const shares = new Shares(4)
    shares.take("a", 9)
    expect([shares.roomOf("a"), shares.roomOf("b")]).toEqual([0, 0])
    expect(shares.give("a", 9)).toBe(0)
    expect([shares.used, shares.of("a"), shares.roomOf("b")]).toEqual([0, 0, 2])
  })

  const Step = Schema.Struct({
    organization: Schema.Literals(["a", "b", "c", "d"]),
    does: Schema.Literals(["take", "give"])
  })

  it.prop(
    "room is what one can take step by step, each step as long as it holds less than is free",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 })),
      Schema.Array(Step).check(Schema.isMaxLength(120))
    ],
    ([capacity, steps]) => {
      const shares = new Shares(capacity)
      const model = new Map<string, number>()
      const total = () => [...model.values()].reduce((sum, count) => sum + count, 0)
      const isAllowed = (organization: string, more = 0) =>
        (model.get(organization) ?? 0) + more < capacity - total() - more
      for (const { does, organization } of steps) {
        const own = model.get(organization) ?? 0
        if (does === "take" && isAllowed(organization)) {
          shares.take(organization)
          model.set(organization, own + 1)
        } else if (does === "give" && own > 0) {
          shares.give(organization)
          model.set(organization, own - 1)
        }
        expect(shares.used).toBe(total())
        expect(total()).toBeLessThanOrEqual(capacity)
        for (const one of ["a", "b", "c", "d"]) {
          let steps = 0
          while (isAllowed(one, steps)) steps++
          expect(shares.of(one)).toBe(model.get(one) ?? 0)
          expect(shares.roomOf(one)).toBe(steps)
        }
      }
    }
  )
})
