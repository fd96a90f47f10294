/** A program with a worker, killed (-9) meanwhile: the effect of each job happens under one key, and each reply counts once. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { patienceMillis } from "../support/patience.ts"
import { playWorkerKills } from "./workers/killWorkers.ts"

/** `SLUICE_TEST_LONG=1` plays ten. */
const kills = process.env.SLUICE_TEST_LONG === "1" ? 10 : 2

describe("a program with a worker", { timeout: patienceMillis }, () => {
  it.live("has each order charged under one key, and counts each reply once, however often it is killed", () =>
    Effect.gen(function* () {
      const { charges, states, total } = yield* playWorkerKills(kills, 60)
      const orders = Array.from({ length: total }, (_, order) => order)
      const sorted = (numbers: ReadonlyArray<number>) => [...numbers].sort((left, right) => left - right)
      // One key for each order, and under each key that order alone.
      assert.deepStrictEqual(sorted([...charges.values()].flatMap((calls) => [...new Set(calls)])), orders)
      assert.deepStrictEqual(sorted(states.flatMap((state) => state.orders)), orders)
      assert.deepStrictEqual(sorted(states.flatMap(({ paid }) => paid)), orders)
    })
  )
})
