import { assert, describe, it } from "@effect/vitest"
import { complete, fixture, parse, refused, tally } from "./support.ts"

describe("carrier type list", () => {
  const header = "ocn,company_name,common_name,type,type_source,neca_category,primary_state,n_states,country\n"
  const good = Array.from({ length: 200 }, (_, n) => `${2000 + n},A,,CLEC,x,,NY,1,US\n`).join("")
  const reasonFor = (bad: string) => complete(parse(header + good + bad).verdict).malformed.listed[0]

  it("gives names, type and country, null where it has none", () => {
    const { carriers, verdict } = parse(
      `${header}0695,"FRONTIER NORTH, INC. - MI",Frontier,ILEC,localcallingguide-class,ILEC,MI,1,US\n` +
        '018A,"FUSION CLOUD SERVICES, LLC",,,,,FL,1,US\n004G,Quadro Communications Co-operative Inc.,,CLEC,x,,ON,1,CA\n'
    )
    assert.deepInclude(complete(verdict), { kind: "CARRIER_TYPES", columns: 9, publicationDate: null, records: 3 })
    assert.deepStrictEqual(carriers, [
      { ocn: "0695", companyName: "FRONTIER NORTH, INC. - MI", commonName: "Frontier", type: "ILEC", country: "US" },
      { ocn: "018A", companyName: "FUSION CLOUD SERVICES, LLC", commonName: null, type: null, country: "US" },
      {
        ocn: "004G",
        companyName: "Quadro Communications Co-operative Inc.",
        commonName: null,
        type: "CLEC",
        country: "CA"
      }
    ])
  })

  it.each([
    ["a bad OCN", "3,A,,CLEC,x,,NY,1,US\n", 'has the OCN "3", not 4 characters 0-9 and A-Z'],
    ["the pseudo OCN", "MULT,A,,CLEC,x,,NY,1,US\n", "has the OCN MULT, which is no carrier"],
    ["an unknown type", "3000,A,,VOIP,x,,NY,1,US\n", 'has the unknown type "VOIP"'],
    ["an unknown country", "3000,A,,CLEC,x,,NY,1,MX\n", 'has the unknown country "MX"'],
    ["an OCN seen before", "2000,A,,CLEC,x,,NY,1,US\n", "repeats 2000"],
    ["an unquoted comma", "3000,A, INC.,,CLEC,x,,NY,1,US\n", "has 10 fields, not 9"]
  ])("has a malformed line with %s", (_, bad, reason) => {
    assert.deepStrictEqual(reasonFor(bad), { line: 202, reason })
  })

  it("whose last line is cut is refused", () => {
    const last = "3000,A,,CLEC,x,,NY,1,U"
    assert.strictEqual(refused(parse(header + good + last).verdict).reason, "Truncated")
    assert.strictEqual(complete(parse(`${header}${good}${last}S`).verdict).records, 201)
  })
})

