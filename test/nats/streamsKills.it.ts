/** A program that reads a stream and writes another one, killed (-9) meanwhile: each message counts once, and each fact is published once. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { patienceMillis } from "../support/patience.ts"
import { playKills } from "./streams/kill.ts"

/** `SLUICE_TEST_LONG=1` plays ten. */
const kills = process.env.SLUICE_TEST_LONG === "1" ? 10 : 2

describe("a program with streams in and out", { timeout: patienceMillis }, () => {
  it.live("counts and publishes each order once and in order, however often it is killed", () =>
    Effect.gen(function* () {
      const { counted, ordered, published, streams, total } = yield* playKills(kills, 300)
      assert.deepStrictEqual(streams, [total, total])
      assert.deepStrictEqual(counted, ordered)
      assert.deepStrictEqual(published, ordered)
    })
  )
})
