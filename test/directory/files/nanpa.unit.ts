import { assert, describe, it } from "@effect/vitest"
import { complete, fixture, parse, refused, tally } from "./support.ts"

const header =
  "State\tNPA-NXX\tOCN \tCompany   \tRateCenter\tEffectiveDate\tUse\tAssignDate   \tInitial/Growth\tPooled Code \tIn Service  \tFile Updated 07/06/2026\r\n"

/** A line with the given cells changed. */
const line = (
  change: Partial<Record<"state" | "code" | "ocn" | "company" | "rateCenter" | "use" | "pooled", string>> = {}
) =>
  [
    change.state ?? "AK   ",
    change.code ?? "907-200",
    change.ocn ?? "6872",
    change.company ?? '"GCI COMMUNICATION CORP."   ',
    change.rateCenter ?? "VALDEZ    ",
    "             ",
    change.use ?? "AS ",
    "02/21/2006   ",
    "I             ",
    change.pooled ?? "N           ",
    "Yes      "
  ].join("\t")

/** Why a line between 200 good ones is malformed. */
const reasonFor = (bad: string): string | undefined => {
  const good = Array.from({ length: 200 }, (_, n) => line({ code: `212-${300 + n}` }))
  const { verdict } = parse(`${header}${[...good, bad, line({ code: "213-200" })].join("\r\n")}\r\n`)
  const { malformed } = complete(verdict)
  assert.strictEqual(malformed.total, malformed.listed.length)
  if (malformed.total > 0) assert.strictEqual(malformed.listed[0]!.line, 202)
  return malformed.listed[0]?.reason
}

const file2026 = parse(fixture("nanpa-2026.txt"))
const byCode = new Map(file2026.codes.map((record) => [`${record.npa}-${record.nxx}`, record]))

