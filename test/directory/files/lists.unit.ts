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
    assert.deepStrictEqual(locations("212"), {
      npa: "212",
      inService: true,
      use: "G",
      country: "US",
      locations: ["NY"]
    })
    assert.deepStrictEqual(locations("902")?.locations, ["NS", "PE"])
    assert.deepStrictEqual(locations("867")?.locations, ["YT", "NT", "NU"])
    assert.deepStrictEqual(locations("670"), {
      npa: "670",
      inService: true,
      use: "G",
      country: "US",
      locations: ["MP"]
    })
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