describe("NPA report", () => {
  const report2018 = parse(fixture("npa-2018.csv.gz"))
  const lines = fixture("npa-2018.csv.gz").toString().split("\n")

  it("of 2018 has one malformed line, the one of 428", () => {
    assert.deepInclude(complete(report2018.verdict), {
      kind: "NPA_REPORT",
      publicationDate: "2018-10-04",
      columns: 32,
      lines: 800,
      records: 799,
      malformed: { total: 1, listed: [{ line: 231, reason: "has 33 fields, not 32" }] }
    })
    assert.isTrue(lines[230]!.startsWith("428,"))
  })

  it("says where area codes are, whatever it calls the places", () => {
    const locations = (npa: string) => report2018.areaCodes.find((record) => record.npa === npa)
    assert.deepInclude(locations("212"), { inService: true, use: "G", country: "US", locations: ["NY"] })
    assert.deepStrictEqual(locations("902")?.locations, ["NS", "PE"])
    assert.deepStrictEqual(locations("867")?.locations, ["YT", "NT", "NU"])
    assert.deepInclude(locations("670"), { inService: true, use: "G", country: "US", locations: ["MP"] })
    assert.deepInclude(locations("787"), { country: "US", locations: ["PR"] })
    assert.deepInclude(locations("340"), { country: "US", locations: ["VI"] })
    assert.deepInclude(locations("622"), { country: "CA", use: "N", locations: [] })
    assert.deepInclude(locations("500"), { inService: true, country: null, use: "N", locations: [] })
    assert.deepInclude(locations("242"), { inService: true, use: "G", country: null, locations: [] })
    assert.deepInclude(locations("839"), { inService: false, country: null, locations: ["SC"] })
    assert.deepInclude(locations("211"), { inService: false, use: null, country: null, locations: [] })
    assert.deepStrictEqual(
      tally(report2018.areaCodes, (record) => record.country),
      { CA: 64, US: 347, null: 388 }
    )
  })

  it("[directory 3.4] gives the details of area codes, with dates of two digits for the year", () => {
    const details = (npa: string) => report2018.areaCodes.find((record) => record.npa === npa)!.details!
    assert.deepStrictEqual(details("212"), {
      zones: ["E"],
      overlayComplexes: [["212", "332", "646", "917"]],
      parent: null,
      inServiceDate: "1947-01-01",
      dialingPlan: {
        homeLocal: "1+10D",
        homeToll: "1+10D",
        foreignLocal: "1+10D",
        foreignToll: "1+10D",
        permissiveHomeLocal: "10D",
        permissiveHomeToll: "NA",
        permissiveForeignLocal: "NA",
        notes: null
      },
      relief: { status: null, planning: false, jeopardy: false }
    })
    assert.deepInclude(details("850"), { zones: ["E", "C"], parent: "904", inServiceDate: "1997-06-23" })
    assert.deepStrictEqual(details("808").zones, ["UTC-10"])
    assert.deepStrictEqual(details("211").relief, { status: null, planning: false, jeopardy: null })
  })

  it("[directory 3.4] has no details where it lacks their columns or writes what is unknown", () => {
    const names = "NPA_ID,USE,LOCATION,COUNTRY,IN_SERVICE"
    const cells = (npa: number) => `${npa},G,NY,US,Y`
    const report = (more: string, row: (npa: number) => string) =>
      `File Date,07/06/2026\n${names}${more}\n${Array.from({ length: 800 }, (_, n) => `${cells(200 + n)}${row(200 + n)}\n`).join("")}`
    const unknown = { zones: [], overlayComplexes: [], parent: null, inServiceDate: null }
    const short = parse(report("", () => ""))
    assert.strictEqual(complete(short.verdict).malformed.total, 0)
    assert.deepInclude(short.areaCodes[12]!.details, unknown)
    assert.deepStrictEqual(short.areaCodes[12]!.details!.relief, { status: null, planning: null, jeopardy: null })

    const columns = ",TIME_ZONE,OVERLAY_COMPLEX,PARENT_NPA_ID,IN_SERVICE_DT,RELIEF_PLANNING_IN_PROGRESS"
    const odd = parse(report(columns, () => ",somewhere,none/12,21,31-Feb-2020,perhaps"))
    assert.strictEqual(complete(odd.verdict).malformed.total, 0)
    assert.deepInclude(odd.areaCodes[12]!.details, unknown)
    const two = parse(report(columns, () => ',E,"206/564, 360/564 ",206,1-Feb-2026,NO'))
    assert.deepInclude(two.areaCodes[12]!.details, {
      overlayComplexes: [
        ["206", "564"],
        ["360", "564"]
      ],
      parent: "206",
      inServiceDate: "2026-02-01",
      relief: { status: null, planning: false, jeopardy: null }
    })
  })

  it("that lacks a number is refused", () => {
    const content = [...lines.slice(0, 500), ...lines.slice(510)].join("\n")
    const { reason, why } = refused(parse(content).verdict)
    assert.deepStrictEqual(
      { reason, why },
      { reason: "Truncated", why: "it lists 789 of the 800 numbers from 200 to 999" }
    )
  })

  it.each([
    ["an unknown location", "NANP AREA", "ATLANTIS", 'has the unknown location "ATLANTIS"'],
    ["an unknown use", ",N,NANP AREA,", ",X,NANP AREA,", 'has the unknown use "X"'],
    ["an unknown state of service", "NANP AREA,,Y", "NANP AREA,,?", 'has "?" for in service, neither Y nor N'],
    ["a bad number", "500,", "50,", 'has the NPA "50"']
  ])("has a malformed line with %s", (_, from, to, reason) => {
    const bad = lines.map((line) => (line.startsWith("500,") ? line.replace(from, to) : line))
    const { listed, total } = complete(parse(bad.join("\n")).verdict).malformed
    assert.strictEqual(total, 2)
    assert.deepStrictEqual(listed[1], { line: lines.findIndex((line) => line.startsWith("500,")) + 1, reason })
  })
})