describe("NANPA code assignments", () => {
  it("of 2026 are read with their publication date", () => {
    const { columns, coverage, kind, lines, malformed, publicationDate, records } = complete(file2026.verdict)
    assert.deepStrictEqual(
      { columns, kind, lines, malformed, publicationDate, records, whole: coverage.whole },
      {
        columns: 11,
        kind: "NANPA",
        lines: 29,
        malformed: { total: 0, listed: [] },
        publicationDate: "2026-07-06",
        records: 29,
        whole: false
      }
    )
    assert.deepStrictEqual(coverage.areaCodes, [
      "205",
      "212",
      "305",
      "307",
      "334",
      "340",
      "341",
      "479",
      "512",
      "520",
      "670",
      "671",
      "684",
      "907",
      "939"
    ])
    assert.deepStrictEqual(
      tally(file2026.codes, (record) => record.status),
      { ASSIGNED: 20, RESERVED: 9 }
    )
  })

  it("give a record for each line, without padding and quotes", () => {
    assert.deepStrictEqual(byCode.get("907-200"), {
      country: "US",
      npa: "907",
      nxx: "200",
      state: "AK",
      ocn: "6872",
      company: "GCI COMMUNICATION CORP. DBA GENERAL COMMUNICATION",
      rateCenter: "VALDEZ",
      status: "ASSIGNED",
      pooled: false
    })
  })

  it.each([
    ["a Northern Marianas code as MP", "670-211", { state: "MP", ocn: "MULT", status: "RESERVED" }],
    ["territories with the country US", "939-200", { country: "US", state: "PR" }],
    ["Guam", "671-201", { country: "US", state: "GU", company: "TELEGUAM HOLDINGS, LLC" }],
    ["the Virgin Islands", "340-200", { state: "VI", ocn: "073H" }],
    ["American Samoa", "684-248", { state: "AS", rateCenter: "AM SAMOA" }],
    [
      "several carriers as MULT",
      "212-211",
      { state: "NY", ocn: "MULT", company: "MULTIPLE OCN LISTING", rateCenter: null }
    ],
    [
      "no carrier and no rate center as null",
      "907-700",
      { ocn: null, company: null, rateCenter: null, status: "RESERVED" }
    ],
    ["a rate center without a carrier", "479-959", { ocn: null, company: null, rateCenter: "LITTLEROCK" }],
    ["rate center XXXXXXXXXX of an assigned code as null", "205-204", { rateCenter: null, status: "ASSIGNED" }],
    ["directory assistance as it is written", "907-555", { rateCenter: "DIR ASST" }],
    ["an OCN with a letter", "212-200", { ocn: "384C", company: "ONVOY, LLC- NY" }],
    ["a comma in a company", "907-206", { company: "LEVEL 3 COMMUNICATIONS, LLC - AK" }],
    ["an ampersand in a company", "907-236", { company: "NUSHAGAK ELECTRIC & TELEPHONE COOPERATIVE, INC." }],
    ["an apostrophe in a company", "520-361", { company: "TOHONO O'ODHAM UTILITY AUTHORITY" }],
    ["a rate center with a hyphen", "341-200", { rateCenter: "HRCUL-RODE" }],
    ["a rate center with a slash", "512-546", { rateCenter: "DALE/LTNSP" }],
    ["a rate center with a space", "907-203", { rateCenter: "BIG LAKE" }],
    [
      "a company of the full 50 characters",
      "205-224",
      { company: "PINE BELT BROADCASTING DBA PINE BELT TEL COMP SVCS" }
    ],
    ["a code that is not in service yet", "334-951", { status: "ASSIGNED", ocn: "7475" }],
    ["a code with a future date", "334-975", { status: "ASSIGNED", ocn: "515J" }]
  ])("give %s", (_, code, expected) => {
    assert.deepInclude(byCode.get(code) ?? {}, expected)
  })

  it("[directory 1.2] say whether a code is pooled, and null where they do not", () => {
    const cells = ["Y           ", "N           ", "            ", "y", "?"]
    const lines = cells.map((pooled, n) => line({ code: `212-${300 + n}`, pooled }))
    const { codes, verdict } = parse(`${header}${[...lines, line({ code: "213-200" })].join("\r\n")}\r\n`)
    assert.strictEqual(complete(verdict).malformed.total, 0)
    assert.deepStrictEqual(
      codes.map((record) => record.pooled),
      [true, false, null, true, null, false]
    )
  })

  it.each([
    ["9 columns, the company 64 wide", "nanpa-2011.txt", 9, "2011-02-14"],
    ["10 columns", "nanpa-2015.txt", 10, "2015-12-01"],
    ["11 columns, the date inside the last header cell", "nanpa-2020.txt", 11, "2020-03-04"]
  ])("in the layout with %s give the same records", (_, name, columns, publicationDate) => {
    const { codes, verdict } = parse(fixture(name))
    assert.deepInclude(complete(verdict), { columns, publicationDate, lines: 29, records: 29 })
    // The layout of 9 columns has none for pooled codes.
    const pooledOf = (pooled: boolean | null | undefined) => (columns === 9 ? null : pooled)
    assert.deepStrictEqual(
      codes,
      file2026.codes.map(({ pooled, ...code }) => ({ ...code, pooled: pooledOf(pooled) }))
    )
  })

  it("[directory 1.1] are read by column name, in any order, without padding, and without a date", () => {
    const { codes, verdict } = parse(
      'Use\tCOMPANY\tnpa-nxx\tState\tOCN\tRateCenter\nAS\t"A ""B"" C"\t212-200\tNY\t384C\tX Y\nUA\t\t212-411\tNY\t\t\n'
    )
    assert.deepInclude(complete(verdict), { columns: 6, publicationDate: null, records: 2 })
    assert.deepInclude(codes[0], { npa: "212", nxx: "200", company: 'A "B" C', rateCenter: "X Y" })
    assert.deepInclude(codes[1], { nxx: "411", status: "RESERVED", company: null })
  })

  it.each([
    ["a bad code", line({ code: "9O7-200" }), 'has the NPA-NXX "9O7-200"'],
    ["an area code that begins with 1", line({ code: "107-200" }), 'has the NPA-NXX "107-200"'],
    ["a code without hyphen", line({ code: "9072000" }), 'has the NPA-NXX "9072000"'],
    ["a code that is too long", line({ code: "907-2000" }), 'has the NPA-NXX "907-2000"'],
    ["an unknown state", line({ state: "ZZ" }), 'has the unknown state "ZZ"'],
    ["no state", line({ state: "  " }), 'has the unknown state ""'],
    ["an unknown use", line({ use: "VC " }), 'has the unknown use "VC"'],
    ["a short OCN", line({ ocn: "3" }), 'has the OCN "3", not 4 characters 0-9 and A-Z'],
    ["an open quote", line({ company: '"GCI' }), 'has a quote that does not match in the company ""GCI"'],
    ["a stray quote", line({ company: 'GCI"' }), 'has a quote that does not match in the company "GCI""'],
    ["too few fields", line().split("\t").slice(0, 10).join("\t"), "has 10 fields, not 11"],
    ["too many fields", `${line()}\t`, "has 12 fields, not 11"],
    ["a code seen before", line({ code: "212-300" }), "repeats 212-300"],
    [
      "a long strange cell, shortened",
      line({ use: `\u2028${"U".repeat(60)}` }),
      `has the unknown use "${"U".repeat(40)}…"`
    ],
    ["control characters", line({ rateCenter: "A\u0000" }), "holds control characters"]
  ])("have a malformed line with %s", (_, bad, reason) => {
    assert.strictEqual(reasonFor(bad), reason)
  })

  it("skip blank lines, which are no data", () => {
    assert.isUndefined(reasonFor("   "))
    assert.isUndefined(reasonFor(""))
  })

  it("may have one malformed line in a hundred and not more", () => {
    const lines = (bad: number, all: number) =>
      Array.from({ length: all }, (_, n) => (n < bad ? "x" : line({ code: `212-${200 + n}` })))
    const content = (bad: number, all: number) => `${header}${lines(bad, all).join("\r\n")}\r\n`
    assert.deepInclude(complete(parse(content(2, 200)).verdict), { lines: 200, records: 198 })
    const { malformed, reason, why } = refused(parse(content(3, 200)).verdict)
    assert.deepStrictEqual(
      { malformed: malformed.total, reason, why },
      { malformed: 3, reason: "TooManyMalformed", why: "3 of its 200 lines (1.5 %) are malformed" }
    )
    assert.deepStrictEqual(malformed.listed[0], { line: 2, reason: "has 1 fields, not 11" })
  })

  it("count all malformed lines and list the first hundred", () => {
    const { malformed } = refused(parse(`${header}${"x\r\n".repeat(500)}`).verdict)
    assert.strictEqual(malformed.total, 500)
    assert.strictEqual(malformed.listed.length, 100)
  })

  it("without data lines are refused", () => {
    assert.strictEqual(refused(parse(header).verdict).reason, "NoRecords")
    assert.strictEqual(refused(parse(header.trimEnd()).verdict).reason, "NoRecords")
  })

  it("whose last line is cut are refused, wherever it is cut", () => {
    const content = fixture("nanpa-2026.txt").toString()
    const start = content.lastIndexOf("\r\n", content.length - 3) + 2
    for (let end = start + 1; end < content.length - 2; end++) {
      assert.strictEqual(refused(parse(content.slice(0, end)).verdict).reason, "Truncated", `cut at ${end - start}`)
    }
    // Only the line end is missing: nothing is lost.
    assert.strictEqual(complete(parse(content.slice(0, -2)).verdict).records, 29)
  })

  it("that hold the first states in order and then end are refused, a regional file is partial", () => {
    const content = (...states: ReadonlyArray<string>) =>
      `${header}${states.map((state, n) => `${line({ state, code: `${200 + n}-200` })}\r\n`).join("")}`
    const { reason, why } = refused(parse(content("AK", "AL", "AR")).verdict)
    assert.deepStrictEqual(
      { reason, why },
      { reason: "Truncated", why: "it ends with the state AR and lacks all states after it" }
    )
    assert.isFalse(complete(parse(content("AK")).verdict).coverage.whole)
    assert.isFalse(complete(parse(content("AK", "NY", "PR")).verdict).coverage.whole)
  })

  it("that end inside an area code are refused when the others show that codes are missing", () => {
    const areaCode = (npa: number, state: string, last: number) =>
      Array.from(
        { length: (last - 211) / 100 + 1 },
        (_, n) => `${line({ state, code: `${npa}-${211 + n * 100}` })}\r\n`
      )
    const content = (last: number) => header + [...areaCode(212, "NY", 911), ...areaCode(307, "WY", last)].join("")
    assert.strictEqual(complete(parse(content(911)).verdict).records, 16)
    const { reason, why } = refused(parse(content(811)).verdict)
    assert.deepStrictEqual({ reason, why }, { reason: "Truncated", why: "it ends inside the area code 307" })
  })
})
