/**
 * Reads the carrier type list (`ocn_carriers_joined.csv`): OCN, names, type and country of the carriers, by column
 * name. It refuses the two lists that it was joined from: one has no types, the other no names, and each would erase
 * the data that it lacks.
 */
import { type CarrierType, type CarrierTypeRecord, carrierTypes, countries, multipleCarriersOcn } from "../model.ts"
import { splitCsv } from "./csv.ts"
import {
  badOcn,
  type Columns,
  type DatasetReader,
  isOcn,
  makeColumns,
  placesOf,
  takeFirst,
  wrongFields
} from "./DatasetReader.ts"
import { quoted } from "./printable.ts"

const required = ["ocn", "company_name", "common_name", "type", "country"] as const

/**
 * The columns of a header line. A text says what is wrong with a line that is nearly a header; null means that it is
 * nothing like one.
 */
export const carrierTypesHeader = (line: string): Columns | string | null => {
  const cells = splitCsv(line)
  if (typeof cells === "string") return null
  const columns = makeColumns(cells)
  if (columns.at("ocn") < 0 || columns.at("npa") >= 0) return null
  const missing = columns.missing(required)
  if (missing.length > 0) return `a list of OCNs without the columns ${missing.join(", ")}`
  if (columns.repeated !== null) return `a carrier type list that has the column ${quoted(columns.repeated)} twice`
  return columns
}

/** A copy, which does not keep the text around it in memory. */
const textOrNull = (cell: string): string | null => (cell === "" ? null : Buffer.from(cell).toString())

/** Makes the reader for a list with these columns. */
export const makeCarrierTypesReader = (columns: Columns): DatasetReader => {
  const [ocnAt, companyAt, commonAt, typeAt, countryAt] = placesOf(columns, required)
  const waiting: Array<CarrierTypeRecord> = []
  const seen = new Set<string>()

  const readLine = (line: string): string | null => {
    const cells = splitCsv(line)
    if (typeof cells === "string") return cells
    if (cells.length !== columns.count) return wrongFields(cells.length, columns.count)
    const ocn = cells[ocnAt]!
    if (!isOcn(ocn)) return badOcn(ocn)
    if (ocn === multipleCarriersOcn) return `has the OCN ${multipleCarriersOcn}, which is no carrier`
    const type = cells[typeAt]!
    if (type !== "" && !carrierTypes.includes(type as CarrierType)) return `has the unknown type ${quoted(type)}`
    const country = countries.find((known) => known === cells[countryAt])
    if (country === undefined) return `has the unknown country ${quoted(cells[countryAt]!)}`
    if (seen.has(ocn)) return `repeats ${ocn}`
    seen.add(ocn)
    waiting.push({
      ocn,
      companyName: textOrNull(cells[companyAt]!),
      commonName: textOrNull(cells[commonAt]!),
      type: type === "" ? null : (type as CarrierType),
      country
    })
    return null
  }

  return {
    kind: "CARRIER_TYPES",
    publicationDate: null,
    columns: columns.count,
    readLine,
    keyOf: (line) => {
      const cells = splitCsv(line)
      const ocn = typeof cells === "string" ? "" : (cells[ocnAt] ?? "")
      return isOcn(ocn) ? ocn : null
    },
    waiting: () => waiting.length,
    take: (atMost) => ({ kind: "CARRIER_TYPES", records: takeFirst(waiting, atMost) }),
    shortfall: () => null,
    coverage: () => ({ whole: true, areaCodes: [] })
  }
}
