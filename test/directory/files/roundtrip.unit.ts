import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import {
  type AreaCodeRecord,
  type CarrierTypeRecord,
  type CodeRecord,
  carrierTypes,
  countries
} from "../../../src/directory/model.ts"
import { often } from "../../support/often.ts"
import { complete, parse } from "./support.ts"

// Records are printed in each published layout and must be read as they were.

const code = Schema.Int.check(Schema.isBetween({ minimum: 200, maximum: 999 }))
const flag = Schema.Boolean
const chunk = Schema.Literals([7, 100, 4_096, 65_536])

/** Text as a cell can hold it: trimmed, without control characters and lone surrogates. */
const text = Arbitrary.schema(Schema.String).pipe(
  Arbitrary.map((any) =>
    any
      .toWellFormed()
      .replace(/\p{Cc}/gu, "")
      .trim()
  )
)
const orNull = (any: string): string | null => (any === "" ? null : any)
const ocn = Schema.Literals(["", "0003", "6872", "073H", "154E", "Z9Z9"])

const threes = (n: number) => String(n)
const quote = (any: string) => `"${any.replaceAll('"', '""')}"`
const distinct = <A>(items: ReadonlyArray<A>, key: (item: A) => string): ReadonlyArray<A> => [
  ...new Map(items.map((item) => [key(item), item])).values()
]

const layout = Arbitrary.all({
  columns: Arbitrary.schema(Schema.Literals([9, 10, 11])),
  date: Arbitrary.schema(Schema.Literals(["cell", "inside", "none"])),
  padded: Arbitrary.schema(flag),
  crlf: Arbitrary.schema(flag),
  mark: Arbitrary.schema(flag),
  chunk: Arbitrary.schema(chunk)
})

const usCode = Arbitrary.all({
  npa: Arbitrary.schema(code),
  nxx: Arbitrary.schema(code),
  // Without AL, so that no file looks like the beginning of a whole one.
  state: Arbitrary.schema(Schema.Literals(["AK", "CA", "NY", "WY", "PR", "MP"])),
  ocn: Arbitrary.schema(Schema.Union([ocn, Schema.Literal("MULT")])),
  company: text,
  rateCenter: Arbitrary.schema(Schema.Literals(["", "VALDEZ", "BIG LAKE", "DALE/LTNSP", "DIR ASST"])),
  status: Arbitrary.schema(Schema.Literals(["ASSIGNED", "RESERVED"])),
  pooled: Arbitrary.schema(Schema.NullOr(flag))
})

/** As the files write it. */
const pooledCell = (pooled: boolean | null): string => (pooled === null ? "" : pooled ? "Y" : "N")

/** The details of an area code in a report without their columns. */
const nothingReported = {
  zones: [],
  overlayComplexes: [],
  parent: null,
  inServiceDate: null,
  dialingPlan: {
    homeLocal: null,
    homeToll: null,
    foreignLocal: null,
    foreignToll: null,
    permissiveHomeLocal: null,
    permissiveHomeToll: null,
    permissiveForeignLocal: null,
    notes: null
  },
  relief: { status: null, planning: null, jeopardy: null }
}

