import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { parse } from "./support.ts"

const unrecognized = (content: string | Uint8Array) => {
  const { verdict } = parse(content)
  if (verdict._tag !== "NotRecognized") throw new Error(`expected an unknown file, not ${verdict._tag}`)
  return verdict
}

describe("a file", () => {
  it.each([
    ["nothing", "", "empty", ""],
    ["blank lines", "\r\n\r\n", "a text without the header of any of them", "...."],
    [
      "an HTML page",
      "<!DOCTYPE html>\r\n<html><head><title>404</title>",
      "an HTML or XML page",
      "<!DOCTYPE html>..<html><head><title>404</title>"
    ],
    ["an HTML page after a mark and blanks", "\ufeff\n  <HTML>", "an HTML or XML page", "ï»¿.  <HTML>"],
    ["an XML error", '<?xml version="1.0"?><Error/>', "an HTML or XML page", '<?xml version="1.0"?><Error/>'],
    ["UTF-16", Buffer.from("\ufeffNPA,Status\r\n", "utf16le"), "UTF-16 text", "ÿþN.P.A.,.S.t.a.t.u.s....."],
    ["a PNG", Buffer.from("\u0089PNG\r\n\u001a\n\u0000\u0000", "latin1"), "binary data", ".PNG......"],
    ["another list", "a,b,c\n1,2,3\n", "a text without the header of any of them", "a,b,c.1,2,3."],
    [
      "available codes",
      "State\tNPA-NXX\tFile Updated 07/06/2026\r\nAK\t907-201\r\n",
      "a NANPA file without the columns OCN, Company, RateCenter, Use",
      "State.NPA-NXX.File Updated 07/06/2026..AK.907-201.."
    ],
    [
      "a column twice",
      "State\tNPA-NXX\tOCN\tCompany\tRateCenter\tUse\tUse\n",
      'a NANPA file that has the column "use" twice',
      "State.NPA-NXX.OCN.Company.RateCenter.Use.Use."
    ],
    [
      "a CNAC file without status",
      '"NPA","CO Code (NXX)","Company"\r\n',
      "a CNAC file without the columns Status, Exchange Area, OCN",
      '"NPA","CO Code (NXX)","Company"..'
    ],
    [
      "one of the lists without types",
      "index,ocn,name,brand\n1,6872,GCI,\n",
      "a list of OCNs without the columns company_name, common_name, type, country",
      "index,ocn,name,brand.1,6872,GCI,."
    ],
    [
      "a report's first line alone",
      "File Date,07/06/2026\r\n",
      "an NPA report that ends after its first line",
      "File Date,07/06/2026.."
    ],
    [
      "a report with other columns",
      "File Date,07/06/2026\r\nA,B\r\n",
      "an NPA report without the columns NPA_ID, USE, LOCATION, COUNTRY, IN_SERVICE",
      "File Date,07/06/2026..A,B.."
    ]
  ])("that is %s is told as such", (_, content, looksLike, seen) => {
    assert.deepStrictEqual(unrecognized(content), { _tag: "NotRecognized", seen, looksLike })
  })

  it("whose first line never ends is unknown before it has been read", () => {
    assert.strictEqual(unrecognized("x".repeat(1_000_000)).seen, "x".repeat(64))
  })

  it.prop("of any text is recognised, refused or unknown, but never breaks the reading", [Schema.String], ([text]) => {
    assert.include(["NotRecognized", "Refused", "Complete"], parse(text, 3).verdict._tag)
  })
})
