import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { InvalidRecord, make } from "../../src/directory/IndexBuilder.ts"
import * as rules from "../../src/directory/rules.ts"
import { code, indexOf, listed, type Records, reported } from "./records.ts"

/** The rules of docs/directory.md, 1 to 3, that an index alone can show; each test's name says its rule. */

const carrier = (records: Records, ocn: string) => Result.getOrThrow(rules.carrierByOcn(indexOf(records), ocn))
const areaCode = (records: Records, npa: string, query: rules.AreaCodeQuery = {}) =>
  Result.getOrThrow(rules.areaCodeByNpa(indexOf(records), npa, query))
const refusal = <A>(result: Result.Result<A, rules.EntryNotFound>) => Result.getOrThrow(Result.flip(result))
const ocnsOf = (page: { readonly carriers: ReadonlyArray<{ readonly ocn: string }> }) => page.carriers.map((c) => c.ocn)
const never = { NANPA: null, CNAC: null }

describe("pseudo values", () => {
  const mult: Records = { codes: [code("212-200"), code("212-201", { ocn: "MULT", company: "MULTIPLE OCN LISTING" })] }

  it("`MULT` stands where an exchange has several OCNs", () => {
    assert.deepStrictEqual(areaCode(mult, "212", { nxx: "201" }).exchanges, [
      {
        nxx: "201",
        ocn: "MULT",
        company_name: "MULTIPLE OCN LISTING",
        rate_center: "NWYRCYZN01",
        status: "ASSIGNED"
      }
    ])
  })

  it("[directory 1.2] `MULT` is no carrier, not even when the type list names it", () => {
    const records = { ...mult, carrierTypes: [listed("MULT", { type: "ILEC" })] }
    assert.deepStrictEqual(ocnsOf(rules.listCarriers(indexOf(records))), ["9104"])
    const error = refusal(rules.carrierByOcn(indexOf(records), "MULT"))
    assert.strictEqual(error.resource, "carrier")
  })

  it("an empty OCN, company and rate center are null", () => {
    const records = { codes: [code("212-911", { ocn: null, company: null, rateCenter: null, status: "RESERVED" })] }
    assert.deepStrictEqual(areaCode(records, "212").exchanges, [
      { nxx: "911", ocn: null, company_name: null, rate_center: null, status: "RESERVED" }
    ])
    assert.deepStrictEqual(rules.listCarriers(indexOf(records)).carriers, [])
  })
})

describe("carriers", () => {
  it("an OCN of a record or of the list makes a carrier", () => {
    const index = indexOf({ codes: [code("212-200", { ocn: "123A" })], carrierTypes: [listed("0004"), listed("123A")] })
    assert.deepStrictEqual(ocnsOf(rules.listCarriers(index)), ["0004", "123A"])
  })

  it("`carrier_type` and `common_name` are the list's, and null where it is silent", () => {
    const codes = [code("212-200", { ocn: "0001" }), code("212-201", { ocn: "0002" }), code("212-202", { ocn: "0003" })]
    const carrierTypes = [listed("0001", { type: "WIRELESS", commonName: "Brand" }), listed("0002")]
    assert.deepStrictEqual(
      rules.listCarriers(indexOf({ codes, carrierTypes })).carriers.map((c) => [c.ocn, c.carrier_type, c.common_name]),
      [
        ["0001", "WIRELESS", "Brand"],
        ["0002", null, null],
        ["0003", null, null]
      ]
    )
  })

  it("one that only the list knows has the list's name, no state and the country US", () => {
    const records = { carrierTypes: [listed("0004", { companyName: "CONSOLIDATED", type: "ILEC" })] }
    assert.deepStrictEqual(carrier(records, "0004"), {
      ocn: "0004",
      company_name: "CONSOLIDATED",
      common_name: null,
      carrier_type: "ILEC",
      state: null,
      country: "US",
      exchanges: { total: 0, by_state: {} }
    })
  })

  it("the name in the records stands above the list's, which fills in where the records have none", () => {
    const carrierTypes = [listed("0001", { companyName: "FROM THE LIST" }), listed("0002", { companyName: "LISTED" })]
    const codes = [
      code("212-200", { ocn: "0001", company: "FROM THE FILE" }),
      code("212-201", { ocn: "0002", company: null })
    ]
    assert.strictEqual(carrier({ codes, carrierTypes }, "0001").company_name, "FROM THE FILE")
    assert.strictEqual(carrier({ codes, carrierTypes }, "0002").company_name, "LISTED")
  })

  it("`state` goes to the state with more exchanges than any other", () => {
    const codes = [
      code("203-200", { state: "CT" }),
      code("212-200"),
      code("212-201"),
      code("860-200", { state: "CT" }),
      code("860-201", { state: "CT" })
    ]
    assert.strictEqual(carrier({ codes }, "9104").state, "CT")
  })

  it("a record without a state gives it none", () => {
    const codes = [code("212-200"), code("867-200", { state: null }), code("867-201", { state: null })]
    assert.strictEqual(carrier({ codes }, "9104").state, "NY")
  })

  it("of states with as many the first in the alphabet", () => {
    const codes = [code("212-200"), code("860-200", { state: "CT" })]
    assert.strictEqual(carrier({ codes }, "9104").state, "CT")
  })

  it("where no record has a state, the area code's report decides, and then null", () => {
    const codes = [
      code("204-200", { state: null, country: "CA" }),
      code("600-200", { state: null, ocn: "0001", country: "CA" })
    ]
    const areaCodes = [reported("204", { locations: ["MB"], country: "CA" }), reported("600", { use: "N" })]
    assert.strictEqual(carrier({ codes, areaCodes }, "9104").state, "MB")
    assert.strictEqual(carrier({ codes, areaCodes }, "0001").state, null)
  })

  it("`exchanges` are the ASSIGNED ones, also of no state in `total`, of a state in `by_state`", () => {
    const codes = [
      code("212-200"),
      code("212-201"),
      code("212-202", { status: "RESERVED" }),
      code("203-200", { state: "CT", status: "UNASSIGNED" }),
      code("860-200", { state: "CT" }),
      code("600-200", { state: null })
    ]
    assert.deepStrictEqual(carrier({ codes }, "9104").exchanges, { total: 4, by_state: { CT: 1, NY: 2 } })
  })

  it("[directory 1.2] US territories have country `US`", () => {
    const codes = [code("670-200", { state: "MP", ocn: "5700" }), code("787-200", { state: "PR", ocn: "5701" })]
    const index = indexOf({ codes })
    assert.deepStrictEqual(
      rules.listCarriers(index).carriers.map((c) => [c.state, c.country]),
      [
        ["MP", "US"],
        ["PR", "US"]
      ]
    )
  })

  it("an OCN is found in either case", () => {
    assert.strictEqual(carrier({ codes: [code("212-200", { ocn: "384C" })] }, "384c").ocn, "384C")
  })

  it("an unknown OCN is not found, and the message contains it", () => {
    const error = refusal(rules.carrierByOcn(indexOf({}), "ZZ99"))
    assert.strictEqual(error.resource, "carrier")
    assert.include(error.message, "ZZ99")
  })
})

