import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { splitCsv } from "../../../src/directory/files/csv.ts"

describe("comma-separated cells", () => {
  it("may be quoted, padded and empty", () => {
    assert.deepStrictEqual(splitCsv('204,200,"In Service","Winnipeg","MB","ISP Telecom Inc.","4727",'), [
      "204",
      "200",
      "In Service",
      "Winnipeg",
      "MB",
      "ISP Telecom Inc.",
      "4727",
      ""
    ])
    assert.deepStrictEqual(splitCsv(",,"), ["", "", ""])
    assert.deepStrictEqual(splitCsv('""'), [""])
    assert.deepStrictEqual(splitCsv('a , "b" ,"c,d", "e ""f"""'), ["a", "b", "c,d", 'e "f"'])
  })

  it("with unmatched quotes spoil their line", () => {
    assert.strictEqual(splitCsv('a,"b'), "has a quote that is not closed")
    assert.strictEqual(splitCsv('a,"b"c'), "has text after a closing quote")
    assert.strictEqual(splitCsv('a,b"c'), "has a quote inside a cell that does not begin with one")
  })

  const cell = Schema.Literals(["", "a", "b c", 'say "no"', ",", '"', "é", "1,2", '""']).pipe(Schema.Array)
  it.prop(
    "printed in quotes are read as they were",
    [Arbitrary.schema(cell.check(Schema.isMinLength(1)))],
    ([cells]) => {
      const line = cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(",")
      assert.deepStrictEqual(splitCsv(line), cells)
    }
  )

  it.prop("are never lost silently: any text gives cells or a reason", [Schema.String], ([text]) => {
    const cells = splitCsv(text)
    if (typeof cells === "string") assert.match(cells, /^has /)
    else assert.isAtLeast(cells.length, 1)
  })
})
