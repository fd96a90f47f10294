/**
 * Reads the CNAC status file of Canada (`COCodeStatus_ALL.csv`, or one area code's `COCodeStatus_NPA….csv`): the
 * layouts of 7, 8 (with Province) and 9 columns (with Pooled), by column name. The line after the header has only the
 * publication date. Each area code has a line for every code from 200 to 999, which shows that a file is complete.
 */
import type { CodeRecord, ExchangeStatus } from "../model.ts"
import { splitCsv } from "./csv.ts"
import {
  areaCodesOf,
  badOcn,
  type Columns,
  codeAt,
  codeText,
  cutAfter,
  type DatasetReader,
  dateOfCell,
  isOcn,
  makeColumns,
  makeInterner,
  placesOf,
  pooledOfCell,
  takeFirst,
  wrongFields
} from "./DatasetReader.ts"
import { quoted } from "./printable.ts"
import { provinces } from "./regions.ts"

const required = ["NPA", "CO Code (NXX)", "Status", "Exchange Area", "Company", "OCN"] as const

/** Codes of an area code, 200 to 999. */
const codesOfAreaCode = 800

/** The status of each cell text (docs/directory.md, 1.3). Any other text makes the line malformed. */
const statusOfCell: ReadonlyMap<string, ExchangeStatus> = new Map([
  ["In Service", "ASSIGNED"],
  ["Assigned", "ASSIGNED"],
  ["Being Recovered", "ASSIGNED"],
  ["New NPA Testing", "ASSIGNED"],
  ["Stranded Code", "ASSIGNED"],
  ["Available", "UNASSIGNED"],
  ["Available as Initial Code only", "UNASSIGNED"],
  ["Recovered/Aging", "UNASSIGNED"],
  ["For Special Use", "RESERVED"],
  ["Moratorium on Assignment", "RESERVED"],
  ["New Entrants Reserved", "RESERVED"],
  ["New NPA", "RESERVED"],
  ["Not Available", "RESERVED"],
  ["Plant Test", "RESERVED"],
  ["Protected", "RESERVED"],
  // A code in which the pooling of thousands blocks is tried out.
  ["TBP Test Code", "RESERVED"],
  ["Temporarily Unavailable", "RESERVED"]
])

/**
 * Area codes that every file of the whole country has had since August 2023; area codes are added, never taken back.
 */
const knownAreaCodes: ReadonlyArray<string> = (
  "204 226 236 249 250 257 263 289 306 343 354 365 367 368 382 403 416 418 428 431 437 438 450 468 474 506 514 519 548 " +
  "579 581 584 587 604 613 639 647 672 683 705 709 742 753 778 780 782 807 819 825 867 873 879 902 905 942"
).split(" ")

/**
 * The columns of a header line. A text says what is wrong with a line that is nearly a header; null means that it is
 * nothing like one.
 */
export const cnacHeader = (line: string): Columns | string | null => {
  const cells = splitCsv(line)
  if (typeof cells === "string") return null
  const columns = makeColumns(cells)
  if (columns.at("NPA") < 0 || columns.at("CO Code (NXX)") < 0) return null
  const missing = columns.missing(required)
  if (missing.length > 0) return `a CNAC file without the columns ${missing.join(", ")}`
  if (columns.repeated !== null) return `a CNAC file that has the column ${quoted(columns.repeated)} twice`
  return columns
}

/** The date of a date row (all cells but the last one are empty), or null when it is none. */
export const cnacDate = (line: string): string | null => {
  const cells = splitCsv(line)
  if (typeof cells === "string" || cells.slice(0, -1).some((cell) => cell !== "")) return null
  return dateOfCell(cells.at(-1)!)
}

const among =
  (recordsByAreaCode: Uint16Array) =>
  (npa: string): boolean =>
    recordsByAreaCode[Number(npa)]! > 0

/**
 * Why the file is incomplete, or null: an area code lacks lines that were not malformed either, or the end is missing.
 */
