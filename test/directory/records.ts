import { Arbitrary, Schema } from "effect"
import type { DirectoryIndex } from "../../src/directory/DirectoryIndex.ts"
import * as IndexBuilder from "../../src/directory/IndexBuilder.ts"
import {
  type AreaCodeRecord,
  type BlockRecord,
  type CarrierTypeRecord,
  type CodeRecord,
  carrierTypes,
  countries,
  exchangeStatuses,
  type ReportedDetails
} from "../../src/directory/model.ts"

/** Records for the tests of the directory: by hand, and generated from so few values that they meet each other. */

export interface Records {
  readonly codes?: ReadonlyArray<CodeRecord>
  readonly carrierTypes?: ReadonlyArray<CarrierTypeRecord>
  readonly areaCodes?: ReadonlyArray<AreaCodeRecord>
  readonly blocks?: ReadonlyArray<BlockRecord>
}

/** An assigned code of 212 in New York, but for what is given; `code` is NPA-NXX. */
export const code = (npaNxx: string, fields: Partial<CodeRecord> = {}): CodeRecord => ({
  country: "US",
  npa: npaNxx.slice(0, 3),
  nxx: npaNxx.slice(4),
  state: "NY",
  ocn: "9104",
  company: "VERIZON NEW YORK, INC.",
  rateCenter: "NWYRCYZN01",
  status: "ASSIGNED",
  pooled: null,
  ...fields
})

export const listed = (ocn: string, fields: Partial<CarrierTypeRecord> = {}): CarrierTypeRecord => ({
  ocn,
  companyName: null,
  commonName: null,
  type: null,
  country: "US",
  ...fields
})

export const reported = (npa: string, fields: Partial<AreaCodeRecord> = {}): AreaCodeRecord => ({
  npa,
  inService: true,
  use: "G",
  country: "US",
  locations: [],
  details: null,
  ...fields
})

export const indexOf = (records: Records): DirectoryIndex => {
  const builder = IndexBuilder.make()
  for (const record of records.codes ?? []) builder.addCode(record)
  for (const record of records.carrierTypes ?? []) builder.addCarrierType(record)
  for (const record of records.areaCodes ?? []) builder.addAreaCode(record)
  for (const record of records.blocks ?? []) builder.addBlock(record)
  return builder.build()
}

const oneOf = <const A extends ReadonlyArray<string>>(values: A) => Arbitrary.schema(Schema.Literals(values))
const oneOrNull = <const A extends ReadonlyArray<string>>(values: A) =>
  Arbitrary.schema(Schema.NullOr(Schema.Literals(values)))

export const states = ["NY", "CT", "ON", "QC", "PR"] as const
export const ocns = ["0001", "123A", "9104", "8084", "A999"] as const

export const arbitraryCode: Arbitrary.Arbitrary<CodeRecord> = Arbitrary.all({
  country: oneOf(countries),
  npa: oneOf(["201", "212", "213", "902", "999"]),
  nxx: oneOf(["000", "007", "200", "201", "555", "999"]),
  state: oneOrNull(states),
  ocn: oneOrNull([...ocns, "MULT"]),
  company: oneOrNull(["ALPHA", "BETA", "Gamma, Inc.", "delta"]),
  rateCenter: oneOrNull(["Winnipeg", "NWYRCYZN01"]),
  status: oneOf(exchangeStatuses),
  pooled: Arbitrary.schema(Schema.NullOr(Schema.Boolean))
})

export const arbitraryCarrierType: Arbitrary.Arbitrary<CarrierTypeRecord> = Arbitrary.all({
  ocn: oneOf([...ocns, "ZZZZ", "MULT"]),
  companyName: oneOrNull(["LISTED", "LISTED, LLC"]),
  commonName: oneOrNull(["Brand", "Other"]),
  type: oneOrNull(carrierTypes),
  country: oneOf(["US"])
})

const digitText = oneOrNull(["7D", "10D", "1+10D", "(see note)"])

export const arbitraryDetails: Arbitrary.Arbitrary<ReportedDetails> = Arbitrary.all({
  zones: Arbitrary.array(oneOf(["N", "A", "E", "C", "M", "P", "AK", "UTC-10"]), { maxLength: 3 }),
  overlayComplexes: Arbitrary.array(Arbitrary.array(oneOf(["201", "212", "902"]), { minLength: 1, maxLength: 3 }), {
    maxLength: 2
  }),
  parent: oneOrNull(["201", "999"]),
  inServiceDate: oneOrNull(["1947-01-01", "2026-02-28"]),
  dialingPlan: Arbitrary.all({
    homeLocal: digitText,
    homeToll: digitText,
    foreignLocal: digitText,
    foreignToll: digitText,
    permissiveHomeLocal: digitText,
    permissiveHomeToll: digitText,
    permissiveForeignLocal: digitText,
    notes: oneOrNull(["See PL-485.", 'Québec "10D"'])
  }),
  relief: Arbitrary.all({
    status: oneOrNull(["Trigger", "Active"]),
    planning: Arbitrary.schema(Schema.NullOr(Schema.Boolean)),
    jeopardy: Arbitrary.schema(Schema.NullOr(Schema.Boolean))
  })
})

export const arbitraryAreaCode: Arbitrary.Arbitrary<AreaCodeRecord> = Arbitrary.all({
  npa: oneOf(["201", "212", "213", "902", "867"]),
  inService: Arbitrary.schema(Schema.Boolean),
  use: oneOrNull(["G", "N"]),
  country: oneOrNull(countries),
  locations: Arbitrary.array(oneOf(states), { maxLength: 2 }),
  details: Arbitrary.array(arbitraryDetails, { maxLength: 1 }).pipe(Arbitrary.map(([details]) => details ?? null))
})

export const arbitraryBlock: Arbitrary.Arbitrary<BlockRecord> = Arbitrary.all({
  npa: oneOf(["201", "212", "999"]),
  nxx: oneOf(["000", "200", "555", "999"]),
  block: oneOf(["0", "1", "9"]),
  status: oneOf(exchangeStatuses),
  ocn: oneOrNull([...ocns, "ZZZZ"]),
  company: oneOrNull(["ALPHA", "HOLDER, LLC"])
})

export const arbitraryRecords = Arbitrary.all({
  codes: Arbitrary.array(arbitraryCode, { maxLength: 60 }),
  carrierTypes: Arbitrary.array(arbitraryCarrierType, { maxLength: 6 }),
  areaCodes: Arbitrary.array(arbitraryAreaCode, { maxLength: 6 }),
  blocks: Arbitrary.array(arbitraryBlock, { maxLength: 12 })
})
