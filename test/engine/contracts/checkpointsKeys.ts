import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { Checkpoints } from "../../../src/engine/ports/Checkpoints.ts"
import { fresh, row, save } from "./checkpointsSupport.ts"

/** The keys of a kind are those whose newest row has a state, in the order of their bytes, in pages. */
export const keys = (it: Vitest.MethodsNonLive<Checkpoints>): void => {
  it.effect("keys are listed by their bytes, of one kind in one organization, page by page", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const own = ["", "a", "ab", "b", "é", "\u{ff5e}", "\u{1f600}"].map((key) => row(key, 10, 1))
      const others = [
        { ...row("c", 10, 1), kind: "other" },
        { ...row("d", 10, 1), organization: "elsewhere" }
      ]
      yield* save(checkpoints, partition, 0, 10, [...own.toReversed(), ...others])
      const { kind, organization } = own[0]!
      const page = (after: string | undefined, limit: number) =>
        checkpoints.keys(partition, { organization, kind, through: 10, after, limit })
      const all = own.map(({ key }) => key)
      assert.deepStrictEqual(yield* page(undefined, 100), all)
      assert.deepStrictEqual(yield* page(undefined, 2), ["", "a"])
      assert.deepStrictEqual(yield* page("a", 3), ["ab", "b", "é"])
      assert.deepStrictEqual(yield* page("\u{ff5e}", 3), ["\u{1f600}"])
      assert.deepStrictEqual(yield* page("\u{1f600}", 3), [])
    })
  )

  it.effect("keys count as their newest row up to a checkpoint says", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      yield* save(checkpoints, partition, 0, 10, [row("a", 10, 1), row("b", 10, 1)])
      yield* save(checkpoints, partition, 10, 20, [row("a", 20, null), row("b", 20, 2), row("c", 20, 1)])
      yield* save(checkpoints, partition, 20, 30, [row("a", 30, 3)])
      const { kind, organization } = row("a", 10, 1)
      const at = (through: number) =>
        checkpoints.keys(partition, { organization, kind, through, after: undefined, limit: 10 })
      assert.deepStrictEqual(yield* at(9), [])
      assert.deepStrictEqual(yield* at(10), ["a", "b"])
      assert.deepStrictEqual(yield* at(20), ["b", "c"])
      assert.deepStrictEqual(yield* at(30), ["a", "b", "c"])
      assert.deepStrictEqual(
        yield* checkpoints.keys(partition + 1, { organization, kind, through: 30, after: undefined, limit: 10 }),
        []
      )
    })
  )
}