const shortfall = (recordsByAreaCode: Uint16Array, malformed: number): string | null => {
  const areaCodes = areaCodesOf(recordsByAreaCode)
  const missing = areaCodes.reduce((sum, npa) => sum + codesOfAreaCode - recordsByAreaCode[Number(npa)]!, 0)
  if (missing > malformed) {
    const short = areaCodes.findLast((npa) => recordsByAreaCode[Number(npa)]! < codesOfAreaCode)!
    return `area code ${short} has ${recordsByAreaCode[Number(short)]} of its ${codesOfAreaCode} lines`
  }
  const last = cutAfter(among(recordsByAreaCode), knownAreaCodes)
  return last === null ? null : `it ends with the area code ${last} and lacks all area codes after it`
}

/** Makes the reader for a file with these columns. */
export const makeCnacReader = (columns: Columns, publicationDate: string | null): DatasetReader => {
  const [npaAt, nxxAt, statusAt, exchangeAreaAt, companyAt, ocnAt] = placesOf(columns, required)
  const provinceAt = columns.at("Province")
  const pooledAt = columns.at("Pooled")
  const name = makeInterner()
  const waiting: Array<CodeRecord> = []
  const seen = new Uint8Array(1_000_000)
  const recordsByAreaCode = new Uint16Array(1_000)

  const readLine = (line: string): string | null => {
    const cells = splitCsv(line)
    if (typeof cells === "string") return cells
    if (cells.length !== columns.count) return wrongFields(cells.length, columns.count)
    const npaCell = cells[npaAt]!
    const nxxCell = cells[nxxAt]!
    const npa = npaCell.length === 3 ? codeAt(npaCell, 0) : -1
    const nxx = nxxCell.length === 3 ? codeAt(nxxCell, 0) : -1
    if (npa < 0) return `has the NPA ${quoted(npaCell)}`
    if (nxx < 0) return `has the NXX ${quoted(nxxCell)}`
    const status = statusOfCell.get(cells[statusAt]!)
    if (status === undefined) return `has the unknown status ${quoted(cells[statusAt]!)}`
    const province = provinceAt < 0 ? "" : cells[provinceAt]!
    if (province !== "" && !provinces.has(province)) return `has the unknown province ${quoted(province)}`
    const ocn = cells[ocnAt]!
    if (ocn !== "" && !isOcn(ocn)) return badOcn(ocn)
    const key = npa * 1_000 + nxx
    if (seen[key] === 1) return `repeats ${npaCell}-${nxxCell}`

    seen[key] = 1
    recordsByAreaCode[npa]!++
    const company = cells[companyAt]!
    const exchangeArea = cells[exchangeAreaAt]!
    waiting.push({
      country: "CA",
      npa: codeText(npa),
      nxx: codeText(nxx),
      state: province === "" ? null : name(province),
      ocn: ocn === "" ? null : name(ocn),
      company: company === "" ? null : name(company),
      rateCenter: exchangeArea === "" ? null : name(exchangeArea),
      status,
      pooled: pooledOfCell(cells[pooledAt])
    })
    return null
  }

  return {
    kind: "CNAC",
    publicationDate,
    columns: columns.count,
    readLine,
    keyOf: (line) => {
      const cells = splitCsv(line)
      // When a quote is missing, cells may have shifted.
      if (typeof cells === "string") return null
      const [npa, nxx] = [cells[npaAt] ?? "", cells[nxxAt] ?? ""]
      const known = npa.length === 3 && nxx.length === 3 && codeAt(npa, 0) >= 0 && codeAt(nxx, 0) >= 0
      return known ? `${npa}${nxx}` : null
    },
    waiting: () => waiting.length,
    take: (atMost) => ({ kind: "CNAC", records: takeFirst(waiting, atMost) }),
    shortfall: ({ malformed }) => shortfall(recordsByAreaCode, malformed),
    coverage: () => ({
      whole: knownAreaCodes.every(among(recordsByAreaCode)),
      areaCodes: areaCodesOf(recordsByAreaCode)
    })
  }
}