describe("area codes", () => {
  const codes = [
    code("902-202", { country: "CA", state: "PE" }),
    code("902-200", { country: "CA", state: "NS" }),
    code("902-201", { country: "CA", state: "NS", status: "RESERVED" }),
    code("902-203", { country: "CA", state: null, status: "UNASSIGNED" })
  ]

  it("`state` goes to the state with more exchanges than any other", () => {
    assert.strictEqual(areaCode({ codes }, "902").state, "NS")
  })

  it("of states with as many the first in the alphabet; a record without one gives none", () => {
    const tied = [code("902-200", { state: "PE" }), code("902-201", { state: "NS" }), code("902-202", { state: null })]
    assert.strictEqual(areaCode({ codes: tied }, "902").state, "NS")
  })

  it("where no record has a state, the first location of its report decides, and then null", () => {
    const bare = [code("902-200", { state: null }), code("622-200", { state: null })]
    const areaCodes = [reported("902", { locations: ["NS", "PE"] }), reported("622", { use: "N" })]
    assert.strictEqual(areaCode({ codes: bare, areaCodes }, "902").state, "NS")
    assert.strictEqual(areaCode({ codes: bare, areaCodes }, "622").state, null)
  })

  it("[directory 2.3] `total_exchanges` has every record, whatever its status", () => {
    assert.strictEqual(areaCode({ codes }, "902").total_exchanges, 4)
  })

  it("[directory 3.4] `pagination.total` has what was asked for; with `nxx` that is one", () => {
    assert.deepStrictEqual(areaCode({ codes }, "902").pagination, { limit: 50, offset: 0, total: 4 })
    const one = areaCode({ codes }, "902", { nxx: "201" })
    assert.deepStrictEqual(
      one.exchanges.map((exchange) => exchange.nxx),
      ["201"]
    )
    assert.deepStrictEqual(one.pagination, { limit: 50, offset: 0, total: 1 })
    assert.strictEqual(one.total_exchanges, 4)
  })

  it("[directory 3.4] exchanges come in the order of their NXX", () => {
    assert.deepStrictEqual(
      areaCode({ codes }, "902").exchanges.map((exchange) => exchange.nxx),
      ["200", "201", "202", "203"]
    )
  })

  it("[directory 4] an NPA or NXX that is unknown is not found, by its name", () => {
    const npa = refusal(rules.areaCodeByNpa(indexOf({ codes }), "333"))
    assert.strictEqual(npa.resource, "areaCode")
    assert.include(npa.message, "333")
    const nxx = refusal(rules.areaCodeByNpa(indexOf({ codes }), "902", { nxx: "999" }))
    assert.strictEqual(nxx.resource, "exchange")
    assert.include(nxx.message, "999")
    // 202-902 exists nowhere, but 902-202 does.
    assert.strictEqual(refusal(rules.areaCodeByNpa(indexOf({ codes }), "202", { nxx: "902" })).resource, "areaCode")
  })

  it("an area code that only the NPA report knows has no records and is unknown", () => {
    const index = indexOf({ areaCodes: [reported("212", { locations: ["NY"] })] })
    assert.strictEqual(refusal(rules.areaCodeByNpa(index, "212")).resource, "areaCode")
  })
})

