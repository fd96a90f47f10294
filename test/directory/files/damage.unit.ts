import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { bundledSources } from "../../../src/directory/files/bundledSources.ts"
import { malformedShareLimit } from "../../../src/directory/files/limits.ts"
import { layer, openSource, readFile } from "../../../src/directory/files/read.ts"
import { often } from "../../support/often.ts"
import { fixture, parse } from "./support.ts"

// Damaged files must never break the reading, and never pass with more malformed lines than allowed.

const snapshot = (kind: string): Buffer =>
  gunzipSync(readFileSync(bundledSources.find((bundled) => bundled.kind === kind)!.path))

const files = {
  nanpa: fixture("nanpa-2026.txt"),
  nanpa2011: fixture("nanpa-2011.txt"),
  cnac: fixture("cnac-8-columns-902.csv.gz"),
  cnac2023: fixture("cnac-7-columns-902.csv.gz"),
  report: fixture("npa-2018.csv.gz"),
  types: snapshot("CARRIER_TYPES")
}
const name = Arbitrary.schema(Schema.Literals(Object.keys(files) as Array<keyof typeof files>))
const place = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 })))
const byte = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))
const chunk = Arbitrary.schema(Schema.Literals([1_000, 65_536]))

const sound = (content: Uint8Array, chunkBytes: number): void => {
  const { areaCodes, carriers, codes, verdict } = parse(content, chunkBytes)
  if (verdict._tag !== "Complete") return
  const { lines, malformed, records } = verdict.result
  assert.isAbove(records, 0)
  assert.isAtMost(malformed.total, lines * malformedShareLimit)
  assert.strictEqual(records + malformed.total, lines)
  assert.strictEqual(codes.length + carriers.length + areaCodes.length, records)
  for (const record of codes) {
    assert.match(record.npa + record.nxx, /^([2-9]\d\d){2}$/)
    assert.match(record.state ?? "NY", /^[A-Z]{2}$/)
    assert.match(record.ocn ?? "0000", /^[0-9A-Z]{4}$/)
    assert.notMatch(`${record.company}${record.rateCenter}`, /\p{Cc}/u)
  }
}

describe("a damaged file", () => {
  const change = Arbitrary.all({
    at: place,
    kind: Arbitrary.schema(Schema.Literals(["flip", "insert", "remove", "line end"])),
    byte,
    length: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_000 })))
  })

  it.prop(
    "with changed, added and lost bytes is read or refused, and what is read is well-formed",
    [name, Arbitrary.array(change, { minLength: 1, maxLength: 12 }), chunk],
    ([which, changes, chunkBytes]) => {
      let content = files[which]
      for (const { at, byte, kind, length } of changes) {
        const place = at % content.length
        const insert = kind === "insert" ? Buffer.alloc(length, byte) : Buffer.from(kind === "line end" ? "\n" : [byte])
        const lost = kind === "remove" ? length : kind === "flip" ? 1 : 0
        const rest = content.subarray(place + lost)
        content = Buffer.concat(
          kind === "remove" ? [content.subarray(0, place), rest] : [content.subarray(0, place), insert, rest]
        )
      }
      sound(content, chunkBytes)
    },
    { arbitrary: { runs: often(150) } }
  )

  it.prop(
    "of random bytes, alone or after a good header, is not taken",
    [name, Arbitrary.array(byte, { minLength: 1, maxLength: 3_000 }), Arbitrary.schema(Schema.Boolean)],
    ([which, bytes, withHeader]) => {
      const file = files[which]
      const header = file.subarray(0, file.indexOf("\n", file.indexOf("\n") + 1) + 1)
      const { verdict } = parse(Buffer.concat([withHeader ? header : Buffer.alloc(0), Buffer.from(bytes)]))
      // The header of the types and of the US file takes one line, so that there one good line of data is left.
      if (verdict._tag === "Complete") assert.isAtMost(verdict.result.records, 1)
    }
  )

  it.prop(
    "that ends early is refused",
    [Arbitrary.schema(Schema.Literals(["cnac", "cnac2023", "report"])), place],
    ([which, place]) => {
      const content = files[which]
      // Without its last line end, or without an empty last cell's quotes before it, a file is still whole.
      const end = place % (content.toString("latin1").trimEnd().length - 2)
      assert.include(["NotRecognized", "Refused"], parse(content.subarray(0, end)).verdict._tag)
    }
  )

  const us = snapshot("NANPA")
  const lastServiceCode = us.lastIndexOf("WY   \t307-911")
  it.prop(
    "of the whole US that ends early is refused, also between two lines",
    [place, Arbitrary.schema(Schema.Boolean)],
    ([place, atLineEnd]) => {
      // Up to the end of the first state it may be a file about that state.
      const first = us.indexOf("AL   \t205") + 250
      const end = first + (place % (lastServiceCode - first))
      const cut = atLineEnd ? us.lastIndexOf("\n", end) + 1 : end
      const { verdict } = parse(us.subarray(0, cut))
      assert.strictEqual(verdict._tag, "Refused")
    },
    { arbitrary: { runs: often(8) } }
  )

  it.live("hands no record of a small file over before its verdict", () =>
    Effect.gen(function* () {
      const { files: opened } = yield* openSource(
        new URL("fixtures/cnac-8-columns-902.csv.gz", import.meta.url).pathname
      )
      const handedOver: Array<number> = []
      const summary = yield* readFile(opened[0]!, ({ data, lines, progress }) =>
        Effect.sync(() => {
          handedOver.push(data.records.length, lines, progress.readBytes, progress.totalBytes)
        })
      )
      assert.strictEqual(summary.records, 800)
      assert.deepStrictEqual(handedOver, [800, 800, 5_907, 5_907])
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.live("stops being read when its records cannot be stored", () =>
    Effect.gen(function* () {
      const { files: opened } = yield* openSource(bundledSources[0]!.path)
      let batches = 0
      const error = yield* Effect.flip(
        readFile(opened[0]!, () => {
          batches++
          return Effect.fail("disk full" as const)
        })
      )
      assert.strictEqual(error, "disk full")
      assert.strictEqual(batches, 1)
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})
