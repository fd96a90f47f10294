import { assert, describe, it } from "@effect/vitest"
import { complete, parse, refused } from "./support.ts"

/** Samples made after the columns that the report is known to have; the package has no published file of it. */

const names =
  "Region,State,NPA,NXX,X,STATUS,Code Holder,Contaminated (Y or N),Contaminated TNs not Available for Assignment,Rate Center,Block Effective Date,Block Available Date,Assigned To,OCN,Date Assigned"

const line = (number: string, status: string, holder = "", ocn = "") =>
  `"NORTHEAST","NY","${number.slice(0, 3)}","${number.slice(3, 6)}","${number[6]}","${status}","A, INC.","N","0","NWYRCYZN01","","","${holder}","${ocn}",""\r\n`

const good = Array.from({ length: 200 }, (_, n) => line(String(2_122_000 + n), "AS", "B, LLC", "123A")).join("")
const withCommas = `${names}\r\n`
const withTabs = (text: string) =>
  text
    .split("\r\n")
    .map((one) => one.replaceAll('","', '"\t"').replaceAll(/^([A-Z][^"]*)$/g, (header) => header.replaceAll(",", "\t")))
    .join("\r\n")

describe("report on thousands blocks", () => {
  it.each([
    ["commas", (text: string) => text, null],
    [
      "tabs, with its date in the header",
      (text: string) => withTabs(text).replace("Date Assigned", "Date Assigned\tFile Updated 07/06/2026"),
      "2026-07-06"
    ],
    ["tabs and padding", (text: string) => withTabs(text).replaceAll("\t", "  \t "), null]
  ])("is read by column names, with %s", (_, form, publicationDate) => {
    const text =
      withCommas +
      line("2122000", "AS", "B, LLC", "123A") +
      line("2122001", "RT") +
      line("2122002", "AV") +
      line("2122009", "rv", "C", "9104") +
      line("9172000", "AP") +
      line("9172001", "AF")
    const { blocks, verdict } = parse(form(text))
    assert.deepInclude(complete(verdict), {
      kind: "NANPA_BLOCKS",
      publicationDate,
      columns: 15,
      records: 6,
      coverage: { whole: false, areaCodes: ["212", "917"] }
    })
    const none = { ocn: null, company: null }
    assert.deepStrictEqual(blocks, [
      { npa: "212", nxx: "200", block: "0", status: "ASSIGNED", ocn: "123A", company: "B, LLC" },
      { npa: "212", nxx: "200", block: "1", status: "ASSIGNED", ...none },
      { npa: "212", nxx: "200", block: "2", status: "UNASSIGNED", ...none },
      { npa: "212", nxx: "200", block: "9", status: "RESERVED", ocn: "9104", company: "C" },
      { npa: "917", nxx: "200", block: "0", status: "UNASSIGNED", ...none },
      { npa: "917", nxx: "200", block: "1", status: "UNASSIGNED", ...none }
    ])
  })

  it("needs five columns, in any order", () => {
    const { blocks } = parse("OCN,X,Status,NXX,NPA\n123A,7,AS,200,212\n")
    assert.deepStrictEqual(blocks, [
      { npa: "212", nxx: "200", block: "7", status: "ASSIGNED", ocn: "123A", company: null }
    ])
  })

  it.each([
    ["another NPA", line("1122000", "AS"), 'has the NPA "112"'],
    ["another NXX", line("2121000", "AS"), 'has the NXX "100"'],
    ["no digit for the block", line("212300x", "AS").replace('"0"', '"x"'), 'has the block "x"'],
    ["an unknown status", line("2123000", "ZZ"), 'has the unknown status "ZZ"'],
    ["a bad OCN", line("2123000", "AS", "D", "12"), 'has the OCN "12", not 4 characters 0-9 and A-Z'],
    ["a block seen before", line("2122000", "AS"), "repeats 212-200-0"],
    ["a cell too many", line("2123000", "AS").replace("\r\n", ',"x"\r\n'), "has 16 fields, not 15"],
    ["a cell too few", line("2123000", "AS").replace(',""\r\n', "\r\n"), "has 14 fields, not 15"]
  ])("has a malformed line with %s", (_, bad, reason) => {
    const { malformed } = complete(parse(withCommas + good + bad).verdict)
    assert.deepStrictEqual(malformed.listed, [{ line: 202, reason }])
  })

  it("knows the block that a malformed line is about", () => {
    const { unread } = complete(parse(withCommas + good + line("2123007", "ZZ")).verdict)
    assert.deepStrictEqual(unread, { keys: ["2123007"], unknown: 0 })
  })

  it("is refused when its last line is cut, or too much is malformed", () => {
    assert.strictEqual(
      refused(parse(withCommas + good + line("2123000", "AS").slice(0, 40)).verdict).reason,
      "Truncated"
    )
    const bad = Array.from({ length: 3 }, (_, n) => line(`212300${n}`, "ZZ")).join("")
    assert.strictEqual(refused(parse(withCommas + good + bad).verdict).reason, "TooManyMalformed")
  })

  it("is not recognized without its columns, and the message names them", () => {
    const { verdict } = parse(`${names.replace("STATUS", "State of it").replace("OCN", "Number")}\r\n${good}`)
    assert.deepInclude(verdict, {
      _tag: "NotRecognized",
      looksLike: "a report on thousands blocks without the columns Status, OCN"
    })
  })
})
