import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Directory, InvalidRecord } from "../../src/directory/index.ts"
import { code, listed, reported } from "./records.ts"

/** The directory embedded in somebody's program, without any server. */

describe("a directory from given records", () => {
  it.effect("answers every question", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 10, 20, 12))
      const context = yield* Layer.build(
        Directory.layerMemory({
          codes: [code("212-200"), code("600-200", { country: "CA", state: null, ocn: null })],
          carrierTypes: [listed("9104", { commonName: "Verizon", type: "ILEC" })],
          areaCodes: [reported("600", { locations: ["YT"] })]
        })
      )
      const directory = Context.get(context, Directory)
      assert.isTrue(yield* directory.ready)
      assert.deepStrictEqual(yield* directory.carrier("9104"), {
        ocn: "9104",
        company_name: "VERIZON NEW YORK, INC.",
        common_name: "Verizon",
        carrier_type: "ILEC",
        state: "NY",
        country: "US",
        exchanges: { total: 1, by_state: { NY: 1 } }
      })
      assert.strictEqual((yield* directory.carriers({ type: "ilec" })).pagination.total, 1)
      assert.strictEqual((yield* directory.areaCode("600")).state, "YT")
      const { by_country, last_updated } = yield* directory.statistics
      assert.deepStrictEqual(by_country, { US: 1, CA: 1 })
      assert.deepStrictEqual(last_updated, { NANPA: "2026-11-20T12:00:00.000Z", CNAC: "2026-11-20T12:00:00.000Z" })
      assert.strictEqual(yield* directory.lastIngestion, "2026-11-20T12:00:00.000Z")
      yield* directory.refresh
    })
  )

  it.effect("takes any iterable, and none", () =>
    Effect.gen(function* () {
      const directory = yield* Directory
      assert.deepStrictEqual((yield* directory.statistics).last_updated, { NANPA: null, CNAC: null })
      assert.strictEqual(yield* directory.lastIngestion, null)
    }).pipe(Effect.provide(Directory.layerMemory({ codes: new Set() })))
  )

  it.effect("refuses a code that is no number", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Layer.build(Directory.layerMemory({ codes: [code("21a-200")] })))
      assert.instanceOf(error, InvalidRecord)
      assert.include(error.message, '"21a"')
    })
  )
})

describe("a directory from files", () => {
  it.effect("says which file it cannot read", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Layer.build(Directory.layerFiles(["/nowhere/at-all.txt"])))
      assert.strictEqual(error._tag, "SourceUnreadable")
      assert.include(error.message, "/nowhere/at-all.txt")
    })
  )
})
