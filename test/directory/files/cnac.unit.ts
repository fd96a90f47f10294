import { assert, describe, it } from "@effect/vitest"
import { complete, fixture, parse, refused, tally } from "./support.ts"

const header = '"NPA","CO Code (NXX)","Status","Exchange Area","Province","Company","OCN","Remarks"\r\n'
const date = ",,,,,,,2024-10-10\r\n"

/** The 800 lines of an area code, some replaced. */
const lines = (npa: number, replaced: Record<number, string> = {}): string =>
  Array.from(
    { length: 800 },
    (_, n) => `${replaced[200 + n] ?? `${npa},${200 + n},"Available","","","","",`}\r\n`
  ).join("")

const reasonFor = (bad: string) => complete(parse(header + date + lines(902, { 450: bad })).verdict).malformed.listed[0]

describe("CNAC status file", () => {
  it.each([
    [7, "2023-08-04", { ASSIGNED: 781, RESERVED: 18, UNASSIGNED: 1 }, { null: 800 }],
    [8, "2024-10-10", { ASSIGNED: 782, RESERVED: 18 }, { NS: 664, PE: 115, null: 21 }],
    [9, "2026-04-01", { ASSIGNED: 782, RESERVED: 18 }, { NS: 664, PE: 115, null: 21 }]
  ] as const)("of one area code with %i columns is read as that area code", (columns, publicationDate, status, state) => {
    const { codes, verdict } = parse(fixture(`cnac-${columns}-columns-902.csv.gz`))
    assert.deepInclude(complete(verdict), { kind: "CNAC", columns, publicationDate, lines: 800, records: 800 })
    assert.deepStrictEqual(complete(verdict).coverage, { whole: false, areaCodes: ["902"] })
    assert.deepStrictEqual(
      tally(codes, (record) => record.status),
      status
    )
    assert.deepStrictEqual(
      tally(codes, (record) => record.state),
      state
    )
  })

  it("gives records of two provinces in one area code", () => {
    const { codes } = parse(fixture("cnac-8-columns-902.csv.gz"))
    assert.deepStrictEqual(codes[0], {
      country: "CA",
      npa: "902",
      nxx: "200",
      state: "PE",
      ocn: "154E",
      company: "Iristel Inc.",
      rateCenter: "Charlottetown",
      status: "ASSIGNED",
      pooled: null
    })
    assert.deepInclude(
      codes.find((record) => record.nxx === "211"),
      { ocn: null, company: null, rateCenter: null }
    )
  })

  it("[directory 1.3] maps every known status", () => {
    const expected = {
      "In Service": "ASSIGNED",
      Assigned: "ASSIGNED",
      "Being Recovered": "ASSIGNED",
      "New NPA Testing": "ASSIGNED",
      "Stranded Code": "ASSIGNED",
      Available: "UNASSIGNED",
      "Available as Initial Code only": "UNASSIGNED",
      "Recovered/Aging": "UNASSIGNED",
      "New NPA": "RESERVED",
      "For Special Use": "RESERVED",
      "Not Available": "RESERVED",
      "Moratorium on Assignment": "RESERVED",
      "Plant Test": "RESERVED",
      Protected: "RESERVED",
      "TBP Test Code": "RESERVED",
      "Temporarily Unavailable": "RESERVED",
      "New Entrants Reserved": "RESERVED"
    }
    const replaced = Object.fromEntries(
      Object.keys(expected).map((status, n) => [300 + n, `902,${300 + n},"${status}","","","","",`])
    )
    const { codes } = parse(header + date + lines(902, replaced))
    assert.deepStrictEqual(
      codes.slice(100, 117).map((record) => record.status),
      Object.values(expected)
    )
  })

  it("[directory 1.2] says whether a code is pooled from the layout of 9 columns on", () => {
    const { codes } = parse(fixture("cnac-9-columns-902.csv.gz"))
    assert.deepStrictEqual(
      tally(codes, (record) => String(record.pooled)),
      { false: 800 }
    )
    const pooled = '902,450,"Assigned","Y","Halifax","NS","Bell Aliant","709G",""'
    const nine = header.replace('"Status",', '"Status","Pooled",')
    const others = lines(902).replaceAll('"Available",', '"Available","",').split("\r\n")
    others[250] = pooled
    const { codes: mixed } = parse(nine + others.join("\r\n"))
    assert.deepStrictEqual(
      tally(mixed, (record) => String(record.pooled)),
      { null: 799, true: 1 }
    )
    assert.deepInclude(mixed[250], { nxx: "450", pooled: true })
  })

  it("may hold commas inside quotes", () => {
    const comma = '902,450,"In Service","Alma","QC","Bell Aliant, a division of Bell Canada","709G","a, b"'
    const { codes } = parse(header + date + lines(902, { 450: comma }))
    assert.deepInclude(codes[250], { company: "Bell Aliant, a division of Bell Canada", ocn: "709G", state: "QC" })
  })

  it("may begin with a byte order mark, end lines with LF, and lack the date row", () => {
    const { verdict } = parse(`\ufeff${(header + lines(902)).replaceAll("\r", "")}`)
    assert.deepInclude(complete(verdict), { publicationDate: null, lines: 800, records: 800 })
  })

  it.each([
    ["an unknown status", '902,450,"Parked","","","","",', 'has the unknown status "Parked"'],
    ["a status in other letters", '902,450,"in service","","","","",', 'has the unknown status "in service"'],
    ["an unknown province", '902,450,"Assigned","X","ZZ","","",', 'has the unknown province "ZZ"'],
    ["a bad NPA", '90,450,"Assigned","","","","",', 'has the NPA "90"'],
    ["a bad NXX", '902,150,"Assigned","","","","",', 'has the NXX "150"'],
    ["a bad OCN", '902,450,"Assigned","","","","47270",', 'has the OCN "47270", not 4 characters 0-9 and A-Z'],
    ["too few fields", '902,450,"Assigned","","","",""', "has 7 fields, not 8"],
    ["an unquoted comma", '902,450,"Assigned",a,b,"","","",', "has 9 fields, not 8"],
    ["an open quote", '902,450,"Assigned,"","","","",', "has a quote that is not closed"],
    ["a code seen before", '902,449,"Assigned","","","","",', "repeats 902-449"],
    ["a second date row", ",,,,,,,2024-10-10", 'has the NPA ""']
  ])("has a malformed line with %s", (_, bad, reason) => {
    assert.deepStrictEqual(reasonFor(bad), { line: 253, reason })
  })

  it("that lacks one line of an area code is refused", () => {
    const content = header + date + lines(902)
    const short = content.slice(0, content.lastIndexOf("902,999"))
    const { reason, why } = refused(parse(short).verdict)
    assert.deepStrictEqual({ reason, why }, { reason: "Truncated", why: "area code 902 has 799 of its 800 lines" })
  })

  it("cut anywhere is refused", () => {
    const content = fixture("cnac-8-columns-902.csv.gz")
    for (let end = content.length - 2; end > 200; end -= 97) {
      const { verdict } = parse(content.subarray(0, end))
      if (end === content.length - 2) assert.strictEqual(verdict._tag, "Complete")
      else assert.strictEqual(refused(verdict).reason, "Truncated", `cut at ${end}`)
    }
  })

  it("that ends after some of the area codes is refused", () => {
    const { reason, why } = refused(parse(header + date + lines(204) + lines(226) + lines(236)).verdict)
    assert.deepStrictEqual(
      { reason, why },
      { reason: "Truncated", why: "it ends with the area code 236 and lacks all area codes after it" }
    )
    assert.strictEqual(complete(parse(header + date + lines(204)).verdict).coverage.whole, false)
  })

  it("without data lines is refused", () => {
    assert.strictEqual(refused(parse(header).verdict).reason, "NoRecords")
    assert.strictEqual(refused(parse(header + date).verdict).reason, "NoRecords")
  })
})
