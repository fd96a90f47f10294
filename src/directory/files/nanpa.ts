/**
 * Reads the NANPA central office code assignment file (`CoCodeAssignment_Utilized_AllStates_Public.txt`, before 2024
 * `allutlzd.txt`): tab-separated, space-padded, the company in quotes with its padding outside. It reads the layouts of
 * 9, 10 and 11 columns by column name; the publication date may be a header cell of its own or be inside the last one.
 */
import type { CodeRecord, ExchangeStatus } from "../model.ts"
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
  unquoted,
  updatedPattern,
  wrongFields
} from "./DatasetReader.ts"
import { quoted } from "./printable.ts"
import { stateOfCell, states } from "./regions.ts"

const required = ["State", "NPA-NXX", "OCN", "Company", "RateCenter", "Use"] as const

/** The rate center of codes without one. */
const noRateCenter = "XXXXXXXXXX"

/**
 * The status of each use: `AS` assigned, `UA` unavailable (docs/directory.md, 1.3). Any other use makes the line
 * malformed.
 */
const statusOfUse: ReadonlyMap<string, ExchangeStatus> = new Map([
  ["AS", "ASSIGNED"],
  ["UA", "RESERVED"]
])

/** The header's columns and publication date. */
export interface NanpaHeader {
  readonly columns: Columns
  readonly publicationDate: string | null
}

/**
 * Reads a header line. A text says what is wrong with a line that is nearly a header; null means that it is nothing
 * like one.
 */
export const nanpaHeader = (line: string): NanpaHeader | string | null => {
  if (!line.includes("\t")) return null
  const cells = line.replace(updatedPattern, "").split("\t")
  while (cells.length > 0 && cells.at(-1)!.trim() === "") cells.pop()
  const columns = makeColumns(cells)
  if (columns.at("NPA-NXX") < 0) return null
  const missing = columns.missing(required)
  if (missing.length > 0) return `a NANPA file without the columns ${missing.join(", ")}`
  if (columns.repeated !== null) return `a NANPA file that has the column ${quoted(columns.repeated)} twice`
  const updated = updatedPattern.exec(line)
  return { columns, publicationDate: updated === null ? null : dateOfCell(updated[1]!) }
}

const codePattern = /(?<![0-9-])[2-9][0-9]{2}-[2-9][0-9]{2}(?![0-9-])/g

const n11: ReadonlyArray<number> = [211, 311, 411, 511, 611, 711, 811, 911]

/** Tells whether all lines are as long as the first, but for a shorter last one. */
const makeLengths = () => {
  let first = -1
  let last = -1
  let isSame = true
  return {
    note: (length: number): void => {
      if (first < 0) first = length
      else if (last !== first) isSame = false
      last = length
    },
    endShort: (): boolean => isSame && last < first
  }
}

/**
 * Tells whether the file ends inside its last area code. Every known file lists the service codes (211 to 911) of each
 * area code, and one that was cut in the middle lacks the later ones. `seen` is by NPA * 1000 + NXX.
 */
const endsInside = (last: number, seen: Uint8Array, recordsByAreaCode: Uint16Array): boolean => {
  const listsServiceCodes = (npa: number): boolean => n11.every((code) => seen[npa * 1_000 + code] === 1)
  let others = 0
  for (let npa = 200; npa < 1_000; npa++) {
    if (recordsByAreaCode[npa] === 0 || npa === last) continue
    if (!listsServiceCodes(npa)) return false
    others++
  }
  return others > 0 && !listsServiceCodes(last)
}

/** Makes the reader for a file with this header. */
export const makeNanpaReader = ({ columns, publicationDate }: NanpaHeader): DatasetReader => {
  const [stateAt, codeColumn, ocnAt, companyAt, rateCenterAt, useAt] = placesOf(columns, required)
  const pooledAt = columns.at("Pooled Code")
  const name = makeInterner()
  const waiting: Array<CodeRecord> = []
  const seen = new Uint8Array(1_000_000)
  const recordsByAreaCode = new Uint16Array(1_000)
  const seenStates = new Set<string>()
  let lastAreaCode = -1
  const lengths = makeLengths()

  const readLine = (line: string): string | null => {
    lengths.note(line.length)
    const cells = line.split("\t")
    if (cells.length !== columns.count) return wrongFields(cells.length, columns.count)
    const code = cells[codeColumn]!.trim()
    const npa = codeAt(code, 0)
    const nxx = codeAt(code, 4)
    if (npa < 0 || nxx < 0 || code.length !== 7 || code[3] !== "-") return `has the NPA-NXX ${quoted(code)}`
    const state = stateOfCell.get(cells[stateAt]!.trim())
    if (state === undefined) return `has the unknown state ${quoted(cells[stateAt]!.trim())}`
    const status = statusOfUse.get(cells[useAt]!.trim())
    if (status === undefined) return `has the unknown use ${quoted(cells[useAt]!.trim())}`
    const ocn = cells[ocnAt]!.trim()
    if (ocn !== "" && !isOcn(ocn)) return badOcn(ocn)
    const company = unquoted(cells[companyAt]!)
    if (company === null) return `has a quote that does not match in the company ${quoted(cells[companyAt]!.trim())}`
    const rateCenter = unquoted(cells[rateCenterAt]!)
    if (rateCenter === null) return `has a quote that does not match in the rate center`
    const key = npa * 1_000 + nxx
    if (seen[key] === 1) return `repeats ${code}`

    seen[key] = 1
    recordsByAreaCode[npa]!++
    seenStates.add(state)
    lastAreaCode = npa
    waiting.push({
      country: "US",
      npa: codeText(npa),
      nxx: codeText(nxx),
      state,
      ocn: ocn === "" ? null : name(ocn),
      company: company === "" ? null : name(company),
      rateCenter: rateCenter === "" || rateCenter === noRateCenter ? null : name(rateCenter),
      status,
      pooled: pooledOfCell(cells[pooledAt])
    })
    return null
  }

  return {
    kind: "NANPA",
    publicationDate,
    columns: columns.count,
    readLine,
    keyOf: (line) => {
      const codes = line.match(codePattern)
      return codes?.length === 1 ? codes[0].replace("-", "") : null
    },
    waiting: () => waiting.length,
    take: (atMost) => ({ kind: "NANPA", records: takeFirst(waiting, atMost) }),
    shortfall: ({ malformed, terminated }) => {
      if (!terminated && lengths.endShort()) return "its last line is cut"
      const lastState = cutAfter((state) => seenStates.has(state), states)
      if (lastState !== null) return `it ends with the state ${lastState} and lacks all states after it`
      return malformed === 0 && endsInside(lastAreaCode, seen, recordsByAreaCode)
        ? `it ends inside the area code ${codeText(lastAreaCode)}`
        : null
    },
    coverage: () => ({
      whole: states.every((state) => seenStates.has(state)),
      areaCodes: areaCodesOf(recordsByAreaCode)
    })
  }
}
