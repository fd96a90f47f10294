import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { ActorAddress } from "../../../src/engine/address.ts"
import type { Checkpoints } from "../../../src/engine/ports/Checkpoints.ts"
import { address, fresh, row, save } from "./checkpointsSupport.ts"

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

  it.effect("organizations are listed by their bytes, those with a key of the kind, page by page", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const of = (organization: string, key: string, sequence: number, state: unknown, kind = "account") => ({
        ...row(key, sequence, state),
        organization,
        kind
      })
      yield* save(checkpoints, partition, 0, 10, [
        of("org_b", "k", 10, 1),
        of("org_B", "k", 10, 1),
        of("org_a", "k", 10, 1),
        of("org_a", "l", 10, 1),
        of("other", "k", 10, 1, "other"),
        of("org_c", "k", 10, 1)
      ])
      yield* save(checkpoints, partition, 10, 20, [of("org_a", "k", 20, null), of("org_c", "k", 20, null)])
      const page = (through: number, after: string | undefined, limit: number, kind = "account") =>
        checkpoints.organizations(partition, { kind, through, after, limit })
      assert.deepStrictEqual(yield* page(9, undefined, 10), [])
      assert.deepStrictEqual(yield* page(10, undefined, 10), ["org_B", "org_a", "org_b", "org_c"])
      assert.deepStrictEqual(yield* page(20, undefined, 10), ["org_B", "org_a", "org_b"])
      assert.deepStrictEqual(yield* page(20, undefined, 2), ["org_B", "org_a"])
      assert.deepStrictEqual(yield* page(20, "org_a", 2), ["org_b"])
      assert.deepStrictEqual(yield* page(20, "org_b", 2), [])
      assert.deepStrictEqual(yield* page(20, undefined, 10, "other"), ["other"])
      assert.deepStrictEqual(yield* page(20, undefined, 10, "none"), [])
    })
  )

  it.effect("states are the newest rows of some kinds up to a checkpoint, in the order of their bytes", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const of = (organization: string, kind: string, key: string, sequence: number, state: unknown) => ({
        ...row(key, sequence, state, sequence),
        organization,
        kind
      })
      yield* save(checkpoints, partition, 0, 10, [
        of("org_2", "a", "", 10, 1),
        of("org_1", "b", "\u{1f600}", 10, 2),
        of("org_1", "b", "\u{ff5e}", 10, 3),
        of("org_1", "a", "z", 10, 4),
        of("org_1", "c", "z", 10, 5)
      ])
      yield* save(checkpoints, partition, 10, 20, [of("org_1", "a", "z", 20, null), of("org_2", "a", "", 20, 6)])
      const page = (through: number, limit: number, after?: ActorAddress) =>
        Effect.map(checkpoints.states(partition, { kinds: ["a", "b"], through, after, limit }), (rows) =>
          rows.map(({ key, kind, organization, sequence, state }) => [organization, kind, key, sequence, state])
        )
      const first = [
        ["org_1", "a", "z", 10, "4"],
        ["org_1", "b", "\u{ff5e}", 10, "3"],
        ["org_1", "b", "\u{1f600}", 10, "2"],
        ["org_2", "a", "", 10, "1"]
      ]
      assert.deepStrictEqual(yield* page(10, 10), first)
      assert.deepStrictEqual(yield* page(10, 2), first.slice(0, 2))
      assert.deepStrictEqual(yield* page(10, 2, address("\u{ff5e}", "org_1", "b")), first.slice(2))
      assert.deepStrictEqual(yield* page(10, 2, address("", "org_2", "a")), [])
      // An actor that is over is shown, so that a page ends where it was read to.
      assert.deepStrictEqual(yield* page(20, 10), [
        ["org_1", "a", "z", 20, null],
        ...first.slice(1, 3),
        ["org_2", "a", "", 20, "6"]
      ])
      assert.deepStrictEqual(
        yield* checkpoints.states(partition, { kinds: [], through: 20, after: undefined, limit: 10 }),
        []
      )
    })
  )
}
