/** A rebuild from states counts each fact once: in a state, or behind it (docs/reactors.md, "From the states"). */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { type ActorAddress, compareByBytes } from "../../src/engine/address.ts"
import type { RebuildProgress } from "../../src/engine/ports/Cursors.ts"
import { begunWalk, isCovered, isOverAt, walked } from "../../src/engine/shell/reactors/statesWalk.ts"

const actor = (key: string): ActorAddress => ({ organization: "org_1", kind: "a", key })
const fact = (key: string, sequence: number) => ({ ...actor(key), sequence })
const page = (key: string, sequence: number, isLast = false) => ({ last: actor(key), states: 1, sequence, isLast })

describe("a walk through states", () => {
  it("given pages of one checkpoint, it has facts up to it", () => {
    const progress = walked(walked(begunWalk, page("b", 10)), page("d", 10, true))
    expect(progress).toEqual({
      step: 2,
      states: 2,
      place: actor("d"),
      isWalked: true,
      cuts: [{ through: undefined, sequence: 10 }]
    })
    for (const key of ["a", "d", "z"])
      expect([isCovered(progress, fact(key, 10)), isCovered(progress, fact(key, 11))]).toEqual([true, false])
    expect([isOverAt(progress, 9), isOverAt(progress, 10)]).toEqual([false, true])
  })

  it("given pages of two checkpoints, each actor has those of its page", () => {
    const progress = walked(walked(begunWalk, page("b", 10)), page("d", 20, true))
    expect(["a", "b", "c", "z"].map((key) => isCovered(progress, fact(key, 15)))).toEqual([false, false, true, true])
    expect([isOverAt(progress, 10), isOverAt(progress, 20)]).toEqual([false, true])
  })

  it("given an empty last page, it has the facts of whoever was left by then", () => {
    const first = walked(begunWalk, page("b", 10))
    const progress = walked(first, { last: undefined, states: 0, sequence: 20, isLast: true })
    expect(["b", "c"].map((key) => isCovered(progress, fact(key, 15)))).toEqual([false, true])
    expect(isOverAt(first, 1_000)).toBe(false)
  })

  it("given nothing yet, it has no fact", () => {
    expect(isCovered(begunWalk, fact("a", 1))).toBe(false)
    expect(isOverAt(begunWalk, 0)).toBe(false)
  })

  const Facts = Schema.Array(Schema.Literals(["a", "b", "c", "ž", "\u{ff5e}", "\u{1f600}", "d", "e"])).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(60)
  )
  const Pages = Schema.Array(
    Schema.Struct({
      size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })),
      gap: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))
    })
  ).check(Schema.isMinLength(1), Schema.isMaxLength(20))

  it.prop(
    "each fact counts once, whatever checkpoints its pages are of",
    [Arbitrary.schema(Facts), Arbitrary.schema(Pages)],
    ([facts, pages]) => {
      const log = facts.map((key, index) => fact(key, index + 1))
      const countsAt = (sequence: number) => {
        const counts = new Map<string, number>()
        for (const { key, sequence: of } of log) if (of <= sequence) counts.set(key, (counts.get(key) ?? 0) + 1)
        return [...counts].map(([key, count]) => ({ ...actor(key), count })).sort(compareByBytes)
      }
      const counted = new Map<string, number>()
      const count = (key: string, by: number) => counted.set(key, (counted.get(key) ?? 0) + by)
      let progress: RebuildProgress = begunWalk
      let sequence = Math.min(log.length, pages[0]!.gap)
      const begun = sequence
      for (let index = 0; !progress.isWalked; index++) {
        const { gap, size } = pages[index % pages.length]!
        const { place } = progress
        const rows = countsAt(sequence)
          .filter((row) => place === undefined || compareByBytes(row, place) > 0)
          .slice(0, size)
        for (const row of rows) count(row.key, row.count)
        progress = walked(progress, { last: rows.at(-1), states: rows.length, sequence, isLast: rows.length < size })
        sequence = Math.min(log.length, sequence + gap)
      }
      for (const one of log) if (one.sequence > begun && !isCovered(progress, one)) count(one.key, 1)
      expect(Object.fromEntries(counted)).toEqual(
        Object.fromEntries(countsAt(log.length).map(({ count: of, key }) => [key, of]))
      )
      expect(isOverAt(progress, log.length)).toBe(true)
    }
  )
})