describe("printed and read again, records are the same", () => {
  it.prop(
    "in the NANPA layouts of 9, 10 and 11 columns",
    [Arbitrary.array(usCode, { minLength: 1, maxLength: 40 }), layout],
    ([generated, { chunk, columns, crlf, date, mark, padded }]) => {
      const records = distinct(generated, ({ npa, nxx }) => `${npa}-${nxx}`).map(
        ({ company, npa, nxx, ocn, pooled, rateCenter, state, status }): CodeRecord => ({
          country: "US",
          npa: threes(npa),
          nxx: threes(nxx),
          state,
          ocn: orNull(ocn),
          company: orNull(company),
          rateCenter: orNull(rateCenter),
          status,
          pooled: columns >= 10 ? pooled : null
        })
      )
      const widths = [5, 7, 4, 100, 10, 13, 3, 13, 14, 12, 9]
      const row = (cells: ReadonlyArray<string>) =>
        cells
          .slice(0, columns)
          .map((cell, n) => (padded ? cell.padEnd(widths[n]!) : cell))
          .join("\t")
      const names = [
        ...["State", "NPA-NXX", "OCN", "Company", "RateCenter", "EffectiveDate", "Use", "AssignDate"],
        ...["Initial/Growth", "Pooled Code", "In Service"]
      ]
      const dates = { cell: "\tFile Updated 07/06/2026", inside: "  File Updated 03/04/2020", none: "" }
      const lines = records.map((record) =>
        row([
          record.state === "MP" ? "NN" : record.state!,
          `${record.npa}-${record.nxx}`,
          record.ocn ?? "",
          record.company === null ? "" : quote(record.company),
          record.rateCenter ?? "XXXXXXXXXX",
          "",
          record.status === "ASSIGNED" ? "AS" : "UA",
          "02/21/2006",
          "I",
          pooledCell(record.pooled ?? null),
          "Yes"
        ])
      )
      const end = crlf ? "\r\n" : "\n"
      const content = `${mark ? "\ufeff" : ""}${row(names)}${dates[date]}${end}${lines.map((line) => line + end).join("")}`
      const { codes, verdict } = parse(content, chunk)
      assert.deepInclude(complete(verdict), {
        columns,
        publicationDate: { cell: "2026-07-06", inside: "2020-03-04", none: null }[date]
      })
      assert.deepStrictEqual(codes, records)
    }
  )

  const caCode = Arbitrary.all({
    nxx: Arbitrary.schema(code),
    province: Arbitrary.schema(Schema.Literals(["", "NS", "PE", "NU"])),
    ocn: Arbitrary.schema(ocn),
    company: text,
    exchangeArea: text,
    status: Arbitrary.schema(
      Schema.Literals([
        "In Service",
        "Recovered/Aging",
        "Plant Test",
        "New NPA Testing",
        "Available as Initial Code only"
      ])
    ),
    remarks: text,
    pooled: Arbitrary.schema(Schema.NullOr(flag))
  })
  const statuses = {
    "In Service": "ASSIGNED",
    "New NPA Testing": "ASSIGNED",
    "Recovered/Aging": "UNASSIGNED",
    "Available as Initial Code only": "UNASSIGNED",
    "Plant Test": "RESERVED"
  } as const

  it.prop(
    "in the CNAC layouts of 7, 8 and 9 columns",
    [Arbitrary.array(caCode, { maxLength: 30 }), Arbitrary.schema(Schema.Literals([7, 8, 9])), Arbitrary.schema(chunk)],
    ([generated, columns, chunk]) => {
      const byCode = new Map(generated.map((record) => [record.nxx, record]))
      const empty = {
        company: "",
        exchangeArea: "",
        ocn: "",
        province: "",
        remarks: "",
        status: "Plant Test",
        pooled: null
      } as const
      const all = Array.from({ length: 800 }, (_, n) => ({ ...(byCode.get(200 + n) ?? empty), nxx: 200 + n }))
      const layout = <A>(cells: { readonly [K in string]: A }): ReadonlyArray<A> =>
        Object.entries(cells)
          .filter(([name]) => (name !== "Pooled" || columns === 9) && (name !== "Province" || columns > 7))
          .map(([, cell]) => cell)
      const names = [
        "NPA",
        "CO Code (NXX)",
        "Status",
        "Pooled",
        "Exchange Area",
        "Province",
        "Company",
        "OCN",
        "Remarks"
      ]
      const header = layout(Object.fromEntries(names.map((name) => [name, `"${name}"`]))).join(",")
      const rows = all.map((record) =>
        layout({
          NPA: "902",
          Code: threes(record.nxx),
          Status: quote(record.status),
          Pooled: quote(pooledCell(record.pooled)),
          Area: quote(record.exchangeArea),
          Province: quote(record.province),
          Company: quote(record.company),
          OCN: quote(record.ocn),
          Remarks: record.remarks === "" ? "" : quote(record.remarks)
        }).join(",")
      )
      const dateRow = `${",".repeat(columns - 1)}2026-04-01`
      const { codes, verdict } = parse([header, dateRow, ...rows, ""].join("\r\n"), chunk)
      assert.deepInclude(complete(verdict), { columns, publicationDate: "2026-04-01", records: 800 })
      assert.deepStrictEqual(
        codes,
        all.map(
          (record): CodeRecord => ({
            country: "CA",
            npa: "902",
            nxx: threes(record.nxx),
            state: columns === 7 ? null : orNull(record.province),
            ocn: orNull(record.ocn),
            company: orNull(record.company),
            rateCenter: orNull(record.exchangeArea),
            status: statuses[record.status],
            pooled: columns === 9 ? record.pooled : null
          })
        )
      )
    },
    { arbitrary: { runs: often(30) } }
  )

  const carrier = Arbitrary.all({
    ocn: Arbitrary.schema(code).pipe(Arbitrary.map((n) => `${n}A`)),
    companyName: text.pipe(Arbitrary.map(orNull)),
    commonName: text.pipe(Arbitrary.map(orNull)),
    type: Arbitrary.schema(Schema.NullOr(Schema.Literals(carrierTypes))),
    country: Arbitrary.schema(Schema.Literals(countries))
  })

  it.prop(
    "in the carrier type list",
    [Arbitrary.array(carrier, { minLength: 1, maxLength: 40 }), Arbitrary.schema(chunk)],
    ([generated, chunk]) => {
      const records: ReadonlyArray<CarrierTypeRecord> = distinct(generated, (record) => record.ocn)
      const rows = records.map(
        ({ commonName, companyName, country, ocn, type }) =>
          `${ocn},${quote(companyName ?? "")},${quote(commonName ?? "")},${type ?? ""},x,,NY,1,${country}\n`
      )
      const header = "ocn,company_name,common_name,type,type_source,neca_category,primary_state,n_states,country\n"
      const { carriers, verdict } = parse(header + rows.join(""), chunk)
      assert.strictEqual(complete(verdict).records, records.length)
      assert.deepStrictEqual(carriers, records)
    }
  )

  const places = {
    "": [],
    "NANP AREA": [],
    NY: ["NY"],
    CNMI: ["MP"],
    MANITOBA: ["MB"],
    "NOVA SCOTIA - PRINCE EDWARD ISLAND": ["NS", "PE"],
    "NORTHWEST TERRITORIES -YUKON - NUNAVUT": ["NT", "YT", "NU"]
  } as const
  const areaCode = Arbitrary.all({
    npa: Arbitrary.schema(code),
    inService: Arbitrary.schema(flag),
    use: Arbitrary.schema(Schema.NullOr(Schema.Literals(["G", "N"]))),
    country: Arbitrary.schema(Schema.Literals(["US", "CANADA", "", "ST.LUCIA"])),
    location: Arbitrary.schema(Schema.Literals(Object.keys(places) as Array<keyof typeof places>)),
    notes: text
  })

  it.prop(
    "in the NPA report",
    [Arbitrary.array(areaCode, { maxLength: 30 }), Arbitrary.schema(chunk)],
    ([generated, chunk]) => {
      const byNpa = new Map(generated.map((record) => [record.npa, record]))
      const empty = { country: "", inService: false, location: "", notes: "", use: null } as const
      const all = Array.from({ length: 800 }, (_, n) => ({ ...(byNpa.get(200 + n) ?? empty), npa: 200 + n }))
      const rows = all.map(
        ({ country, inService, location, notes, npa, use }) =>
          `${npa},${use ?? ""},${location},${country},${inService ? "Y" : "N"},${quote(notes)}\r\n`
      )
      const header = "File Date,07/06/2026\r\nNPA_ID,USE,LOCATION,COUNTRY,IN_SERVICE,NOTES\r\n"
      const { areaCodes, verdict } = parse(header + rows.join(""), chunk)
      assert.deepInclude(complete(verdict), { publicationDate: "2026-07-06", records: 800 })
      assert.deepStrictEqual(
        areaCodes,
        all.map(
          ({ country, inService, location, npa, use }): AreaCodeRecord => ({
            npa: threes(npa),
            inService,
            use,
            country: country === "US" ? "US" : country === "CANADA" ? "CA" : null,
            locations: country === "ST.LUCIA" ? [] : places[location],
            details: nothingReported
          })
        )
      )
    },
    { arbitrary: { runs: often(30) } }
  )
})
