import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { ActorAddress } from "../../../src/engine/address.ts"
import { maximumTimerPage } from "../../../src/engine/limits.ts"
import type { Checkpoints } from "../../../src/engine/ports/Checkpoints.ts"
import { fresh, names, row, save } from "./checkpointsSupport.ts"

/** Timers come page by page, each once, from the newest rows alone. */
export const timers = (it: Vitest.MethodsNonLive<Checkpoints>): void => {
  it.effect("timers come in the order of time and name, page by page", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const rows = Array.from({ length: 300 }, (_, index) =>
        row(`key ${String(index).padStart(3, "0")}`, 5, 1, 1_000 + (index % 7))
      )
      yield* save(checkpoints, partition, 0, 5, [...rows, row("sleeps", 5, 1, null)])
      const found = []
      let after: (ActorAddress & { readonly wakeAt: number }) | undefined
      while (true) {
        const page = yield* checkpoints.timers(partition, { through: 5, after, limit: 64 })
        found.push(...page)
        after = page[page.length - 1]
        if (page.length < 64) break
      }
      const expected = [...rows].sort((left, right) => left.wakeAt! - right.wakeAt! || (left.key < right.key ? -1 : 1))
      assert.deepStrictEqual(
        found.map((timer) => [timer.wakeAt, timer.key]),
        expected.map((one) => [one.wakeAt, one.key])
      )
      const all = yield* checkpoints.timers(partition, { through: 5, after: undefined, limit: maximumTimerPage })
      assert.strictEqual(all.length, maximumTimerPage)
    })
  )

  it.effect("an actor's timer is that of its newest row up to the place", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      yield* save(checkpoints, partition, 0, 5, [row("a", 5, 1, 100), row("b", 5, 1, 100), row("c", 5, 1, 100)])
      yield* save(checkpoints, partition, 5, 9, [row("a", 9, 1, 50), row("b", 9, 1, null), row("c", 9, null, null)])
      const timers = (through: number) =>
        Effect.map(checkpoints.timers(partition, { through, after: undefined, limit: 10 }), (found) =>
          found.map((timer) => [timer.key, timer.wakeAt])
        )
      assert.deepStrictEqual(yield* timers(9), [["a", 50]])
      assert.deepStrictEqual(yield* timers(8), [
        ["a", 100],
        ["b", 100],
        ["c", 100]
      ])
      assert.deepStrictEqual(yield* timers(4), [])
    })
  )

  it.effect("a page of timers is full while there are more, however many superseded ones stand before them", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const keys = Array.from({ length: 40 }, (_, index) => `key ${String(index).padStart(2, "0")}`)
      yield* save(
        checkpoints,
        partition,
        0,
        5,
        keys.map((key, index) => row(key, 5, 1, 100 + index))
      )
      // The first thirty have rung: some are over, some sleep, some wait for later.
      yield* save(
        checkpoints,
        partition,
        5,
        9,
        keys
          .slice(0, 30)
          .map((key, index) => row(key, 9, index % 3 === 0 ? null : 2, index % 3 === 2 ? 1_000 + index : null))
      )
      const found: Array<string> = []
      let after: (ActorAddress & { readonly wakeAt: number }) | undefined
      while (true) {
        const page = yield* checkpoints.timers(partition, { through: 9, after, limit: 4 })
        found.push(...names(page))
        if (page.length < 4) break
        after = page[page.length - 1]
      }
      assert.deepStrictEqual(found, [...keys.slice(30), ...keys.slice(0, 30).filter((_, index) => index % 3 === 2)])
    })
  )
}
