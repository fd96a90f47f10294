/** Whose turn it is, against a list that is searched each time: the fewest places first, and of equals the one that has waited longest. */
import { expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { Turns } from "../../../src/webhooks/dispatcher/Turns.ts"

const Act = Schema.Struct({
  does: Schema.Literals(["add", "remove", "moved", "first"]),
  key: Schema.Literals(["a", "b", "c", "d", "e"]),
  own: Schema.Literals([0, 1, 2, 5, 9])
})

it.prop(
  "the next one is the one that a search finds",
  [Arbitrary.schema(Schema.Array(Act).check(Schema.isMaxLength(80)))],
  ([acts]) => {
    const turns = new Turns<string>()
    let waiting: ReadonlyArray<{ readonly key: string; readonly own: number }> = []
    const of = (key: string) => waiting.find((one) => one.key === key)
    for (const { does, key, own } of acts) {
      const known = of(key)
      if (does === "add" && known === undefined) {
        turns.add(key, own)
        waiting = [...waiting, { key, own }]
      } else if (does === "remove" && known !== undefined) {
        expect(turns.remove(key, known.own)).toBe(true)
        waiting = waiting.filter((one) => one !== known)
      } else if (does === "moved" && known !== undefined) {
        turns.moved(key, known.own, own)
        waiting = [...waiting.filter((one) => one !== known), { key, own }]
      }
      const expected = [...waiting].filter((one) => one.own < 9).sort((one, other) => one.own - other.own)[0]
      expect(
        turns.first(
          (places) => places < 9,
          (found) => found
        )
      ).toBe(expected?.key)
      expect(turns.isEmpty).toBe(waiting.length === 0)
    }
  }
)
