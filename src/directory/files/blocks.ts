/**
 * Reads NANPA's report on thousands blocks (`ThousandsBlockAssignment_All_Augmented.txt`, before 2024
 * `AllBlocksAugmentedReport.txt`), by column name, with tabs or commas between the cells. The package has no such file,
 * and the reader was written against descriptions of its layout: it needs five columns and ignores all others.
 */
import type { BlockRecord, ExchangeStatus } from "../model.ts"
import { splitCsv } from "./csv.ts"
import {
  areaCodesOf,
  badOcn,
  type Columns,
  codeAt,
  codeText,
  type DatasetReader,
  dateOfCell,
  isOcn,
  makeColumns,
  makeInterner,
  placesOf,
  takeFirst,
  unquoted,
  updatedPattern,
  wrongFields
} from "./DatasetReader.ts"
import { quoted } from "./printable.ts"

const required = ["NPA", "NXX", "X", "Status", "OCN"] as const

/** Columns that hold the name of the block's holder, the first one that is there. */
const holderColumns = ["Assigned To", "Company"]

/**
 * The status of each cell text (docs/directory.md, 1.3). The holder of the code retains the blocks `RT`; `AV`, `AP` and
 * `AF` can be assigned. Any other text makes the line malformed.
 */
const statusOfCell: ReadonlyMap<string, ExchangeStatus> = new Map([
  ["AS", "ASSIGNED"],
  ["RT", "ASSIGNED"],
  ["AV", "UNASSIGNED"],
  ["AP", "UNASSIGNED"],
  ["AF", "UNASSIGNED"],
  ["RV", "RESERVED"]
])

/** The header's columns, what is between its cells, and the publication date. */
export interface BlocksHeader {
  readonly columns: Columns
  readonly hasTabs: boolean
  readonly publicationDate: string | null
}

/** The cells of a line, or why it cannot be split. */
const splitLine = (line: string, hasTabs: boolean): ReadonlyArray<string> | string => {
  if (!hasTabs) return splitCsv(line)
  const cells: Array<string> = []
  for (const cell of line.split("\t")) {
    const text = unquoted(cell)
    if (text === null) return `has a quote that does not match in ${quoted(cell.trim())}`
    cells.push(text)
  }
  return cells
}

/**
 * Reads a header line. A text says what is wrong with a line that is nearly a header; null means that it is nothing
 * like one.
 */
export const blocksHeader = (line: string): BlocksHeader | string | null => {
  const hasTabs = line.includes("\t")
  const cells = splitLine(line.replace(updatedPattern, ""), hasTabs)
  if (typeof cells === "string") return null
  const last = cells.findLastIndex((cell) => cell !== "")
  const columns = makeColumns(cells.slice(0, last + 1))
  if (columns.missing(["NPA", "NXX", "X"]).length > 0) return null
  const missing = columns.missing(required)
  if (missing.length > 0) return `a report on thousands blocks without the columns ${missing.join(", ")}`
  if (columns.repeated !== null) {
    return `a report on thousands blocks that has the column ${quoted(columns.repeated)} twice`
  }
  const updated = updatedPattern.exec(line)
  return { columns, hasTabs, publicationDate: updated === null ? null : dateOfCell(updated[1]!) }
}

/** The key of a block, NPA-NXX-X as a number of 7 digits; a text says why the cells have none. */
const keyOfCells = (npaCell: string, nxxCell: string, blockCell: string): number | string => {
  const npa = npaCell.length === 3 ? codeAt(npaCell, 0) : -1
  const nxx = nxxCell.length === 3 ? codeAt(nxxCell, 0) : -1
  if (npa < 0) return `has the NPA ${quoted(npaCell)}`
  if (nxx < 0) return `has the NXX ${quoted(nxxCell)}`
  if (!/^[0-9]$/.test(blockCell)) return `has the block ${quoted(blockCell)}`
  return (npa * 1_000 + nxx) * 10 + Number(blockCell)
}

/** Makes the reader for a report with this header. */
export const makeBlocksReader = ({ columns, hasTabs, publicationDate }: BlocksHeader): DatasetReader => {
  const [npaAt, nxxAt, blockAt, statusAt, ocnAt] = placesOf(columns, required)
  const holderAt = columns.at(holderColumns.find((name) => columns.at(name) >= 0) ?? "")
  const name = makeInterner()
  const waiting: Array<BlockRecord> = []
  const seen = new Uint8Array(10_000_000 / 8)
  const recordsByAreaCode = new Uint16Array(1_000)

  const readLine = (line: string): string | null => {
    const cells = splitLine(line, hasTabs)
    if (typeof cells === "string") return cells
    // A published line may end with empty cells that the header has no names for.
    if (cells.length < columns.count || cells.slice(columns.count).some((cell) => cell !== "")) {
      return wrongFields(cells.length, columns.count)
    }
    const key = keyOfCells(cells[npaAt]!, cells[nxxAt]!, cells[blockAt]!)
    if (typeof key === "string") return key
    const status = statusOfCell.get(cells[statusAt]!.toUpperCase())
    if (status === undefined) return `has the unknown status ${quoted(cells[statusAt]!)}`
    const ocn = cells[ocnAt]!
    if (ocn !== "" && !isOcn(ocn)) return badOcn(ocn)
    const bit = 1 << (key & 7)
    if ((seen[key >>> 3]! & bit) !== 0) return `repeats ${cells[npaAt]}-${cells[nxxAt]}-${cells[blockAt]}`
    seen[key >>> 3]! |= bit

    const npa = Math.floor(key / 10_000)
    recordsByAreaCode[npa]!++
    const holder = cells[holderAt] ?? ""
    waiting.push({
      npa: codeText(npa),
      nxx: codeText(Math.floor(key / 10) % 1_000),
      block: String(key % 10),
      status,
      ocn: ocn === "" ? null : name(ocn),
      company: holder === "" ? null : name(holder)
    })
    return null
  }

  return {
    kind: "NANPA_BLOCKS",
    publicationDate,
    columns: columns.count,
    readLine,
    keyOf: (line) => {
      const cells = splitLine(line, hasTabs)
      // When a quote is missing, cells may have shifted.
      if (typeof cells === "string") return null
      const key = keyOfCells(cells[npaAt] ?? "", cells[nxxAt] ?? "", cells[blockAt] ?? "")
      return typeof key === "string" ? null : String(key)
    },
    waiting: () => waiting.length,
    take: (atMost) => ({ kind: "NANPA_BLOCKS", records: takeFirst(waiting, atMost) }),
    // The report names no number of lines; what a cut file lacks counts as removals (docs/directory.md, 6.4).
    shortfall: () => null,
    coverage: () => ({ whole: false, areaCodes: areaCodesOf(recordsByAreaCode) })
  }
}