describe("filters and pages of the carrier list", () => {
  const index = indexOf({
    codes: [
      code("212-200", { ocn: "0003", state: "NY" }),
      code("212-201", { ocn: "0001", state: "NY" }),
      code("860-200", { ocn: "0002", state: "CT" }),
      code("416-200", { ocn: "8084", state: "ON", country: "CA" })
    ],
    carrierTypes: [listed("0001", { type: "CLEC" }), listed("0002", { type: "CLEC" }), listed("0003", { type: "ILEC" })]
  })

  it("[directory 3.2] carriers come in the order of their OCN", () => {
    assert.deepStrictEqual(ocnsOf(rules.listCarriers(index)), ["0001", "0002", "0003", "8084"])
  })

  it("[directory 3.2] filters ignore case and combine", () => {
    assert.deepStrictEqual(ocnsOf(rules.listCarriers(index, { state: "ny" })), ["0001", "0003"])
    assert.deepStrictEqual(ocnsOf(rules.listCarriers(index, { type: "Clec" })), ["0001", "0002"])
    assert.deepStrictEqual(ocnsOf(rules.listCarriers(index, { country: "ca" })), ["8084"])
    assert.deepStrictEqual(ocnsOf(rules.listCarriers(index, { state: "NY", type: "CLEC", country: "US" })), ["0001"])
    assert.deepStrictEqual(ocnsOf(rules.listCarriers(index, { state: "NY", country: "CA" })), [])
  })

  it("`state`: an unknown one gives an empty list", () => {
    assert.deepStrictEqual(rules.listCarriers(index, { state: "ZZ" }), {
      carriers: [],
      pagination: { limit: 50, offset: 0, total: 0 }
    })
  })

  it("[directory 3.2] a page holds `limit` carriers from `offset` on, and the total of all that match", () => {
    const page = rules.listCarriers(index, { country: "US", limit: 1, offset: 1 })
    assert.deepStrictEqual(ocnsOf(page), ["0002"])
    assert.deepStrictEqual(page.pagination, { limit: 1, offset: 1, total: 3 })
    assert.deepStrictEqual(ocnsOf(rules.listCarriers(index, { offset: 4 })), [])
  })

  for (const page of [
    { limit: 0 },
    { limit: 101 },
    { limit: 1.5 },
    { limit: Number.NaN },
    { offset: -1 },
    { offset: 0.5 }
  ]) {
    it(`no clamping: ${JSON.stringify(page)} is a defect of the caller`, () => {
      assert.throws(() => rules.listCarriers(index, page), RangeError)
      assert.throws(() => rules.areaCodeByNpa(index, "212", page), RangeError)
    })
  }
})

describe("statistics", () => {
  it("count records by country and status, and cover distinct codes, territories included", () => {
    const index = indexOf({
      codes: [
        code("212-200"),
        code("212-201", { status: "RESERVED" }),
        code("670-200", { state: "MP" }),
        code("416-200", { country: "CA", state: "ON" }),
        code("600-200", { country: "CA", state: null, status: "UNASSIGNED" })
      ]
    })
    assert.deepStrictEqual(rules.statistics(index, { NANPA: "2026-07-06T00:00:00.000Z", CNAC: null }), {
      total_records: 5,
      by_country: { US: 3, CA: 2 },
      by_status: { ASSIGNED: 3, UNASSIGNED: 1, RESERVED: 1 },
      last_updated: { NANPA: "2026-07-06T00:00:00.000Z", CNAC: null },
      coverage: { area_codes: 4, states_provinces: 3 }
    })
  })

  it("have every key before the first ingestion", () => {
    assert.deepStrictEqual(rules.statistics(indexOf({}), never), {
      total_records: 0,
      by_country: { US: 0, CA: 0 },
      by_status: { ASSIGNED: 0, UNASSIGNED: 0, RESERVED: 0 },
      last_updated: { NANPA: null, CNAC: null },
      coverage: { area_codes: 0, states_provinces: 0 }
    })
  })
})

describe("records that no reader would produce", () => {
  for (const record of [code("21-200"), code("212-20"), code("abc-200"), code("212-2000")]) {
    it(`${record.npa}-${record.nxx} is refused`, () => {
      assert.throws(() => make().addCode(record), InvalidRecord)
    })
  }
})
